! Example 5: from Fortran.
!
! A block-tridiagonal system with arrays that count from 1, solved through the module that comes with the C header,
! include/blockjacobi/blockjacobi.f90.
!
! sample run: 05_from_fortran

program from_fortran
  use blockjacobi
  implicit none

  integer, parameter :: nodes = 1000, rows = 3 * nodes, most = 5 * rows
  integer(c_int32_t), target :: offsets(rows + 1), columns(most)
  real(c_double), target :: values(most)
  real(c_double) :: b(rows), x(rows)
  type(bj_csr) :: matrix
  type(bj_solve_report) :: report
  type(c_ptr) :: backend, partition, M, A
  integer :: row, column, first, nnz

  ! 1. Three unknowns a node, fully coupled within it, and with the same unknown of both neighbours.
  nnz = 0
  offsets(1) = 1
  do row = 1, rows
    first = row - mod(row - 1, 3)
    if (row > 3) call put(row - 3, -1.0_c_double)
    do column = first, first + 2
      call put(column, merge(4.0_c_double, -0.7_c_double, column == row))
    end do
    if (row + 3 <= rows) call put(row + 3, -1.0_c_double)
    offsets(row + 1) = nnz + 1
  end do

  ! 2. The matrix where it lies; base = 1 says that its indices are Fortran's.
  matrix = bj_csr(rows, rows, int(nnz, c_int64_t), c_loc(offsets), c_loc(columns), c_loc(values), 32, 1, BJ_D, BJ_HOST)

  ! 3. Preconditioner with a block a node, and the solve.
  call must(bj_backend_create_host(0, backend))
  call must(bj_partition_create_uniform(rows, 3, partition))
  call must(bj_block_jacobi_create(backend, matrix, partition, BJ_SINGULAR_FAIL, M))
  call must(bj_operator_create_csr(backend, matrix, A))
  b = 1.0_c_double
  x = 0.0_c_double
  call must(bj_cg(A, M, b, x, rows, BJ_HOST, c_null_ptr, report))
  print '(a, i0, a, es9.2)', "iterations ", report%iterations, ", ||b - A x|| = ", report%true_residual

  call must(bj_operator_destroy(A))
  call must(bj_block_jacobi_destroy(M))
  call must(bj_partition_destroy(partition))
  call must(bj_backend_destroy(backend))
  if (report%reason /= BJ_STOP_CONVERGED) stop 1

contains

  subroutine put(at, value)
    integer, intent(in) :: at
    real(c_double), intent(in) :: value
    nnz = nnz + 1
    columns(nnz) = at
    values(nnz) = value
  end subroutine

end program
