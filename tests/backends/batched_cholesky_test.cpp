#include "support/batch.hpp"
#include "support/hard_matrices.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

using batched::SpdStorage;
using batched::Triangle;

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

constexpr Triangle triangles[] = {Triangle::lower, Triangle::upper};

bool inside(Triangle triangle, Eigen::Index i, Eigen::Index j) { return triangle == Triangle::lower ? i >= j : i <= j; }

/// The triangle of `a`, NaN in the other one, and a number that nobody should read in the imaginary diagonal.
template <Scalar T>
Dense<T> only_triangle(Triangle triangle, Dense<T> a) {
  for (Eigen::Index j = 0; j < a.cols(); ++j)
    for (Eigen::Index i = 0; i < a.rows(); ++i)
      if (!inside(triangle, i, j)) a(i, j) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  if constexpr (is_complex<T>)
    for (Eigen::Index i = 0; i < a.rows(); ++i) a(i, i) = T(std::real(a(i, i)), std::abs(a(i, i)) * 7);
  return a;
}

template <Scalar T>
std::vector<Dense<T>> only_triangles(Triangle triangle, const std::vector<NamedMatrix<T>>& matrices) {
  std::vector<Dense<T>> result;
  for (const auto& m : matrices) result.push_back(only_triangle(triangle, m.matrix));
  return result;
}

/// The Hermitian matrix of a triangle. Expects the other triangle to be NaN still.
template <Scalar T>
Dense<T> completed(Triangle triangle, const Dense<T>& a) {
  Dense<T> full = a;
  for (Eigen::Index j = 0; j < a.cols(); ++j)
    for (Eigen::Index i = 0; i < a.rows(); ++i)
      if (!inside(triangle, i, j)) {
        EXPECT_TRUE(std::isnan(std::real(a(i, j)))) << "(" << i << ", " << j << ") was written";
        full(i, j) = Eigen::numext::conj(a(j, i));
      }
  return full;
}

template <Scalar T>
double cholesky_error(Triangle triangle, const Dense<T>& a, const Dense<T>& factor) {
  WideDense<T> f = widened(completed(triangle, factor));
  f = triangle == Triangle::lower ? WideDense<T>(f.template triangularView<Eigen::Lower>())
                                  : WideDense<T>(f.template triangularView<Eigen::Upper>());
  const WideDense<T> product =
      triangle == Triangle::lower ? WideDense<T>(f * f.adjoint()) : WideDense<T>(f.adjoint() * f);
  return scaled_error<T>(widened(a) - product, a.rows(), infinity_norm(widened(a)));
}

template <Scalar T>
bool hermitian(const Dense<T>& a) {
  return same_bits<T>(a, a.transpose().eval().conjugate()) ||
         (a.array() == a.adjoint().array()).all();  // differs by the sign of a zero
}

TYPED_TEST(BatchedOnBackend, CholeskyAndItsInverse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(201);
  for (const index_t n : all_batched_orders())
    for (const Triangle triangle : triangles) {
      const auto matrices = spd_matrices<T>(n, random);
      const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.padding = n % 3});
      Array<int> info(backend, matrices.size());
      batched::potrf(backend, triangle, a.view(), info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      const auto factors = a.matrices();
      batched::potri(backend, triangle, a.view(), info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      EXPECT_TRUE(a.padding_untouched());
      const auto inverses = a.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy);
        for (index_t i = 0; i < n; ++i) {
          EXPECT_GT(std::real(factors[k](i, i)), 0);
          EXPECT_EQ(std::imag(factors[k](i, i)), 0);
          EXPECT_EQ(std::imag(inverses[k](i, i)), 0);
        }
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, completed(triangle, inverses[k])), accuracy);
      }
    }
}

TYPED_TEST(BatchedOnBackend, CholeskyOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(208);
  for (const index_t n : large_orders)
    for (const Triangle triangle : triangles) {
      auto matrices = spd_matrices<T>(n, random);
      if (n > 200) matrices.resize(2);
      const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.padding = n % 3});
      Array<int> info(backend, matrices.size());
      batched::potrf(backend, triangle, a.view(), info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      EXPECT_TRUE(a.padding_untouched());
      const auto factors = a.matrices();
      batched::potri(backend, triangle, a.view(), info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      EXPECT_TRUE(a.padding_untouched());
      const auto inverses = a.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy);
        if (n <= 200 || k == 0) {
          EXPECT_LE(inverse_error<T>(matrices[k].matrix, completed(triangle, inverses[k])), accuracy);
        }
      }
    }
}

/// Tiny and large matrices in one batch, some indefinite.
TYPED_TEST(BatchedOnBackend, SmallCholeskyOfTinyAndLargeMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(209);
  for (const auto& [triangle, largest] : {std::pair{Triangle::lower, 77},
                                          {Triangle::upper, 77},
                                          {Triangle::lower, 130},
                                          {Triangle::upper, 130},
                                          {Triangle::lower, 201},
                                          {Triangle::upper, 201}}) {
    std::vector<NamedMatrix<T>> matrices;
    for (const index_t n : {40, 7, largest, 33, 32}) matrices.push_back(spd_matrices<T>(n, random)[0]);
    std::vector<int> expected(matrices.size(), 0);
    for (const index_t j : {0, 20, 56}) {
      matrices.push_back(spd_matrices<T>(57, random)[0]);
      matrices.back().matrix(j, j) = -matrices.back().matrix(j, j);
      expected.push_back(j + 1);
    }
    const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.padding = 1, .pointers = true, .orders = true});
    Array<int> info(backend, matrices.size());
    batched::potrf(backend, triangle, a.view(), info.data());
    EXPECT_EQ(info.to_host(), expected);
    EXPECT_TRUE(a.padding_untouched());
    const auto factors = a.matrices();
    batched::potri(backend, triangle, a.view(), info.data());
    EXPECT_TRUE(a.padding_untouched());
    const auto inverses = a.matrices();
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      if (expected[k] == 0) {
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, completed(triangle, inverses[k])), accuracy) << "matrix " << k;
      }
      const index_t j = expected[k] == 0 ? matrices[k].matrix.rows() : expected[k] - 1;  // the order of the factor
      if (j == 0) continue;
      const Dense<T> leading = matrices[k].matrix.topLeftCorner(j, j), factor = factors[k].topLeftCorner(j, j);
      EXPECT_LE(cholesky_error(triangle, leading, factor), accuracy) << "matrix " << k << ", order " << j;
    }
  }
}

/// Unpacks LAPACK's packed triangle from the start of the storage of x.
template <Scalar T>
Dense<T> unpacked(Triangle triangle, const T* packed, index_t n) {
  Dense<T> full(n, n);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = triangle == Triangle::lower ? j : 0; i < (triangle == Triangle::lower ? n : j + 1); ++i) {
      full(i, j) = *packed++;
      full(j, i) = Eigen::numext::conj(full(i, j));
    }
  for (index_t i = 0; i < n; ++i) {
    EXPECT_EQ(std::imag(full(i, i)), 0);
    full(i, i) = T(std::real(full(i, i)));
  }
  return full;
}

/// Full and packed, in another place and in that of the input.
template <Scalar T>
void expect_spd_inverses(const Backend& backend, Triangle triangle, const std::vector<NamedMatrix<T>>& matrices,
                         const BatchForm& form, const std::vector<bool>& places = {false, true}) {
  const auto input = only_triangles(triangle, matrices);
  for (const SpdStorage storage : {SpdStorage::full, SpdStorage::packed})
    for (const bool in_place : places) {
      const TestBatch<T> a(backend, input, form), other(backend, TestBatch<T>::nan_like(input), {.pointers = true});
      const TestBatch<T>& x = in_place ? a : other;
      Array<int> info(backend, matrices.size());
      batched::spd_inverse(backend, triangle, a.view(), x.view_for(a), storage, info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      if (storage == SpdStorage::full) {
        EXPECT_TRUE(x.padding_untouched());
      }
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        const Dense<T>& a_k = matrices[k].matrix;
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(a_k.rows()));
        const Dense<T> inverse = storage == SpdStorage::full
                                     ? x.matrices()[k]
                                     : unpacked(triangle, x.elements(k).data(), static_cast<index_t>(a_k.rows()));
        EXPECT_TRUE(hermitian(inverse));
        EXPECT_LE(inverse_error<T>(a_k, inverse), accuracy);
      }
    }
}

TYPED_TEST(BatchedOnBackend, SpdInversesOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(210);
  for (const index_t n : large_orders)
    for (const Triangle triangle : triangles) {
      if (n > 200 && (n % 2 == 0) != (triangle == Triangle::lower)) continue;  // evaluating them takes long
      const auto matrices = spd_matrices<T>(n, random);
      expect_spd_inverses<T>(this->make_backend(), triangle, {matrices[static_cast<std::size_t>(n) % matrices.size()]},
                             {.padding = n % 3}, {n % 4 == 0});
    }
}

/// Tiny and large matrices in one batch.
TYPED_TEST(BatchedOnBackend, SmallSpdInversesOfTinyAndLargeMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(211);
  for (const index_t largest : {77, 101})
    for (const Triangle triangle : triangles) {
      std::vector<NamedMatrix<T>> matrices;
      for (const index_t n : {40, 7, largest, 33, 32, 64}) matrices.push_back(spd_matrices<T>(n, random)[0]);
      expect_spd_inverses(this->make_backend(), triangle, matrices, {.padding = 1, .pointers = true, .orders = true});
      expect_spd_inverses(this->make_backend(), triangle, matrices, {.packed = true, .orders = true});
    }
}

TYPED_TEST(BatchedOnBackend, SpdInversesFull) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(202);
  for (const index_t n : all_batched_orders())
    for (const Triangle triangle : triangles) {
      const bool in_place = (n % 2 == 0) == (triangle == Triangle::upper);
      const auto matrices = spd_matrices<T>(n, random);
      const auto input = only_triangles(triangle, matrices);
      const TestBatch<T> a(backend, input, {.padding = 2});
      const TestBatch<T> other(backend, TestBatch<T>::nan_like(input));
      const TestBatch<T>& x = in_place ? a : other;
      Array<int> info(backend, matrices.size());
      batched::spd_inverse(backend, triangle, a.view(), x.view(), SpdStorage::full, info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      EXPECT_TRUE(a.padding_untouched() && x.padding_untouched());
      const auto inverses = x.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        EXPECT_TRUE(hermitian(inverses[k]));
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, inverses[k]), accuracy);
      }
    }
}

TYPED_TEST(BatchedOnBackend, SpdInversesPacked) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(203);
  for (const index_t n : all_batched_orders())
    for (const Triangle triangle : triangles) {
      const auto matrices = spd_matrices<T>(n, random);
      const auto input = only_triangles(triangle, matrices);
      const index_t length = n * (n + 1) / 2, stride = length + 3;
      const TestBatch<T> a(backend, input, {.padding = 1});
      Array<int> info(backend, matrices.size());
      std::vector<T> packed(static_cast<std::size_t>(stride) * matrices.size(), T(-99));
      const Array<T> x(backend, packed);
      const auto view = MatrixBatchView<T>::strided(x.data(), n, n, 0, stride, static_cast<offset_t>(matrices.size()),
                                                    backend.memory_space());
      batched::spd_inverse(backend, triangle, a.view(), view, SpdStorage::packed, info.data());
      packed = x.to_host();

      const TestBatch<T> same(backend, input);
      batched::spd_inverse(backend, triangle, same.view(), same.view(), SpdStorage::packed, info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      const auto in_place = same.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        const T* const start = packed.data() + static_cast<std::ptrdiff_t>(k) * stride;
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, unpacked(triangle, start, n)), accuracy);
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, unpacked(triangle, in_place[k].data(), n)), accuracy);
        for (index_t i = length; i < stride; ++i) EXPECT_EQ(start[i], T(-99));
      }
    }
}

TYPED_TEST(BatchedOnBackend, SmallSpdInversesInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(204);
  for (const BatchForm& form : batch_forms)
    for (const Triangle triangle : triangles) {
      std::vector<NamedMatrix<T>> matrices;
      for (const index_t n : {5, 16, 1, 32, 9}) matrices.push_back(spd_matrices<T>(form.orders ? n : 9, random)[0]);
      if (form.orders) matrices.push_back({"empty", Dense<T>(0, 0)});
      const auto input = only_triangles(triangle, matrices);
      const TestBatch<T> a(backend, input, form), x(backend, TestBatch<T>::nan_like(input), form);
      Array<int> info(backend, matrices.size());
      batched::spd_inverse(backend, triangle, a.view(), x.view_for(a), SpdStorage::full, info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      EXPECT_TRUE(x.padding_untouched());
      const auto inverses = x.matrices();
      batched::potrf(backend, triangle, a.view(), info.data());
      EXPECT_TRUE(a.padding_untouched());
      const auto factors = a.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        if (matrices[k].matrix.size() == 0) continue;
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, inverses[k]), accuracy);
        EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy);
      }
    }
}

/// Not positive definite first at a known order, and the order.
template <Scalar T>
struct Indefinite {
  Dense<T> matrix;
  int info;
};

template <Scalar T>
std::vector<Indefinite<T>> indefinite_matrices(index_t n, Random& random) {
  const Dense<T> plain = spd_matrices<T>(n, random)[0].matrix;
  std::vector<Indefinite<T>> matrices{{Dense<T>::Zero(n, n), 1}};
  for (const index_t j : {0, n / 2, n - 1}) {
    matrices.push_back({plain, j + 1});
    matrices.back().matrix(j, j) = -plain(j, j);
    matrices.push_back({plain, j + 1});
    matrices.back().matrix(j, j) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  }
  if (n > 1) matrices.push_back({Dense<T>::Ones(n, n), 2});
  return matrices;
}

template <Scalar T>
void expect_first_indefinite_minor(const Backend& backend, const std::vector<index_t>& orders) {
  Random random(205);
  for (const index_t n : orders)
    for (const Triangle triangle : triangles) {
      if (n > 77) continue;
      const auto bad = indefinite_matrices<T>(n, random);
      std::vector<Dense<T>> good, mixed;
      std::vector<int> expected;
      for (const auto& m : bad) {
        const Dense<T> neighbour = spd_matrices<T>(n, random)[0].matrix;
        good.insert(good.end(), {neighbour, neighbour});
        mixed.insert(mixed.end(), {neighbour, m.matrix});
        expected.insert(expected.end(), {0, m.info});
      }
      const TestBatch<T> a(backend, mixed), alone(backend, good), x(backend, mixed), x_alone(backend, good);
      Array<int> info(backend, mixed.size());
      batched::spd_inverse(backend, triangle, alone.view(), x_alone.view(), SpdStorage::full, info.data());
      batched::spd_inverse(backend, triangle, a.view(), x.view(), SpdStorage::full, info.data());
      EXPECT_EQ(info.to_host(), expected) << "order " << n;
      const auto inverses = x.matrices(), inverses_alone = x_alone.matrices();
      batched::potrf(backend, triangle, a.view(), info.data());
      EXPECT_EQ(info.to_host(), expected) << "order " << n;
      const auto factors = a.matrices();
      batched::potrf(backend, triangle, alone.view(), info.data());
      const auto factors_alone = alone.matrices();
      for (std::size_t k = 0; k < mixed.size(); ++k) {
        if (k % 2 == 1) {
          EXPECT_TRUE(all_nan(inverses[k]));
        } else {
          EXPECT_TRUE(same_bits(inverses[k], inverses_alone[k]));
          EXPECT_TRUE(same_bits(factors[k], factors_alone[k]));
        }
      }
    }
}

TYPED_TEST(BatchedOnBackend, SmallCholeskyNamesTheFirstIndefiniteMinor) {
  expect_first_indefinite_minor<typename TypeParam::Scalar>(this->make_backend(), few_batched_orders());
}

TYPED_TEST(BatchedOnBackend, CholeskyOfEveryOrderNamesTheFirstIndefiniteMinor) {
  expect_first_indefinite_minor<typename TypeParam::Scalar>(this->make_backend(), all_batched_orders());
}

/// Inf does not vanish in an inverse.
template <Scalar T>
void expect_spd_inverses_of_infinite_matrices(const Backend& backend, const std::vector<index_t>& orders,
                                              index_t largest) {
  Random random(207);
  for (const index_t n : orders)
    for (const Triangle triangle : triangles) {
      if (n > largest) continue;
      std::vector<Dense<T>> matrices;
      for (const auto& [i, j] : {std::pair{0, 0}, {n / 2, n / 2}, {n - 1, n - 1}, {n - 1, 0}, {n - 1, n / 2}}) {
        matrices.push_back(spd_matrices<T>(n, random)[0].matrix);
        matrices.back()(i, j) = matrices.back()(j, i) = T(std::numeric_limits<real_t<T>>::infinity());
      }
      const TestBatch<T> a(backend, matrices), x(backend, matrices);
      Array<int> info(backend, matrices.size());
      batched::spd_inverse(backend, triangle, a.view(), x.view(), SpdStorage::full, info.data());
      for (const Dense<T>& inverse : x.matrices()) EXPECT_TRUE(inverse.hasNaN()) << "order " << n;

      batched::potrf(backend, triangle, a.view(), info.data());
      const auto factor_info = info.to_host();
      batched::potri(backend, triangle, a.view(), info.data());
      const auto inverses = a.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        Dense<T> stored = inverses[k];
        for (index_t j = 0; j < n; ++j)
          for (index_t i = 0; i < n; ++i)
            if (!inside(triangle, i, j)) stored(i, j) = T(0);
        EXPECT_TRUE(factor_info[k] != 0 || !stored.allFinite()) << "matrix " << k << " of order " << n;
      }
    }
}

TYPED_TEST(BatchedOnBackend, SmallSpdInversesOfInfiniteMatricesAreNotFinite) {
  using T = typename TypeParam::Scalar;
  expect_spd_inverses_of_infinite_matrices<T>(this->make_backend(), few_batched_orders(), 33);
}

TYPED_TEST(BatchedOnBackend, SpdInversesOfInfiniteMatricesOfEveryOrderAreNotFinite) {
  using T = typename TypeParam::Scalar;
  expect_spd_inverses_of_infinite_matrices<T>(this->make_backend(), all_batched_orders(), 64);
}

template <Scalar T>
void expect_cholesky_of_many_matrices(const Backend& backend, const std::vector<index_t>& orders) {
  Random random(207);
  for (const index_t n : orders) {
    if (n > 32) continue;
    std::vector<NamedMatrix<T>> matrices;  // several warps and a part of one
    for (int i = 0; i < 9; ++i)
      for (auto& m : spd_matrices<T>(n, random)) matrices.push_back(std::move(m));
    matrices.pop_back();
    for (const Triangle triangle : triangles)
      for (const index_t padding : {0, 1}) {
        const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.padding = padding});
        Array<int> info(backend, matrices.size());
        batched::potrf(backend, triangle, a.view(), info.data());
        EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
        EXPECT_TRUE(a.padding_untouched());
        const auto factors = a.matrices();
        for (std::size_t k = 0; k < matrices.size(); ++k)
          EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy)
              << matrices[k].name << ", order " << n << ", padding " << padding;
      }
  }
}

TYPED_TEST(BatchedOnBackend, SmallCholeskyOfManyMatrices) {
  expect_cholesky_of_many_matrices<typename TypeParam::Scalar>(this->make_backend(), few_batched_orders());
}

TYPED_TEST(BatchedOnBackend, CholeskyOfManyMatricesOfEveryOrder) {
  expect_cholesky_of_many_matrices<typename TypeParam::Scalar>(this->make_backend(), all_batched_orders());
}

TYPED_TEST(BatchedOnBackend, SmallCholeskyFactorsUpToTheIndefiniteMinor) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(208);
  for (const index_t n : {3, 6, 8, 13, 16, 22, 32, 43}) {
    std::vector<Dense<T>> matrices;
    std::vector<int> expected;
    for (index_t j = 0; j < n; ++j) {
      const Dense<T> plain = spd_matrices<T>(n, random)[0].matrix;
      for (const T bad : {-plain(j, j), T(0), T(std::numeric_limits<real_t<T>>::quiet_NaN())}) {
        matrices.push_back(plain);
        matrices.back()(j, j) = bad;
        expected.push_back(j + 1);
      }
    }
    for (const Triangle triangle : triangles)
      for (const index_t padding : {0, 2}) {
        std::vector<Dense<T>> input;
        for (const auto& m : matrices) input.push_back(only_triangle(triangle, m));
        const TestBatch<T> a(backend, input, {.padding = padding});
        Array<int> info(backend, matrices.size());
        batched::potrf(backend, triangle, a.view(), info.data());
        EXPECT_EQ(info.to_host(), expected) << "order " << n;
        EXPECT_TRUE(a.padding_untouched());
        const auto factors = a.matrices();
        for (std::size_t k = 0; k < matrices.size(); ++k) {
          const index_t j = expected[k] - 1;
          const Dense<T> leading = matrices[k].topLeftCorner(j, j), factor = factors[k].topLeftCorner(j, j);
          EXPECT_LE(cholesky_error(triangle, leading, factor), accuracy) << "order " << n << ", minor " << j + 1;
        }
      }
  }
}

TYPED_TEST(BatchedOnBackend, TwoRunsOfCholeskyGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(212);
  for (const index_t n : {5, 16, 29, 75})
    for (const Triangle triangle : triangles) {
      std::vector<Dense<T>> matrices;
      for (int i = 0; i < 25; ++i)
        for (const auto& m : spd_matrices<T>(n, random)) matrices.push_back(m.matrix);
      const auto factors = [&] {
        const TestBatch<T> a(backend, matrices);
        Array<int> info(backend, matrices.size());
        batched::potrf(backend, triangle, a.view(), info.data());
        return a.matrices();
      };
      const auto one = factors(), two = factors();
      for (std::size_t k = 0; k < matrices.size(); ++k) EXPECT_TRUE(same_bits(one[k], two[k])) << "order " << n;
    }
}

TYPED_TEST(BatchedOnBackend, SmallCholeskyOfSubnormalMatrices) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  Random random(209);
  const R least = std::numeric_limits<R>::denorm_min();
  for (const index_t n : {1, 4, 7, 12, 16, 19, 32})
    for (const Triangle triangle : triangles)
      for (const index_t padding : {0, 1}) {
        // Diagonals around 2^10 times the least number.
        const Dense<T> scaled = spd_matrices<T>(n, random)[0].matrix * T(1024 * least);
        const TestBatch<T> a(backend, {only_triangle(triangle, scaled)}, {.padding = padding});
        Array<int> info(backend, 1);
        batched::potrf(backend, triangle, a.view(), info.data());
        EXPECT_EQ(info.to_host(), std::vector<int>{0}) << "order " << n;
        WideDense<T> f = widened(completed(triangle, a.matrices()[0]));
        f = triangle == Triangle::lower ? WideDense<T>(f.template triangularView<Eigen::Lower>())
                                        : WideDense<T>(f.template triangularView<Eigen::Upper>().adjoint());
        EXPECT_LE(infinity_norm(WideDense<T>(f * f.adjoint() - widened(scaled))),
                  4 * n * n * static_cast<long double>(least))
            << "order " << n;
      }
}

TYPED_TEST(BatchedOnBackend, SmallInverseFromASingularCholeskyFactor) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {6, 45, 101})
    for (const Triangle triangle : triangles) {
      Dense<T> singular = Dense<T>::Identity(n, n);
      singular(3, 3) = singular(n - 1, n - 1) = T(0);
      const TestBatch<T> a(backend, {Dense<T>::Identity(n, n), only_triangle(triangle, singular)});
      Array<int> info(backend, 2);
      batched::potri(backend, triangle, a.view(), info.data());
      EXPECT_EQ(info.to_host(), (std::vector<int>{0, 4}));
      EXPECT_EQ(a.matrices()[0], Dense<T>(Dense<T>::Identity(n, n)));
      EXPECT_TRUE(all_nan(a.matrices()[1]));
    }
}

/// ||A X - B|| / (N eps ||A|| ||X||).
template <Scalar T>
double solve_error(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
  const WideDense<T> wide_a = widened(a), wide_x = widened(x);
  return scaled_error<T>(wide_a * wide_x - widened(b), a.rows(), infinity_norm(wide_a) * infinity_norm(wide_x));
}

template <Scalar T>
void expect_solves(const Backend& backend, index_t n, index_t columns, Random& random) {
  for (const Triangle triangle : triangles) {
    const auto matrices = spd_matrices<T>(n, random);
    const TestBatch<T> a(backend, only_triangles(triangle, matrices));
    std::vector<Dense<T>> right;
    for (std::size_t k = 0; k < matrices.size(); ++k) right.push_back(uniform_random<T>(n, columns, random));
    const TestBatch<T> b(backend, right, {.padding = 1});
    Array<int> info(backend, matrices.size());
    batched::potrf(backend, triangle, a.view(), info.data());
    batched::potrs(backend, triangle, a.view(), b.view());
    EXPECT_TRUE(b.padding_untouched());
    const auto x = b.matrices();
    for (std::size_t k = 0; k < matrices.size(); ++k)
      EXPECT_LE(solve_error(matrices[k].matrix, x[k], right[k]), accuracy) << matrices[k].name << ", order " << n;
  }
}

TYPED_TEST(BatchedOnBackend, SolvesFromCholesky) {
  Random random(206);
  for (const index_t n : all_batched_orders())
    for (const index_t columns : {1, 4, 5})
      expect_solves<typename TypeParam::Scalar>(this->make_backend(), n, columns, random);
}

TYPED_TEST(BatchedOnBackend, SmallSolvesAboveOrder32FromCholesky) {
  Random random(209);
  for (const index_t columns : {1, 2, 3, 6})
    expect_solves<typename TypeParam::Scalar>(this->make_backend(), 45, columns, random);
}

TYPED_TEST(BatchedOnBackend, SolvesManyRightHandSidesFromCholesky) {
  Random random(207);
  for (const index_t n : large_orders) expect_solves<typename TypeParam::Scalar>(this->make_backend(), n, 37, random);
}

TYPED_TEST(BatchedOnBackend, SmallSolvesFromCholeskyOfMixedOrder) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(208);
  for (const Triangle triangle : triangles)
    for (const index_t columns : {1, 2, 20}) {
      std::vector<NamedMatrix<T>> matrices;
      std::vector<Dense<T>> right;
      for (const index_t n : {5, 33, 70, 1, 32}) {
        matrices.push_back(spd_matrices<T>(n, random)[0]);
        right.push_back(uniform_random<T>(70, columns, random));
      }
      const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.orders = true});
      const TestBatch<T> b(backend, right, {.padding = 1});
      Array<int> info(backend, matrices.size());
      batched::potrf(backend, triangle, a.view(), info.data());
      batched::potrs(backend, triangle, a.view(), b.view());
      EXPECT_TRUE(b.padding_untouched());
      const auto x = b.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        const auto& matrix = matrices[k].matrix;
        const auto n = matrix.rows();
        EXPECT_TRUE(same_bits<T>(x[k].bottomRows(70 - n), right[k].bottomRows(70 - n)));
        EXPECT_LE(solve_error<T>(matrix, x[k].topRows(n), right[k].topRows(n)), accuracy) << "order " << n;
      }
    }
}

}  // namespace
}  // namespace blockjacobi::test
