#include "backends/batched_cholesky.hpp"
#include "backends/batched_inverse.hpp"
#include "backends/batched_lu.hpp"
#include "backends/batched_qr.hpp"
#include "backends/block_jacobi.hpp"

namespace blockjacobi::test {
namespace {

/// One batch of each order of every operation, back to back, as kernels of a single order take them: against the host
/// in norms, and against the matrix in long double. The smallest set that reaches every such kernel.
template <class Case>
class EveryOrder : public BackendTest<Case> {};
TYPED_TEST_SUITE(EveryOrder, BackendCases, BackendCaseName);

constexpr index_t largest_exact_order = 32;
/// Few matrices share thread blocks and warps otherwise than many; neither number fills the last ones.
constexpr std::size_t counts[] = {3, 70};

/// Residuals in long double take long: of the first matrices, and of some in other places of warps and thread blocks.
bool is_checked(std::size_t k) { return k < 3 || k % 23 == 0; }

template <Scalar T>
std::vector<Dense<T>> random_batch(index_t n, std::size_t count, Random& random) {
  std::vector<Dense<T>> matrices;
  for (std::size_t k = 0; k < count; ++k) matrices.push_back(random_dense<T>(n, random));
  return matrices;
}

/// Hermitian with eigenvalues of at least n, as far from singular as random_dense.
template <Scalar T>
std::vector<Dense<T>> random_definite(index_t n, std::size_t count, Random& random) {
  std::vector<Dense<T>> matrices;
  for (std::size_t k = 0; k < count; ++k) {
    const Dense<T> g = uniform_random<T>(n, n, random);
    matrices.push_back(product(g, Dense<T>(g.adjoint())) + static_cast<real_t<T>>(n) * Dense<T>::Identity(n, n));
    // exactly Hermitian, whatever the product rounds to
    matrices.back() = Dense<T>((matrices.back() + matrices.back().adjoint()) / T(2));
  }
  return matrices;
}

/// Every order and count, with a generator of its own.
template <class Body>
void for_every_order(Body body) {
  for (index_t n = 1; n <= largest_exact_order; ++n)
    for (const std::size_t count : counts) {
      if (count > counts[0] && is_under_tool()) continue;
      SCOPED_TRACE(std::to_string(count) + " of order " + std::to_string(n));
      Random random(static_cast<std::uint64_t>(1000 * n) + count);
      body(n, count, random);
    }
}

template <Scalar T>
double norm(const Dense<T>& a) {
  return static_cast<double>(infinity_norm(a));
}

/// ||X - Y|| <= 2 accuracy N eps ||A|| ||Y|| ||X|| of two inverses of A: for each of them I - A X = R or I - X A = R
/// with ||R|| <= accuracy N eps ||A|| ||X||, hence ||X - A^-1|| <= ||A^-1|| ||R||, and Y stands for A^-1 to first
/// order. The same holds for solutions X, Y of A X = B with ||A^-1|| in the place of ||Y||.
template <Scalar T>
double bound_of_inverses(const Dense<T>& a, const Dense<T>& inverse, const Dense<T>& x) {
  return 2 * accuracy * static_cast<double>(a.rows()) * std::numeric_limits<real_t<T>>::epsilon() * norm(a) *
         norm(inverse) * norm(x);
}

template <Scalar T>
void expect_inverses(const Backend& backend, const std::vector<Dense<T>>& a, const std::vector<Dense<T>>& found,
                     const std::vector<Dense<T>>& on_host) {
  ASSERT_EQ(found.size(), a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (is_checked(k)) {
      EXPECT_LE(inverse_error<T>(a[k], found[k]), accuracy) << "matrix " << k;
    }
    if (backend.kind() != BackendKind::host) {
      EXPECT_LE(norm<T>(found[k] - on_host[k]), bound_of_inverses(a[k], on_host[k], on_host[k])) << "matrix " << k;
    }
  }
}

/// ||F - G|| of two factors of A whose backward errors are accuracy N eps ||A|| each, to first order: `amplification`
/// is how much a factor changes by an error of norm 1.
template <Scalar T>
void expect_factors(const Backend& backend, const Dense<T>& a, const Dense<T>& found, const Dense<T>& on_host,
                    double amplification) {
  if (backend.kind() == BackendKind::host) return;
  const double eps = std::numeric_limits<real_t<T>>::epsilon();
  EXPECT_LE(norm<T>(found - on_host),
            2 * accuracy * static_cast<double>(a.rows()) * eps * norm(a) * amplification + eps * norm(on_host));
}

/// ||F^-1|| of a triangular matrix.
template <Scalar T>
double inverse_norm(const Dense<T>& f) {
  return static_cast<double>(infinity_norm(inverse_of(widened(f))));
}

TYPED_TEST(EveryOrder, Lu) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_batch<T>(n, count, random);
    const auto found = lu_factored(backend, a), host = lu_factored(Backend::host(), a);
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_EQ(found.info[k], 0);
      if (is_checked(k)) {
        EXPECT_LE(lu_error(a[k], found.lu[k], found.ipiv[k]), accuracy) << "matrix " << k;
      }
      // Equal but for rounding, pivots may be taken in another order: another factorization, as good.
      if (found.ipiv[k] != host.ipiv[k]) continue;
      // dL = L tril(L^-1 E U^-1), dU = triu(L^-1 E U^-1) U (Higham, "Accuracy and stability", section 9.11)
      const Dense<T> l = host.lu[k].template triangularView<Eigen::UnitLower>();
      const Dense<T> u = host.lu[k].template triangularView<Eigen::Upper>();
      const double inner = inverse_norm(l) * inverse_norm(u);
      expect_factors(backend, a[k], found.lu[k], host.lu[k], inner * (norm(l) + norm(u)));
    }
  });
}

TYPED_TEST(EveryOrder, Inverse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_batch<T>(n, count, random);
    for (const InverseBy by : {InverseBy::fused, InverseBy::factors}) {
      const auto found = inverted(backend, a, by, n % 2 == 0);
      EXPECT_EQ(found.info, std::vector<int>(count));
      expect_inverses(backend, a, found.x, inverted(Backend::host(), a, by, false).x);
    }
  });
}

TYPED_TEST(EveryOrder, Cholesky) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_definite<T>(n, count, random);
    for (const Triangle triangle : triangles) {
      std::vector<Dense<T>> input;
      for (const Dense<T>& each : a) input.push_back(only_triangle(triangle, each));
      auto found = factored_and_inverted(backend, triangle, input);
      auto host = factored_and_inverted(Backend::host(), triangle, input);
      for (std::vector<Dense<T>>* inverses : {&found.inverses, &host.inverses})
        for (Dense<T>& x : *inverses) x = completed(triangle, x);
      expect_inverses(backend, a, found.inverses, host.inverses);
      for (std::size_t k = 0; k < count; ++k) {
        Dense<T> f = found.factors[k], g = host.factors[k];
        for (Dense<T>* x : {&f, &g})
          for (Eigen::Index j = 0; j < n; ++j)
            for (Eigen::Index i = 0; i < n; ++i)
              if (!inside(triangle, i, j)) (*x)(i, j) = T(0);
        if (is_checked(k)) {
          const WideDense<T> wide = widened(f);
          const WideDense<T> square = triangle == Triangle::lower ? adjoint_square(wide) : adjoint_product(wide, wide);
          EXPECT_LE(scaled_error<T>(widened(a[k]) - square, n, infinity_norm(widened(a[k]))), accuracy);
        }
        // dL = L low(L^-1 E L^-H), half the diagonal
        const Dense<T> lower = triangle == Triangle::lower ? g : Dense<T>(g.adjoint());
        const Dense<T> upper = lower.adjoint();
        expect_factors(backend, a[k], f, g,
                       inverse_norm(lower) * inverse_norm(upper) * std::max(norm(lower), norm(upper)));
      }
    }
  });
}

TYPED_TEST(EveryOrder, SpdInverse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_definite<T>(n, count, random);
    const auto inverses = [&](const Backend& where, SpdStorage storage) {
      const TestBatch<T> input(where, a), x(where, TestBatch<T>::nan_like(a));
      auto stored = spd_inverses(where, Triangle::lower, input, x, storage, std::vector<int>(count));
      for (std::size_t k = 0; k < count && storage == SpdStorage::packed; ++k)
        stored[k] = unpacked(Triangle::lower, x.elements(k).data(), n);
      return stored;
    };
    const auto host = inverses(Backend::host(), SpdStorage::full);
    for (const SpdStorage storage : {SpdStorage::full, SpdStorage::packed})
      expect_inverses(backend, a, inverses(backend, storage), host);
  });
}

TYPED_TEST(EveryOrder, Qr) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_batch<T>(n, count, random);
    const auto found = qr_factored(backend, a), host = qr_factored(Backend::host(), a);
    for (std::size_t k = 0; k < count; ++k) {
      if (is_checked(k)) expect_qr(NamedMatrix<T>{"random", a[k]}, found.qr[k], found.tau[k]);
      const Dense<T> r = found.qr[k].template triangularView<Eigen::Upper>();
      const Dense<T> s = host.qr[k].template triangularView<Eigen::Upper>();
      // dR = up(Q^H E R^-1 + its adjoint) R; a unitary matrix has an infinity norm of at most sqrt(N)
      const double root = std::sqrt(static_cast<double>(n));
      expect_factors(backend, a[k], r, s,
                     2 * root * inverse_norm(Dense<T>(s.template triangularView<Eigen::Upper>())) * norm(s));
    }
  });
}

/// For one right-hand side and for several, which have other kernels. factor(backend) is a function that solves there.
template <Scalar T, class Factor>
void expect_solutions(const Backend& backend, const std::vector<Dense<T>>& a, Random& random, Factor factor) {
  const auto n = static_cast<index_t>(a[0].rows());
  const auto solve = factor(backend), solve_on_host = factor(Backend::host());
  for (const index_t columns : {1, 5}) {
    std::vector<Dense<T>> right;
    for (std::size_t k = 0; k < a.size(); ++k) right.push_back(uniform_random<T>(n, columns, random));
    const auto found = solve(right), host = solve_on_host(right);
    for (std::size_t k = 0; k < a.size(); ++k) {
      const WideDense<T> wide_a = widened(a[k]), x = widened(found[k]);
      EXPECT_LE(scaled_error<T>(product(wide_a, x) - widened(right[k]), n, infinity_norm(wide_a) * infinity_norm(x)),
                accuracy)
          << "matrix " << k << ", " << columns << " right-hand sides";
      if (backend.kind() == BackendKind::host) continue;
      EXPECT_LE(norm<T>(found[k] - host[k]), bound_of_inverses<T>(a[k], inverse_of(wide_a).template cast<T>(), host[k]))
          << "matrix " << k;
    }
  }
}

/// Where factors come from: under a tool from the host, as the tests of factorizations have those of the device.
Backend factorizing(const Backend& where) { return is_under_tool() ? Backend::host() : where; }

TYPED_TEST(EveryOrder, SolvesFromLu) {
  using T = typename TypeParam::Scalar;
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_batch<T>(n, count, random);
    expect_solutions(this->make_backend(), a, random, [&](const Backend& where) {
      const LuFactors<T> factors = lu_factored(factorizing(where), a);
      std::vector<index_t> pivots;
      for (const auto& own : factors.ipiv) pivots.insert(pivots.end(), own.begin(), own.end());
      return [where, lu = TestBatch<T>(where, factors.lu), ipiv = Array<index_t>(where, pivots)](const auto& right) {
        const TestBatch<T> b(where, right);
        batched::getrs(where, batched::Op::none, lu.view(), ipiv.data(), b.view());
        return b.matrices();
      };
    });
  });
}

TYPED_TEST(EveryOrder, SolvesFromCholesky) {
  using T = typename TypeParam::Scalar;
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_definite<T>(n, count, random);
    expect_solutions(this->make_backend(), a, random, [&](const Backend& where) {
      const Backend there = factorizing(where);
      const auto factors = factored(there, Triangle::upper, TestBatch<T>(there, a), std::vector<int>(count));
      return [where, f = TestBatch<T>(where, factors)](const auto& right) {
        const TestBatch<T> b(where, right);
        batched::potrs(where, Triangle::upper, f.view(), b.view());
        return b.matrices();
      };
    });
  });
}

TYPED_TEST(EveryOrder, PseudoInverse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_batch<T>(n, count, random);
    const auto inverses = [&](const Backend& where) {
      const TestBatch<T> input(where, a), x(where, TestBatch<T>::nan_like(a));
      Array<index_t> rank(where, count);
      batched::pseudo_inverse(where, input.view(), x.view(), 0.0, rank.data());
      EXPECT_EQ(rank.to_host(), std::vector<index_t>(count, n));
      return x.matrices();
    };
    expect_inverses(backend, a, inverses(backend), inverses(Backend::host()));
  });
}

/// Inverses by a set-up in which all blocks have one order, of the first values and of new ones, and their application.
TYPED_TEST(EveryOrder, SetUpAndApply) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_every_order([&](index_t n, std::size_t count, Random& random) {
    const BlockDiagonal<T> first{random_batch<T>(n, count, random)}, second{random_batch<T>(n, count, random)};
    const auto partition = BlockPartition::uniform(n * static_cast<index_t>(count), n);
    std::vector<std::vector<Dense<T>>> found, host;
    std::vector<T> input(static_cast<std::size_t>(n) * count), output;
    for (T& element : input) element = random.scalar<T>();
    for (const auto& [where, inverses] : {std::pair(backend, &found), std::pair(Backend::host(), &host)}) {
      BlockJacobi<T> m(where, first.matrix(), partition);
      const auto stored = [&] {
        EXPECT_EQ(m.info(), std::vector<int>(count));
        std::vector<Dense<T>> blocks;
        for (index_t b = 0; b < m.partition().blocks(); ++b) blocks.push_back(stored_inverse(m, b));
        return blocks;
      };
      inverses->push_back(stored());
      const CsrMatrix<T> next = second.matrix();
      Array<T> values(where, next.values().size());
      values.copy_from_host(next.values().data());
      m.refresh(values.data(), next.nnz(), where.memory_space());
      inverses->push_back(stored());
      if (inverses == &found) output = this->applied(m, backend, input);
    }
    expect_inverses(backend, first.blocks, found[0], host[0]);
    expect_inverses(backend, second.blocks, found[1], host[1]);
    for (std::size_t k = 0; k < count; ++k) {
      const auto at = static_cast<std::ptrdiff_t>(k) * n;
      const Dense<T> x = Eigen::Map<const Dense<T>>(input.data() + at, n, 1);
      const Dense<T> y = Eigen::Map<const Dense<T>>(output.data() + at, n, 1);
      const WideDense<T> inverse = widened(found[1][k]);
      // inner products of n terms
      EXPECT_LE(scaled_error<T>(product(inverse, widened(x)) - widened(y), n,
                                infinity_norm(inverse) * infinity_norm(widened(x))),
                is_complex<T> ? 4.0 : 2.0)
          << "block " << k;
    }
  });
}

/// ||A X v - v|| <= accuracy N eps ||A|| ||X|| ||v|| for some v: what the error of an inverse X means for large A, of
/// which a product in long double takes too long.
template <Scalar T>
void expect_inverse_on_vectors(const Dense<T>& a, const Dense<T>& x, Random& random) {
  const WideDense<T> wide_a = widened(a), wide_x = widened(x);
  const WideDense<T> v = widened(uniform_random<T>(static_cast<index_t>(a.rows()), 3, random));
  const WideDense<T> right = product(wide_a, product(wide_x, v)) - v, left = product(wide_x, product(wide_a, v)) - v;
  const long double scale = infinity_norm(wide_a) * infinity_norm(wide_x) * infinity_norm(v);
  EXPECT_LE(std::min(scaled_error<T>(right, a.rows(), scale), scaled_error<T>(left, a.rows(), scale)), accuracy);
}

/// Calls run(n, matrices, random) for an order of each design above 32: whole matrices in shared memory and by panels,
/// on one multiprocessor and on a cluster of 8 and 16 thread blocks, near and far from the cache. Few matrices, and so
/// many that no cluster has them.
template <class Run>
void for_each_large_design(Run run) {
  const std::pair<index_t, std::size_t> cases[] = {{33, 2},   {48, 70}, {64, 2},  {96, 2}, {101, 2},
                                                   {136, 70}, {160, 2}, {257, 1}, {512, 1}};
  for (const auto& [n, count] : cases) {
    SCOPED_TRACE(std::to_string(count) + " of order " + std::to_string(n));
    Random random(static_cast<std::uint64_t>(n));
    run(n, count, random);
  }
}

template <Scalar T>
void expect_large_inverses(const Backend& backend, InverseBy by, bool in_place) {
  for_each_large_design([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_batch<T>(n, count, random);
    const auto inverses = inverted(backend, a, by, in_place);
    for (const std::size_t k : {std::size_t(0), count - 1}) expect_inverse_on_vectors(a[k], inverses.x[k], random);
  });
}

TYPED_TEST(EveryOrder, LargeInverses) {
  expect_large_inverses<typename TypeParam::Scalar>(this->make_backend(), InverseBy::fused, false);
}

TYPED_TEST(EveryOrder, LargeInversesByLu) {
  expect_large_inverses<typename TypeParam::Scalar>(this->make_backend(), InverseBy::factors, true);
}

TYPED_TEST(EveryOrder, LargeQr) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_each_large_design([&](index_t n, std::size_t count, Random& random) {
    const auto a = random_batch<T>(n, count, random);
    const auto qr = qr_factored(backend, a);
    for (const std::size_t k : {std::size_t(0), count - 1}) expect_qr_on_vectors(a[k], qr.qr[k], qr.tau[k], random);
  });
}

TYPED_TEST(EveryOrder, LargeDefiniteInverses) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_each_large_design([&](index_t n, std::size_t, Random& random) {
    const auto definite = random_definite<T>(n, 1, random);
    const TestBatch<T> input(backend, definite), spd(backend, TestBatch<T>::nan_like(definite));
    const auto inverses = spd_inverses(backend, Triangle::lower, input, spd, SpdStorage::full, {0});
    expect_inverse_on_vectors(definite[0], inverses[0], random);
  });
}

TYPED_TEST(EveryOrder, LargeSetUp) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for_each_large_design([&](index_t n, std::size_t, Random& random) {
    const auto a = random_batch<T>(n, 1, random);
    const BlockJacobi<T> m(backend, BlockDiagonal<T>{{a[0]}}.matrix(), BlockPartition::uniform(n, n));
    expect_inverse_on_vectors(a[0], stored_inverse(m, 0), random);
  });
}

}  // namespace
}  // namespace blockjacobi::test
