#pragma once

#include "kernels/collectives/tensor_tile.cuh"

namespace blockjacobi::kernels {

/// Two numbers in one access.
struct alignas(16) TwoDoubles {
  double value[2];
};

/// A TensorTile in shared memory.
template <class Wide>
class SharedTensorTile {
 public:
  using Tile = TensorTile<Wide>;
  static constexpr int parts = Tile::is_complex ? 2 : 1;

  __device__ void set(const Tile& x) {
#pragma unroll
    for (int p = 0; p < parts; ++p) two_[p][Tile::lane()] = {x.part[p][0], x.part[p][1]};
  }
  __device__ Tile get() const {
    Tile x;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const TwoDoubles two = two_[p][Tile::lane()];
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) x.part[p][v] = two.value[v];
    }
    return x;
  }

  /// With bank conflicts.
  __device__ Tile get_adjoint() const {
    Tile x;
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const double value = two_[p][Tile::lane_of_row(Tile::column(v)) + Tile::row() % 4].value[Tile::row() / 4];
        x.part[p][v] = p == 1 ? -value : value;
      }
    return x;
  }

 private:
  TwoDoubles two_[parts][32];
};

/// The same, to be read as it is or as its adjoint, without bank conflicts.
template <class Wide>
class TransposableTensorTile {
 public:
  using Tile = TensorTile<Wide>;
  static constexpr int parts = SharedTensorTile<Wide>::parts;

  __device__ void set(const Tile& x) {
#pragma unroll
    for (int p = 0; p < parts; ++p) two_[p][place(Tile::lane())] = {x.part[p][0], x.part[p][1]};
  }
  template <bool adjoint>
  __device__ Tile get() const {
    Tile x;
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const int source = adjoint ? Tile::lane_of_row(Tile::column(v)) + Tile::row() % 4 : Tile::lane();
        const double value = two_[p][place(source)].value[adjoint ? Tile::row() / 4 : v];
        x.part[p][v] = adjoint && p == 1 ? -value : value;
      }
    return x;
  }

 private:
  static constexpr int gap = 2;  ///< behind eight lanes
  __device__ static int place(int lane) { return lane + lane / 8 * gap; }
  TwoDoubles two_[parts][32 + 3 * gap];
};

/// Two tiles beside each other, as multiply_add() takes them when they are the left operand.
template <class Wide>
class SharedTensorPair {
 public:
  using Tile = TensorTile<Wide>;
  static constexpr int parts = SharedTensorTile<Wide>::parts;

  __device__ void set(int which, const Tile& x) {
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) two_[p][v][Tile::lane()].value[which] = x.part[p][v];
  }
  __device__ void get(Tile& upper, Tile& lower) const {
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const TwoDoubles two = two_[p][v][Tile::lane()];
        upper.part[p][v] = two.value[0];
        lower.part[p][v] = two.value[1];
      }
  }

 private:
  TwoDoubles two_[parts][Tile::values][32];
};

}  // namespace blockjacobi::kernels
