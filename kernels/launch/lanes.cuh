#pragma once

#include "kernels/collectives/shared_tile.cuh"
#include "kernels/launch/tiny_batch.cuh"

#include <type_traits>

namespace blockjacobi::kernels {

template <class C>
__device__ detail::MatrixRef<const C> as_const(const detail::MatrixRef<C>& a) {
  return {a.data, a.rows, a.cols, a.ld};
}

/// The shared memory of a group: `tiles` tiles, then the vector.
template <int W, class C>
struct LanesScratch {
  using Tile = SharedTile<W, C>;
  C* tiles;
  C* vector;

  __device__ Tile tile(int rows, int cols, int number = 0) const {
    return {tiles + number * Tile::capacity, {vector}, Lanes<W>::current(), rows, cols};
  }
  static constexpr std::size_t bytes(int groups, int tiles) {
    return static_cast<std::size_t>(groups) * static_cast<std::size_t>(tiles * Tile::capacity + W) * sizeof(C);
  }
};

/// One group of W lanes a matrix. A Task is the operation: Task::Scalar, Task::tiles (a group), batch() with the
/// matrices that define the order, and run<W>(k, matrix, scratch) for matrix k.
template <int W, class Task>
__global__ void __launch_bounds__(lanes_threads<W>, 1) lanes_kernel(const Task task) {
  using C = typename Task::Scalar;
  constexpr int groups = lanes_threads<W> / W;
  constexpr int capacity = Task::tiles * SharedTile<W, C>::capacity;
  extern __shared__ __align__(16) unsigned char shared[];
  const int group = static_cast<int>(threadIdx.x) / W;
  const offset_t k = static_cast<offset_t>(blockIdx.x) * groups + group;
  if (k >= task.batch().count) return;  // whole groups leave; no barrier of the thread block follows
  const auto matrix = detail::matrix_of(task.batch(), k);
  if (lanes_width(max(matrix.rows, matrix.cols)) != W) return;
  C* const tiles = reinterpret_cast<C*>(shared);
  const LanesScratch<W, C> scratch{tiles + group * capacity, tiles + groups * capacity + group * W};
  task.template run<W>(k, matrix, scratch);
}

template <int W, class Task>
void launch_lanes_width(const Task& task, const char* name, CUstream_st* stream) {
  constexpr int threads = lanes_threads<W>, groups = threads / W;
  constexpr std::size_t bytes = LanesScratch<W, typename Task::Scalar>::bytes(groups, Task::tiles);
  auto* kernel = lanes_kernel<W, Task>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(task.batch().count, groups, name), threads, bytes, stream>>>(task);
  check_launch(name);
}

/// Launches the task for every class of orders that the batch can have.
template <class Task>
void launch_lanes(const Task& task, const char* name, CUstream_st* stream) {
  const auto& batch = task.batch();
  const int largest = std::max(batch.rows, batch.cols);
  const auto try_width = [&]<int W>() {
    const bool occurs = batch.orders != nullptr ? W == 4 || largest > W / 2 : lanes_width(largest) == W;
    if (occurs) launch_lanes_width<W>(task, name, stream);
  };
  try_width.template operator()<4>();
  try_width.template operator()<8>();
  try_width.template operator()<16>();
  try_width.template operator()<32>();
}

}  // namespace blockjacobi::kernels
