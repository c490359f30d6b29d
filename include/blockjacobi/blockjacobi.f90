! The types and functions of blockjacobi.h that a solve in double precision needs, as a module of Fortran 2003. What else
! the header has is declared in the same way.

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
