! SPDX-License-Identifier: Apache-2.0
!
! For users of LAPACK: dgesv on a server, four calls at a time, a matrix that stays on a server, and an error.
!
!     make -C fortran && fortran/solve
program solve
    use espalier
    use, intrinsic :: iso_c_binding
    implicit none
    integer, parameter :: n = 200, calls = 4
    real(c_double), target :: a(n, n), factors(n, n), x(n), b(n), xs(n, calls), c(n, n)
    real(c_double), allocatable :: cube(:, :)
    integer(c_int), target :: pivots(n), all_pivots(n, calls)
    real(c_double), allocatable, target :: all_factors(:, :, :)
    type(grpc_function_handle_t) :: dgesv, dgemm
    type(esp_result), target :: squared
    integer(c_int) :: sessions(calls)
    character(len=:), allocatable :: id
    integer :: i

    call random_number(a)
    do i = 1, n
        a(i, i) = a(i, i) + n
        b(i) = i
    end do
    call check(grpc_initialize(), 'grpc_initialize')
    call check(grpc_function_handle_default(dgesv, 'dgesv'), 'dgesv')

    ! Before: call dgesv(n, 1, factors, n, pivots, x, n, info). Sizes follow from the arrays.
    factors = a
    x = b
    call check(esp_call(dgesv, [esp_none, esp_none, esp_arg(factors), esp_arg(pivots), esp_arg(x)]), 'the call')
    call expect(matmul(a, x), b)
    print '(a)', 'one system: right'

    ! Four calls at the same time.
    allocate (all_factors(n, n, calls))
    do i = 1, calls
        all_factors(:, :, i) = a
        xs(:, i) = i*b
        call check(esp_call_async(dgesv, [esp_in(n), esp_in(1), esp_arg(all_factors(:, :, i)), &
            esp_arg(all_pivots(:, i)), esp_arg(xs(:, i))], sessions(i)), 'a call')
    end do
    call check(grpc_wait_and(sessions), 'grpc_wait_and')
    do i = 1, calls
        call expect(matmul(a, xs(:, i)), i*b)
    end do
    print '(a)', 'several systems: right'

    ! The square of A stays on its server, and is multiplied by A there.
    call check(grpc_function_handle_default(dgemm, 'dgemm'), 'dgemm')
    call check(esp_call(dgemm, product_of(esp_arg(a), esp_arg(a), esp_keep(squared))), 'the square')
    id = esp_value(squared)
    call check(esp_call(dgemm, product_of(esp_datum(id), esp_arg(a), esp_arg(c))), 'the cube')
    cube = matmul(a, a)
    cube = matmul(cube, a)
    do i = 1, n
        call expect(c(:, i), cube(:, i))
    end do
    print '(a)', 'the cube: right'
    call check(esp_data_drop(id), 'esp_data_drop')

    ! What is wrong has a text.
    factors = 0
    if (esp_call(dgesv, [esp_none, esp_none, esp_arg(factors), esp_arg(pivots), esp_arg(x)]) == esp_failed) &
        print '(2a)', 'a singular matrix: ', esp_last_error()
    if (esp_call(dgesv, [esp_none, esp_none, esp_arg(a(1:n:2, :)), esp_none, esp_arg(x)]) == esp_invalid) &
        print '(2a)', 'every other row: ', esp_last_error()
    call check(grpc_finalize(), 'grpc_finalize')

contains

    ! The arguments of dgemm, as `espalier problems dgemm` shows them, for a product without factors.
    function product_of(left, right, result) result(arguments)
        type(esp_argument), intent(in) :: left, right, result
        type(esp_argument), allocatable :: arguments(:)
        arguments = [esp_none, esp_none, esp_none, esp_none, esp_none, esp_none, left, right, esp_none, result]
    end function

    subroutine check(code, what)
        integer(c_int), intent(in) :: code
        character(len=*), intent(in) :: what
        if (code == 0) return
        print '(3a)', what, ': ', esp_last_error()
        error stop 1
    end subroutine

    subroutine expect(found, wanted)
        real(c_double), intent(in) :: found(:), wanted(:)
        if (maxval(abs(found - wanted)) > 1e-9*maxval(abs(wanted))) error stop 'a wrong result'
    end subroutine
end program
