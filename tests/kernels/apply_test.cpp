#include "backend/host_convert.hpp"
#include "backend/storage_ops.hpp"
#include "precond/stored_blocks.hpp"
#include "tests/kernels/blocks.hpp"

namespace blockjacobi::test {
namespace {

template <class T>
class ApplyTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(ApplyTest, Scalars);

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
  detail::block_ops<T>(backend).apply(std::as_const(batch).view(), op, input.data() + skip, output.data() + skip);
  auto z = output.to_host();
  z.erase(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(skip));

  for (const BlockSlot& slot : batch.layout().slots()) {
    const Eigen::Map<const Matrix<T>> x(values.data() + slot.start, slot.size, slot.size);
    const Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> rb(r.data() + slot.first_row, slot.size);
    Eigen::MatrixXcd operand = x.template cast<std::complex<double>>();
    if (op == Op::transpose) operand.transposeInPlace();
    if (op == Op::conjugate_transpose) operand.adjointInPlace();
    const Eigen::VectorXcd expected = operand * rb.template cast<std::complex<double>>();
    for (index_t i = 0; i < slot.size; ++i) {
      const std::complex<double> found = z[static_cast<std::size_t>(slot.first_row + i)];
      ASSERT_LE(std::abs(found - expected(i)), 4.0 * static_cast<double>(slot.size) * epsilon<T>)
          << "block " << slot.block << " of order " << slot.size << ", row " << i << ", op " << static_cast<int>(op);
    }
  }
}

template <Scalar T>
void expect_products(const std::vector<index_t>& sizes) {
  for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) expect_products<T>(sizes, op);
}

TYPED_TEST(ApplyTest, SmallEveryOrderUpTo70) {
  std::vector<index_t> sizes;
  for (index_t n = 1; n <= 70; ++n) sizes.push_back(n);
  expect_products<TypeParam>(sizes);
}

TYPED_TEST(ApplyTest, SmallRaggedCounts) {
  for (const index_t n : {1, 2, 3, 4, 6, 8, 15, 16, 31, 32, 33, 64})
    for (const std::size_t count : {1u, 7u, 33u, 257u}) {
      SCOPED_TRACE(::testing::Message() << count << " blocks of order " << n);
      expect_products<TypeParam>(std::vector<index_t>(count, n));
    }
}

TYPED_TEST(ApplyTest, SmallMixedOrdersOutOfSequence) {
  expect_products<TypeParam>({17, 1, 40, 3, 3, 130, 8, 1, 64, 2, 16, 31, 5, 33, 512, 4, 15, 7, 1, 12});
}

TYPED_TEST(ApplyTest, SmallVectorsOffTheAlignment) {
  for (const std::size_t skip : {1u, 2u, 3u})
    for (const index_t n : {1, 3, 4, 7, 33, 150}) {
      SCOPED_TRACE(::testing::Message() << "order " << n << ", " << skip << " elements off");
      expect_products<TypeParam>(std::vector<index_t>(5, n), Op::none, skip);
    }
}

/// More groups than one launch takes.
TYPED_TEST(ApplyTest, SmallHundredOrders) {
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
    for (detail::StoredSlot& slot : stored_.slots) {
      slot.exponent = scaled ? 3 : 0;
      if (format == Format::packed) make_hermitian(slot);
    }
  }
  index_t rows() const { return rows_; }

  /// alpha op(X) R + beta Z, column-major.
  std::vector<T> product(const Backend& backend, Op op, const std::vector<T>& r, index_t columns, T alpha, T beta) {
    Array<std::byte> data(backend, bytes_);
    Array<detail::StoredSlot> slots(backend, stored_.slots);
    const Array<T> input(backend, r);
    Array<T> output(backend, r);
    detail::storage_ops<T>(backend).apply(
        detail::StoredBlocksView{data.data(), slots.data(), stored_.groups, nullptr, format_, nullptr, rows_}, op,
        alpha, detail::ColumnsView<const T>{input.data(), 1, rows_, columns}, beta,
        detail::ColumnsView<T>{output.data(), 1, rows_, columns});
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
  std::vector<std::byte> bytes_;
  index_t rows_ = 0;
};

/// Blocks that do not fit into shared memory in some formats at least, against the host.
TYPED_TEST(ApplyTest, SmallWideBlocksInEveryFormat) {
  using T = TypeParam;
  const std::vector<index_t> sizes{264, 3, 200, 136, 264, 97, 301, 192, 5, 448};
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

/// Several columns of full blocks, against one column at a time.
TYPED_TEST(ApplyTest, SmallWideBlocksTimesColumns) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  const auto partition = BlockPartition::from_offsets({0, 260, 262, 452, 964, 1100});
  BlockBatch<T> batch(backend, partition);
  const auto values = random_vector<T>(static_cast<std::size_t>(batch.layout().size()), 41);
  backend.impl().copy_from_host(batch.view().data, values.data(), values.size() * sizeof(T));
  const index_t n = partition.rows(), columns = 9;
  const Array<T> r(backend, random_vector<T>(static_cast<std::size_t>(n * columns), 42));
  Array<T> one_by_one(backend, r.size()), together(backend, r.size());
  for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose}) {
    const auto view = std::as_const(batch).view();
    for (index_t k = 0; k < columns; ++k)
      detail::block_ops<T>(backend).apply(view, op, r.data() + k * n, one_by_one.data() + k * n);
    detail::storage_ops<T>(backend).apply(view, op, T(1), {r.data(), 1, n, columns}, T(0),
                                          {together.data(), 1, n, columns});
    const std::vector<T> found = together.to_host(), expected = one_by_one.to_host();
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_LE(std::abs(found[i] - expected[i]), 4 * 512 * epsilon<T>)
          << "element " << i << ", op " << static_cast<int>(op);
  }
}

TYPED_TEST(ApplyTest, SmallNoBlocks) { expect_products<TypeParam>({}); }

}  // namespace
}  // namespace blockjacobi::test
