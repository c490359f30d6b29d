#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::test {
namespace {

template <class T>
class BatchedAlignmentTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(BatchedAlignmentTest, Scalars);

/// Of two results with backward errors of 10 N eps ||A||, which differ by 20 N eps cond(A) in norm, and by cond(A)
/// times that beside the largest element.
template <Scalar T>
double bound_of_order(index_t n) {
  return 100 * n * epsilon<T>;
}

/// Tiny ones, and of every way in which a thread block has larger ones in its memory.
constexpr index_t orders[] = {5, 16, 32, 33, 48, 70, 101};

/// Hermitian, with a diagonal that dominates: A = 4 N (I + E), ||E|| <= sqrt(2) / 4, hence cond(A) <= 2.1.
template <Scalar T>
std::vector<T> dominant_matrix(index_t n, unsigned seed) {
  const auto order = static_cast<std::size_t>(n);
  std::vector<T> a = random_vector<T>(order * order, seed);
  for (std::size_t j = 0; j < order; ++j) {
    a[j * order + j] = T(static_cast<real_t<T>>(4 * n));
    for (std::size_t i = 0; i < j; ++i) {
      if constexpr (is_complex<T>)
        a[j * order + i] = std::conj(a[i * order + j]);
      else
        a[j * order + i] = a[i * order + j];
    }
  }
  return a;
}

/// A matrix one real number behind where the device's memory is aligned.
template <Scalar T>
class OffAlignment {
 public:
  OffAlignment(const Backend& backend, const std::vector<T>& a) : memory_(backend, behind_one(a)) {}

  T* data() { return reinterpret_cast<T*>(memory_.data() + 1); }
  std::vector<T> to_host() const {
    const auto parts = memory_.to_host();
    std::vector<T> a((parts.size() - 1) * sizeof(real_t<T>) / sizeof(T));
    std::memcpy(static_cast<void*>(a.data()), parts.data() + 1, a.size() * sizeof(T));
    return a;
  }

 private:
  static std::vector<real_t<T>> behind_one(const std::vector<T>& a) {
    const auto* const parts = reinterpret_cast<const real_t<T>*>(a.data());
    std::vector<real_t<T>> result(1);
    result.insert(result.end(), parts, parts + a.size() * sizeof(T) / sizeof(real_t<T>));
    return result;
  }

  Array<real_t<T>> memory_;
};

/// call(a, info) of a dominant matrix, in place, aligned and not. std::complex asks for the alignment of its parts
/// only.
template <Scalar T, class Call>
void expect_equal_off_alignment(const Backend& backend, Call call) {
  for (const index_t n : orders) {
    const std::vector<T> a = dominant_matrix<T>(n, 116);
    Array<T> aligned(backend, a);
    OffAlignment<T> off(backend, a);
    Array<int> info(backend, std::vector<int>(2));
    const auto batch = [&](T* data) {
      return MatrixBatchView<T>::strided(data, n, n, n, static_cast<offset_t>(n) * n, 1, MemorySpace::device);
    };
    call(batch(aligned.data()), info.data());
    call(batch(off.data()), info.data() + 1);
    EXPECT_EQ(info.to_host(), (std::vector<int>{0, 0})) << "order " << n;
    // Up to order 32 a batch that is not aligned has kernels of its own.
    const double bound = n > 32 ? 0 : bound_of_order<T>(n);
    EXPECT_LE(relative_difference(off.to_host(), aligned.to_host()), bound) << "order " << n;
    EXPECT_FALSE(same_bits(aligned.to_host(), a)) << "order " << n;
  }
}

TYPED_TEST(BatchedAlignmentTest, InversesOffTheAlignmentOfComplexNumbers) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  expect_equal_off_alignment<T>(backend, [&](auto a, int* info) { batched::inverse<T>(backend, a, a, info); });
}

TYPED_TEST(BatchedAlignmentTest, LuOffTheAlignmentOfComplexNumbers) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  Array<index_t> ipiv(backend, 512);
  expect_equal_off_alignment<T>(backend, [&](auto a, int* info) { batched::getrf<T>(backend, a, ipiv.data(), info); });
}

TYPED_TEST(BatchedAlignmentTest, CholeskyOffTheAlignmentOfComplexNumbers) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  for (const auto triangle : {batched::Triangle::lower, batched::Triangle::upper})
    expect_equal_off_alignment<T>(backend, [&](auto a, int* info) { batched::potrf<T>(backend, triangle, a, info); });
}

TYPED_TEST(BatchedAlignmentTest, QrOffTheAlignmentOfComplexNumbers) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  Array<T> tau(backend, 512);
  expect_equal_off_alignment<T>(backend, [&](auto a, int*) { batched::geqrf<T>(backend, a, tau.data()); });
}

/// solve(factor, right-hand sides, ipiv), of a dominant matrix's factors from factorize(a, ipiv, info).
template <Scalar T, class Factorize, class Solve>
void expect_equal_solves_off_alignment(const Backend& backend, Factorize factorize, Solve solve) {
  for (const index_t n : orders)
    for (const index_t columns : {1, 3}) {
      const std::vector<T> right = random_vector<T>(static_cast<std::size_t>(n * columns), 117);
      Array<T> factor(backend, dominant_matrix<T>(n, 116)), aligned(backend, right);
      Array<index_t> ipiv(backend, 512);
      Array<int> info(backend, 1);
      const auto batch = [&](T* data, index_t cols) {
        return MatrixBatchView<T>::strided(data, n, cols, n, static_cast<offset_t>(n) * cols, 1, MemorySpace::device);
      };
      factorize(batch(factor.data(), n), ipiv.data(), info.data());
      OffAlignment<T> off_factor(backend, factor.to_host()), off(backend, right);
      solve(batch(factor.data(), n), batch(aligned.data(), columns), ipiv.data());
      solve(batch(off_factor.data(), n), batch(off.data(), columns), ipiv.data());
      const double bound = n > 32 ? 0 : bound_of_order<T>(n);
      EXPECT_LE(relative_difference(off.to_host(), aligned.to_host()), bound) << "order " << n;
      EXPECT_FALSE(same_bits(aligned.to_host(), right)) << "order " << n;
    }
}

TYPED_TEST(BatchedAlignmentTest, SolvesFromLuOffTheAlignmentOfComplexNumbers) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  for (const auto op : {batched::Op::none, batched::Op::conjugate_transpose})
    expect_equal_solves_off_alignment<T>(
        backend, [&](auto a, index_t* ipiv, int* info) { batched::getrf<T>(backend, a, ipiv, info); },
        [&](auto a, auto b, const index_t* ipiv) { batched::getrs<T>(backend, op, a, ipiv, b); });
}

TYPED_TEST(BatchedAlignmentTest, SolvesFromCholeskyOffTheAlignmentOfComplexNumbers) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  for (const auto triangle : {batched::Triangle::lower, batched::Triangle::upper})
    expect_equal_solves_off_alignment<T>(
        backend, [&](auto a, index_t*, int* info) { batched::potrf<T>(backend, triangle, a, info); },
        [&](auto a, auto b, const index_t*) { batched::potrs<T>(backend, triangle, a, b); });
}

}  // namespace
}  // namespace blockjacobi::test
