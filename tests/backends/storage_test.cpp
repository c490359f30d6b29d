#include "backends/storage.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(StorageOnBackend, BackendCases, BackendCaseName);

/// Half of the distance of neighbouring numbers near 1.
template <Scalar T>
double unit_roundoff(Storage storage) {
  switch (storage) {
    case Storage::bf16: return 0x1p-8;
    case Storage::fp16: return 0x1p-11;
    case Storage::fp32: return 0x1p-24;
    default: return std::numeric_limits<real_t<T>>::epsilon();
  }
}

TYPED_TEST(StorageOnBackend, EveryFormatRoundsTheInverse) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a = definite_blocks<T>({1, 2, 3, 5, 8, 3, 16, 17, 31, 32, 33, 70}, 41);
  // One exponent a block: scales far beyond the range of half precision.
  const int far = std::is_same_v<R, double> ? 300 : 40;
  a.blocks[3] *= std::ldexp(R(1), far);
  a.blocks[4] *= std::ldexp(R(1), -far);
  const BlockJacobi<T> full(backend, a.matrix(), a.partition());
  for (const Storage storage : {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16}) {
    const BlockJacobi<T> m(backend, a.matrix(), a.partition(), with(storage));
    EXPECT_EQ(m.info(), full.info());
    EXPECT_EQ(m.defects(), 0);
    EXPECT_EQ(m.rcond(), full.rcond());
    for (index_t b = 0; b < m.partition().blocks(); ++b) {
      const Dense<T> x = stored_inverse(m, b), exact = stored_inverse(full, b);
      const double error = static_cast<double>((x - exact).cwiseAbs().maxCoeff() / exact.cwiseAbs().maxCoeff());
      // The triangle takes the mean of what differs by rounding.
      EXPECT_LE(error, storage == Storage::packed ? 100 * unit_roundoff<T>(storage) : 1.01 * unit_roundoff<T>(storage))
          << to_string(storage) << ", order " << x.rows();
      if (storage == Storage::packed) {
        EXPECT_EQ(x, Dense<T>(x.adjoint()));
      }
    }
  }
}

TYPED_TEST(StorageOnBackend, BytesFollowTheFormat) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a = definite_blocks<T>({8, 8, 8, 8, 32, 32, 40, 5, 5, 5}, 42);
  const CsrMatrix<T> matrix = a.matrix();
  const std::size_t parts = is_complex<T> ? 2 : 1, real = sizeof(real_t<T>);
  const auto bytes = [&](std::size_t width, auto elements) {
    const auto padded = [](std::size_t count) { return (count + 127) / 128 * 128; };
    const auto group = [&](std::size_t count, std::size_t n) { return count * elements(n) * parts * width; };
    return padded(padded(padded(group(3, 5)) + group(4, 8)) + group(2, 32)) + group(1, 40);
  };
  const auto square = [](std::size_t n) { return n * n; };
  const auto triangle = [](std::size_t n) { return n * (n + 1) / 2; };
  const std::pair<Storage, std::size_t> wanted[] = {{Storage::full, bytes(real, square)},
                                                    {Storage::packed, bytes(real, triangle)},
                                                    {Storage::fp32, bytes(4, square)},
                                                    {Storage::bf16, bytes(2, square)},
                                                    {Storage::fp16, bytes(2, square)}};
  for (const auto& [storage, count] : wanted) {
    const BlockJacobi<T> m(backend, matrix, a.partition(), with(storage));
    EXPECT_EQ(m.report().inverse_bytes, count) << to_string(storage);
    EXPECT_EQ(BlockJacobi<T>::storage_bytes(a.partition(), storage), count) << to_string(storage);
    EXPECT_EQ(m.bytes(), BlockJacobi<T>::required_bytes(backend, matrix.view(), a.partition(), with(storage)))
        << to_string(storage);
  }
  // Well-conditioned blocks: half precision is enough for an accuracy of 0.1.
  const BlockJacobi<T> m(backend, matrix, a.partition(), with(Storage::adaptive));
  EXPECT_EQ(m.report().formats, (std::vector<std::pair<Storage, index_t>>{{Storage::fp16, 10}}));
  EXPECT_EQ(m.report().inverse_bytes, bytes(2, square));
  EXPECT_LE(m.report().inverse_bytes, BlockJacobi<T>::storage_bytes(a.partition(), Storage::adaptive));
  EXPECT_LE(m.bytes(), BlockJacobi<T>::required_bytes(backend, matrix.view(), a.partition(), with(Storage::adaptive)));
}

TYPED_TEST(StorageOnBackend, RefreshEqualsANewSetUpInEveryFormat) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BlockDiagonal<T> a = definite_blocks<T>({1, 3, 7, 20, 32, 41}, 48),
                         b = definite_blocks<T>({1, 3, 7, 20, 32, 41}, 49);
  const CsrMatrix<T> first = a.matrix(), second = b.matrix();
  const Array<T> values(backend, {second.values().begin(), second.values().end()});
  for (const Storage storage : all_storages) {
    BlockJacobi<T> m(backend, first, a.partition(), with(storage));
    const BlockJacobi<T> fresh(backend, second, b.partition(), with(storage));
    m.refresh(values.data(), second.nnz(), backend.memory_space());
    auto analyzed = BlockJacobi<T>::analyze(backend, first.view(), a.partition(), with(storage));
    analyzed.refresh(values.data(), second.nnz(), backend.memory_space());
    for (index_t k = 0; k < m.partition().blocks(); ++k) {
      EXPECT_EQ(m.inverse_block(k), fresh.inverse_block(k)) << to_string(storage) << ", block " << k;
      EXPECT_EQ(analyzed.inverse_block(k), fresh.inverse_block(k)) << to_string(storage) << ", block " << k;
    }
  }
}

/// More blocks than one chunk of the set-up holds.
TYPED_TEST(StorageOnBackend, ManyChunksKeepTheirBlocksApart) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(50);
  BlockDiagonal<T> a;
  for (int k = 0; k < 900; ++k) a.blocks.push_back(random_dense<T>(16 + k % 3, random));
  a.blocks[700].setZero();
  a.blocks[100].setZero();
  BlockJacobiOptions options = with(Storage::fp16);
  options.singular = SingularPolicy::shift;
  const BlockJacobi<T> m(backend, a.matrix(), a.partition(), options);
  EXPECT_EQ(m.defects(), 2);
  for (std::size_t k = 0; k < a.blocks.size(); ++k) {
    const Dense<T> x = stored_inverse(m, static_cast<index_t>(k));
    if (k == 100 || k == 700) {
      EXPECT_EQ(x, Dense<T>(Dense<T>::Identity(x.rows(), x.cols())));
    } else {
      EXPECT_LE(right_residual(a.blocks[k], x), 0.25) << "block " << k;
    }
  }
}

TYPED_TEST(StorageOnBackend, MisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const BlockDiagonal<T> a = definite_blocks<T>({2, 3}, 52);
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, a.matrix(), a.partition(), with(Storage::adaptive, 0.0)); }),
            "BlockJacobi: accuracy is 0, must be positive");
  const auto no_storage = static_cast<Storage>(77);
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, a.matrix(), a.partition(), with(no_storage)); }),
            "BlockJacobi: storage is 77, no enumerator");
  EXPECT_EQ(message_of([&] { (void)BlockJacobi<T>::storage_bytes(a.partition(), no_storage); }),
            "BlockJacobi::storage_bytes: storage is 77, no enumerator");
  BlockJacobiOptions no_policy;
  no_policy.singular = static_cast<SingularPolicy>(-1);
  EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, a.matrix(), a.partition(), no_policy); }),
            "BlockJacobi: singular is -1, no enumerator");
  no_policy.singular = static_cast<SingularPolicy>(77);
  const CsrMatrix<T> matrix = a.matrix();
  EXPECT_EQ(message_of([&] { (void)BlockJacobi<T>::required_bytes(backend, matrix.view(), a.partition(), no_policy); }),
            "BlockJacobi: singular is 77, no enumerator");
  CsrView<T> on_device = matrix.view();
  on_device.space = MemorySpace::device;
  EXPECT_EQ(message_of([&] { (void)BlockJacobi<T>::required_bytes(on_device, a.partition()); }),
            "BlockJacobi::required_bytes: the pattern lies on the device, must be on the host");
  const BlockJacobi<T> m(backend, a.matrix(), a.partition(), with(Storage::bf16));
  EXPECT_EQ(message_of([&] { (void)m.inverse(); }), "BlockJacobi::inverse: the storage is bf16, must be full");
  EXPECT_EQ(message_of([&] { (void)m.inverse_block(2); }), "BlockJacobi::inverse_block: block is 2, there are 2");
  Array<T> r(backend, 10), z(backend, 10);
  const MemorySpace space = backend.memory_space();
  const auto view = [&](const Array<T>& v, index_t rows, index_t cols, offset_t ld,
                        Layout layout = Layout::column_major) {
    return MultiVectorView<T>{v.data(), rows, cols, ld, layout, space};
  };
  const auto apply = [&](const MultiVectorView<T>& R, const MultiVectorView<T>& Z) {
    return message_of([&] { m.apply(R, Z); });
  };
  EXPECT_EQ(apply(view(r, 4, 2, 5), view(z, 5, 2, 5)), "BlockJacobi::apply: R: has 4 rows, must have 5");
  EXPECT_EQ(apply(view(r, 5, 2, 5), view(z, 5, 2, 4)),
            "BlockJacobi::apply: Z: the leading dimension is 4, must be at least 5");
  EXPECT_EQ(apply(view(r, 5, 2, 1, Layout::row_major), view(z, 5, 2, 5)),
            "BlockJacobi::apply: R: the leading dimension is 1, must be at least 2");
  EXPECT_EQ(apply(view(r, 5, 2, 5), view(z, 5, 1, 5)), "BlockJacobi::apply: R has 2 columns, Z 1");
  EXPECT_EQ(apply(view(r, 5, -1, 5), view(z, 5, 1, 5)), "BlockJacobi::apply: R: has -1 columns");
  EXPECT_EQ(apply(view(r, 5, 2, 5), view(r, 5, 2, 5)), "BlockJacobi::apply: input and output overlap");
  EXPECT_EQ(apply(view(r, 5, 1, 5, static_cast<Layout>(2)), view(z, 5, 1, 5)),
            "BlockJacobi::apply: R: layout is 2, no enumerator");
  EXPECT_EQ(apply({nullptr, 5, 1, 5, Layout::column_major, space}, view(z, 5, 1, 5)),
            "BlockJacobi::apply: R: null pointer, 5 x 1");
  const MemorySpace other = space == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  EXPECT_NE(apply({r.data(), 5, 1, 5, Layout::column_major, other}, view(z, 5, 1, 5)), "no InvalidArgument");
  EXPECT_EQ(apply(view(r, 5, 0, 5), view(z, 5, 0, 5)), "no InvalidArgument");
}

TYPED_TEST(StorageOnBackend, EmptyMatrixInEveryFormat) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const Storage storage : all_storages) {
    const BlockJacobi<T> m(backend, CsrMatrix<T>(), BlockPartition(), with(storage));
    EXPECT_EQ(m.report().blocks, 0);
    EXPECT_EQ(m.report().inverse_bytes, 0u);
    EXPECT_TRUE(this->applied(m, backend, {}).empty());
  }
}

}  // namespace
}  // namespace blockjacobi::test
