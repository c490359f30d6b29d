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

TYPED_TEST(ApplyTest, SmallNoBlocks) { expect_products<TypeParam>({}); }

}  // namespace
}  // namespace blockjacobi::test
