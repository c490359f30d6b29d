#pragma once

#include "core/shared/storage_format.hpp"
#include "kernels/device.hpp"
#include "kernels/launch/policy.hpp"
#include "kernels/scalar.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace blockjacobi::kernels {

/// Vector kernels and, striding, reductions over n elements: 8 of 256 threads fill a multiprocessor.
inline constexpr PersistentPolicy vector_policy{256, 8};

/// Products of the Krylov basis with a vector: a thread block handles `columns` columns, a launch `groups` such groups.
struct BasisPolicy {
  int columns;
  int groups;
};
inline constexpr BasisPolicy basis_policy{8, 32};

/// Products with a 7-point stencil of 128^3: 76 % of their floor with 4, 70 with 5, 60 with 6, 43 with 8 of them.
inline constexpr PersistentPolicy csr_policy{256, 4};

/// Lanes that share a row of a CSR matrix and entries that each of them has on the way at once. One lane: rows are
/// streamed, a warp multiplies the entries of 32 rows in the order in which they stand and sums them up from shared
/// memory.
struct CsrShape {
  int lanes;
  int entries;
  bool operator==(const CsrShape&) const = default;
};

/// By the mean length of the rows. A row had better fit into one round of loads: rows of 81 entries reach 89 % of their
/// floor with 16 lanes and 6 entries, 60 with 16 and 4, 82 with 8 and 4, 67 with 32 and 3; streamed ones 71.
inline constexpr double csr_longest_streamed = 12.0;
inline constexpr CsrShape csr_shapes[] = {{1, 8}, {8, 4}, {16, 4}, {16, 6}, {32, 4}, {32, 8}};
constexpr double csr_longest(const CsrShape& shape) {
  return shape.lanes == 1 ? csr_longest_streamed : 0.9 * shape.lanes * shape.entries;
}
constexpr CsrShape csr_shape(offset_t rows, offset_t entries) {
  const double mean = static_cast<double>(entries) / static_cast<double>(std::max<offset_t>(rows, 1));
  for (const CsrShape& shape : csr_shapes)
    if (mean <= csr_longest(shape)) return shape;
  return *std::rbegin(csr_shapes);
}

/// Entries up to which the kernels of rows count with 32 bits.
inline constexpr offset_t csr_entries_limit = 2147000000;
/// Rows are of similar lengths if none is longer: its lanes go through a row alone, however long it is.
constexpr offset_t csr_longest_similar(offset_t rows, offset_t entries) { return 64 + 16 * (entries / rows); }

/// Products for any number of entries, and residuals in double: lanes of a row. Of residuals those of short rows of
/// similar lengths have csr_short_lanes, others a warp.
inline constexpr PersistentPolicy csr_any_policy{256, 8};
inline constexpr int csr_any_lanes = 16, csr_short_lanes = 8;

/// The product of a CSR matrix with one vector.
enum class CsrProductDesign {
  zero,       ///< no entries
  streamed,   ///< rows of similar lengths: shared memory, a lane sums up a row
  lanes,      ///< the same, a group of lanes a row
  cusparse,   ///< rows of any lengths
  unlimited,  ///< for any number of entries, which cuSPARSE would not take
};

constexpr const char* name(CsrProductDesign design) {
  constexpr const char* names[] = {"zero", "streamed", "lanes", "cusparse", "unlimited"};
  return names[static_cast<int>(design)];
}

/// What that depends on.
struct CsrProductCase {
  offset_t rows = 1, columns = 1, entries = 1;
  int base = 0;              ///< of the indices
  offset_t longest_row = 0;  ///< 0 while nobody has looked for it
};

struct CsrProductPolicy {
  CsrProductDesign design;
  CsrShape shape{0, 0};

  bool operator==(const CsrProductPolicy&) const = default;
  constexpr std::array<PolicyNumber, 2> numbers() const {
    return {{{"lanes", shape.lanes}, {"entries", shape.entries}}};
  }
};

constexpr CsrProductPolicy csr_product_policy(const CsrProductCase& given) {
  using enum CsrProductDesign;
  constexpr offset_t largest_offset = std::numeric_limits<std::int32_t>::max();
  if (given.entries == 0) return {zero};
  // why: cuSPARSE refuses more entries than elements, which duplicates can bring about
  if (given.entries > given.rows * given.columns || given.entries + given.base > largest_offset) return {unlimited};
  if (given.entries > csr_entries_limit || given.longest_row > csr_longest_similar(given.rows, given.entries))
    return {cusparse};
  const CsrShape shape = csr_shape(given.rows, given.entries);
  return {shape.lanes == 1 ? streamed : lanes, shape};
}

/// The kernels of CG and BiCGSTAB that go over blocks.
inline constexpr PersistentPolicy over_blocks_policy{256, 4};
/// CG's new direction: as many as fit. Were there room for more, a launch that begins early would give some
/// multiprocessors more than others.
inline constexpr PersistentPolicy cg_direction_ctas{256, 6};
/// Of blocks in a narrow format: pieces of up to 16 bytes, or else columns, that a lane has on their way. An iteration
/// of 7-point 128^3 with blocks of 32 in fp32 / bf16: in pieces 0.181 / 0.156 ms, with 8 / 16 / 32 columns 0.191 /
/// 0.185 / 0.227 and 0.178 / 0.175 / 0.197, where an apply of its own takes 0.195 / 0.166.
constexpr int cg_update_pieces(int element_bytes) { return element_bytes > 8 ? 2 : 4; }
constexpr int cg_update_columns(bool complex) { return complex ? 4 : 16; }
/// Elements in 16 bits that a piece has at least: with one a lane bf16 takes 0.175, more than with an apply of its own.
inline constexpr int cg_update_narrow_piece = 4;

/// CG's update: r -= alpha q, z = M^-1 r, the dots of both.
enum class CgUpdateDesign {
  unpreconditioned,  ///< one kernel; z is r
  blocks,            ///< one kernel, a warp for the blocks that fit it
  pieces,            ///< the same for blocks in a narrow format, of which a lane loads pieces of a column
  elements,          ///< the same, of which a lane loads one element at a time
  apart,             ///< r, then M as for everybody, then the dots
  coarse_blocks,     ///< r and the blocks in one kernel, the coarse system, its part of z with the dots
  coarse_apart,      ///< the same with a kernel for r and M's first level as for everybody
};

constexpr const char* name(CgUpdateDesign design) {
  constexpr const char* names[] = {"unpreconditioned", "blocks",      "pieces", "elements", "apart",
                                   "coarse_blocks",    "coarse_apart"};
  return names[static_cast<int>(design)];
}

/// What CG's update depends on beside scalar and largest order.
struct CgUpdateCase {
  bool preconditioned = true;
  bool coarse = false;                           ///< the blocks are M's first level
  bool known = true;                             ///< M is blocks, which are all in one format:
  detail::Format format = detail::Format::full;  ///< this
  bool one_order = true;                         ///< of all blocks
};

struct CgUpdatePolicy {
  CgUpdateDesign design;
  int piece = 0;  ///< elements

  bool operator==(const CgUpdatePolicy&) const = default;
  constexpr std::array<PolicyNumber, 1> numbers() const { return {{{"piece", piece}}}; }
};

/// Blocks of orders up to n.
constexpr CgUpdatePolicy cg_update_policy(Device, ScalarType scalar, int n, const CgUpdateCase& given) {
  using enum CgUpdateDesign;
  if (!given.preconditioned) return {unpreconditioned};
  const bool tiny = given.known && n <= largest_tiny_order;
  const bool full = tiny && given.format == detail::Format::full;
  if (given.coarse) return {full ? coarse_blocks : coarse_apart};
  if (full) return {blocks};
  const int parts = is_complex(scalar) ? 2 : 1, real_bytes = 4 * words(scalar) / parts;
  const int part_bytes = detail::format_part_bytes(given.format, real_bytes);
  if (!tiny || part_bytes >= real_bytes) return {apart};
  const int most = 16 / (part_bytes * parts);
  if (given.one_order && n % most == 0) return {pieces, most};
  if (given.format == detail::Format::fp32) return {elements, 1};
  if (given.one_order && n % cg_update_narrow_piece == 0) return {pieces, cg_update_narrow_piece};
  return {apart};
}

/// The same for several columns, which have kernels for blocks in full alone.
constexpr CgUpdatePolicy cg_columns_update_policy(Device device, ScalarType scalar, int n, const CgUpdateCase& given) {
  using enum CgUpdateDesign;
  const CgUpdatePolicy of_one = cg_update_policy(device, scalar, n, given);
  return of_one.design == unpreconditioned || of_one.design == blocks ? of_one : CgUpdatePolicy{apart};
}

/// Iterations in one launch: thread blocks of the one kernel, one on each multiprocessor, with as much shared memory as
/// there is, and the systems for which it is taken: rows and the bytes of the entries, on average for a thread block.
inline constexpr PersistentPolicy resident_policy{512, 1};
inline constexpr int resident_shared_bytes = static_cast<int>(compiled_device.shared_bytes) - (11 << 10);
inline constexpr int resident_static_bytes = 8 << 10;  ///< at most, beside that
inline constexpr int resident_most_ctas = most_multiprocessors;
inline constexpr int resident_rows = 1024;
inline constexpr int resident_entry_bytes = 160 << 10;
/// Of a coarse level, of whose elements, of so many bytes, every thread block takes and holds a vector.
constexpr int resident_coarse_order(int element_bytes) { return std::min(2048, (16 << 10) / element_bytes); }
/// The longest restart of GMRES: the arrays of a cycle lie in shared memory.
inline constexpr int resident_restart = 64;
/// Iterations of CG in a row with one wait; the next one has two and makes z = M^-1 r again. With 63, bcsstk13 with
/// blocks of 8 takes 9 % more iterations to 1e-8 than with two waits each, with 31 0.5 %.
inline constexpr int resident_forecasts = 31;
inline constexpr int resident_row_weight = 16;  ///< of a row among entries, where the rows are shared out
/// Of a lane, on average, before more lanes share its row: an iteration with rows of 105 entries on average (29 to 786)
/// takes 16.9 us with 4, 14.6 with 8, 13.7 with 16, 14.2 with 32.
inline constexpr int resident_lane_entries = 16;

/// How the iterations of CG, BiCGSTAB and GMRES run.
enum class IterationDesign {
  phases,    ///< a launch for each phase
  resident,  ///< many iterations in one launch
};

constexpr const char* name(IterationDesign design) { return design == IterationDesign::phases ? "phases" : "resident"; }

enum class ResidentSolver { cg, bicgstab, gmres };

/// What that depends on beside scalar and largest order of a block: a matrix for the CSR kernels, and M of blocks in
/// full.
struct IterationCase {
  ResidentSolver solver = ResidentSolver::cg;
  int restart = 0;  ///< of GMRES
  offset_t rows = 1, entries = 1;
  int coarse_order = 0;  ///< of M; 0 without a coarse level
};

struct IterationPolicy {
  IterationDesign design;
  int rows = 0, entries = 0, coarse_order = 0, restart = 0;  ///< at most

  bool operator==(const IterationPolicy&) const = default;
  constexpr std::array<PolicyNumber, 4> numbers() const {
    return {{{"rows", rows}, {"entries", entries}, {"coarse order", coarse_order}, {"restart", restart}}};
  }
};

/// Blocks of orders up to n.
constexpr IterationPolicy iteration_policy(Device device, ScalarType scalar, int n, const IterationCase& given) {
  using enum IterationDesign;
  const int element_bytes = 4 * words(scalar), ctas = device.multiprocessors;
  const IterationPolicy most{resident, resident_rows * ctas,
                             resident_entry_bytes / (element_bytes + static_cast<int>(sizeof(index_t))) * ctas,
                             given.solver == ResidentSolver::bicgstab ? 0 : resident_coarse_order(element_bytes),
                             given.solver == ResidentSolver::gmres ? resident_restart : 0};
  const bool has_room =
      ctas <= resident_most_ctas && device.shared_bytes >= std::size_t{resident_shared_bytes + resident_static_bytes};
  const bool suits = n <= largest_tiny_order && given.rows > 0 && given.rows <= most.rows &&
                     given.entries <= most.entries && given.coarse_order <= most.coarse_order &&
                     given.restart <= most.restart;
  return has_room && suits ? most : IterationPolicy{phases};
}

/// A pass over several columns of the Krylov basis at once, whose elements and sums take `words` registers. 24 columns
/// of doubles take few others, so that two thread blocks fit, and what fits had better be launched (cg_direction_ctas).
constexpr PersistentPolicy tall_policy(int columns, int words) {
  return {256, 256 / (words + (columns == 24 ? 30 : 40))};
}

/// How GMRES makes a vector orthogonal to those before it.
enum class OrthogonalizationDesign {
  tall,   ///< passes over all of them at once, each thread with its rows of the basis in registers
  apart,  ///< products by groups of columns (basis_policy), subtraction
};

constexpr const char* name(OrthogonalizationDesign design) {
  return design == OrthogonalizationDesign::tall ? "tall" : "apart";
}

struct OrthogonalizationPolicy {
  OrthogonalizationDesign design;
  int columns = 0;  ///< that the kernel has room for

  bool operator==(const OrthogonalizationPolicy&) const = default;
  constexpr std::array<PolicyNumber, 1> numbers() const { return {{{"columns", columns}}}; }
};

/// Kernels of tall passes are for multiples of so many columns, up to those with which a row of the basis fits the
/// registers of a thread.
inline constexpr int tall_step = 8;
constexpr int most_tall_columns(ScalarType scalar) { return is_complex(scalar) ? 16 : 32; }

/// `columns` before it, one at least.
constexpr OrthogonalizationPolicy orthogonalization_policy(Device, ScalarType scalar, int columns) {
  using enum OrthogonalizationDesign;
  if (columns > most_tall_columns(scalar)) return {apart};
  return {tall, (columns + tall_step - 1) / tall_step * tall_step};
}

inline constexpr int csr_threads = 256;

/// Threads of the kernels for matrices in block rows, a warp a block row.
inline constexpr int bsr_threads = 256;

/// Partial sums of one reduction: one double a thread block and real number summed.
inline constexpr std::size_t reduction_partials =
    static_cast<std::size_t>(vector_policy.most_ctas()) * 2 * static_cast<std::size_t>(basis_policy.columns);
inline constexpr std::size_t reduction_tickets = static_cast<std::size_t>(basis_policy.groups);

/// Several columns at once, in bundles: all kernels but those that follow.
inline constexpr PersistentPolicy columns_policy{256, 4};
/// Products, the rows that a thread block of them has at a time and at most on end, and the entries of a row that a
/// lane has on their way.
inline constexpr PersistentPolicy columns_product_policy{256, 3};
inline constexpr int columns_product_rows = 128;
template <class C>
inline constexpr int columns_entries = sizeof(C) > 8 ? 4 : 8;
inline constexpr int columns_longest_run = 1024;
/// CG's update with blocks.
template <class C>
inline constexpr PersistentPolicy columns_update_policy{256, sizeof(C) > 8 ? 2 : 3};

}  // namespace blockjacobi::kernels
