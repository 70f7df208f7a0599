! SPDX-License-Identifier: Apache-2.0
!
! What examples/fortran/solve.f90 does not show: types, texts, bound handles, data, what is wrong. more SERVER
program more
    use espalier
    use, intrinsic :: iso_c_binding
    implicit none
    type(grpc_function_handle_t) :: handle
    character(len=100) :: server
    integer(c_int), target :: whole(3), whole_back(3)
    integer(c_int64_t), target :: long(3), long_back(3)
    integer(c_short), target :: short(3), short_back(3)
    real(c_float), target :: float(3), float_back(3)
    real(c_double), target :: x(3), y(3), total, wide(6), empty(0), empty_back(0)
    complex(c_float_complex), target :: complex(3), complex_back(3)
    complex(c_double_complex), target :: double_complex(3), double_complex_back(3)
    character(kind=c_char, len=1), target :: letters(3), letters_back(3)
    type(esp_result), target :: text
    character(len=:), allocatable :: id
    integer(c_int) :: session, ended
    integer, parameter :: three(3) = [1, -2, 3]

    call get_command_argument(1, server)
    call expect(grpc_function_handle_default(handle, 'dgemm') == grpc_not_initialized, 'calls before the beginning')
    call expect(grpc_initialize('/nowhere/client.conf') == grpc_configfile_not_found, 'no such file')
    call expect(index(esp_last_error(), '/nowhere/client.conf') > 0, 'the text names the file')
    call expect(esp_initialize(agent='127.0.0.1:1', call_timeout_s=2.0_c_double) == esp_ok, 'an agent that is not there')
    call expect(grpc_function_handle_default(handle, 'dgemm') == grpc_server_not_found, 'no agent')
    call expect(grpc_finalize() == grpc_no_error, 'the end')
    call expect(esp_initialize() == esp_ok, 'esp_initialize')
    call expect(grpc_initialize() == grpc_already_initialized, 'twice')

    whole = three; long = three; short = int(three, c_short); float = real(three); x = three
    complex = cmplx(three, 1); double_complex = cmplx(three, 1, c_double); letters = ['a', 'b', 'c']
    call make('copy_int')
    call expect(esp_call(handle, [esp_none, esp_arg(whole), esp_arg(whole_back)]) == 0, 'int')
    call make('copy_int64')
    call expect(esp_call(handle, [esp_none, esp_arg(long), esp_arg(long_back)]) == 0, 'int64')
    call make('copy_short')
    call expect(esp_call(handle, [esp_none, esp_arg(short), esp_arg(short_back)]) == 0, 'short')
    call make('copy_float')
    call expect(esp_call(handle, [esp_none, esp_arg(float), esp_arg(float_back)]) == 0, 'float')
    call make('copy_complex')
    call expect(esp_call(handle, [esp_none, esp_arg(complex), esp_arg(complex_back)]) == 0, 'complex')
    call make('copy_double_complex')
    call expect(esp_call(handle, [esp_none, esp_arg(double_complex), esp_arg(double_complex_back)]) == 0, &
        'double complex')
    call make('copy_char')
    call expect(esp_call(handle, [esp_none, esp_arg(letters), esp_arg(letters_back)]) == 0, 'char')
    call expect(all(whole == whole_back) .and. all(long == long_back) .and. all(short == short_back) .and. &
        all(float == float_back) .and. all(complex == complex_back) .and. &
        all(double_complex == double_complex_back) .and. all(letters == letters_back), 'arrays of all types')

    call make('copy_double')
    call expect(esp_call(handle, [esp_none, esp_arg(empty), esp_arg(empty_back)]) == 0, 'an empty array')
    call expect(esp_call(handle, [esp_none, esp_none, esp_arg(y)]) == esp_invalid, 'a missing array')
    call expect(len(esp_last_error()) > 10, 'has a text')
    call expect(esp_call(handle, [esp_none, esp_arg(float), esp_arg(y)]) == esp_invalid, 'a wrong type')
    call expect(index(esp_last_error(), 'double') > 0, 'names the right one')
    call expect(esp_call(handle, [esp_none, esp_arg(x)]) == esp_invalid, 'too few arguments')
    call expect(esp_call(handle, [esp_none, esp_arg(wide(1:6:2)), esp_arg(y)]) == esp_invalid, 'an array with gaps')
    call expect(index(esp_last_error(), 'contiguous') > 0, 'says so')
    call expect(esp_last_status() == esp_invalid, 'says so')
    call expect(esp_call(handle, [esp_none, esp_arg(x), esp_arg(y)]) == 0, 'and the handle goes on')
    call expect(all(x == y), 'and the handle goes on')

    call make('cut_sum')
    total = 0
    call expect(esp_call(handle, [esp_in(3), esp_arg(x), esp_arg(total)]) == 0, 'a scalar result')
    call expect(total == 4, 'a scalar result')

    ! Texts: arguments that are gone when the session runs.
    call make('greet')
    call expect(start_greeting('you') == 0, 'texts of an asynchronous call')
    call expect(grpc_wait(session) == 0, 'its end')
    call expect(esp_value(text) == 'hello, you!', 'the text')
    call expect(esp_value(text) == '', 'the text')
    call expect(esp_call(handle, [esp_in(repeat('x', 5000)), esp_in('hello'), esp_arg(text)]) == esp_invalid, &
        'a text that is too long')

    ! Sessions.
    call make('nap')
    call expect(esp_call_async(handle, [esp_in(30000), esp_none, esp_arg(y(1:2))], session) == 0, 'a long session')
    call expect(grpc_probe(session) == grpc_not_completed, 'it runs')
    call expect(grpc_probe_or([session], ended) == grpc_none_completed, 'none has ended')
    call expect(grpc_cancel(session) == 0, 'it is cancelled')
    call expect(grpc_wait_or([session], ended) == grpc_session_failed, 'it is cancelled')
    call expect(ended == session, 'and has an error')
    call expect(grpc_get_error(session) == grpc_session_failed, 'and has an error')
    call expect(esp_handle_set_deadline(handle, 0.2_c_double) == 0, 'a deadline')
    call expect(esp_call(handle, [esp_in(30000), esp_none, esp_arg(y(1:2))]) == esp_timeout, 'it passes')
    call expect(esp_status_string(esp_timeout) == 'deadline passed', 'a status in words')
    call expect(len(grpc_error_string(grpc_session_failed)) > 0, 'a code in words')

    ! Data.
    call expect(esp_data_put(trim(server), esp_arg(x), esp_data_volatile, id) == 0, 'esp_data_put')
    y = 0
    call expect(esp_data_get(id, esp_arg(y)) == 0, 'esp_data_get')
    call expect(all(x == y), 'esp_data_get')
    call expect(esp_data_get(id, esp_arg(wide)) == esp_invalid, 'of another size')
    call expect(grpc_function_handle_init(handle, trim(server), 'copy_double') == 0, 'a bound handle')
    y = 0
    call expect(esp_call(handle, [esp_none, esp_datum(id), esp_arg(y)]) == 0, 'a datum goes in')
    call expect(all(x == y), 'a datum goes in')
    call expect(esp_data_drop(id) == 0, 'esp_data_drop')
    call expect(esp_data_get(id, esp_arg(y)) == esp_not_found, 'esp_data_drop')
    call expect(grpc_finalize() == 0, 'the end')
    print '(a)', 'all right'

contains

    integer(c_int) function start_greeting(name)
        character(len=*), intent(in) :: name
        start_greeting = esp_call_async(handle, [esp_in(name), esp_in('hello'), esp_arg(text)], session)
    end function

    subroutine make(name)
        character(len=*), intent(in) :: name
        call expect(grpc_function_handle_default(handle, name) == 0, name)
    end subroutine

    subroutine expect(is_right, what)
        logical, intent(in) :: is_right
        character(len=*), intent(in) :: what
        if (is_right) return
        print '(4a)', 'wrong: ', what, ': ', esp_last_error()
        error stop 1
    end subroutine
end program
