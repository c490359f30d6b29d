#pragma once

#include "kernels/launch/tiny_batch.cuh"
#include "kernels/qr/policy.hpp"
#include "kernels/qr/team_careful.cuh"
#include "kernels/qr/team_mesh.cuh"

namespace blockjacobi::kernels {

/// Of teams with matrices up to order N.
template <int N, class C>
inline constexpr QrPolicy qr_team = qr_class_policy(compiled_device, scalar_of<C>, N);

template <int N, class C>
using QrMesh = LaneMesh<qr_team<N, C>.rows, qr_team<N, C>.columns>;

/// Teams of a thread block.
template <int N, class C>
inline constexpr int qr_teams = qr_team<N, C>.warps * 32 / QrMesh<N, C>::lanes;

/// Shared memory of a thread block: the tiles of all teams, then their tau.
template <int N, class C>
struct QrScratch {
  using Tile = MeshTile<C, N, QrMesh<N, C>>;
  static constexpr std::size_t bytes = static_cast<std::size_t>(qr_teams<N, C>) * (Tile::stride + N) * sizeof(C);
  C* tile;
  C* tau;

  __device__ QrScratch(unsigned char* shared, int team)
      : tile(reinterpret_cast<C*>(shared) + team * Tile::stride),
        tau(reinterpret_cast<C*>(shared) + qr_teams<N, C> * Tile::stride + team * N) {}
};

/// Factorizes one matrix a team in place; nothing is written where it does not `exist`.
template <int N, class C, class Matrix>
__device__ void factorize_qr_by_team(const Matrix& a, C* tau, bool exists, const QrScratch<N, C>& scratch) {
  using Mesh = QrMesh<N, C>;
  using Tile = MeshTile<C, N, Mesh>;
  using Lanes = Team<Mesh::lanes>;
  const auto lane = Mesh::current();
  Tile::fetch(scratch.tile, a, lane.rank());
  Tile::wait();
  MeshQr<C, N, Mesh, qr_team<N, C>.phase> factorization(lane);
  factorization.load(scratch.tile, a.n);
  const bool served = factorization.run(scratch.tau);
  Lanes::sync();
  if (served) factorization.store(scratch.tile, a.n);
  if (Lanes::any_in_warp(!served))
    CarefulQr<C, N, Mesh::lanes>{scratch.tile, served ? 0 : static_cast<int>(a.n), Tile::ld, scratch.tau,
                                 Lanes::current()}
        .run();
  Lanes::sync();
  if (!exists) return;
  Tile::store(scratch.tile, a, lane.rank());
  for (int k = lane.rank(); k < a.n; k += Mesh::lanes) tau[k] = scratch.tau[k];
}

template <int N, class C>
__global__ void __launch_bounds__(32 * qr_team<N, C>.warps, 1)
    geqrf_team_kernel(const ContiguousBatch<C, N> a, C* tau) {
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<QrMesh<N, C>::lanes>::current();
  const int number = team.number_in_cta();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * qr_teams<N, C> + number;
  if (k - team.number >= a.count) return;  // whole warps leave; no barrier of the thread block follows
  // Teams past the end take the last matrix too, as all teams of a warp work together.
  const bool exists = k < a.count;
  const offset_t member = exists ? k : a.count - 1;
  factorize_qr_by_team<N>(a[member], tau + member * N, exists, QrScratch<N, C>(shared, number));
}

/// Orders of one class, from anywhere.
template <int N, class C>
__global__ void __launch_bounds__(32 * qr_team<N, C>.warps, 1) geqrf_class_kernel(const StridedBatch<C> a, C* tau) {
  using Lanes = Team<QrMesh<N, C>::lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_chunk;
  collect_class<N>(a.view, first, list);
  const auto team = Lanes::current();
  const int number = static_cast<int>(threadIdx.x) / Lanes::lanes;
  for (int base = number - team.number; base < list.size; base += qr_teams<N, C>) {
    const bool exists = base + team.number < list.size;
    const offset_t k = first + (exists ? list.member[base + team.number] : 0);
    factorize_qr_by_team<N>(exists ? a[k] : StridedMatrix<C>{}, tau + k * a.view.rows, exists,
                            QrScratch<N, C>(shared, number));
    Lanes::sync();  // the tile is used again
  }
}

}  // namespace blockjacobi::kernels
