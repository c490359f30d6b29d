#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>

#include <memory>

namespace blockjacobi::test {
namespace {

template <class T>
class LargeBatchTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(LargeBatchTest, Scalars);

/// Copies of a few matrices, Hermitian with diagonals that dominate; more than a grid's y or z could count.
template <class T>
class RepeatedBatch {
 public:
  static constexpr std::size_t different = 7, count = 65537;

  RepeatedBatch(const Backend& backend, index_t n)
      : backend_(backend), n_(n), size_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)) {
    first_ = random_vector<T>(different * size_, 117);
    for (std::size_t k = 0; k < different; ++k) make_dominant(&first_[k * size_]);
    host_.reserve(count * size_);
    for (std::size_t k = 0; k < count; ++k) {
      const T* const from = &first_[k % different * size_];
      host_.insert(host_.end(), from, from + size_);
    }
    matrices_ = std::make_unique<Array<T>>(backend, host_);
  }

  MatrixBatchView<T> view() const {
    return MatrixBatchView<T>::strided(matrices_->data(), n_, n_, n_, static_cast<offset_t>(size_),
                                       static_cast<offset_t>(count), MemorySpace::device);
  }

  /// After f(info), which works in place, all info are 0 and every copy has the bits of the first, not those it had.
  template <class F>
  void expect_equal_results(F f) {
    matrices_->copy_from_host(host_.data());
    Array<int> info(backend_, std::vector<int>(count, 7));
    f(info.data());
    EXPECT_EQ(info.to_host(), std::vector<int>(count, 0));
    const std::vector<T> found = matrices_->to_host();
    for (std::size_t k = 0; k < different; ++k) EXPECT_FALSE(same(&found[k * size_], &first_[k * size_]));
    for (std::size_t k = different; k < count; ++k)
      ASSERT_TRUE(same(&found[k * size_], &found[k % different * size_])) << "matrix " << k;
  }

 private:
  void make_dominant(T* a) const {
    const auto n = static_cast<std::size_t>(n_);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if constexpr (is_complex<T>)
          a[i * n + j] = std::conj(a[j * n + i]);
        else
          a[i * n + j] = a[j * n + i];
      }
      a[j * n + j] = T(static_cast<real_t<T>>(4 * n));
    }
  }
  bool same(const T* a, const T* b) const { return std::memcmp(a, b, size_ * sizeof(T)) == 0; }

  Backend backend_;
  index_t n_;
  std::size_t size_;
  std::vector<T> first_, host_;
  std::unique_ptr<Array<T>> matrices_;
};

TYPED_TEST(LargeBatchTest, EveryMatrixGetsItsResult) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  for (const index_t n : {5, 12, 17, 24}) {
    SCOPED_TRACE(n);
    RepeatedBatch<T> batch(backend, n);
    const auto elements = RepeatedBatch<T>::count * static_cast<std::size_t>(n);
    Array<index_t> ipiv(backend, elements);
    Array<T> tau(backend, elements);
    batch.expect_equal_results([&](int* info) { batched::inverse<T>(backend, batch.view(), batch.view(), info); });
    batch.expect_equal_results([&](int* info) { batched::getrf<T>(backend, batch.view(), ipiv.data(), info); });
    batch.expect_equal_results(
        [&](int* info) { batched::potrf<T>(backend, batched::Triangle::lower, batch.view(), info); });
    batch.expect_equal_results([&](int* info) {
      batched::geqrf<T>(backend, batch.view(), tau.data());
      backend.impl().zero(info, RepeatedBatch<T>::count * sizeof(int));  // it has no info
    });
  }
}

}  // namespace
}  // namespace blockjacobi::test
