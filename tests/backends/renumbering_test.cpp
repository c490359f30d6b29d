#include "backends/systems.hpp"
#include "support/backends.hpp"
#include "support/messages.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace blockjacobi::test {
namespace {

template <class Case>
class RenumberingOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(RenumberingOnBackend, BackendCases, BackendCaseName);

/// No power of it is the identity, so that there and back differ.
Permutation strided(index_t n) {
  std::vector<index_t> order;
  for (index_t start = 0; start < 3; ++start)
    for (index_t i = start; i < n; i += 3) order.push_back(i);
  return Permutation::from_order(std::move(order));
}

template <Scalar T>
using In = MultiVectorView<const T>;
template <Scalar T>
using Out = MultiVectorView<T>;

/// 20000 rows are shared out to threads of the host and to thread blocks.
TYPED_TEST(RenumberingOnBackend, ThereAndBack) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {0, 1, 2, 31, 1000, 20000}) {
    SCOPED_TRACE(n);
    const Permutation permutation = strided(n);
    const Renumbering<T> P(backend, permutation);
    EXPECT_EQ(P.permutation(), permutation);
    EXPECT_EQ(P.backend(), backend);
    const std::vector<T> given = random_vector<T>(n, 3);
    const Array<T> x(backend, given);
    Array<T> y(backend, given.size()), back(backend, given.size());
    P.to_permuted(x.view(), y.view());
    EXPECT_EQ(y.to_host(), permutation.to_permuted(given));
    P.to_original(std::as_const(y).view(), back.view());
    EXPECT_EQ(back.to_host(), given);
  }
}

/// What lies between the columns stays.
TYPED_TEST(RenumberingOnBackend, Columns) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const index_t n = 100, cols = 3;
  const offset_t ld_of_x = 101, ld_of_y = 107;
  const Permutation permutation = strided(n);
  const Renumbering<T> P(backend, permutation);
  const std::vector<T> given = random_vector<T>(static_cast<index_t>(ld_of_x * cols), 4);
  const MemorySpace space = backend.memory_space();
  const Array<T> x(backend, given), y(backend, std::vector<T>(static_cast<std::size_t>(ld_of_y * cols), T(7)));
  P.to_permuted(In<T>{x.data(), n, cols, ld_of_x, Layout::column_major, space},
                Out<T>{y.data(), n, cols, ld_of_y, Layout::column_major, space});
  const std::vector<T> found = y.to_host();
  for (index_t j = 0; j < cols; ++j) {
    const auto first = given.begin() + j * ld_of_x;
    std::vector<T> expected = permutation.to_permuted(std::vector<T>(first, first + n));
    expected.resize(static_cast<std::size_t>(ld_of_y), T(7));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + j * ld_of_y)) << j;
  }
  const Array<T> back(backend, given);
  P.to_original(In<T>{y.data(), n, cols, ld_of_y, Layout::column_major, space},
                Out<T>{back.data(), n, cols, ld_of_x, Layout::column_major, space});
  EXPECT_EQ(back.to_host(), given);
}

/// A system of clusters, wherever their numbering was found. Vectors may be replaced.
TYPED_TEST(RenumberingOnBackend, AroundAPreconditionerOfClusters) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> A(backend, grid_matrix<T>(20, 0.4));
  const auto [permutation, blocks] = BlockPartition::clusters(A, 8);
  const BlockJacobi<T> M(A.renumbered(permutation), blocks);
  const Renumbering<T> P(backend, permutation);
  const index_t n = A.rows(), cols = 2;
  const MemorySpace space = backend.memory_space();
  const std::vector<T> given = random_vector<T>(n * cols, 5);
  const Array<T> work(backend, 4 * static_cast<std::size_t>(n));
  const auto column = [n](const std::vector<T>& v, index_t j) {
    return std::vector<T>(v.begin() + j * n, v.begin() + (j + 1) * n);
  };
  std::vector<T> permuted;
  for (index_t j = 0; j < cols; ++j)
    for (const T& value : permutation.to_permuted(column(given, j))) permuted.push_back(value);

  Array<T> r(backend, column(given, 0));
  P.around(std::as_const(r).view(), r.view(), work,
           [&](VectorView<const T> in, VectorView<T> out) { M.apply(in, out); });
  EXPECT_EQ(r.to_host(), permutation.to_original(this->applied(M, backend, column(permuted, 0))));

  const Array<T> in(backend, permuted), out(backend, permuted.size()), R(backend, given);
  const auto view = [&](const Array<T>& v) { return Out<T>{v.data(), n, cols, n, Layout::column_major, space}; };
  M.apply(In<T>(view(in)), view(out));
  P.around(In<T>(view(R)), view(R), work, [&](const In<T>& X, const Out<T>& Y) { M.apply(X, Y); });
  for (index_t j = 0; j < cols; ++j)
    EXPECT_EQ(column(R.to_host(), j), permutation.to_original(column(out.to_host(), j))) << j;
}

TYPED_TEST(RenumberingOnBackend, GatherTakesAnyNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const std::vector<offset_t> from{4, 0, 4, 4, 2};
  Gather<T> pick(backend, from, 6);
  EXPECT_EQ(pick.sources(), 6);
  EXPECT_EQ(pick.size(), 5);
  const std::vector<T> given = random_vector<T>(6, 6);
  const Array<T> x(backend, given);
  Array<T> y(backend, 5);
  pick.apply(x.view(), y.view());
  EXPECT_EQ(y.to_host(), (std::vector<T>{given[4], given[0], given[4], given[4], given[2]}));
  const Gather<T> moved(std::move(pick));
  EXPECT_EQ(pick.sources(), 0);  // NOLINT: what is left
  EXPECT_EQ(pick.size(), 0);
  pick.apply(VectorView<const T>{nullptr, 0, backend.memory_space()}, {nullptr, 0, backend.memory_space()});
  y.zero();
  moved.apply(x.view(), y.view());
  EXPECT_EQ(y.to_host().back(), given[2]);
}

TYPED_TEST(RenumberingOnBackend, NumbersOutOfRange) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const std::vector<index_t> large{0, 3}, negative{0, 1, -1};
  const std::vector<offset_t> wide{offset_t{1} << 32};
  EXPECT_EQ(message_of([&] { Gather<T>(backend, large, 3); }), "Gather: from[1] is 3, must be in 0..2");
  EXPECT_EQ(message_of([&] { Gather<T>(backend, negative, 3); }), "Gather: from[2] is -1, must be in 0..2");
  EXPECT_EQ(message_of([&] { Gather<T>(backend, wide, 1); }), "Gather: from[0] is 4294967296, must be in 0..0");
  for (const offset_t sources : {offset_t{-1}, offset_t{1} << 31})
    EXPECT_EQ(message_of([&] { Gather<T>(backend, large, sources); }),
              "Gather: there are " + std::to_string(sources) + " sources, must be 0..2147483647");
  // Never read: refused for its length.
  const std::span<const index_t> endless(large.data(), std::size_t{1} << 31);
  EXPECT_EQ(message_of([&] { Gather<T>(backend, endless, 4); }),
            "Gather: there are 2147483648 numbers, can be 2147483647");
}

TYPED_TEST(RenumberingOnBackend, VectorsOfAnotherShapeOrPlace) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const MemorySpace space = backend.memory_space();
  const bool on_host = space == MemorySpace::host;
  const MemorySpace elsewhere = on_host ? MemorySpace::device : MemorySpace::host;
  const Renumbering<T> P(backend, strided(4));
  const Array<T> a(backend, 20), b(backend, 20);
  const auto of_vectors = [&](VectorView<const T> x, VectorView<T> y) {
    return message_of([&] { P.to_permuted(x, y); });
  };
  const VectorView<const T> x{a.data(), 4, space};
  const VectorView<T> y{b.data(), 4, space};
  const std::string lies = std::string(": lies on the ") + to_string(elsewhere) + ", the backend (" +
                           backend.description() + ") computes on the " + to_string(space);
  EXPECT_EQ(of_vectors({a.data(), 5, space}, y), "Gather::apply: x: length is 5, must be 4");
  EXPECT_EQ(of_vectors(x, {b.data(), 3, space}), "Gather::apply: y: length is 3, must be 4");
  EXPECT_EQ(of_vectors({nullptr, 4, space}, y), "Gather::apply: x: null pointer, length 4");
  EXPECT_EQ(of_vectors(x, {nullptr, 4, space}), "Gather::apply: y: null pointer, length 4");
  EXPECT_EQ(of_vectors({a.data(), 4, elsewhere}, y), "Gather::apply: x" + lies);
  EXPECT_EQ(of_vectors(x, {b.data(), 4, elsewhere}), "Gather::apply: y" + lies);
  EXPECT_EQ(of_vectors(x, {a.data() + 3, 4, space}), "Gather::apply: input and output overlap");

  const auto of_columns = [&](const In<T>& X, const Out<T>& Y) { return message_of([&] { P.to_original(X, Y); }); };
  const In<T> X{a.data(), 4, 2, 5, Layout::column_major, space};
  const Out<T> Y{b.data(), 4, 2, 5, Layout::column_major, space};
  const auto changed = [](auto view, auto change) {
    change(view);
    return view;
  };
  EXPECT_EQ(of_columns(changed(X, [](auto& v) { v.rows = 3; }), Y), "Gather::apply: X: has 3 rows, must have 4");
  EXPECT_EQ(of_columns(X, changed(Y, [](auto& v) { v.ld = 3; })),
            "Gather::apply: Y: the leading dimension is 3, must be at least 4");
  EXPECT_EQ(of_columns(X, changed(Y, [](auto& v) { v.cols = 1; })), "Gather::apply: Y: has 1 columns, must have 2");
  EXPECT_EQ(of_columns(changed(X, [](auto& v) { v.layout = Layout::row_major; }), Y),
            "Gather::apply: X: is not column-major");
  EXPECT_EQ(of_columns(X, changed(Y, [](auto& v) { v.layout = Layout::row_major; })),
            "Gather::apply: Y: is not column-major");
  EXPECT_EQ(of_columns(X, changed(Y, [&](auto& v) { v.data = a.data() + 8; })),
            "Gather::apply: input and output overlap");
  EXPECT_EQ(of_columns(changed(X, [&](auto& v) { v.space = elsewhere; }), Y), "Gather::apply: X" + lies);

  // Before anything is called.
  const auto around = [&](const In<T>& R, const Out<T>& Z, const Array<T>& work) {
    return message_of([&] { P.around(R, Z, work, [](const In<T>&, const Out<T>&) { FAIL(); }); });
  };
  const Array<T> work(backend, 16), small(backend, 15);
  EXPECT_EQ(around(X, Y, small), "Renumbering::around: work has 15 elements, must have 16");
  EXPECT_EQ(around(changed(X, [](auto& v) { v.rows = 5; }), Y, work),
            "Renumbering::around: R: has 5 rows, must have 4");
  EXPECT_EQ(around(X, changed(Y, [](auto& v) { v.cols = 3; }), work),
            "Renumbering::around: Z: has 3 columns, must have 2");
  if (!on_host) {
    const Array<T> on_the_host(Backend::host(1), 16);
    EXPECT_EQ(around(X, Y, on_the_host), "Renumbering::around: work" + lies);
  }
}

}  // namespace
}  // namespace blockjacobi::test
