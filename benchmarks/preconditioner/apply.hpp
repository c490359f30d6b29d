#pragma once

#include "batched/device.hpp"
#include "batched/measurement.hpp"
#include "preconditioner/random_blocks.hpp"

#include <random>

namespace bench {

/// What is applied: blocks of order n, or, in random sequence, of the orders 1 .. n.
struct ApplyCase {
  int n;
  bool mixed = false;
  Format format = Format::full;
  blockjacobi::Op op = blockjacobi::Op::none;
  int columns = 1;
};

inline const char* name_of(Format format) {
  switch (format) {
    case Format::full: return "full";
    case Format::packed: return "packed";
    case Format::fp32: return "fp32";
    case Format::bf16: return "bf16";
    case Format::fp16: return "fp16";
  }
  return "";
}

/// The bytes that a product with one block moves: the block as it is stored, r and z.
template <class T>
double apply_bytes(const ApplyCase& c, int n) {
  constexpr int parts = sizeof(T) / sizeof(blockjacobi::real_t<T>);
  return static_cast<double>(
             blockjacobi::detail::format_block_bytes(c.format, n, sizeof(blockjacobi::real_t<T>), parts)) +
         2.0 * n * c.columns * sizeof(T);
}

/// The order of each block.
template <class T>
std::vector<int> orders_of(const ApplyCase& c, const RandomMemory<T>& memory, double gigabytes) {
  std::vector<int> orders;
  std::mt19937 generator(1);
  std::uniform_int_distribution<int> any(1, c.n);
  constexpr std::size_t most = 34'000'000;
  double moved = 0, rows = 0;
  const double capacity = static_cast<double>(memory.elements()) / c.columns - c.n;
  while (moved < gigabytes * 1e9 && rows < capacity && orders.size() < most) {
    orders.push_back(c.mixed ? any(generator) : c.n);
    moved += apply_bytes<T>(c, orders.back());
    rows += orders.back();
  }
  return orders;
}

inline blockjacobi::BlockPartition partition_of(const ApplyCase& c, const std::vector<int>& orders) {
  if (!c.mixed) return blockjacobi::BlockPartition::uniform(static_cast<int>(orders.size()) * c.n, c.n);
  std::vector<blockjacobi::index_t> offsets{0};
  for (const int n : orders) offsets.push_back(offsets.back() + n);
  return blockjacobi::BlockPartition::from_offsets(std::move(offsets));
}

template <class T>
Measurement measure_apply(Device& device, const ApplyCase& c, RandomMemory<T>& memory, double gigabytes) {
  const std::vector<int> orders = orders_of(c, memory, gigabytes);
  RandomBlocks<T> blocks(device.backend, partition_of(c, orders), c.format, memory);
  check(cudaMemset(memory.z().data(), 0xFF, memory.z().bytes()));  // NaN
  Measurement m{"gemv", "blockjacobi", blockjacobi::to_char(blockjacobi::scalar_type<T>), c.n, orders.size(), {}, 0, 0,
                0};
  m.time = device.time(
      20, [] {}, [&] { blocks.apply(c.op, c.columns); });
  for (const int n : orders) {
    m.bytes += apply_bytes<T>(c, n);
    m.flops += (blockjacobi::is_complex<T> ? 8.0 : 2.0) * n * n * c.columns;
  }
  m.batch_bytes = blocks.bytes();
  m.error = blocks.error(c.op, c.columns);
  m.storage = name_of(c.format);
  m.partition = c.mixed ? "mixed" : "uniform";
  m.transposed = c.op != blockjacobi::Op::none;
  m.columns = c.columns;
  return m;
}

}  // namespace bench
