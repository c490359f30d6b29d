#include "backend/cuda_apply_tiles.hpp"
#include "backend/host_convert.hpp"
#include "backend/storage_ops.hpp"
#include "core/compute_views.hpp"
#include "kernels/apply/launch.hpp"
#include "precond/stored_blocks.hpp"
#include "tests/kernels/blocks.hpp"
#include "tests/support/backends.hpp"

namespace blockjacobi::test {
namespace {

using detail::compute_cast;
using detail::compute_t;
using detail::compute_value;
using detail::compute_view;

template <class T>
class ApplyTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(ApplyTest, Scalars);

/// What two products of blocks with r may differ by, row by row.
template <Scalar T>
std::vector<double> rounding_of_products(const BlockLayout& layout, const std::vector<T>& values, Op op,
                                         const std::vector<T>& r) {
  std::vector<double> rows(r.size());
  for (const BlockSlot& slot : layout.slots()) {
    const Eigen::Map<const Matrix<T>> x(values.data() + slot.start, slot.size, slot.size);
    const Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> rb(r.data() + slot.first_row, slot.size);
    Eigen::MatrixXd sizes = x.cwiseAbs().template cast<double>();
    if (op != Op::none) sizes.transposeInPlace();
    const Eigen::VectorXd magnitudes = sizes * rb.cwiseAbs().template cast<double>();
    for (index_t i = 0; i < slot.size; ++i)
      rows[static_cast<std::size_t>(slot.first_row + i)] = rounding_of_sum<T>(slot.size, magnitudes(i));
  }
  return rows;
}

/// The product of given blocks with r, against Eigen in double. The vectors begin `skip` elements off the alignment of
/// allocations.
template <Scalar T>
void expect_products(const std::vector<index_t>& sizes, Op op, std::size_t skip = 0) {
  const Backend backend = Backend::cuda();
  std::vector<index_t> offsets{0};
  for (const index_t size : sizes) offsets.push_back(offsets.back() + size);
  const auto partition = BlockPartition::from_offsets(offsets);
  BlockBatch<T> batch(backend, partition);
  const auto values = random_vector<T>(static_cast<std::size_t>(batch.layout().size()), 21);
  if (!values.empty()) backend.impl().copy_from_host(batch.view().data, values.data(), values.size() * sizeof(T));

  const auto r = random_vector<T>(static_cast<std::size_t>(partition.rows()), 22);
  std::vector<T> shifted(skip, T(7));
  shifted.insert(shifted.end(), r.begin(), r.end());
  const Array<T> input(backend, shifted);
  Array<T> output(backend, std::vector<T>(shifted.size(), std::numeric_limits<real_t<T>>::quiet_NaN()));
  detail::block_ops<T>(backend).apply(compute_view(std::as_const(batch).view()), op, compute_cast(input.data()) + skip,
                                      compute_cast(output.data()) + skip);
  auto z = output.to_host();
  z.erase(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(skip));

  const auto tolerance = rounding_of_products(batch.layout(), values, op, r);
  for (const BlockSlot& slot : batch.layout().slots()) {
    const Eigen::Map<const Matrix<T>> x(values.data() + slot.start, slot.size, slot.size);
    const Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> rb(r.data() + slot.first_row, slot.size);
    Eigen::MatrixXcd operand = x.template cast<std::complex<double>>();
    if (op == Op::transpose) operand.transposeInPlace();
    if (op == Op::conjugate_transpose) operand.adjointInPlace();
    const Eigen::VectorXcd expected = operand * rb.template cast<std::complex<double>>();
    for (index_t i = 0; i < slot.size; ++i) {
      const auto row = static_cast<std::size_t>(slot.first_row + i);
      const std::complex<double> found = z[row];
      ASSERT_LE(std::abs(found - expected(i)), tolerance[row])
          << "block " << slot.block << " of order " << slot.size << ", row " << i << ", op " << static_cast<int>(op);
    }
  }
}

template <Scalar T>
void expect_products(const std::vector<index_t>& sizes) {
  for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) expect_products<T>(sizes, op);
}

TYPED_TEST(ApplyTest, EveryOrderUpTo70) {
  std::vector<index_t> sizes;
  for (index_t n = 1; n <= 70; ++n) sizes.push_back(n);
  expect_products<TypeParam>(sizes);
}

TYPED_TEST(ApplyTest, RaggedCounts) {
  for (const index_t n : {1, 2, 3, 4, 6, 8, 15, 16, 31, 32, 33, 64})
    for (const std::size_t count : {1u, 7u, 33u, 257u}) {
      SCOPED_TRACE(::testing::Message() << count << " blocks of order " << n);
      expect_products<TypeParam>(std::vector<index_t>(count, n));
    }
}

TYPED_TEST(ApplyTest, MixedOrdersOutOfSequence) {
  expect_products<TypeParam>({17, 1, 40, 3, 3, 130, 8, 1, 64, 2, 16, 31, 5, 33, 512, 4, 15, 7, 1, 12});
}

TYPED_TEST(ApplyTest, VectorsOffTheAlignment) {
  for (const std::size_t skip : {1u, 2u, 3u})
    for (const index_t n : {1, 3, 4, 7, 33, 150}) {
      SCOPED_TRACE(::testing::Message() << "order " << n << ", " << skip << " elements off");
      expect_products<TypeParam>(std::vector<index_t>(5, n), Op::none, skip);
    }
}

/// More groups than one launch takes.
TYPED_TEST(ApplyTest, HundredOrders) {
  std::vector<index_t> sizes;
  for (index_t n = 110; n >= 1; --n) sizes.insert(sizes.end(), 1 + static_cast<std::size_t>(n % 2), n);
  expect_products<TypeParam>(sizes, Op::none);
}

TYPED_TEST(ApplyTest, LargeOrders) {
  std::vector<index_t> sizes;
  for (index_t n = 71; n <= 512; n += 7) sizes.push_back(n);
  sizes.push_back(512);
  expect_products<TypeParam>(sizes);
}

using detail::Format;

/// Random blocks of a partition as they are stored, the same on every backend.
template <Scalar T>
class StoredNumbers {
 public:
  using R = real_t<T>;

  StoredNumbers(const std::vector<index_t>& sizes, Format format) : format_(format) {
    std::vector<index_t> offsets{0};
    for (const index_t size : sizes) offsets.push_back(offsets.back() + size);
    const BlockLayout layout(BlockPartition::from_offsets(offsets), sizeof(T));
    stored_ = make_stored_layout(layout, std::span(&format, 1), sizeof(R), parts);
    rows_ = layout.rows();
    bytes_.resize(stored_.bytes);
    const auto count = static_cast<int>(bytes_.size()) / detail::format_part_bytes(format, sizeof(R));
    const std::vector<R> numbers = random_vector<R>(static_cast<std::size_t>(count), 31);
    detail::encode_parts(format == Format::packed ? Format::full : format, numbers.data(), count, 0, bytes_.data());
    const bool scaled = format != Format::full && format != Format::packed;
    for (const detail::StoredSlot& slot : stored_.slots) {
      exponents_.push_back(static_cast<std::int16_t>(scaled ? 3 - static_cast<int>(exponents_.size() % 5) : 0));
      if (format == Format::packed) make_hermitian(slot);
    }
  }
  index_t rows() const { return rows_; }
  /// Leaves the rows of the blocks to the slots.
  void forget_sequence() {
    for (detail::StoredGroup& group : stored_.groups) group.first_row = -1;
  }

  /// alpha op(X) R + beta Z, column-major.
  std::vector<T> product(const Backend& backend, Op op, const std::vector<T>& r, index_t columns, T alpha, T beta) {
    Array<std::byte> data(backend, bytes_);
    Array<detail::StoredSlot> slots(backend, stored_.slots);
    Array<std::int16_t> exponents(backend, exponents_);
    const Array<T> input(backend, r);
    Array<T> output(backend, r);
    detail::storage_ops<T>(backend).apply(detail::StoredBlocksView{data.data(), slots.data(), exponents.data(),
                                                                   stored_.groups, nullptr, format_, nullptr, rows_},
                                          op, compute_value(alpha), {compute_cast(input.data()), 1, rows_, columns},
                                          compute_value(beta), {compute_cast(output.data()), 1, rows_, columns});
    return output.to_host();
  }

 private:
  static constexpr int parts = sizeof(T) / sizeof(R);

  void make_hermitian(const detail::StoredSlot& slot) {
    T* const triangle = reinterpret_cast<T*>(bytes_.data() + slot.start);
    for (int j = 0; j < slot.size; ++j) {
      T& diagonal = triangle[detail::packed_index(j, j, slot.size)];
      diagonal = T(std::real(diagonal));
    }
  }

  Format format_;
  detail::StoredLayout stored_;
  std::vector<std::int16_t> exponents_;
  std::vector<std::byte> bytes_;
  index_t rows_ = 0;
};

/// Blocks that do not fit into shared memory in some formats at least, against the host.
TYPED_TEST(ApplyTest, WideBlocksInEveryFormat) {
  using T = TypeParam;
  const std::vector<index_t> sizes = is_under_tool()
                                         ? std::vector<index_t>{264, 3, 97, 448}
                                         : std::vector<index_t>{264, 3, 200, 136, 264, 97, 301, 192, 5, 448};
  for (const Format format : {Format::packed, Format::fp32, Format::bf16, Format::fp16}) {
    if (format == Format::fp32 && sizeof(real_t<T>) == sizeof(float)) continue;  // that is the full one
    StoredNumbers<T> blocks(sizes, format);
    for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose})
      for (const index_t columns : {1, 9}) {
        SCOPED_TRACE(::testing::Message() << "format " << static_cast<int>(format) << ", op " << static_cast<int>(op)
                                          << ", " << columns << " columns");
        const auto r = random_vector<T>(static_cast<std::size_t>(blocks.rows() * columns), 32);
        const T alpha(-1.5), beta(columns == 1 ? 0 : 0.25);
        const std::vector<T> found = blocks.product(Backend::cuda(), op, r, columns, alpha, beta);
        const std::vector<T> expected = blocks.product(Backend::host(1), op, r, columns, alpha, beta);
        for (std::size_t i = 0; i < r.size(); ++i)
          ASSERT_LE(std::abs(found[i] - expected[i]), 16 * 448 * epsilon<T>) << "element " << i;
      }
  }
}

/// Narrow blocks all of one small order, against the host, with their rows in sequence and by slots.
TYPED_TEST(ApplyTest, BlocksAlikeInNarrowFormats) {
  using T = TypeParam;
  for (const Format format : {Format::fp32, Format::bf16, Format::fp16}) {
    if (format == Format::fp32 && sizeof(real_t<T>) == sizeof(float)) continue;  // that is the full one
    for (const index_t n : {8, 12})
      for (const std::size_t count : {1u, 63u, 64u, 130u})
        for (const bool by_slots : {false, true}) {
          SCOPED_TRACE(::testing::Message() << "format " << static_cast<int>(format) << ", " << count
                                            << " blocks of order " << n << (by_slots ? ", by slots" : ""));
          StoredNumbers<T> blocks(std::vector<index_t>(count, n), format);
          if (by_slots) blocks.forget_sequence();
          const auto r = random_vector<T>(static_cast<std::size_t>(blocks.rows()), 33);
          for (const T beta : {T(0), T(0.25)}) {
            const std::vector<T> found = blocks.product(Backend::cuda(), Op::none, r, 1, T(-1.5), beta);
            const std::vector<T> expected = blocks.product(Backend::host(1), Op::none, r, 1, T(-1.5), beta);
            for (std::size_t i = 0; i < r.size(); ++i)
              ASSERT_LE(std::abs(found[i] - expected[i]), 16 * 12 * 12 * epsilon<T>) << "element " << i;
          }
        }
  }
}

/// Several columns of full blocks, against one column at a time.
template <Scalar T>
void expect_columns(const BlockPartition& partition, index_t columns) {
  const Backend backend = Backend::cuda();
  BlockBatch<T> batch(backend, partition);
  const auto values = random_vector<T>(static_cast<std::size_t>(batch.layout().size()), 41);
  backend.impl().copy_from_host(batch.view().data, values.data(), values.size() * sizeof(T));
  const index_t n = partition.rows();
  const std::vector<T> on_host = random_vector<T>(static_cast<std::size_t>(n * columns), 42);
  const Array<T> r(backend, on_host);
  Array<T> one_by_one(backend, r.size()), together(backend, r.size());
  for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) {
    const auto view = compute_view(std::as_const(batch).view());
    const auto* const from = compute_cast(r.data());
    for (index_t k = 0; k < columns; ++k)
      detail::block_ops<T>(backend).apply(view, op, from + k * n, compute_cast(one_by_one.data()) + k * n);
    detail::storage_ops<T>(backend).apply(view, op, compute_value(T(1)), {from, 1, n, columns}, compute_value(T(0)),
                                          {compute_cast(together.data()), 1, n, columns});
    const std::vector<T> found = together.to_host(), expected = one_by_one.to_host();
    for (index_t k = 0; k < columns; ++k) {
      const auto first = on_host.begin() + static_cast<std::ptrdiff_t>(k) * n;
      const auto tolerance = rounding_of_products(batch.layout(), values, op, std::vector<T>(first, first + n));
      for (std::size_t row = 0; row < tolerance.size(); ++row) {
        const std::size_t i = static_cast<std::size_t>(k * n) + row;
        ASSERT_LE(std::abs(found[i] - expected[i]), tolerance[row])
            << "column " << k << ", row " << row << ", op " << static_cast<int>(op);
      }
    }
  }
}

TYPED_TEST(ApplyTest, WideBlocksTimesColumns) {
  expect_columns<TypeParam>(BlockPartition::from_offsets({0, 260, 262, 452, 964, 1100}), 9);
}

TYPED_TEST(ApplyTest, BlocksOfOrder8TimesColumns) {
  for (const index_t count : {1, 31, 32, 133})
    for (const index_t columns : {2, 8, 9, 17}) {
      SCOPED_TRACE(::testing::Message() << count << " blocks, " << columns << " columns");
      expect_columns<TypeParam>(BlockPartition::uniform(8 * count, 8), columns);
    }
}

TYPED_TEST(ApplyTest, NoBlocks) { expect_products<TypeParam>({}); }

/// Those that the backend wants for blocks in random sequence, if it uses tiles for this scalar at all.
template <Scalar T>
std::optional<detail::TileLimits> some_tile_limits() {
  const BlockLayout layout(BlockPartition::from_offsets({0, 32, 63, 95, 126}), sizeof(T));
  return kernels::tile_limits<compute_t<T>>(layout.groups());
}

BlockPartition partition_of(const std::vector<index_t>& sizes) {
  std::vector<index_t> offsets{0};
  for (const index_t size : sizes) offsets.push_back(offsets.back() + size);
  return BlockPartition::from_offsets(offsets);
}

struct TiledCase {
  std::size_t skip_r = 0, skip_z = 0;  ///< elements off the alignment of allocations
  index_t row_stride = 1;              ///< of z
  double alpha = 1, beta = 0;
};

/// Products by tiles against those without. Nothing is read or written beside the vectors.
template <Scalar T>
void expect_tiled(const std::vector<index_t>& sizes, const TiledCase& c,
                  const std::optional<detail::TileLimits>& limits = some_tile_limits<T>()) {
  using C = compute_t<T>;
  const Backend backend = Backend::cuda();
  BlockBatch<T> batch(backend, partition_of(sizes));
  const auto values = random_vector<T>(static_cast<std::size_t>(batch.layout().size()), 51);
  if (!values.empty()) backend.impl().copy_from_host(batch.view().data, values.data(), values.size() * sizeof(T));
  const detail::ApplyTiles tiles = make_apply_tiles(batch.layout(), *limits);
  const Array<detail::StoredSlot> blocks(backend, tiles.blocks);
  const Array<detail::ApplyTile> dealt(backend, tiles.tiles);
  const auto view = compute_view(std::as_const(batch).view());
  const T nan = std::numeric_limits<real_t<T>>::quiet_NaN();

  const index_t rows = batch.layout().rows();
  const std::vector<T> rows_of_r = random_vector<T>(static_cast<std::size_t>(rows), 52);
  std::vector<T> r(c.skip_r, nan);
  r.insert(r.end(), rows_of_r.begin(), rows_of_r.end());
  const Array<T> input(backend, r);
  const auto z_size = c.skip_z + static_cast<std::size_t>(rows * c.row_stride) + 1;
  const std::vector<T> before = c.beta == 0 ? std::vector<T>(z_size, nan) : random_vector<T>(z_size, 53);
  const detail::ColumnsView<const C> from{compute_cast(input.data()) + c.skip_r};
  const auto product = [&](auto apply) {
    Array<T> output(backend, before);
    apply(kernels::ApplyColumns<C>{Op::none,
                                   compute_value(T(static_cast<real_t<T>>(c.alpha))),
                                   from,
                                   compute_value(T(static_cast<real_t<T>>(c.beta))),
                                   {compute_cast(output.data()) + c.skip_z, c.row_stride}});
    return output.to_host();
  };
  const auto tiled = [&](const kernels::ApplyColumns<C>& arguments) {
    kernels::apply_tiled<C>(view, {blocks.data(), dealt.data(), static_cast<index_t>(dealt.size())}, arguments,
                            backend.stream());
  };
  const std::vector<T> found = product(tiled);
  const std::vector<T> expected =
      product([&](const kernels::ApplyColumns<C>& a) { kernels::apply_columns<C>(view, a, backend.stream()); });
  EXPECT_TRUE(same_bits(found, product(tiled)));
  std::vector<double> tolerance(found.size());  // none between the rows
  const std::vector<double> of_products = rounding_of_products(batch.layout(), values, Op::none, rows_of_r);
  for (std::size_t row = 0; row < of_products.size(); ++row) {
    const std::size_t i = c.skip_z + row * static_cast<std::size_t>(c.row_stride);
    tolerance[i] = std::abs(c.alpha) * of_products[row];
    if (c.beta != 0) tolerance[i] += rounding_of_sum<T>(1, std::abs(c.beta) * std::abs(before[i]));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(std::abs(expected[i]))) {
      ASSERT_TRUE(std::isnan(std::abs(found[i]))) << "element " << i;
      continue;
    }
    ASSERT_LE(std::abs(found[i] - expected[i]), tolerance[i]) << "element " << i;
  }
}

std::vector<index_t> random_orders(index_t largest, std::size_t count) {
  std::mt19937 generator(54);
  std::uniform_int_distribution<index_t> order(1, largest);
  std::vector<index_t> orders(count);
  for (index_t& n : orders) n = order(generator);
  return orders;
}

#define SKIP_WITHOUT_TILES \
  if (!some_tile_limits<TypeParam>()) GTEST_SKIP() << "no tiles for this scalar"

TYPED_TEST(ApplyTest, TiledOrdersInRandomSequence) {
  SKIP_WITHOUT_TILES;
  for (const std::size_t count : {2u, 3u, 32u, 33u, 100u, 1001u}) {
    SCOPED_TRACE(::testing::Message() << count << " blocks");
    expect_tiled<TypeParam>(random_orders(32, count), {});
  }
}

TYPED_TEST(ApplyTest, TiledEveryOrder) {
  SKIP_WITHOUT_TILES;
  std::vector<index_t> sizes;
  for (index_t n = 1; n <= 32; ++n) {
    sizes.push_back(n);
    sizes.push_back(33 - n);
  }
  expect_tiled<TypeParam>(sizes, {});
  for (const index_t n : {1, 2, 3, 4, 5, 16, 31, 32})
    for (const std::size_t count : {1u, 31u, 32u, 33u, 129u}) {
      SCOPED_TRACE(::testing::Message() << count << " blocks of order " << n);
      expect_tiled<TypeParam>(std::vector<index_t>(count, n), {});
    }
}

TYPED_TEST(ApplyTest, TiledOffTheAlignment) {
  SKIP_WITHOUT_TILES;
  // The last block in memory and the last rows end off the boundaries of 16 bytes.
  for (const index_t last : {1, 2, 3, 4, 29, 30, 31})
    for (const std::size_t skip : {0u, 1u, 2u, 3u}) {
      SCOPED_TRACE(::testing::Message() << "last order " << last << ", " << skip << " elements off");
      expect_tiled<TypeParam>({31, 5, 2, 31, 7, 1, 30, 4, last}, {.skip_r = skip, .skip_z = 3 - skip});
      expect_tiled<TypeParam>({last}, {.skip_r = skip, .skip_z = skip});
    }
}

TYPED_TEST(ApplyTest, TiledWithFactorsAndStride) {
  SKIP_WITHOUT_TILES;
  const std::vector<index_t> sizes = random_orders(32, 150);
  for (const double beta : {0.0, 0.25})
    for (const index_t stride : {1, 3})
      expect_tiled<TypeParam>(sizes, {.row_stride = stride, .alpha = -1.5, .beta = beta});
}

/// What the backend makes of a layout for its products; null where nothing helps.
template <Scalar T>
std::unique_ptr<detail::PreparedApply<T>> prepared(const BlockPartition& partition) {
  const Backend backend = Backend::cuda();
  return detail::storage_ops<T>(backend).prepare_apply(backend, BlockLayout(partition, sizeof(T)));
}

/// What tiles are not made for is left to the apply without them.
TYPED_TEST(ApplyTest, TiledTransposedOrTimesColumns) {
  SKIP_WITHOUT_TILES;
  const auto tiled = prepared<TypeParam>(partition_of(random_orders(32, 150)));
  ASSERT_NE(tiled, nullptr);
  EXPECT_FALSE(tiled->apply({}, Op::transpose, {}, {}, {}, {}));
  EXPECT_FALSE(tiled->apply({}, Op::conjugate_transpose, {}, {}, {}, {}));
  EXPECT_FALSE(tiled->apply({}, Op::none, {}, {nullptr, 1, 0, 3}, {}, {}));
  EXPECT_FALSE(tiled->apply({}, Op::none, {}, {nullptr, 2, 0, 1}, {}, {}));
}

/// More tiles than there are warps, some turns of the ring.
TYPED_TEST(ApplyTest, FewTilesInTurns) {
  SKIP_WITHOUT_TILES;
  auto limits = some_tile_limits<TypeParam>();
  limits->blocks = 1;
  expect_tiled<TypeParam>(random_orders(5, 15001), {}, limits);
}

TYPED_TEST(ApplyTest, TiledInTurns) {
  SKIP_WITHOUT_TILES;
  expect_tiled<TypeParam>(random_orders(32, 60001), {});
}

/// Tiles are for orders in random sequence that make large enough copies.
TYPED_TEST(ApplyTest, TilesWhereTheyPay) {
  SKIP_WITHOUT_TILES;
  EXPECT_FALSE(prepared<TypeParam>(BlockPartition::from_offsets({0})));
  EXPECT_FALSE(prepared<TypeParam>(BlockPartition::from_offsets({0, 32})));
  EXPECT_FALSE(prepared<TypeParam>(BlockPartition::from_offsets({0, 32, 64, 96})));       // all alike
  EXPECT_FALSE(prepared<TypeParam>(BlockPartition::from_offsets({0, 32, 64, 95, 126})));  // one order after the other
  EXPECT_FALSE(prepared<TypeParam>(BlockPartition::from_offsets({0, 33, 65, 98, 130})));  // too large
  EXPECT_FALSE(prepared<TypeParam>(BlockPartition::from_offsets({0, 3, 5, 8, 10})));      // too small
}
#undef SKIP_WITHOUT_TILES

}  // namespace
}  // namespace blockjacobi::test
