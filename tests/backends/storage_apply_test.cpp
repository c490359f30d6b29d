#include "backends/storage.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(StorageOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
void expect_products_with_vectors(const Backend& backend, const std::vector<index_t>& numbers) {
  const BlockDiagonal<T> a = definite_blocks<T>({1, 2, 3, 4, 4, 7, 8, 11, 16, 23, 32, 33, 75}, 46);
  const CsrMatrix<T> matrix = a.matrix();
  const index_t n = matrix.rows();
  Random random(47);
  // What two sums of |alpha| |X| |R| + |beta| |Z| may differ by: 75 products at most and four operations more, each in
  // complex arithmetic with three times the rounding. (N. J. Higham, "Accuracy and stability", chapter 3)
  constexpr real_t<T> rounding = 2 * (is_complex<T> ? 3 : 1) * (75 + 4) * std::numeric_limits<real_t<T>>::epsilon();
  using Bounds = Dense<real_t<T>>;
  for (const Storage storage : all_storages) {
    const BlockJacobi<T> m(backend, matrix, a.partition(), with(storage));
    for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) {
      Dense<T> x = Dense<T>::Zero(n, n);
      for (index_t b = 0; b < m.partition().blocks(); ++b) {
        const index_t first = m.partition().first_row(b), size = m.partition().block_size(b);
        x.block(first, first, size, size) = stored_inverse(m, b);
      }
      if (op == Op::transpose) x = x.transpose().eval();
      if (op == Op::conjugate_transpose) x = x.adjoint().eval();
      for (const index_t cols : numbers) {
        const bool by_rows = cols % 2 == 0;
        const offset_t ld = (by_rows ? cols : n) + 3;
        std::vector<T> r(static_cast<std::size_t>(ld * (by_rows ? n : cols))), z(r.size());
        for (T& value : r) value = random.scalar<T>();
        for (T& value : z) value = random.scalar<T>();
        const auto at = [&](index_t i, index_t k) {
          return static_cast<std::size_t>(by_rows ? i * ld + k : i + k * ld);
        };
        Dense<T> in(n, cols), out(n, cols);
        for (index_t k = 0; k < cols; ++k)
          for (index_t i = 0; i < n; ++i) {
            in(i, k) = r[at(i, k)];
            out(i, k) = z[at(i, k)];
          }
        const Layout layout = by_rows ? Layout::row_major : Layout::column_major;
        Array<T> R(backend, r), Z(backend, z);
        const MultiVectorView<T> input{R.data(), n, cols, ld, layout, backend.memory_space()};
        const MultiVectorView<T> output{Z.data(), n, cols, ld, layout, backend.memory_space()};
        T alpha(-1.5), beta(0.25);
        if constexpr (is_complex<T>) alpha = T(-1.5, 0.5), beta = T(0.25, -2);
        m.apply(alpha, input, beta, output, op);
        const Bounds sums = x.cwiseAbs() * in.cwiseAbs();
        const auto expect_near = [&](const std::vector<T>& found, const Dense<T>& wanted, const Bounds& terms) {
          bool is_near = true;
          for (index_t k = 0; k < cols; ++k)
            for (index_t i = 0; i < n; ++i)
              is_near = is_near && std::abs(found[at(i, k)] - wanted(i, k)) <= rounding * terms(i, k);
          EXPECT_TRUE(is_near) << to_string(storage) << ", " << cols << " columns, op " << static_cast<int>(op);
        };
        const std::vector<T> both = Z.to_host();
        expect_near(both, alpha * (x * in) + beta * out, std::abs(alpha) * sums + std::abs(beta) * out.cwiseAbs());
        // What lies between the columns or rows stays.
        if (by_rows) {
          EXPECT_EQ(both[static_cast<std::size_t>(cols)], z[static_cast<std::size_t>(cols)]);
        }
        // Without beta, Z is not read.
        std::vector<T> nans(z.size(), T(std::numeric_limits<real_t<T>>::quiet_NaN()));
        Z.copy_from_host(nans.data());
        m.apply(input, output, op);
        expect_near(Z.to_host(), x * in, sums);
      }
      std::vector<T> r(static_cast<std::size_t>(n));
      for (T& value : r) value = random.scalar<T>();
      Array<T> R(backend, r), Z(backend, r);
      m.apply(T(2), std::as_const(R).view(), T(-1), Z.view(), op);
      const std::vector<T> found = Z.to_host();
      const Eigen::Map<const Dense<T>> in(r.data(), n, 1), out(found.data(), n, 1);
      const Bounds terms = real_t<T>(2) * (x.cwiseAbs() * in.cwiseAbs()) + in.cwiseAbs();
      const Bounds difference = (T(2) * (x * in) - in - out).cwiseAbs();
      EXPECT_TRUE((difference.array() <= rounding * terms.array()).all())
          << to_string(storage) << ", op " << static_cast<int>(op);
    }
  }
}

TYPED_TEST(StorageOnBackend, AppliesEveryFormatToManyVectors) {
  expect_products_with_vectors<typename TypeParam::Scalar>(this->make_backend(), {2, 9});
}

TYPED_TEST(StorageOnBackend, AppliesEveryFormatToAnyNumberOfVectors) {
  expect_products_with_vectors<typename TypeParam::Scalar>(this->make_backend(), {1, 2, 3, 4, 5, 8, 9});
}

}  // namespace
}  // namespace blockjacobi::test
