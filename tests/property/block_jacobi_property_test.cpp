// What holds for the preconditioner of every matrix.
#include "property.hpp"
#include "random_system.hpp"
#include "support/bits.hpp"

#include "core/shared/singular_rule.hpp"

#include <algorithm>

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(PropertyOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
constexpr double epsilon = std::numeric_limits<real_t<T>>::epsilon();

BlockJacobiOptions with(SingularPolicy singular, Storage storage = Storage::full, double accuracy = 0.1) {
  BlockJacobiOptions options;
  options.singular = singular;
  options.storage = storage;
  options.accuracy = accuracy;
  return options;
}

constexpr SingularPolicy lenient_policies[] = {SingularPolicy::identity, SingularPolicy::scalar_jacobi,
                                               SingularPolicy::shift, SingularPolicy::pseudo_inverse};
constexpr Storage general_storages[] = {Storage::full, Storage::fp32, Storage::bf16, Storage::fp16, Storage::adaptive};

SingularPolicy any_policy(Random& random) { return lenient_policies[random.index(4)]; }
Storage any_storage(Random& random) { return general_storages[random.index(5)]; }

template <Scalar T>
BlockJacobi<T> set_up(const Backend& backend, const RandomSystem<T>& system, const BlockJacobiOptions& options) {
  return system.with_view([&](const auto& view) { return BlockJacobi<T>(backend, view, system.partition(), options); });
}

template <Scalar T>
std::vector<T> random_numbers(std::size_t size, Random& random) {
  std::vector<T> values(size);
  for (T& value : values) value = random.scalar<T>();
  return values;
}

template <Scalar T>
bool is_finite(const Dense<T>& a) {
  return std::isfinite(static_cast<double>(infinity_norm(a)));
}

/// diag(1 / a_ii), with 1 where a_ii is zero or not finite.
template <Scalar T>
Dense<T> scalar_jacobi(const Dense<T>& a) {
  Dense<T> x = Dense<T>::Identity(a.rows(), a.cols());
  for (index_t i = 0; i < a.rows(); ++i)
    if (a(i, i) != T(0) && std::isfinite(std::abs(a(i, i)))) x(i, i) = T(1) / a(i, i);
  return x;
}

TYPED_TEST(PropertyOnBackend, InvertsTheDiagonalBlocks) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed);
    const bool identity = system.random().index(2) == 0;
    const auto m = set_up(backend, system, with(identity ? SingularPolicy::identity : SingularPolicy::scalar_jacobi));
    const std::vector<int> info = m.info();
    const auto rcond = m.rcond();
    for (std::size_t b = 0; b < info.size(); ++b) {
      const Dense<T>& a = system.blocks()[b];
      const auto n = static_cast<int>(a.rows());
      const Dense<T> x = stored_inverse(m, static_cast<index_t>(b));
      const BlockKind kind = system.kinds()[b];
      EXPECT_EQ(info[b] < 0, kind == BlockKind::broken) << "block " << b << ", info " << info[b];
      if (kind == BlockKind::regular || kind == BlockKind::definite) {
        EXPECT_EQ(info[b], 0) << "block " << b;
      }
      if (kind == BlockKind::singular) {
        EXPECT_GT(info[b], 0) << "block " << b;
      }
      if (info[b] == 0) {
        // Near the threshold of singularity less is promised.
        const bool safe = rcond[b] > 100 * detail::singular_threshold<real_t<T>>(n);
        EXPECT_LE(inverse_error<T>(a, x), safe ? 10.0 : 200.0) << "block " << b << ", rcond " << rcond[b];
      } else if (identity) {
        EXPECT_EQ(x, Dense<T>(Dense<T>::Identity(n, n))) << "block " << b;
      } else {
        const Dense<T> wanted = scalar_jacobi(a);
        EXPECT_LE((x - wanted).cwiseAbs().maxCoeff(), 4 * epsilon<T> * wanted.cwiseAbs().maxCoeff()) << "block " << b;
      }
    }
  });
}

TYPED_TEST(PropertyOnBackend, EveryPolicyAndStorageIsFinite) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed);
    const auto m = set_up(backend, system, with(any_policy(system.random()), any_storage(system.random())));
    EXPECT_EQ(m.defects(), std::ranges::count_if(m.info(), [](int info) { return info != 0; }));
    for (index_t b = 0; b < m.partition().blocks(); ++b) EXPECT_TRUE(is_finite(stored_inverse(m, b))) << "block " << b;
  });
}

TYPED_TEST(PropertyOnBackend, RefreshEqualsRebuildAndANewSetUp) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> first(seed);
    const auto options = with(any_policy(first.random()), any_storage(first.random()));
    const std::vector<T> host_values = first.other_values();
    const Array<T> values(backend, host_values);
    const auto nnz = static_cast<offset_t>(host_values.size());
    auto refreshed = set_up(backend, first, options), rebuilt = set_up(backend, first, options);
    refreshed.refresh(values.data(), nnz, backend.memory_space());
    rebuilt.rebuild(values.data(), nnz, backend.memory_space());
    const auto fresh = first.with_view([&](auto view) {
      view.values = host_values.data();
      return BlockJacobi<T>(backend, view, first.partition(), options);
    });
    EXPECT_EQ(rebuilt.info(), fresh.info());
    EXPECT_EQ(refreshed.info(), fresh.info());
    EXPECT_TRUE(same_bits(rebuilt.rcond(), fresh.rcond()));
    for (index_t b = 0; b < fresh.partition().blocks(); ++b) {
      EXPECT_TRUE(same_bits(rebuilt.inverse_block(b), fresh.inverse_block(b))) << "block " << b;
      // Refresh keeps the formats of adaptive storage.
      if (options.storage != Storage::adaptive) {
        EXPECT_TRUE(same_bits(refreshed.inverse_block(b), fresh.inverse_block(b))) << "block " << b;
      }
    }
  });
}

/// op(X) with the inverses as apply() uses them.
template <Scalar T>
Dense<T> operated(const Dense<T>& x, Op op) {
  if (op == Op::transpose) return x.transpose();
  if (op == Op::conjugate_transpose) return x.adjoint();
  return x;
}

/// Adjointness follows: all three products are those with one stored X.
TYPED_TEST(PropertyOnBackend, ProductsAreThoseWithTheStoredInverses) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed);
    Random& random = system.random();
    const auto m = set_up(backend, system, with(any_policy(random), any_storage(random)));
    const auto size = static_cast<std::size_t>(m.rows());
    const std::vector<T> r = random_numbers<T>(size, random), z = random_numbers<T>(size, random);
    const T alpha = random.scalar<T>(), beta = random.index(2) == 0 ? T(0) : random.scalar<T>();
    const Op op = static_cast<Op>(random.index(3));
    const Array<T> in(backend, r);
    Array<T> out(backend, z);
    m.apply(alpha, in.view(), beta, out.view(), op);
    const std::vector<T> result = out.to_host();
    for (index_t b = 0; b < m.partition().blocks(); ++b) {
      const index_t first = m.partition().first_row(b), n = m.partition().block_size(b);
      const WideDense<T> x = operated(stored_inverse(m, b), op).template cast<typename Wide<T>::type>();
      const auto part = [&](const std::vector<T>& v) {
        return WideDense<T>(Eigen::Map<const Dense<T>>(v.data() + first, n, 1).template cast<typename Wide<T>::type>());
      };
      using W = typename Wide<T>::type;
      const WideDense<T> wanted = W(alpha) * (x * part(r)) + W(beta) * part(z);
      const auto scale = (std::abs(alpha) * infinity_norm(x) * part(r).cwiseAbs().maxCoeff() +
                          std::abs(beta) * part(z).cwiseAbs().maxCoeff());
      EXPECT_LE((part(result) - wanted).cwiseAbs().maxCoeff(), 4 * (n + 4) * epsilon<T> * scale) << "block " << b;
    }
  });
}

TYPED_TEST(PropertyOnBackend, ManyColumnsAreManyVectors) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed);
    Random& random = system.random();
    const auto m = set_up(backend, system, with(any_policy(random), any_storage(random)));
    const index_t rows = m.rows(), columns = 1 + random.index(9);
    const Layout layout = random.index(2) == 0 ? Layout::column_major : Layout::row_major;
    const offset_t ld = (layout == Layout::column_major ? rows : columns) + random.index(3);
    const auto size = static_cast<std::size_t>(ld * (layout == Layout::column_major ? columns : rows));
    const std::vector<T> r = random_numbers<T>(size, random);
    const Op op = static_cast<Op>(random.index(3));
    const Array<T> in(backend, r);
    Array<T> out(backend, r);
    m.apply(MultiVectorView<const T>{in.data(), rows, columns, ld, layout, backend.memory_space()},
            MultiVectorView<T>{out.data(), rows, columns, ld, layout, backend.memory_space()}, op);
    const std::vector<T> result = out.to_host();
    for (index_t j = 0; j < columns; ++j) {
      std::vector<T> column(static_cast<std::size_t>(rows));
      const auto at = [&](index_t i) {
        return static_cast<std::size_t>(layout == Layout::column_major ? i + j * ld : j + i * ld);
      };
      for (index_t i = 0; i < rows; ++i) column[static_cast<std::size_t>(i)] = r[at(i)];
      Array<T> single(backend, column), product(backend, column.size());
      m.apply(std::as_const(single).view(), product.view(), op);
      const std::vector<T> wanted = product.to_host();
      for (index_t b = 0; b < m.partition().blocks(); ++b) {
        const double scale = static_cast<double>(infinity_norm(operated(stored_inverse(m, b), op)));
        const index_t n = m.partition().block_size(b);
        for (index_t i = m.partition().first_row(b); i < m.partition().first_row(b) + n; ++i)
          EXPECT_LE(std::abs(result[at(i)] - wanted[static_cast<std::size_t>(i)]), 8 * (n + 4) * epsilon<T> * scale)
              << "row " << i << ", column " << j;
      }
    }
  });
}

/// Rows renumbered at random, each block found again by its label.
TYPED_TEST(PropertyOnBackend, RelabellingPermutesTheResult) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed, {.regular = true, .most_rows = 200});
    Random& random = system.random();
    std::vector<index_t> order(static_cast<std::size_t>(system.rows()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[static_cast<std::size_t>(random.index(static_cast<index_t>(k)))]);
    const auto shuffle = Permutation::from_order(order);
    const auto shuffled = system.with_view([&](const auto& view) { return PermutedMatrix<T>(view, shuffle); });
    std::vector<index_t> labels;
    for (index_t b = 0; b < system.partition().blocks(); ++b)
      labels.insert(labels.end(), static_cast<std::size_t>(system.partition().block_size(b)), 7 * b - 3);
    const auto found = BlockPartition::from_labels(shuffle.to_permuted(labels));
    const PermutedMatrix<T> gathered(shuffled.view(), found.permutation);

    const auto m = set_up(backend, system, {});
    const BlockJacobi<T> relabelled(backend, gathered.view(), found.blocks);
    const std::vector<T> r = random_numbers<T>(order.size(), random);
    const std::vector<T> z = this->applied(m, backend, r);
    const std::vector<T> there = found.permutation.to_permuted(shuffle.to_permuted(r));
    const std::vector<T> back =
        shuffle.to_original(found.permutation.to_original(this->applied(relabelled, backend, there)));
    for (index_t b = 0; b < m.partition().blocks(); ++b) {
      const long double norm = infinity_norm(system.blocks()[static_cast<std::size_t>(b)]);
      const long double inverse = infinity_norm(stored_inverse(m, b));
      const index_t n = m.partition().block_size(b);
      // Both inverses are within 10 N eps of the block's: ||X - X'|| <= 20 N eps ||A|| ||X||^2.
      const long double bound = 30 * n * epsilon<T> * norm * inverse * inverse + 8 * n * epsilon<T> * inverse;
      for (index_t i = m.partition().first_row(b); i < m.partition().first_row(b) + n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        EXPECT_LE(std::abs(z[k] - back[k]), bound) << "row " << i;
      }
    }
  });
}

TYPED_TEST(PropertyOnBackend, PackedIsTheHermitianPartOfFull) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    const RandomSystem<T> system(seed, {.definite = true});
    const auto full = set_up(backend, system, {});
    const auto packed = set_up(backend, system, with(SingularPolicy::fail, Storage::packed));
    EXPECT_EQ(packed.info(), full.info());
    EXPECT_TRUE(same_bits(packed.rcond(), full.rcond()));
    for (index_t b = 0; b < full.partition().blocks(); ++b) {
      const Dense<T> x = stored_inverse(full, b), y = stored_inverse(packed, b);
      EXPECT_EQ(y, Dense<T>(y.adjoint())) << "block " << b;
      const double error = (y - (x + x.adjoint()) / real_t<T>(2)).cwiseAbs().maxCoeff();
      EXPECT_LE(error, 2 * epsilon<T> * x.cwiseAbs().maxCoeff()) << "block " << b;
    }
  });
}

TYPED_TEST(PropertyOnBackend, AdaptiveKeepsItsPromise) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed);
    const double accuracy = std::pow(10.0, -system.random().index(7));
    const auto full = set_up(backend, system, with(SingularPolicy::identity));
    const auto adaptive = set_up(backend, system, with(SingularPolicy::identity, Storage::adaptive, accuracy));
    const std::vector<int> info = adaptive.info();
    EXPECT_EQ(info, full.info());
    for (index_t b = 0; b < full.partition().blocks(); ++b) {
      if (info[static_cast<std::size_t>(b)] != 0) continue;
      if (same_bits(adaptive.inverse_block(b), full.inverse_block(b))) continue;
      const Dense<T>& a = system.blocks()[static_cast<std::size_t>(b)];
      const Dense<T> x = stored_inverse(adaptive, b);
      const auto wide_a = a.template cast<typename Wide<T>::type>(), wide_x = x.template cast<typename Wide<T>::type>();
      const auto residual = infinity_norm(WideDense<T>(WideDense<T>::Identity(a.rows(), a.cols()) - wide_a * wide_x));
      // The library measures in the working precision.
      const long double rounding = a.rows() * epsilon<T> * infinity_norm(a) * infinity_norm(x);
      EXPECT_LT(residual, accuracy + 2 * rounding) << "block " << b;
    }
  });
}

TYPED_TEST(PropertyOnBackend, EqualBitsWithAnyNumberOfThreads) {
  using T = typename TypeParam::Scalar;
  const bool host = backend_kind() == BackendKind::host;
  this->for_seeds([&](std::uint64_t seed) {
    RandomSystem<T> system(seed);
    Random& random = system.random();
    const auto options = with(any_policy(random), any_storage(random));
    const std::vector<T> r = random_numbers<T>(static_cast<std::size_t>(system.rows()), random);
    const Backend one = host ? Backend::host(1) : this->make_backend();
    const Backend many = host ? Backend::host(2 + random.index(5)) : this->make_backend();
    const auto m = set_up(one, system, options), n = set_up(many, system, options);
    EXPECT_EQ(m.info(), n.info());
    EXPECT_TRUE(same_bits(m.rcond(), n.rcond()));
    for (index_t b = 0; b < m.partition().blocks(); ++b)
      EXPECT_TRUE(same_bits(m.inverse_block(b), n.inverse_block(b))) << "block " << b;
    EXPECT_TRUE(same_bits(this->applied(m, one, r), this->applied(n, many, r)));
  });
}

}  // namespace
}  // namespace blockjacobi::test
