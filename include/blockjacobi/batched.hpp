#pragma once

#include <blockjacobi/backend.hpp>
#include <blockjacobi/export.hpp>
#include <blockjacobi/memory.hpp>
#include <blockjacobi/types.hpp>

#include <type_traits>

namespace blockjacobi {

/// `count` column-major matrices of rows x cols that somebody else owns: at a fixed distance, or one pointer each; all
/// of one shape, or square of an order each. MatrixBatchView<T> converts to MatrixBatchView<const T>.
template <class T>
struct MatrixBatchView {
  index_t rows = 0;  ///< of every matrix; with `orders`, their bound
  index_t cols = 0;  ///< of every matrix; with `orders`, equal to rows
  /// Leading dimension >= rows, the same for every matrix; 0: columns stand back to back, each matrix has its own rows.
  index_t ld = 0;
  offset_t count = 0;
  T* data = nullptr;                ///< matrix k starts at data + k * stride ...
  offset_t stride = 0;              ///< ... in elements, at least the extent of a matrix if count > 1 ...
  T* const* pointers = nullptr;     ///< ... or at pointers[k]; the array lies in `space`, data is null then
  const index_t* orders = nullptr;  ///< matrix k is orders[k] x orders[k], 0 <= orders[k] <= rows; array in `space`
  MemorySpace space = MemorySpace::host;

  /// Matrix k at data + k * stride.
  static constexpr MatrixBatchView strided(T* data, index_t rows, index_t cols, index_t ld, offset_t stride,
                                           offset_t count, MemorySpace space, const index_t* orders = nullptr) {
    return {rows, cols, ld, count, data, stride, nullptr, orders, space};
  }

  /// Matrix k at pointers[k].
  static constexpr MatrixBatchView pointer_array(T* const* pointers, index_t rows, index_t cols, index_t ld,
                                                 offset_t count, MemorySpace space, const index_t* orders = nullptr) {
    return {rows, cols, ld, count, nullptr, 0, pointers, orders, space};
  }

  template <class U>
  requires(!std::is_const_v<T> && std::is_same_v<U, const T>) constexpr operator MatrixBatchView<U>() const {
    return {rows, cols, ld, count, data, stride, pointers, orders, space};
  }
};

/// Dense linear algebra on batches of small matrices, with LAPACK's meaning of every array.
///
/// What holds for all functions:
///  - Arrays (matrices, pointer arrays, orders, ipiv, tau, info, rank) lie in the memory space of the backend. Work
///    is enqueued on its stream; a call does not wait, and allocates nothing but, on CUDA in stream order, the
///    workspace of pseudo_inverse above order 32 and of packed results of spd_inverse of large orders. On the host the
///    work is done on return. On a host backend several threads may call them at once, for different outputs; a CUDA
///    backend serves one thread at a time, threads with a backend (and stream) of their own do not disturb each other.
///  - Matrices are of order 0..max_block_size; square but for geqrf and right-hand sides, and disjoint from each other.
///    Elements between the rows and the leading dimension are neither read nor written.
///  - An input and an output may be the same storage (same data or pointers, stride, and ld unless there is only one
///    column) where a function says so, else they must be disjoint: one behind the other, or interleaved at the same
///    stride and ld. Pointer arrays may point anywhere else, which is the caller's promise.
///  - Every array needs the alignment of its elements, no more: for std::complex that of the real type.
///  - Where an input and an output both are square batches, the orders are the input's; the output's `orders` must be
///    null or the same array. Entries of ipiv and tau behind the first orders[k] of matrix k are unspecified.
///  - Misuse throws InvalidArgument with the numbers before any work: sizes out of range, ld < rows, a stride at which
///    matrices overlap, null pointers to arrays that are not empty, an operand in another memory space, shapes that do
///    not fit, matrices that overlap other matrices of the call, values that are no enumerators. That ipiv, tau, info
///    and rank overlap neither each other nor a matrix is the caller's promise. The entries of `orders` and `pointers`
///    are checked on the host only, those of `ipiv` nowhere: getri and getrs take what getrf wrote.
///  - A failing call of CUDA throws CudaError; workspace that is not to be had throws std::bad_alloc on the host, on
///    CUDA CudaError or what the MemoryResource of the backend throws.
///  - Numerical outcomes are values: info[k] (or rank[k]) of matrix k. Matrices do not influence each other: NaN, Inf
///    and singular ones leave their neighbours' results as they are, bit for bit.
///  - NaN or Inf in a matrix never ends in an inverse that looks like one: info is not 0, or the inverse has NaN or Inf
///    itself, from inverse and spd_inverse as from getri and potri after the factorization.
///  - info tells of exact zeros, not of overflow: where elements of the inverse of a regular matrix are past the range
///    of T, or an intermediate result is, x has Inf or NaN and info is 0, as in LAPACK; [5e-324] gives Inf.
///
/// Error bounds below hold without overflow and underflow; eps is the unit roundoff of T, c(n) a polynomial of low
/// degree in the order (N. J. Higham, "Accuracy and stability of numerical algorithms", 2nd edition, 2002: theorems 9.3
/// to 10.4, section 14.3, theorem 19.4).
///
/// The batched algorithms follow A. Haidar, T. Dong, P. Luszczek, S. Tomov, J. Dongarra, "Batched matrix computations
/// on hardware accelerators based on GPUs" (2015), and A. Abdelfattah, A. Haidar, S. Tomov, J. Dongarra, "Factorization
/// and inversion of a million matrices using GPUs: challenges and countermeasures" (2017).
namespace batched {

/// The triangle that is read and written.
enum class Triangle { lower, upper };

/// Shape of a symmetric (Hermitian) result.
enum class SpdStorage {
  full,   ///< N x N, both triangles
  packed  ///< N (N + 1) / 2 elements, the columns of one triangle back to back
};

using blockjacobi::Op;

/// LU factorization with partial pivoting, in place: P A = L U (Haidar et al. 2015; Abdelfattah et al. 2017).
///
/// `a`: square; L (unit diagonal, not stored) below the diagonal and U on and above it take the place of A.
/// `ipiv`: rows * count numbers; in step i (1-based) of matrix k row i was interchanged with row
/// ipiv[k * a.rows + i - 1]. The pivot is the element of largest |Re| + |Im|, the first of equals.
/// `info`: one a matrix; 0, or the smallest j (1-based) with u_jj exactly zero. The factorization is complete then too.
/// Where A has NaN or Inf, so has the result; nothing is promised about ipiv and info but that ipiv holds rows of the
/// matrix.
///
/// ||P A - L U|| is of the order of N eps ||A|| unless the elements grow. Up to rounding |l_ij| <= 1, for complex T
/// |l_ij| <= sqrt(2), since the pivot is the largest by |Re| + |Im|.
template <Scalar T>
BLOCKJACOBI_EXPORT void getrf(const Backend& backend, MatrixBatchView<T> a, index_t* ipiv, int* info);

/// Inverse from the LU factorization: X = U^-1 L^-1 P (Abdelfattah et al. 2017).
///
/// `lu`, `ipiv`: from getrf. `x`: of the shape of lu; may be lu's storage.
/// `info`: one a matrix; 0, or the smallest j (1-based) with u_jj exactly zero: x is filled with quiet NaN then.
/// NaN or Inf in the factors gives an x with NaN or Inf.
///
/// |X A - I| <= c(N) eps |X| |L| |U| elementwise, A the matrix that was factorized.
template <Scalar T>
BLOCKJACOBI_EXPORT void getri(const Backend& backend, std::type_identity_t<MatrixBatchView<const T>> lu,
                              const index_t* ipiv, MatrixBatchView<T> x, int* info);

/// Inverse in one pass: X = A^-1 by Gauss-Jordan elimination with partial pivoting (Abdelfattah et al. 2017). On CUDA
/// matrices up to order 96, complex ones up to 60, are read and written once; of larger ones the panels go to memory
/// and back, or, of real ones in a batch of up to 64, to several multiprocessors: the same matrix may have other
/// rounding errors in a larger batch. Which of nearly equal pivots is taken is not specified.
///
/// `a`: square. `x`: of the shape of a; may be a's storage.
/// `info`: one a matrix; 0, or the number (1-based) of the first pivot that is exactly zero: x is filled with quiet NaN
/// then. NaN or Inf in A gives an x with NaN; about info nothing is promised then.
///
/// min(||I - A X||, ||I - X A||) <= 10 N eps ||A|| ||X|| in the infinity norm unless elements grow or underflow.
template <Scalar T>
BLOCKJACOBI_EXPORT void inverse(const Backend& backend, std::type_identity_t<MatrixBatchView<const T>> a,
                                MatrixBatchView<T> x, int* info);

/// Solves op(A) X = B in place for the columns of B, from the LU factorization (Haidar et al. 2015).
///
/// `lu`, `ipiv`: from getrf, with info = 0; where u_jj is zero, X has Inf or NaN; a zero column may stay zero.
/// `b`: as many matrices as lu, lu.rows x right-hand sides, disjoint from lu; b.orders must be null, and with lu.orders
/// only the first orders[k] rows of matrix k are read and written (b.ld = 0 means lu.rows).
///
/// Each column solves op(A + E) x = b exactly for some E, |E| <= c(N) eps |P^T| |L| |U|. Rounding depends on b.cols.
template <Scalar T>
BLOCKJACOBI_EXPORT void getrs(const Backend& backend, Op op, std::type_identity_t<MatrixBatchView<const T>> lu,
                              const index_t* ipiv, MatrixBatchView<T> b);

/// Cholesky factorization of symmetric (Hermitian) positive definite matrices, in place: A = L L^H for Triangle::lower,
/// A = U^H U for Triangle::upper (Haidar et al. 2015).
///
/// `a`: square; the factor takes the place of the triangle, the other one is neither read nor written. Imaginary parts
/// on the diagonal are taken as zero; the diagonal of the factor is real and positive.
/// `info`: one a matrix; 0, or the order j of the first leading minor that is not positive definite (or has NaN on its
/// way): of the triangle only the part of order j - 1 holds a factor then, the rest is unspecified. Where the triangle
/// has Inf and info is 0 the factor has NaN or Inf.
///
/// ||A - L L^H|| <= c(N) eps ||A||.
template <Scalar T>
BLOCKJACOBI_EXPORT void potrf(const Backend& backend, Triangle triangle, MatrixBatchView<T> a, int* info);

/// Inverse from the Cholesky factorization, in place: A^-1 = L^-H L^-1, or U^-1 U^-H (P. Bientinesi,
/// B. Gunter, R. A. van de Geijn, "Families of algorithms related to the inversion of a symmetric positive definite
/// matrix", 2008).
///
/// `a`: from potrf with the same triangle, which alone is read and written. The diagonal of the inverse is real.
/// `info`: one a matrix; 0, or the smallest j (1-based) where the factor's diagonal is exactly zero: the triangle is
/// filled with quiet NaN then.
///
/// ||A X - I|| <= c(N) eps cond(A), A the matrix that was factorized.
template <Scalar T>
BLOCKJACOBI_EXPORT void potri(const Backend& backend, Triangle triangle, MatrixBatchView<T> a, int* info);

/// Inverse of symmetric (Hermitian) positive definite matrices in one pass, by Cholesky, on CUDA of contiguous
/// batches (one order, matrices and their columns back to back) of small orders by elimination, without pivoting
/// (Abdelfattah et al. 2017).
///
/// `a`: square; only its `triangle` is read. `x`: of the order of a; may be a's storage.
/// SpdStorage::full: x is exactly symmetric (Hermitian). SpdStorage::packed: the first N (N + 1) / 2 elements of each
/// matrix of x hold the same triangle of the inverse in LAPACK's packed form; x.ld is not used, x.stride is at least
/// that many elements of the largest order, nothing behind them is written. On CUDA packed results of large orders, 97
/// at least, take workspace as pseudo_inverse does.
///
/// `info`: one a matrix, as potrf; where it is not 0 all elements of the result are quiet NaN. Where the triangle has
/// Inf and info is 0 the result has NaN.
///
/// ||A X - I|| <= c(N) eps cond(A).
template <Scalar T>
BLOCKJACOBI_EXPORT void spd_inverse(const Backend& backend, Triangle triangle,
                                    std::type_identity_t<MatrixBatchView<const T>> a, MatrixBatchView<T> x,
                                    SpdStorage storage, int* info);

/// Solves A X = B in place for the columns of B, from the Cholesky factorization (Haidar et al. 2015).
///
/// `cholesky`: from potrf with the same triangle and info = 0; only the triangle is read. `b`: as in getrs.
///
/// Each column solves (A + E) x = b exactly for some E, ||E|| <= c(N) eps ||A||. Rounding depends on b.cols.
template <Scalar T>
BLOCKJACOBI_EXPORT void potrs(const Backend& backend, Triangle triangle,
                              std::type_identity_t<MatrixBatchView<const T>> cholesky, MatrixBatchView<T> b);

/// Householder QR factorization, in place: A = Q R (Haidar et al. 2015).
///
/// `a`: m x n; R takes the place of the upper triangle, with real diagonal. Below the diagonal of column i stands v_i
/// behind its leading 1, with Q = H_1 H_2 ... H_k, H_i = I - tau_i v_i v_i^H, k = min(m, n). Norms neither overflow nor
/// underflow.
/// `tau`: min(a.rows, a.cols) * count scalars; those of matrix k start at tau + k * min(a.rows, a.cols).
///
/// A + E = Q R for some unitary Q and E, ||E|| <= c(m, n) eps ||A|| column by column.
template <Scalar T>
BLOCKJACOBI_EXPORT void geqrf(const Backend& backend, MatrixBatchView<T> a, std::type_identity_t<T>* tau);

/// Moore-Penrose pseudo-inverse, the minimum-norm least-squares inverse: QR with column pivoting, A P = Q R; the rows
/// of R up to the numerical rank r are reduced to triangular form from the right, [R11 R12] = [T 0] Z (complete
/// orthogonal decomposition); X = P Z^H [T^-1 0; 0 0] Q^H (P. Businger, G. H. Golub, "Linear least squares solutions by
/// Householder transformations", 1965; G. H. Golub, C. F. Van Loan, "Matrix computations", section 5.5; LAPACK's
/// gelsy).
///
/// `a`: square. `x`: of the shape of a; may be a's storage. Orders above 32 allocate N^2 elements of workspace for
/// each matrix that is at work at the same time: one a thread on the host, on CUDA one a multiprocessor or more.
/// `rtol`: r counts the |r_jj| > rtol |r_11|; rtol <= 0 takes N eps. InvalidArgument unless rtol < 1.
/// `rank`: one a matrix; r, or -1 if A has NaN or Inf: x is filled with quiet NaN then. Rank 0 gives X = 0.
///
/// ||X - B^+|| <= c(N) eps cond(B) ||X||, cond(B) the ratio of the largest singular value to the r-th, for the B of
/// rank r that is A but for the rows of R behind the r-th: ||A - B|| <= sqrt(N - r) rtol ||A|| in the Frobenius norm
/// (P.-A. Wedin, "Perturbation theory for pseudo-inverses", 1973). With r = N that is the inverse.
template <Scalar T>
BLOCKJACOBI_EXPORT void pseudo_inverse(const Backend& backend, std::type_identity_t<MatrixBatchView<const T>> a,
                                       MatrixBatchView<T> x, double rtol, index_t* rank);

}  // namespace batched

}  // namespace blockjacobi
