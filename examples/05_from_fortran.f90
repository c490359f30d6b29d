! Example 5: from Fortran.
!
! The C interface through iso_c_binding: the types and functions of blockjacobi.h that a solve needs, declared once in a
! module, and a program that solves a block-tridiagonal system with arrays that count from 1.
!
! sample run: 05_from_fortran

module blockjacobi
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int32_t), parameter :: BJ_SUCCESS = 0, BJ_D = 1, BJ_HOST = 0, BJ_SINGULAR_FAIL = 0, BJ_STOP_CONVERGED = 1

  ! As struct bj_csr, member by member.
  type, bind(C) :: bj_csr
    integer(c_int32_t) :: rows, cols
    integer(c_int64_t) :: nnz
    type(c_ptr) :: row_offsets, columns, values
    integer(c_int32_t) :: offset_bits, base, scalar, space
  end type

  type, bind(C) :: bj_solve_report
    real(c_double) :: rhs_norm, initial_residual, recurrence_residual, true_residual, seconds
    integer(c_int32_t) :: reason, iterations, history_size, reserved
  end type

  interface
    function bj_backend_create_host(threads, backend) bind(C) result(status)
      import
      integer(c_int32_t), value :: threads
      type(c_ptr), intent(out) :: backend
      integer(c_int32_t) :: status
    end function

    function bj_partition_create_uniform(rows, block_size, partition) bind(C) result(status)
      import
      integer(c_int32_t), value :: rows, block_size
      type(c_ptr), intent(out) :: partition
      integer(c_int32_t) :: status
    end function

    function bj_block_jacobi_create(backend, matrix, partition, singular, M) bind(C) result(status)
      import
      type(c_ptr), value :: backend, partition
      type(bj_csr), intent(in) :: matrix
      integer(c_int32_t), value :: singular
      type(c_ptr), intent(out) :: M
      integer(c_int32_t) :: status
    end function

    function bj_operator_create_csr(backend, matrix, A) bind(C) result(status)
      import
      type(c_ptr), value :: backend
      type(bj_csr), intent(in) :: matrix
      type(c_ptr), intent(out) :: A
      integer(c_int32_t) :: status
    end function

    function bj_cg(A, M, b, x, size, space, options, report) bind(C) result(status)
      import
      type(c_ptr), value :: A, M, options
      real(c_double), intent(in) :: b(*)
      real(c_double), intent(inout) :: x(*)
      integer(c_int32_t), value :: size, space
      type(bj_solve_report), intent(out) :: report
      integer(c_int32_t) :: status
    end function

    function bj_operator_destroy(A) bind(C) result(status)
      import
      type(c_ptr), value :: A
      integer(c_int32_t) :: status
    end function

    function bj_block_jacobi_destroy(M) bind(C) result(status)
      import
      type(c_ptr), value :: M
      integer(c_int32_t) :: status
    end function

    function bj_partition_destroy(partition) bind(C) result(status)
      import
      type(c_ptr), value :: partition
      integer(c_int32_t) :: status
    end function

    function bj_backend_destroy(backend) bind(C) result(status)
      import
      type(c_ptr), value :: backend
      integer(c_int32_t) :: status
    end function

    function bj_last_error() bind(C) result(text)
      import
      type(c_ptr) :: text
    end function

    function c_strlen(text) bind(C, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! Ends the program with the message of the library if the call failed.
  subroutine must(status)
    integer(c_int32_t), intent(in) :: status
    type(c_ptr) :: text
    character(kind=c_char), pointer :: characters(:)
    if (status == BJ_SUCCESS) return
    text = bj_last_error()
    call c_f_pointer(text, characters, [c_strlen(text)])
    print *, "error: ", characters
    stop 2
  end subroutine

end module

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
