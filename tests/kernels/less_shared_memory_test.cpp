#include "support/less_shared_memory.hpp"

#include "tests/kernels/recorded_kernels.hpp"
#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>
#include <blockjacobi/block_jacobi.hpp>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

template <class T>
class LessSharedMemoryTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(LessSharedMemoryTest, Scalars);

/// At this order these designs of 227 KB have no room in 99 KB: factorizations by LU and QR, inverses from factors,
/// solves of many columns, of four but in s, and of d and z inverses and set-up. Those of s and c have, with fewer
/// stages or in a cluster, and so have Cholesky and solves of one column.
constexpr index_t order = 400;
constexpr std::size_t elements = std::size_t{order} * order;

/// Two dense matrices, Hermitian with a diagonal that dominates; or the same with their rows in reverse order.
template <Scalar T>
std::vector<T> matrices(bool reversed) {
  std::vector<T> all = random_vector<T>(2 * elements, 91);
  for (std::size_t k = 0; k < 2; ++k) {
    T* const a = all.data() + k * elements;
    for (std::size_t j = 0; j < order; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const T above = a[j * order + i];
        if constexpr (is_complex<T>)
          a[i * order + j] = std::conj(above);
        else
          a[i * order + j] = above;
      }
      a[j * order + j] = T(real_t<T>(2 * order));
    }
    for (std::size_t j = 0; reversed && j < order; ++j) std::reverse(a + j * order, a + (j + 1) * order);
  }
  return all;
}

/// What each operation leaves, on that backend: a test each, as racecheck takes minutes for some of them.
template <Scalar T>
class Operations {
 public:
  explicit Operations(const Backend& backend)
      : backend_(backend), numbers_(backend, 2 * order), info_(backend, std::vector<int>(2)) {}

  const std::vector<std::pair<const char*, std::vector<T>>>& results() const { return results_; }

  void inverse() {
    Array<T> a(backend_, matrices<T>(true)), x(backend_, a.size());
    call("inverse_cta", inverse_is_plain, [&] { batched::inverse<T>(backend_, view(a), view(x), info_.data()); });
    keep("inverse", x);
    expect_success();
  }

  void lu_and_solves() {
    int* const info = info_.data();
    Array<T> lu(backend_, matrices<T>(true));
    call("getrf_cta", true, [&] { batched::getrf(backend_, view(lu), numbers_.data(), info); });
    keep("getrf", lu);
    for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose})
      for (const index_t columns : {1, 4, 17}) {
        Array<T> b = right_hand_sides(columns);
        call("solve", solve_is_plain(columns),
             [&] { batched::getrs<T>(backend_, op, view(lu), numbers_.data(), view(b, columns)); });
        keep("getrs", b);
      }
    expect_success();
  }

  void inverse_from_lu() {
    int* const info = info_.data();
    Array<T> lu(backend_, matrices<T>(true)), x(backend_, lu.size());
    batched::getrf(backend_, view(lu), numbers_.data(), info);
    call("getri_cta", true, [&] { batched::getri<T>(backend_, view(lu), numbers_.data(), view(x), info); });
    keep("getri", x);
    call("getri_cta", true, [&] { batched::getri<T>(backend_, view(lu), numbers_.data(), view(lu), info); });
    keep("getri in place", lu);
    expect_success();
  }

  void cholesky(batched::Triangle triangle) {
    int* const info = info_.data();
    Array<T> factor(backend_, matrices<T>(false)), x(backend_, factor.size());
    batched::spd_inverse<T>(backend_, triangle, view(factor), view(x), batched::SpdStorage::full, info);
    keep("spd_inverse", x);
    batched::potrf(backend_, triangle, view(factor), info);
    for (const index_t columns : {1, 4, 17}) {
      Array<T> b = right_hand_sides(columns);
      call("solve", solve_is_plain(columns),
           [&] { batched::potrs<T>(backend_, triangle, view(factor), view(b, columns)); });
      keep("potrs", b);
    }
    call("potri_cta", true, [&] { batched::potri(backend_, triangle, view(factor), info); });
    keep("potri", factor);
    expect_success();
  }

  void qr() {
    Array<T> a(backend_, matrices<T>(true)), tau(backend_, 2 * order);
    call("geqrf_cta", true, [&] { batched::geqrf(backend_, view(a), tau.data()); });
    keep("geqrf", a);
    keep("tau", tau);
  }

  /// The set-up of BlockJacobi; rows of the matrix are columns of a block in memory, which is as good.
  void set_up() {
    const std::vector<T> values = matrices<T>(true);
    std::vector<std::int32_t> offsets{0};
    std::vector<index_t> columns;
    for (index_t row = 0; row < 2 * order; ++row) {
      for (index_t j = 0; j < order; ++j) columns.push_back(row / order * order + j);
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
    const CsrView<T, std::int32_t> matrix{2 * order,      2 * order,      static_cast<offset_t>(values.size()),
                                          offsets.data(), columns.data(), values.data()};
    BlockJacobi<T> M(backend_, matrix, BlockPartition::uniform(2 * order, order));
    const Array<T> again(backend_, values);
    call("setup_cta", inverse_is_plain,
         [&] { M.refresh(again.data(), static_cast<offset_t>(again.size()), backend_.memory_space()); });
    EXPECT_EQ(M.defects(), 0);
    for (const index_t b : {0, 1}) results_.emplace_back("set-up", M.inverse_block(b));
  }

 private:
  static constexpr bool inverse_is_plain = sizeof(real_t<T>) == sizeof(double);
  static bool solve_is_plain(index_t columns) { return columns > 4 || (columns == 4 && !std::is_same_v<T, float>); }

  /// Does the work; on a device after a look at whether the plain kernel of that name does it.
  template <class Work>
  void call(const std::string& kernel, bool is_plain, Work work) {
    if (backend_.kind() == BackendKind::cuda) {
      const auto launched = recorded_kernels(backend_.stream(), work);
      const auto is_wanted = [&](const RecordedKernel& found) {
        return found.name.find("::" + kernel + "_plain_kernel<") != std::string::npos;
      };
      EXPECT_EQ(std::ranges::count_if(launched, is_wanted), is_plain ? 1 : 0) << kernel;
    }
    work();
  }

  MatrixBatchView<T> view(Array<T>& a, index_t columns = order) const {
    return MatrixBatchView<T>::strided(a.data(), order, columns, order, offset_t{order} * columns, 2,
                                       backend_.memory_space());
  }
  Array<T> right_hand_sides(index_t columns) const {
    return {backend_, random_vector<T>(2 * std::size_t{order} * static_cast<std::size_t>(columns), 92)};
  }
  void expect_success() const { EXPECT_EQ(info_.to_host(), std::vector<int>(2)); }
  void keep(const char* name, const Array<T>& result) { results_.emplace_back(name, result.to_host()); }

  Backend backend_;
  Array<index_t> numbers_;
  Array<int> info_;
  std::vector<std::pair<const char*, std::vector<T>>> results_;
};

/// operate(operations), on the host and on a device of 99 KB.
template <Scalar T, class Operate>
void expect_results_of_the_host(Operate operate) {
  Operations<T> on_host(Backend::host());
  operate(on_host);
  const LessSharedMemory limit(99);
  std::vector<std::pair<const char*, std::vector<T>>> found;
  // The library asks once a thread.
  std::thread([&] {
    EXPECT_NO_THROW({
      Operations<T> there(Backend::cuda());
      operate(there);
      found = there.results();
    });
  }).join();
  const auto& expected = on_host.results();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    SCOPED_TRACE(expected[k].first);
    EXPECT_STREQ(found[k].first, expected[k].first);
    // Beside a diagonal of 2 N there are at most about 0.8 N: cond <= 3, and two backward errors of 10 N eps ||A||.
    EXPECT_LE(relative_difference(found[k].second, expected[k].second), 2 * 10 * 3 * 3 * order * epsilon<T>);
  }
}

TYPED_TEST(LessSharedMemoryTest, Inverse) {
  expect_results_of_the_host<TypeParam>([](auto& operations) { operations.inverse(); });
}

TYPED_TEST(LessSharedMemoryTest, LuAndSolves) {
  expect_results_of_the_host<TypeParam>([](auto& operations) { operations.lu_and_solves(); });
}

TYPED_TEST(LessSharedMemoryTest, InverseFromLu) {
  expect_results_of_the_host<TypeParam>([](auto& operations) { operations.inverse_from_lu(); });
}

TYPED_TEST(LessSharedMemoryTest, CholeskyOfTheLowerTriangle) {
  expect_results_of_the_host<TypeParam>([](auto& operations) { operations.cholesky(batched::Triangle::lower); });
}

TYPED_TEST(LessSharedMemoryTest, CholeskyOfTheUpperTriangle) {
  expect_results_of_the_host<TypeParam>([](auto& operations) { operations.cholesky(batched::Triangle::upper); });
}

TYPED_TEST(LessSharedMemoryTest, Qr) {
  expect_results_of_the_host<TypeParam>([](auto& operations) { operations.qr(); });
}

TYPED_TEST(LessSharedMemoryTest, SetUp) {
  expect_results_of_the_host<TypeParam>([](auto& operations) { operations.set_up(); });
}

}  // namespace
}  // namespace blockjacobi::test
