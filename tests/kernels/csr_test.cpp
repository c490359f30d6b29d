#include "backend/cuda_csr.hpp"
#include "kernels/krylov/launch_products.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/backends.hpp"

namespace blockjacobi::test {
namespace {

template <class T>
class CsrTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CsrTest, Scalars);

/// A x in double; `magnitude` receives |A| |x|, the scale of the rounding errors.
template <Scalar T>
std::vector<std::complex<double>> product(const System<T>& a, const std::vector<T>& x, std::vector<double>& magnitude) {
  std::vector<std::complex<double>> y(static_cast<std::size_t>(a.rows));
  magnitude.assign(y.size(), 0.0);
  for (std::size_t i = 0; i < y.size(); ++i)
    for (auto k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const std::complex<double> term =
          std::complex<double>(a.values[entry]) * std::complex<double>(x[static_cast<std::size_t>(a.columns[entry])]);
      y[i] += term;
      magnitude[i] += std::abs(term);
    }
  return y;
}

template <Scalar T>
double terms_of(const System<T>& a, std::size_t row) {
  return static_cast<double>(a.offsets[row + 1] - a.offsets[row]);
}

template <Scalar T>
void expect_product(const System<T>& a, const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<double> magnitude;
  const auto expected = product(a, x, magnitude);
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_LE(std::abs(std::complex<double>(y[i]) - expected[i]), rounding_of_sum<T>(terms_of(a, i), magnitude[i]))
        << "row " << i;
}

/// Rows of very different length, unsorted, with duplicates and empty rows.
template <Scalar T>
System<T> irregular(index_t n) {
  std::mt19937 generator(3);
  std::uniform_int_distribution<index_t> column(0, n - 1);
  System<T> a{n, {0}, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    const index_t length = i % 5 == 0 ? 0 : i % 97 == 1 ? 200 : i % 11;
    for (index_t k = 0; k < length; ++k) {
      a.columns.push_back(k > 0 && k % 4 == 0 ? a.columns.back() : column(generator));
      a.values.push_back(random_scalar<T>(generator));
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

/// That of the product's own rounding, if the operator has sums in double: as it is, but for one more rounding.
template <Scalar T>
void expect_residual(const Backend& backend, const System<T>& a, const std::vector<T>& x,
                     const detail::OperatorImpl<T>& op) {
  std::vector<double> magnitude;
  const auto exact = product(a, x, magnitude);
  std::vector<T> b;
  for (const std::complex<double>& element : exact) {
    if constexpr (is_complex<T>)
      b.push_back(T(element));
    else
      b.push_back(static_cast<T>(element.real()));
  }
  const Array<T> input(backend, x), right(backend, b);
  Array<T> first(backend, x), second(backend, b);
  const bool in_double = op.residual(data_of(right), data_of(input), data_of(first));
  const bool is_single = sizeof(real_t<T>) == sizeof(float);
  EXPECT_EQ(in_double, !a.values.empty() && (is_single || dynamic_cast<const detail::RowsCsr<T>*>(&op) != nullptr));
  if (!in_double) return;
  using Sums = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  op.residual(data_of(right), data_of(input), data_of(second));
  const auto r = first.to_host();
  for (std::size_t i = 0; i < r.size(); ++i) {
    const std::complex<double> expected = std::complex<double>(b[i]) - exact[i];
    const double in_sums = rounding_of_sum<Sums>(terms_of(a, i), magnitude[i] + std::abs(b[i]));
    ASSERT_LE(std::abs(std::complex<double>(r[i]) - expected), epsilon<T> * std::abs(expected) + in_sums)
        << "row " << i;
  }
  EXPECT_TRUE(same_bits(r, second.to_host()));
  if (is_single) return;
  op.apply(data_of(input), data_of(second));
  std::vector<T> difference = second.to_host();
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = b[i] - difference[i];
  EXPECT_TRUE(same_bits(r, difference));
}

template <Scalar T, Offset O>
void expect_csr(const System<T>& a, IndexBase base) {
  SCOPED_TRACE(::testing::Message() << 8 * sizeof(O) << "-bit offsets, base " << static_cast<int>(base));
  const Backend backend = Backend::cuda();
  const auto device = on<O>(backend, a, base);
  const auto x = random_vector<T>(static_cast<std::size_t>(a.rows), 31);
  const Array<T> input(backend, x);
  const auto op = detail::krylov_ops<T>(backend).make_csr(device.view());
  EXPECT_EQ(op->rows(), a.rows);

  const std::vector<T> garbage(x.size(), std::numeric_limits<real_t<T>>::quiet_NaN());
  Array<T> first(backend, garbage), second(backend, garbage), own(backend, garbage);
  op->apply(data_of(input), data_of(first));
  op->apply(data_of(input), data_of(second));
  const CsrView<T, O> v = device.view();
  const CsrView<detail::compute_t<T>, O> view{
      v.rows, v.cols, v.nnz, v.row_offsets, v.columns, detail::compute_cast(v.values), v.base, v.space};
  kernels::csr_product(view, data_of(input), data_of(own), backend.stream());
  const auto y = first.to_host();
  expect_product(a, x, y);
  EXPECT_TRUE(same_bits(y, second.to_host()));
  expect_product(a, x, own.to_host());
  expect_residual(backend, a, x, *op);
}

/// Rows of about the same length, so that the product is our own.
template <Scalar T>
System<T> similar(index_t n, index_t length) {
  std::mt19937 generator(5);
  std::uniform_int_distribution<index_t> column(0, n - 1);
  System<T> a{n, {0}, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    for (index_t k = i % 3; k < length; ++k) {
      a.columns.push_back(column(generator));
      a.values.push_back(random_scalar<T>(generator));
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

template <Scalar T>
void expect_all_formats(const System<T>& a) {
  for (const IndexBase base : {IndexBase::zero, IndexBase::one}) {
    expect_csr<T, std::int32_t>(a, base);
    expect_csr<T, std::int64_t>(a, base);
  }
}

TYPED_TEST(CsrTest, Stencil) { expect_all_formats(convection_diffusion<TypeParam>(17)); }
TYPED_TEST(CsrTest, UnsortedRowsWithDuplicates) { expect_all_formats(irregular<TypeParam>(1000)); }
TYPED_TEST(CsrTest, RowsOfAnyLength) {
  for (const index_t length : {1, 4, 7, 12, 20, 40, 70, 100, 300}) {
    SCOPED_TRACE(length);
    expect_all_formats(similar<TypeParam>(333, length));
  }
}
/// More rows than the thread blocks of 132 multiprocessors have at once.
TYPED_TEST(CsrTest, LongShortRows) { expect_all_formats(similar<TypeParam>(is_under_tool() ? 140000 : 300000, 7)); }
TYPED_TEST(CsrTest, NoEntries) { expect_all_formats(System<TypeParam>{5, {0, 0, 0, 0, 0, 0}, {}, {}}); }
TYPED_TEST(CsrTest, NoRows) { expect_all_formats(System<TypeParam>{0, {0}, {}, {}}); }
TYPED_TEST(CsrTest, OneEntry) { expect_all_formats(System<TypeParam>{1, {0, 1}, {0}, {TypeParam(3)}}); }
TYPED_TEST(CsrTest, LongIrregularMatrix) { expect_all_formats(irregular<TypeParam>(300000)); }

}  // namespace
}  // namespace blockjacobi::test
