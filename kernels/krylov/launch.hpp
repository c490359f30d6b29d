#pragma once

#include "core/shared/bicgstab_recurrence.hpp"
#include "core/shared/cg_recurrence.hpp"
#include "core/shared/coarse_basis.hpp"
#include "core/shared/gmres_recurrence.hpp"
#include "core/shared/krylov_vectors.hpp"
#include "core/shared/stored_blocks_view.hpp"
#include "core/shared/vector_pass.hpp"
#include "kernels/krylov/policy.hpp"

#include <blockjacobi/views.hpp>

#include <cstddef>
#include <span>

struct CUstream_st;

// Conventions of launchers: kernels/launch.hpp.
namespace blockjacobi::kernels {

using detail::BicgstabVectors;
using detail::CgVectors;
using detail::CoarseLevelArrays;
using detail::GmresArrays;

/// Scratch of the reductions. The tickets are zero before the first use and after each. Work that shares the scratch
/// must run in stream order.
struct ReductionWorkspace {
  double* partials = nullptr;
  unsigned int* tickets = nullptr;
  void* exchange = nullptr;  ///< for the resident kernels; zero before the first use and left alone between two
};

/// Bytes of ReductionWorkspace::exchange.
std::size_t exchange_bytes() noexcept;

struct ReductionBytes {
  std::size_t partials;
  std::size_t tickets;
};
ReductionBytes reduction_bytes() noexcept;

// Vectors.

/// Words from host memory, which the launch takes with it: at most most_state_bytes.
void set_words(void* destination, const void* source, std::size_t bytes, CUstream_st* stream);

/// x_i = detail::random_element(i).
template <class C>
void random(index_t n, C* x, CUstream_st* stream);

/// r = b - r.
template <class C>
void subtract_from(index_t n, const C* b, C* r, CUstream_st* stream);

/// x += u, unless `condition` points to 0; it may be null.
template <class C>
void add(index_t n, const C* u, C* x, const int* condition, CUstream_st* stream);

/// *norm = ||x||.
template <class C>
void norm(index_t n, const C* x, double* norm, const ReductionWorkspace& workspace, CUstream_st* stream);

// The beginning and the end of any solve.

/// The sums over b and r, begin_solve, and x = 0 if b = 0. `failure` may be null.
template <class C>
void begin_solve(index_t n, const C* b, const C* r, C* x, const detail::StoppingRule& rule, const int* failure,
                 detail::SolveControl* control, const ReductionWorkspace& workspace, CUstream_st* stream);

/// *status = end_solve for ||r||.
template <class C>
void end_solve(index_t n, const C* r, const detail::SolveControl* control, SolveStatus* status,
               const ReductionWorkspace& workspace, CUstream_st* stream);

// What any solver can be made of. Masked by state->stop.

/// The sums, the dots, and the step with them; without a step there are no dots.
template <class C>
void pass(const detail::VectorPass<C>& pass, detail::ScalarStep step, detail::SolveControl* state,
          const ReductionWorkspace& workspace, CUstream_st* stream);

// Conjugate gradients. Masked by state->stop.

/// q = A p, pq = p^H q, cg_step_length; the matrix has fewer than csr_entries_limit entries.
template <class C>
void cg_product(const CsrView<C, std::int32_t>& matrix, const CgVectors<C>& v, detail::CgState<C>* state,
                const ReductionWorkspace& workspace, CUstream_st* stream);

/// pq = p^H q, cg_step_length.
template <class C>
void cg_step_length(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                    CUstream_st* stream);

/// Whether a warp takes each of these blocks.
inline bool are_tiny(std::span<const BlockGroup> groups) {
  return groups.empty() || groups.back().size <= largest_tiny_order;
}

/// That of the device in use.
CgUpdatePolicy cg_update_policy(ScalarType scalar, int n, const CgUpdateCase& given);
/// For blocks in narrow formats, those of their groups; `apart` for others.
CgUpdatePolicy cg_update_policy(ScalarType scalar, std::span<const detail::StoredGroup> groups);

/// r -= alpha q, z = X r, rr = ||r||^2, rho_new = r^H z, cg_direction_factor, for blocks that have
/// CgUpdateDesign::pieces or ::elements, with that policy's piece.
template <class C>
void cg_update(const detail::StoredBlocksView& inverse, int piece, const CgVectors<C>& v, detail::CgState<C>* state,
               const ReductionWorkspace& workspace, CUstream_st* stream);

/// r -= alpha q, z = X r block by block for orders up to 32, rr = ||r||^2, rho_new = r^H z, cg_direction_factor.
template <class C>
void cg_update(const BlockBatchView<const C>& inverse, const CgVectors<C>& v, detail::CgState<C>* state,
               const ReductionWorkspace& workspace, CUstream_st* stream);

/// r -= alpha q, z = X r block by block for orders up to 32.
template <class C>
void cg_residual_and_blocks(const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                            const detail::CgState<C>* state, CUstream_st* stream);

/// z += Z c, rr = ||r||^2, rho_new = r^H z, cg_direction_factor.
template <class C>
void cg_prolong(const detail::CoarseBasisArrays<C>& basis, const C* c, const CgVectors<C>& v, detail::CgState<C>* state,
                const ReductionWorkspace& workspace, CUstream_st* stream);

/// r -= alpha q, rr = rho_new = ||r||^2, cg_direction_factor: z is r.
template <class C>
void cg_plain_update(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream);

/// That of the device in use, for blocks of these groups; IterationDesign::resident needs a stream where
/// resident_fits().
IterationPolicy iteration_policy(ScalarType scalar, std::span<const BlockGroup> groups, const IterationCase& given);

/// Whether a resident kernel finds its place on this stream, which may have a part of the device only. Launches a
/// kernel; not during a capture.
bool resident_fits(CUstream_st* stream);

/// `iterations` times cg_product(), cg_update(), cg_direction() in one launch, which ends with the stop. `messages`:
/// cg_message_elements(), zero before the first launch of a solve. A cooperative launch: it waits until every
/// multiprocessor has room. A thread block uses as much shared memory as there is, or `shared_bytes` of it, which has
/// to hold a bit a column, what belongs to its rows but for their entries, and the vectors of a coarse level once.
template <class C>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, const CgVectors<C>& v,
                 C* messages, int iterations, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream, int shared_bytes = 0);

/// The same with a coarse level without a right product, of order resident_coarse_order() at most. CG is for Hermitian
/// A, of which E is Hermitian too; of another A this is the correction with E^-H.
template <class C, class S>
void cg_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                 const CoarseLevelArrays<C, S>& coarse, const CgVectors<C>& v, C* messages, int iterations,
                 detail::CgState<C>* state, const ReductionWorkspace& workspace, CUstream_st* stream,
                 int shared_bytes = 0);

/// Elements of `messages`; coarse_order is 0 without a coarse level.
std::size_t cg_message_elements(index_t rows, index_t coarse_order) noexcept;

/// r -= alpha q.
template <class C>
void cg_residual(const CgVectors<C>& v, const detail::CgState<C>* state, CUstream_st* stream);

/// rr = ||r||^2, rho_new = r^H z, cg_direction_factor.
template <class C>
void cg_direction_factor(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                         CUstream_st* stream);

/// x += alpha p unless x is null, p = z + beta p. The step of x is still taken after a stop, as long as alpha is not 0.
template <class C>
void cg_direction(const CgVectors<C>& v, const detail::CgState<C>* state, CUstream_st* stream);

/// Flexible CG: pq = p^H q, pr = p^H r, fcg_step_length.
template <class C>
void fcg_step_length(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream);

/// Flexible CG: rr = ||r||^2, rho_new = r^H z, qz = q^H z, fcg_direction_factor.
template <class C>
void fcg_direction_factor(const CgVectors<C>& v, detail::CgState<C>* state, const ReductionWorkspace& workspace,
                          CUstream_st* stream);

// BiCGSTAB. Masked by state->stop.

/// p = r + beta (p - omega v).
template <class C>
void bicgstab_direction(const BicgstabVectors<C>& v, const detail::BicgstabState<C>* state, CUstream_st* stream);

/// The same, and y = X p block by block for orders up to 32.
template <class C>
void bicgstab_direction(const BlockBatchView<const C>& inverse, const BicgstabVectors<C>& v,
                        const detail::BicgstabState<C>* state, CUstream_st* stream);

/// rv = r~^H v, bicgstab_first_step.
template <class C>
void bicgstab_first_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                         const ReductionWorkspace& workspace, CUstream_st* stream);

/// The same of v = A y; the matrix has fewer than csr_entries_limit entries.
template <class C>
void bicgstab_first_product(const CsrView<C, std::int32_t>& matrix, const BicgstabVectors<C>& v,
                            detail::BicgstabState<C>* state, const ReductionWorkspace& workspace, CUstream_st* stream);

/// r -= alpha v.
template <class C>
void bicgstab_half(const BicgstabVectors<C>& v, const detail::BicgstabState<C>* state, CUstream_st* stream);

/// The same, and z = X r block by block for orders up to 32.
template <class C>
void bicgstab_half(const BlockBatchView<const C>& inverse, const BicgstabVectors<C>& v,
                   const detail::BicgstabState<C>* state, CUstream_st* stream);

/// ts = t^H r, tt = ||t||^2, ss = ||r||^2, bicgstab_second_step.
template <class C>
void bicgstab_second_step(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state,
                          const ReductionWorkspace& workspace, CUstream_st* stream);

/// The same of t = A z; the matrix has fewer than csr_entries_limit entries.
template <class C>
void bicgstab_second_product(const CsrView<C, std::int32_t>& matrix, const BicgstabVectors<C>& v,
                             detail::BicgstabState<C>* state, const ReductionWorkspace& workspace, CUstream_st* stream);

/// x += alpha y + omega z, r -= omega t, rr = ||r||^2, rho_new = r~^H r, bicgstab_direction_factor.
template <class C>
void bicgstab_update(const BicgstabVectors<C>& v, detail::BicgstabState<C>* state, const ReductionWorkspace& workspace,
                     CUstream_st* stream);

/// The same iteration `iterations` times in one launch, as cg_resident().
template <class C>
void bicgstab_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                       const BicgstabVectors<C>& v, C* messages, int iterations, detail::BicgstabState<C>* state,
                       const ReductionWorkspace& workspace, CUstream_st* stream, int shared_bytes = 0);

// GMRES.

/// beta = ||v_0||, gmres_begin_cycle, v_0 /= beta. Masked by state->stop.
template <class C, class S>
void gmres_begin(const GmresArrays<C, S>& v, const detail::GmresSmall<C>& small, detail::GmresState* state,
                 const ReductionWorkspace& workspace, CUstream_st* stream);

/// Classical Gram-Schmidt, twice, of column j + 1; gmres_rotate; normalizes the column. Masked by gmres_is_idle().
template <class C, class S>
void gmres_orthogonalize(const GmresArrays<C, S>& v, const detail::GmresSmall<C>& small, int j,
                         detail::GmresState* state, const ReductionWorkspace& workspace, CUstream_st* stream);

/// y = R^-1 g, u = V y. Not masked.
template <class C, class S>
void gmres_combine(const GmresArrays<C, S>& v, const detail::GmresSmall<C>& small, const detail::GmresState* state,
                   CUstream_st* stream);

/// Bytes of messages of gmres_resident(); coarse_order is 0 without a coarse level.
template <class C>
std::size_t gmres_message_bytes(index_t n, int restart, index_t coarse_order);

/// `cycles` times gmres_orthogonalize() of M^-1 products for all columns, gmres_combine(), gmres_check(), x += M^-1 u,
/// and gmres_begin() of b - A x, in one launch, which ends with the stop: from a first column as gmres_begin() leaves
/// it to the next. `basis`: n x (restart + 1). `messages`: gmres_message_bytes(), zero before the first launch of a
/// solve. Otherwise as cg_resident(); `shared_bytes` have to hold the arrays of GmresSmall as well.
template <class C>
void gmres_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse, C* basis,
                    int restart, const C* b, C* x, void* messages, int cycles, detail::GmresState* state,
                    CUstream_st* stream, int shared_bytes = 0);

/// The same with a coarse level of order resident_coarse_order() at most.
template <class C, class S>
void gmres_resident(const CsrView<C, std::int32_t>& matrix, const BlockBatchView<const C>& inverse,
                    const CoarseLevelArrays<C, S>& coarse, C* basis, int restart, const C* b, C* x, void* messages,
                    int cycles, detail::GmresState* state, CUstream_st* stream, int shared_bytes = 0);

/// ||u||^2, gmres_check_correction.
template <class C>
void gmres_check(index_t n, const C* u, detail::GmresState* state, const ReductionWorkspace& workspace,
                 CUstream_st* stream);

}  // namespace blockjacobi::kernels
