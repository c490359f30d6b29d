#include "backends/batched_cholesky.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
bool hermitian(const Dense<T>& a) {
  return same_bits<T>(a, a.transpose().eval().conjugate()) ||
         (a.array() == a.adjoint().array()).all();  // differs by the sign of a zero
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
      const auto stored = spd_inverses(backend, triangle, a, x, storage, std::vector<int>(matrices.size()));
      if (storage == SpdStorage::full) {
        EXPECT_TRUE(x.padding_untouched());
      }
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        const Dense<T>& a_k = matrices[k].matrix;
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(a_k.rows()));
        const Dense<T> inverse = storage == SpdStorage::full
                                     ? stored[k]
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
TYPED_TEST(BatchedOnBackend, SpdInversesOfTinyAndLargeMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(211);
  for (const index_t largest : {77, 101, 300})
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
      const std::vector<int> no_failure(matrices.size());
      const auto inverses = spd_inverses(backend, triangle, a, x, SpdStorage::full, no_failure);
      EXPECT_TRUE(a.padding_untouched() && x.padding_untouched());
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
      const std::vector<int> no_failure(matrices.size());
      const auto in_place = spd_inverses(backend, triangle, same, same, SpdStorage::packed, no_failure);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        const T* const start = packed.data() + static_cast<std::ptrdiff_t>(k) * stride;
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, unpacked(triangle, start, n)), accuracy);
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, unpacked(triangle, in_place[k].data(), n)), accuracy);
        for (index_t i = length; i < stride; ++i) EXPECT_EQ(start[i], T(-99));
      }
    }
}

TYPED_TEST(BatchedOnBackend, SpdInversesInEveryFormOfBatch) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(204);
  for (const BatchForm& form : batch_forms)
    for (const Triangle triangle : triangles) {
      std::vector<NamedMatrix<T>> matrices;
      for (const index_t n : {5, 16, 1, 32, 9, 18, 22, 28})
        matrices.push_back(spd_matrices<T>(form.orders ? n : 9, random)[0]);
      if (form.orders) matrices.push_back({"empty", Dense<T>(0, 0)});
      const auto input = only_triangles(triangle, matrices);
      const TestBatch<T> a(backend, input, form), x(backend, TestBatch<T>::nan_like(input), form);
      const std::vector<int> no_failure(matrices.size());
      const auto inverses = spd_inverses(backend, triangle, a, x, SpdStorage::full, no_failure);
      EXPECT_TRUE(x.padding_untouched());
      const auto factors = factored(backend, triangle, a, no_failure);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        if (matrices[k].matrix.size() == 0) continue;
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, inverses[k]), accuracy);
        EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy);
      }
    }
}

/// Of conditions that no scale of rows and columns takes away. The errors of such an inverse are much larger than its
/// residual, which two halves of different inverses would not have.
TYPED_TEST(BatchedOnBackend, SpdInversesOfIllConditionedMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(212);
  for (const index_t n : few_batched_orders()) {
    const Dense<T> unitary = uniform_random<T>(n, n, random).householderQr().householderQ();
    Dense<T> scaled = unitary;
    for (index_t j = 0; j < n; ++j) scaled.col(j) *= T(grade<T>(j, n, sizeof(real_t<T>) == sizeof(double) ? 12 : 4));
    const Dense<T> product = scaled * unitary.adjoint();
    const Dense<T> a = (product + product.adjoint()) / T(2);
    for (const Triangle triangle : triangles)
      expect_spd_inverses<T>(this->make_backend(), triangle, {{"ill-conditioned", a}}, {.packed = true});
  }
}

/// Inf does not vanish in an inverse, and the minors before it are as definite as they were. On the diagonal it may
/// pass for a pivot; beside the diagonal it makes the minor with both its rows indefinite.
template <Scalar T>
void expect_spd_inverses_of_infinite_matrices(const Backend& backend, const std::vector<index_t>& orders,
                                              index_t largest) {
  Random random(207);
  for (const index_t n : orders)
    for (const Triangle triangle : triangles) {
      if (n > largest) continue;
      std::vector<Dense<T>> matrices;
      const std::pair<index_t, index_t> places[] = {{0, 0}, {n / 2, n / 2}, {n - 1, n - 1}, {n - 1, 0}, {n - 1, n / 2}};
      for (const auto& [i, j] : places) {
        matrices.push_back(spd_matrices<T>(n, random)[0].matrix);
        matrices.back()(i, j) = matrices.back()(j, i) = T(std::numeric_limits<real_t<T>>::infinity());
      }
      const TestBatch<T> a(backend, matrices), x(backend, matrices);
      Array<int> info(backend, matrices.size());
      batched::spd_inverse(backend, triangle, a.view(), x.view(), SpdStorage::full, info.data());
      for (const Dense<T>& inverse : x.matrices()) EXPECT_TRUE(inverse.hasNaN()) << "order " << n;
      const auto inverse_info = info.to_host();

      batched::potrf(backend, triangle, a.view(), info.data());
      const auto factor_info = info.to_host();
      batched::potri(backend, triangle, a.view(), info.data());
      const auto inverses = a.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(::testing::Message() << "matrix " << k << " of order " << n << ", info " << factor_info[k]);
        const auto& [i, j] = places[k];
        for (const int found : {inverse_info[k], factor_info[k]}) {
          if (i != j)
            EXPECT_EQ(found, n);
          else
            EXPECT_TRUE(found == 0 || (found > i && found <= n)) << found;
        }
        if (factor_info[k] != 0) continue;
        Dense<T> stored = inverses[k];
        for (index_t column = 0; column < n; ++column)
          for (index_t row = 0; row < n; ++row)
            if (!inside(triangle, row, column)) stored(row, column) = T(0);
        EXPECT_FALSE(stored.allFinite());
      }
    }
}

TYPED_TEST(BatchedOnBackend, SpdInversesOfInfiniteMatricesAreNotFinite) {
  using T = typename TypeParam::Scalar;
  expect_spd_inverses_of_infinite_matrices<T>(this->make_backend(), few_batched_orders(), 33);
}

TYPED_TEST(BatchedOnBackend, SpdInversesOfInfiniteMatricesOfEveryOrderAreNotFinite) {
  using T = typename TypeParam::Scalar;
  expect_spd_inverses_of_infinite_matrices<T>(this->make_backend(), all_batched_orders(), 64);
}

}  // namespace
}  // namespace blockjacobi::test
