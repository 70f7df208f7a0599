! SPDX-License-Identifier: Apache-2.0
!
! The module `espalier`: the C library for Fortran 2018 over iso_c_binding. doc/fortran.md is the manual, and grpc.h
! and espalier.h describe each function. The functions have the names of those headers and return their codes.
!
! An array that a call reads or writes must be contiguous and must have the attribute `target` in the program.
module espalier
    use, intrinsic :: iso_c_binding
    implicit none
    private

    ! ---- codes of grpc.h and espalier.h ----
    integer(c_int), parameter, public :: grpc_no_error = 0, grpc_not_initialized = 1, grpc_already_initialized = 2, &
        grpc_configfile_not_found = 3, grpc_configfile_error = 4, grpc_server_not_found = 5, &
        grpc_function_not_found = 6, grpc_invalid_function_handle = 7, grpc_invalid_session_id = 8, &
        grpc_rpc_refused = 9, grpc_communication_failed = 10, grpc_session_failed = 11, grpc_not_completed = 12, &
        grpc_none_completed = 13, grpc_other_error_code = 18, grpc_unknown_error_code = 19, grpc_sessionid_void = -1
    integer(c_int), parameter, public :: esp_ok = 0, esp_invalid = 1, esp_syntax = 2, esp_no_memory = 3, &
        esp_system = 4, esp_not_found = 5, esp_unknown_problem = 6, esp_no_server = 7, esp_unreachable = 8, &
        esp_maybe = 9, esp_timeout = 10, esp_refused = 11, esp_limit = 12, esp_version = 13, esp_stale = 14, &
        esp_failed = 15, esp_crashed = 16, esp_cancelled = 17, esp_pending = 18, esp_protocol = 19, &
        esp_security = 20, esp_config = 21, esp_internal = 22, esp_busy = 23, esp_inaccurate = 24
    integer(c_int), parameter, public :: esp_data_volatile = 0, esp_data_persistent = 1, &
        esp_data_persistent_return = 2, esp_data_sticky = 3, esp_data_sticky_return = 4

    ! The values of enum esp_type.
    integer(c_int), parameter :: type_any = 0, type_char = 1, type_short = 2, type_int = 3, type_int64 = 5, &
        type_float = 6, type_double = 7, type_complex = 8, type_double_complex = 9, type_string = 10
    ! Bytes of a text that goes in, and of the identity of a datum.
    integer, parameter :: most_text = 2048

    type, bind(C), public :: grpc_function_handle_t
        private
        integer(c_int64_t) :: number = 0, check = 0
    end type

    ! struct esp_argument
    type, bind(C) :: c_argument
        type(c_ptr) :: data = c_null_ptr
        integer(c_int) :: type = 0
        integer(c_int) :: n_dims = 0
        integer(c_int64_t) :: dims(7) = 0
        integer(c_int) :: completed = 0
        integer(c_int64_t) :: value = 0
        type(c_ptr) :: datum = c_null_ptr
        type(c_ptr) :: kept = c_null_ptr
        integer(c_int) :: kept_mode = 0, kept_in_pieces = 0, unwanted = 0, stays = 0
    end type

    ! struct esp_options
    type, bind(C) :: c_options
        type(c_ptr) :: config = c_null_ptr, redirector = c_null_ptr, agent = c_null_ptr
        real(c_double) :: call_timeout_s = 0
        integer(c_int) :: call_timeout_wins = 0, servers_only = 0
    end type

    ! struct esp_error
    type, bind(C) :: c_error
        integer(c_int) :: status
        character(kind=c_char) :: text(2048)
    end type

    ! One argument of a call: made by esp_in(), esp_arg(), esp_keep() or esp_datum().
    type, public :: esp_argument
        private
        type(c_argument) :: c
        integer(c_int64_t) :: scalar(2) = 0 ! of esp_in()
        logical :: is_value = .false., is_text = .false., is_datum = .false.
        logical :: is_wrong = .false.       ! not contiguous, or a text that is too long
        character(kind=c_char, len=most_text) :: text = ''
    end type

    ! An input that is left out (it has a default or follows from the arrays), or an output that is not wanted.
    type(esp_argument), parameter, public :: esp_none = esp_argument(c=c_argument())

    ! Where a call puts a text, or the identity of a result that stays on its server. esp_value() takes it.
    type, public :: esp_result
        private
        type(c_ptr) :: address = c_null_ptr
    end type

    ! esp_in(VALUE): a scalar input, or a text. The value is copied.
    interface esp_in
        module procedure in_short, in_int, in_int64, in_float, in_double, in_complex, in_double_complex, in_text
    end interface

    ! esp_arg(VARIABLE): an array of any rank, or a scalar output. The library uses the memory of the variable.
    interface esp_arg
        module procedure arg_short, arg_int, arg_int64, arg_float, arg_double, arg_complex, arg_double_complex, &
            arg_char, arg_text
    end interface

    public :: esp_in, esp_arg, esp_keep, esp_datum, esp_value
    public :: grpc_initialize, esp_initialize, grpc_finalize, esp_last_error, esp_last_status, esp_status_string, &
        grpc_error_string
    public :: grpc_function_handle_default, grpc_function_handle_init, grpc_function_handle_destruct, &
        esp_handle_set_deadline
    public :: esp_call, esp_call_async
    public :: grpc_probe, grpc_probe_or, grpc_cancel, grpc_cancel_all, grpc_wait, grpc_wait_and, grpc_wait_or, &
        grpc_wait_all, grpc_wait_any, grpc_get_error, grpc_get_failed_sessionid
    public :: esp_data_put, esp_data_get, esp_data_drop, esp_data_copy

    ! Texts of asynchronous calls, freed by grpc_finalize().
    type :: text_list
        type(c_ptr) :: text = c_null_ptr
        type(text_list), pointer :: next => null()
    end type
    type(text_list), pointer, save :: texts => null()

    character(len=*), parameter :: wrong_text = &
        'expected a contiguous array, or a text of less than 2048 bytes, as argument '
    integer, save :: wrong_position = 0 ! of the last call; 0: its arguments were right

    interface
        integer(c_int) function grpc_finalize_c() bind(C, name='grpc_finalize')
            import
        end function
        integer(c_int) function grpc_initialize_c(file) bind(C, name='grpc_initialize')
            import
            type(c_ptr), value :: file
        end function
        integer(c_int) function esp_initialize_c(options) bind(C, name='esp_initialize')
            import
            type(c_options), intent(in) :: options
        end function
        type(c_ptr) function last_error_c() bind(C, name='esp_last_error')
            import
        end function
        type(c_ptr) function esp_status_string_c(status) bind(C, name='esp_status_string')
            import
            integer(c_int), value :: status
        end function
        type(c_ptr) function grpc_error_string_c(code) bind(C, name='grpc_error_string')
            import
            integer(c_int), value :: code
        end function
        integer(c_int) function handle_default_c(handle, name) bind(C, name='grpc_function_handle_default')
            import
            type(grpc_function_handle_t), intent(inout) :: handle
            character(kind=c_char), intent(in) :: name(*)
        end function
        integer(c_int) function handle_init_c(handle, server, name) bind(C, name='grpc_function_handle_init')
            import
            type(grpc_function_handle_t), intent(inout) :: handle
            character(kind=c_char), intent(in) :: server(*), name(*)
        end function
        integer(c_int) function grpc_function_handle_destruct(handle) bind(C, name='grpc_function_handle_destruct')
            import
            type(grpc_function_handle_t), intent(inout) :: handle
        end function
        integer(c_int) function esp_handle_set_deadline(handle, seconds) bind(C, name='esp_handle_set_deadline')
            import
            type(grpc_function_handle_t), intent(inout) :: handle
            real(c_double), value :: seconds
        end function
        integer(c_int) function call_c(handle, vector, n, options, info) bind(C, name='esp_call')
            import
            type(grpc_function_handle_t), intent(inout) :: handle
            type(c_argument), intent(in) :: vector(*)
            integer(c_size_t), value :: n
            type(c_ptr), value :: options, info
        end function
        integer(c_int) function call_async_c(handle, vector, n, options, session) bind(C, name='esp_call_async')
            import
            type(grpc_function_handle_t), intent(inout) :: handle
            type(c_argument), intent(in) :: vector(*)
            integer(c_size_t), value :: n
            type(c_ptr), value :: options
            integer(c_int), intent(out) :: session
        end function
        integer(c_int) function grpc_probe(session) bind(C, name='grpc_probe')
            import
            integer(c_int), value :: session
        end function
        integer(c_int) function grpc_cancel(session) bind(C, name='grpc_cancel')
            import
            integer(c_int), value :: session
        end function
        integer(c_int) function grpc_cancel_all() bind(C, name='grpc_cancel_all')
            import
        end function
        integer(c_int) function grpc_wait(session) bind(C, name='grpc_wait')
            import
            integer(c_int), value :: session
        end function
        integer(c_int) function grpc_wait_all() bind(C, name='grpc_wait_all')
            import
        end function
        integer(c_int) function grpc_wait_any(session) bind(C, name='grpc_wait_any')
            import
            integer(c_int), intent(out) :: session
        end function
        integer(c_int) function grpc_get_error(session) bind(C, name='grpc_get_error')
            import
            integer(c_int), value :: session
        end function
        integer(c_int) function grpc_get_failed_sessionid(session) bind(C, name='grpc_get_failed_sessionid')
            import
            integer(c_int), intent(out) :: session
        end function
        integer(c_int) function wait_and_c(sessions, n) bind(C, name='grpc_wait_and')
            import
            integer(c_int), intent(in) :: sessions(*)
            integer(c_size_t), value :: n
        end function
        integer(c_int) function wait_or_c(sessions, n, ended) bind(C, name='grpc_wait_or')
            import
            integer(c_int), intent(in) :: sessions(*)
            integer(c_size_t), value :: n
            integer(c_int), intent(out) :: ended
        end function
        integer(c_int) function probe_or_c(sessions, n, ended) bind(C, name='grpc_probe_or')
            import
            integer(c_int), intent(in) :: sessions(*)
            integer(c_size_t), value :: n
            integer(c_int), intent(out) :: ended
        end function
        integer(c_int) function data_put_c(server, array, mode, progress, arg, id) bind(C, name='esp_data_put')
            import
            character(kind=c_char), intent(in) :: server(*)
            type(c_argument), intent(in) :: array
            integer(c_int), value :: mode
            type(c_funptr), value :: progress
            type(c_ptr), value :: arg
            type(c_ptr), intent(out) :: id
        end function
        integer(c_int) function data_get_c(id, memory, bytes, progress, arg) bind(C, name='esp_data_get')
            import
            character(kind=c_char), intent(in) :: id(*)
            type(c_ptr), value :: memory
            integer(c_int64_t), value :: bytes
            type(c_funptr), value :: progress
            type(c_ptr), value :: arg
        end function
        integer(c_int) function data_drop_c(id) bind(C, name='esp_data_drop')
            import
            character(kind=c_char), intent(in) :: id(*)
        end function
        integer(c_int) function data_copy_c(id, server, move, progress, arg) bind(C, name='esp_data_copy')
            import
            character(kind=c_char), intent(in) :: id(*), server(*)
            integer(c_int), value :: move
            type(c_funptr), value :: progress
            type(c_ptr), value :: arg
        end function
        integer(c_size_t) function type_size_c(type) bind(C, name='esp_type_size')
            import
            integer(c_int), value :: type
        end function
        integer(c_size_t) function strlen_c(text) bind(C, name='strlen')
            import
            type(c_ptr), value :: text
        end function
        type(c_ptr) function strdup_c(text) bind(C, name='strdup')
            import
            type(c_ptr), value :: text
        end function
        subroutine free_c(memory) bind(C, name='free')
            import
            type(c_ptr), value :: memory
        end subroutine
    end interface

contains

    ! ---- begin and end ----

    ! `file`: the configuration file; absent: the one that the library finds.
    integer(c_int) function grpc_initialize(file)
        character(len=*), intent(in), optional :: file
        character(kind=c_char, len=:), allocatable, target :: name

        wrong_position = 0
        if (present(file)) then
            name = trim(file)//c_null_char
            grpc_initialize = grpc_initialize_c(c_loc(name))
        else
            grpc_initialize = grpc_initialize_c(c_null_ptr)
        end if
    end function

    integer(c_int) function esp_initialize(config, redirector, agent, call_timeout_s)
        character(len=*), intent(in), optional :: config, redirector, agent
        real(c_double), intent(in), optional :: call_timeout_s
        character(kind=c_char, len=:), allocatable, target :: config_text, redirector_text, agent_text
        type(c_options) :: options

        wrong_position = 0
        if (present(config)) then
            config_text = trim(config)//c_null_char
            options%config = c_loc(config_text)
        end if
        if (present(redirector)) then
            redirector_text = trim(redirector)//c_null_char
            options%redirector = c_loc(redirector_text)
        end if
        if (present(agent)) then
            agent_text = trim(agent)//c_null_char
            options%agent = c_loc(agent_text)
        end if
        if (present(call_timeout_s)) options%call_timeout_s = call_timeout_s
        esp_initialize = esp_initialize_c(options)
    end function

    integer(c_int) function grpc_finalize()
        type(text_list), pointer :: next

        grpc_finalize = grpc_finalize_c()
        do while (associated(texts))
            next => texts%next
            call free_c(texts%text)
            deallocate (texts)
            texts => next
        end do
    end function

    ! ---- errors ----

    ! The text of the last failure.
    function esp_last_error() result(text)
        character(len=:), allocatable :: text
        type(c_error), pointer :: last
        character(len=12) :: number

        if (wrong_position > 0) then
            write (number, '(i0)') wrong_position
            text = wrong_text//trim(number)
            return
        end if
        call c_f_pointer(last_error_c(), last)
        text = text_at(c_loc(last%text))
    end function

    ! The status of the last failure.
    integer(c_int) function esp_last_status()
        type(c_error), pointer :: last

        call c_f_pointer(last_error_c(), last)
        esp_last_status = merge(esp_invalid, last%status, wrong_position > 0)
    end function

    function esp_status_string(status) result(text)
        integer(c_int), intent(in) :: status
        character(len=:), allocatable :: text
        text = text_at(esp_status_string_c(status))
    end function

    function grpc_error_string(code) result(text)
        integer(c_int), intent(in) :: code
        character(len=:), allocatable :: text
        text = text_at(grpc_error_string_c(code))
    end function

    ! Copies a text of C.
    function text_at(address) result(text)
        type(c_ptr), intent(in) :: address
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: i

        text = ''
        if (.not. c_associated(address)) return
        call c_f_pointer(address, letters, [strlen_c(address)])
        deallocate (text)
        allocate (character(len=size(letters)) :: text)
        do i = 1, size(letters)
            text(i:i) = letters(i)
        end do
    end function

    ! ---- handles ----

    integer(c_int) function grpc_function_handle_default(handle, name)
        type(grpc_function_handle_t), intent(inout) :: handle
        character(len=*), intent(in) :: name
        wrong_position = 0
        grpc_function_handle_default = handle_default_c(handle, trim(name)//c_null_char)
    end function

    integer(c_int) function grpc_function_handle_init(handle, server, name)
        type(grpc_function_handle_t), intent(inout) :: handle
        character(len=*), intent(in) :: server, name
        wrong_position = 0
        grpc_function_handle_init = handle_init_c(handle, trim(server)//c_null_char, trim(name)//c_null_char)
    end function

    ! ---- arguments ----

    type(esp_argument) function in_short(x) result(argument)
        integer(c_short), intent(in) :: x
        argument%is_value = .true.
        argument%c%type = type_short
        argument%scalar = transfer(spread(x, 1, 8), argument%scalar, 2)
    end function

    type(esp_argument) function in_int(x) result(argument)
        integer(c_int), intent(in) :: x
        argument%is_value = .true.
        argument%c%type = type_int
        argument%scalar = transfer(spread(x, 1, 8), argument%scalar, 2)
    end function

    type(esp_argument) function in_int64(x) result(argument)
        integer(c_int64_t), intent(in) :: x
        argument%is_value = .true.
        argument%c%type = type_int64
        argument%scalar = transfer(spread(x, 1, 8), argument%scalar, 2)
    end function

    type(esp_argument) function in_float(x) result(argument)
        real(c_float), intent(in) :: x
        argument%is_value = .true.
        argument%c%type = type_float
        argument%scalar = transfer(spread(x, 1, 8), argument%scalar, 2)
    end function

    type(esp_argument) function in_double(x) result(argument)
        real(c_double), intent(in) :: x
        argument%is_value = .true.
        argument%c%type = type_double
        argument%scalar = transfer(spread(x, 1, 8), argument%scalar, 2)
    end function

    type(esp_argument) function in_complex(x) result(argument)
        complex(c_float_complex), intent(in) :: x
        argument%is_value = .true.
        argument%c%type = type_complex
        argument%scalar = transfer(spread(x, 1, 8), argument%scalar, 2)
    end function

    type(esp_argument) function in_double_complex(x) result(argument)
        complex(c_double_complex), intent(in) :: x
        argument%is_value = .true.
        argument%c%type = type_double_complex
        argument%scalar = transfer(spread(x, 1, 8), argument%scalar, 2)
    end function

    ! A text, or a letter: the description decides. Blanks at the end do not count, except in a single blank.
    type(esp_argument) function in_text(x) result(argument)
        character(len=*), intent(in) :: x
        argument%is_text = .true.
        argument%is_wrong = len_trim(x) >= most_text
        argument%text = x
        if (.not. argument%is_wrong) argument%text = x(:max(len_trim(x), min(len(x), 1)))//c_null_char
    end function

    ! Memory of the program with its type and extents.
    type(esp_argument) function described(address, type, extents, is_contiguous) result(argument)
        type(c_ptr), intent(in) :: address
        integer(c_int), intent(in) :: type
        integer, intent(in) :: extents(:)
        logical, intent(in) :: is_contiguous
        integer, target, save :: nothing(4) = 0

        argument%c%data = address
        argument%c%type = type
        argument%c%n_dims = min(size(extents), 7)
        argument%c%dims(:argument%c%n_dims) = extents(:argument%c%n_dims)
        argument%is_wrong = .not. is_contiguous .or. size(extents) > 7
        ! An array without elements is not one that is left out.
        if (any(extents == 0)) then
            argument%c%data = c_loc(nothing)
            argument%is_wrong = .false.
        end if
    end function

    type(esp_argument) function arg_short(x) result(argument)
        integer(c_short), target :: x(..)
        argument = described(c_loc(x), type_short, shape(x), is_contiguous(x))
    end function

    type(esp_argument) function arg_int(x) result(argument)
        integer(c_int), target :: x(..)
        argument = described(c_loc(x), type_int, shape(x), is_contiguous(x))
    end function

    type(esp_argument) function arg_int64(x) result(argument)
        integer(c_int64_t), target :: x(..)
        argument = described(c_loc(x), type_int64, shape(x), is_contiguous(x))
    end function

    type(esp_argument) function arg_float(x) result(argument)
        real(c_float), target :: x(..)
        argument = described(c_loc(x), type_float, shape(x), is_contiguous(x))
    end function

    type(esp_argument) function arg_double(x) result(argument)
        real(c_double), target :: x(..)
        argument = described(c_loc(x), type_double, shape(x), is_contiguous(x))
    end function

    type(esp_argument) function arg_complex(x) result(argument)
        complex(c_float_complex), target :: x(..)
        argument = described(c_loc(x), type_complex, shape(x), is_contiguous(x))
    end function

    type(esp_argument) function arg_double_complex(x) result(argument)
        complex(c_double_complex), target :: x(..)
        argument = described(c_loc(x), type_double_complex, shape(x), is_contiguous(x))
    end function

    ! Letters, one an element.
    type(esp_argument) function arg_char(x) result(argument)
        character(kind=c_char, len=1), target :: x(:)
        argument = described(c_loc(x), type_char, shape(x), is_contiguous(x))
    end function

    ! The place of a text that a call gives.
    type(esp_argument) function arg_text(x) result(argument)
        type(esp_result), target :: x
        argument%c%data = c_loc(x%address)
    end function

    ! A result that stays on its server; `x` takes its identity. `mode`: esp_data_volatile, ...
    type(esp_argument) function esp_keep(x, mode) result(argument)
        type(esp_result), target :: x
        integer(c_int), intent(in), optional :: mode
        argument%c%kept = c_loc(x%address)
        if (present(mode)) argument%c%kept_mode = mode
    end function

    ! An input that lives on servers. `result`: an array for the result of an inout argument.
    type(esp_argument) function esp_datum(id, result, keep, unwanted) result(argument)
        character(len=*), intent(in) :: id
        type(esp_argument), intent(in), optional :: result ! of esp_arg()
        type(esp_result), target, optional :: keep         ! or the result stays on its server, too
        logical, intent(in), optional :: unwanted          ! or nobody wants it
        if (present(result)) argument = result
        if (present(keep)) argument%c%kept = c_loc(keep%address)
        if (present(unwanted)) argument%c%unwanted = merge(1, 0, unwanted)
        argument%is_datum = .true.
        argument%is_wrong = argument%is_wrong .or. len_trim(id) >= most_text
        argument%text = trim(id)//c_null_char
    end function

    ! Takes the text out of a result. A second call gives ''.
    function esp_value(result) result(text)
        type(esp_result), intent(inout) :: result
        character(len=:), allocatable :: text
        text = text_at(result%address)
        call free_c(result%address)
        result%address = c_null_ptr
    end function

    ! ---- calls ----

    ! The vector of C for arguments that last as long as it does. .false.: one of them is wrong.
    logical function make_vector(arguments, vector)
        type(esp_argument), target, intent(in) :: arguments(:)
        type(c_argument), intent(out) :: vector(:)
        integer :: i

        wrong_position = 0
        make_vector = .false.
        do i = 1, size(arguments)
            if (arguments(i)%is_wrong) then
                wrong_position = i
                return
            end if
            vector(i) = arguments(i)%c
            if (arguments(i)%is_value) vector(i)%data = c_loc(arguments(i)%scalar)
            if (arguments(i)%is_text) vector(i)%data = c_loc(arguments(i)%text)
            if (arguments(i)%is_datum) vector(i)%datum = c_loc(arguments(i)%text)
        end do
        make_vector = .true.
    end function

    ! Calls the problem and waits. `arguments`: one for each of the description, in its order.
    integer(c_int) function esp_call(handle, arguments)
        type(grpc_function_handle_t), intent(inout) :: handle
        type(esp_argument), target, intent(in) :: arguments(:)
        type(c_argument) :: vector(size(arguments))

        esp_call = esp_invalid
        if (make_vector(arguments, vector)) &
            esp_call = call_c(handle, vector, size(vector, kind=c_size_t), c_null_ptr, c_null_ptr)
    end function

    ! Starts a session. The arrays must not be used before grpc_wait() or grpc_probe() has said that it has ended.
    integer(c_int) function esp_call_async(handle, arguments, session)
        type(grpc_function_handle_t), intent(inout) :: handle
        type(esp_argument), target, intent(in) :: arguments(:)
        integer(c_int), intent(out) :: session
        type(c_argument) :: vector(size(arguments))
        integer :: i

        session = grpc_sessionid_void
        esp_call_async = esp_invalid
        if (.not. make_vector(arguments, vector)) return
        do i = 1, size(arguments)
            if (arguments(i)%is_text) vector(i)%data = lasting_text(vector(i)%data)
        end do
        esp_call_async = call_async_c(handle, vector, size(vector, kind=c_size_t), c_null_ptr, session)
    end function

    ! A copy of a text that lasts until grpc_finalize().
    type(c_ptr) function lasting_text(text)
        type(c_ptr), intent(in) :: text
        type(text_list), pointer :: first

        lasting_text = strdup_c(text)
        allocate (first)
        first%text = lasting_text
        !$omp critical (espalier_texts)
        first%next => texts
        texts => first
        !$omp end critical (espalier_texts)
    end function

    integer(c_int) function grpc_wait_and(sessions)
        integer(c_int), intent(in) :: sessions(:)
        grpc_wait_and = wait_and_c(sessions, size(sessions, kind=c_size_t))
    end function

    integer(c_int) function grpc_wait_or(sessions, ended)
        integer(c_int), intent(in) :: sessions(:)
        integer(c_int), intent(out) :: ended
        grpc_wait_or = wait_or_c(sessions, size(sessions, kind=c_size_t), ended)
    end function

    integer(c_int) function grpc_probe_or(sessions, ended)
        integer(c_int), intent(in) :: sessions(:)
        integer(c_int), intent(out) :: ended
        grpc_probe_or = probe_or_c(sessions, size(sessions, kind=c_size_t), ended)
    end function

    ! ---- data that live on servers ----

    ! Puts an array, esp_arg(A), on a server.
    integer(c_int) function esp_data_put(server, array, mode, id)
        character(len=*), intent(in) :: server
        type(esp_argument), intent(in) :: array
        integer(c_int), intent(in) :: mode
        character(len=:), allocatable, intent(out) :: id
        type(esp_result) :: made

        wrong_position = merge(2, 0, array%is_wrong)
        esp_data_put = esp_invalid
        if (.not. array%is_wrong) &
            esp_data_put = data_put_c(trim(server)//c_null_char, array%c, mode, c_null_funptr, c_null_ptr, made%address)
        id = ''
        if (esp_data_put == esp_ok) id = esp_value(made)
    end function

    ! Reads a datum into an array of its size.
    integer(c_int) function esp_data_get(id, array)
        character(len=*), intent(in) :: id
        type(esp_argument), intent(in) :: array
        integer(c_int64_t) :: bytes

        wrong_position = merge(2, 0, array%is_wrong)
        esp_data_get = esp_invalid
        if (array%is_wrong) return
        bytes = product(array%c%dims(:array%c%n_dims))*int(type_size_c(array%c%type), c_int64_t)
        esp_data_get = data_get_c(trim(id)//c_null_char, array%c%data, bytes, c_null_funptr, c_null_ptr)
    end function

    integer(c_int) function esp_data_drop(id)
        character(len=*), intent(in) :: id
        wrong_position = 0
        esp_data_drop = data_drop_c(trim(id)//c_null_char)
    end function

    ! `move`: in place of all other copies.
    integer(c_int) function esp_data_copy(id, server, move)
        character(len=*), intent(in) :: id, server
        logical, intent(in) :: move
        wrong_position = 0
        esp_data_copy = data_copy_c(trim(id)//c_null_char, trim(server)//c_null_char, &
            int(merge(1, 0, move), c_int), c_null_funptr, c_null_ptr)
    end function
end module espalier
