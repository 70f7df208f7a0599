# SPDX-License-Identifier: Apache-2.0
"""libespalier as ctypes sees it: the structs of espalier.h, its functions, and its errors as exceptions."""
import ctypes
import os
from ctypes import (POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p)
from enum import IntEnum

from numpy.linalg import LinAlgError

SONAME = "libespalier.so.0"
MAX_DIMS = 7


class Status(IntEnum):
    """enum esp_status of espalier.h."""
    OK = 0
    INVALID = 1
    SYNTAX = 2
    NO_MEMORY = 3
    SYSTEM = 4
    NOT_FOUND = 5
    UNKNOWN_PROBLEM = 6
    NO_SERVER = 7
    UNREACHABLE = 8
    MAYBE = 9
    TIMEOUT = 10
    REFUSED = 11
    LIMIT = 12
    VERSION = 13
    STALE = 14
    FAILED = 15
    CRASHED = 16
    CANCELLED = 17
    PENDING = 18
    PROTOCOL = 19
    SECURITY = 20
    CONFIG = 21
    INTERNAL = 22
    BUSY = 23
    INACCURATE = 24


class Error(Exception):
    """What the library reports: str() is its text, `status` its status."""
    status = Status.INTERNAL

    def __init__(self, text, status=None):
        super().__init__(text)
        if status is not None:
            self.status = status

    def __reduce__(self):
        return type(self), (str(self), self.status)


class InvalidError(Error, ValueError):
    """An argument of the call is wrong; the text says which and why."""
    status = Status.INVALID


class UnknownProblemError(Error, AttributeError):
    """No server has the problem."""
    status = Status.UNKNOWN_PROBLEM


class NoServerError(Error, ConnectionError):
    """No server that may solve the problem takes it, or can be reached, now."""
    status = Status.NO_SERVER


class UnreachableError(Error, ConnectionError):
    """Nobody answered, or the connection broke in the middle of the call."""
    status = Status.UNREACHABLE


class DeadlineError(Error, TimeoutError):
    """The deadline passed."""
    status = Status.TIMEOUT


class NotFoundError(Error, LookupError):
    """A file, session, datum or node does not exist."""
    status = Status.NOT_FOUND


class RefusedError(Error, PermissionError):
    """The other side declined."""
    status = Status.REFUSED


class NoMemoryError(Error, MemoryError):
    """Memory is exhausted, or the call can never fit the server's limit."""
    status = Status.NO_MEMORY


class FailedError(Error, LinAlgError):
    """The routine itself reported a failure: the matrix is singular, an iteration does not converge."""
    status = Status.FAILED


class CrashedError(Error, RuntimeError):
    """The routine crashed, exited or was killed."""
    status = Status.CRASHED


class CancelledError(Error):
    """The call was cancelled."""
    status = Status.CANCELLED


_CLASSES = {
    Status.INVALID: InvalidError,
    Status.UNKNOWN_PROBLEM: UnknownProblemError,
    Status.NO_SERVER: NoServerError,
    Status.UNREACHABLE: UnreachableError,
    Status.MAYBE: UnreachableError,
    Status.TIMEOUT: DeadlineError,
    Status.NOT_FOUND: NotFoundError,
    Status.REFUSED: RefusedError,
    Status.SECURITY: RefusedError,
    Status.NO_MEMORY: NoMemoryError,
    Status.FAILED: FailedError,
    Status.INACCURATE: FailedError,
    Status.CRASHED: CrashedError,
    Status.CANCELLED: CancelledError,
}


def error_of(status, text):
    """The exception for a status and a text of the library."""
    try:
        status = Status(status)
    except ValueError:
        status = Status.INTERNAL
    return _CLASSES.get(status, Error)(text, status)


for _class in {Error, Status, *_CLASSES.values()}:
    _class.__module__ = __package__  # where programs find them


class CError(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 2048)]


class CValue(ctypes.Union):
    _fields_ = [("integer", c_int64), ("real", c_double)]


class CArgument(ctypes.Structure):
    """struct esp_argument"""
    _fields_ = [("data", c_void_p), ("type", c_int), ("n_dims", c_uint), ("dims", c_int64 * MAX_DIMS),
                ("completed", c_int), ("value", CValue), ("datum", c_char_p), ("kept", c_void_p),
                ("kept_mode", c_int), ("kept_in_pieces", c_int), ("unwanted", c_int), ("stays", c_int)]


class CProblemArgument(ctypes.Structure):
    """struct esp_problem_argument"""
    _fields_ = [("name", c_char_p), ("text", c_char_p), ("mode", c_int), ("type", c_int), ("properties", c_uint),
                ("n_dims", c_uint), ("dims", c_char_p * MAX_DIMS), ("initial", c_char_p), ("storage", c_char_p),
                ("callback", c_char_p), ("count", c_char_p), ("section", c_char_p), ("unread", c_char_p),
                ("index", c_char_p), ("follows", c_int)]


class CProblem(ctypes.Structure):
    """struct esp_problem"""
    _fields_ = [("name", c_char_p), ("title", c_char_p), ("text", c_char_p), ("gams", c_char_p),
                ("source", c_char_p), ("preconditions", POINTER(c_char_p)), ("n_preconditions", c_size_t),
                ("work", c_char_p), ("memory", c_char_p), ("idempotent", c_int), ("digest", c_uint64),
                ("servers", c_uint), ("signatures", c_char_p), ("arguments", POINTER(CProblemArgument)),
                ("n_arguments", c_size_t)]


class CProblemEntry(ctypes.Structure):
    """struct esp_problem_entry"""
    _fields_ = [("name", c_char_p), ("title", c_char_p), ("gams", c_char_p), ("digest", c_uint64),
                ("servers", c_uint)]


class COptions(ctypes.Structure):
    """struct esp_options"""
    _fields_ = [("config", c_char_p), ("redirector", c_char_p), ("agent", c_char_p), ("call_timeout_s", c_double),
                ("call_timeout_wins", c_int), ("servers_only", c_int)]


class CCallOptions(ctypes.Structure):
    """struct esp_call_options"""
    _fields_ = [("deadline_s", c_double), ("follow", c_int), ("output", c_void_p), ("progress", c_void_p),
                ("arg", c_void_p), ("sent", c_void_p), ("server", c_char_p), ("properties", POINTER(c_char_p)),
                ("n_properties", c_size_t), ("finish_s", c_double), ("memory_bytes", c_uint64), ("ended_fd", c_int), ("here", c_int)]


class CCandidate(ctypes.Structure):
    """struct esp_candidate"""
    _fields_ = [("server", c_char_p), ("address", c_char_p), ("compute_s", c_double), ("queue_s", c_double),
                ("transfer_s", c_double), ("error_s", c_double), ("tried", c_int), ("status", c_int)]


class CSessionDatum(ctypes.Structure):
    """struct esp_session_datum"""
    _fields_ = [("argument", c_char_p), ("position", c_size_t), ("side", c_int), ("own", c_int), ("id", c_char_p)]


class CSessionInfo(ctypes.Structure):
    """struct esp_session_info"""
    _fields_ = [("id", c_char_p), ("problem", c_char_p), ("server", c_char_p), ("state", c_char_p),
                ("error", CError), ("submit_s", c_double), ("wait_s", c_double), ("transfer_s", c_double),
                ("queue_s", c_double), ("compute_s", c_double), ("total_s", c_double), ("forecast_s", c_double),
                ("forecast_compute_s", c_double), ("forecast_error_s", c_double), ("capable", c_uint),
                ("asked", c_int), ("progress", c_double), ("candidates", POINTER(CCandidate)),
                ("n_candidates", c_size_t), ("data", POINTER(CSessionDatum)), ("n_data", c_size_t),
                ("first_rank", c_uint), ("grid_rows", c_uint), ("grid_cols", c_uint), ("grid_block", c_uint),
                ("fetch_s", c_double)]


class CDataLayout(ctypes.Structure):
    """struct esp_data_layout"""
    _fields_ = [("rows", c_uint), ("cols", c_uint), ("row_block", c_int64), ("col_block", c_int64)]


class CDataInfo(ctypes.Structure):
    """struct esp_data_info"""
    _fields_ = [("id", c_char_p), ("server", c_char_p), ("address", c_char_p), ("owner", c_char_p),
                ("type", c_int), ("n_dims", c_uint), ("dims", c_int64 * MAX_DIMS), ("bytes", c_uint64),
                ("mode", c_int), ("replica", c_int), ("in_memory", c_int), ("on_disk", c_int), ("users", c_uint),
                ("gets", c_uint64), ("bytes_in", c_uint64), ("bytes_out", c_uint64), ("created_s", c_double),
                ("idle_s", c_double), ("layout", CDataLayout), ("storage", c_int), ("below", c_int64),
                ("above", c_int64), ("front", c_int64), ("by_rows", c_int), ("unique", c_int)]


class CHandle(ctypes.Structure):
    """grpc_function_handle_t"""
    _fields_ = [("number", c_uint64), ("check", c_uint64)]


# The beginning of struct esp_node: the rest is not looked at, but its size counts.
class CNode(ctypes.Structure):
    """struct esp_node"""
    _fields_ = [("name", c_char_p), ("parent", c_char_p), ("address", c_char_p), ("role", c_int),
                ("incarnation", c_uint64), ("draining", c_int), ("link_known", c_int), ("latency_s", c_double),
                ("bandwidth_bps", c_double), ("age_s", c_double), ("unreachable", c_int),
                ("speed_flops", c_double), ("slots", c_uint), ("threads", c_uint), ("queued", c_uint),
                ("running", c_uint), ("memory_total", c_uint64), ("memory_free", c_uint64), ("completed", c_uint64),
                ("failed", c_uint64), ("cpu_available", c_double), ("cpu_forecast", c_double),
                ("cpu_error", c_double), ("machine_memory_free", c_uint64), ("machine_disk_free", c_uint64),
                ("cpu_step_s", c_double), ("n_cpu_history", c_uint), ("cpu_history", c_double * 48),
                ("left_out", c_uint64), ("back_bps", c_double), ("disabled", c_uint), ("expected_s", c_double),
                ("host_bps", c_double), ("host_latency_s", c_double), ("loopback_only", c_int), ("senses", c_int)]


STRUCTS = {
    "struct esp_error": CError, "struct esp_argument": CArgument, "struct esp_problem_argument": CProblemArgument,
    "struct esp_problem": CProblem, "struct esp_problem_entry": CProblemEntry, "struct esp_options": COptions,
    "struct esp_call_options": CCallOptions, "struct esp_candidate": CCandidate,
    "struct esp_session_datum": CSessionDatum, "struct esp_session_info": CSessionInfo,
    "struct esp_data_info": CDataInfo, "struct esp_node": CNode, "grpc_function_handle_t": CHandle,
}

_ARGUMENTS = {
    "esp_last_error": (POINTER(CError),),
    "esp_initialize": (c_int, POINTER(COptions)),
    "grpc_finalize": (c_int,),
    "grpc_error_string": (c_char_p, c_int),
    "grpc_function_handle_default": (c_int, POINTER(CHandle), c_char_p),
    "grpc_function_handle_init": (c_int, POINTER(CHandle), c_char_p, c_char_p),
    "grpc_function_handle_destruct": (c_int, POINTER(CHandle)),
    "grpc_cancel": (c_int, c_int),
    "grpc_probe": (c_int, c_int),
    "grpc_wait": (c_int, c_int),
    "grpc_wait_any": (c_int, POINTER(c_int)),
    "grpc_get_error": (c_int, c_int),
    "esp_problem_describe": (c_int, c_char_p, POINTER(POINTER(CProblem))),
    "esp_problem_free": (None, POINTER(CProblem)),
    "esp_problem_list": (c_int, POINTER(POINTER(CProblemEntry)), POINTER(c_size_t)),
    "esp_problem_list_free": (None, POINTER(CProblemEntry)),
    "esp_arguments_complete": (c_int, POINTER(CProblem), POINTER(CArgument), c_size_t),
    "esp_arguments_cut": (c_int, POINTER(CProblem), POINTER(CArgument), c_size_t),
    "esp_arguments_elements": (c_int, POINTER(CProblem), POINTER(CArgument), c_size_t, POINTER(c_uint64)),
    "esp_call": (c_int, POINTER(CHandle), POINTER(CArgument), c_size_t, POINTER(CCallOptions), c_void_p),
    "esp_call_async": (c_int, POINTER(CHandle), POINTER(CArgument), c_size_t, POINTER(CCallOptions), POINTER(c_int)),
    "esp_callback_fail": (None, c_char_p),
    "esp_session_info_get": (c_int, c_int, POINTER(POINTER(CSessionInfo))),
    "esp_session_info_free": (None, POINTER(CSessionInfo)),
    "esp_session_output": (c_int, c_int, c_char_p, c_size_t, POINTER(c_size_t)),
    "esp_type_name": (c_char_p, c_int),
    "esp_alloc": (c_void_p, c_size_t),
    "esp_free": (c_int, c_void_p),
    "esp_data_put": (c_int, c_char_p, POINTER(CArgument), c_int, c_void_p, c_void_p, POINTER(c_void_p)),
    "esp_data_get": (c_int, c_char_p, c_void_p, c_uint64, c_void_p, c_void_p),
    "esp_data_look": (c_int, c_char_p, POINTER(POINTER(CDataInfo)), POINTER(c_size_t)),
    "esp_data_free": (None, POINTER(CDataInfo)),
    "esp_data_drop": (c_int, c_char_p),
    "esp_tree": (c_int, c_char_p, POINTER(POINTER(CNode)), POINTER(c_size_t)),
    "esp_tree_free": (None, POINTER(CNode)),
}


def _paths():
    """Where the library may be: as the environment says, where this installation put it, where the loader looks."""
    if os.environ.get("ESPALIER_LIBRARY"):
        return [os.environ["ESPALIER_LIBRARY"]]
    try:
        from ._where import LIBRARY
    except ImportError:
        return [SONAME]
    return [LIBRARY, SONAME] if os.path.exists(LIBRARY) else [SONAME]


def _open():
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            why = error
    raise ImportError(f"espalier needs the library {SONAME} of Espalier, and did not find it: {why}. "
                      "Install Espalier (on Debian: libespalier0), or name the file in ESPALIER_LIBRARY.")


class _Functions:
    """The library's functions as attributes; the library is loaded when the first one is wanted."""

    def __getattr__(self, name):
        if name not in _ARGUMENTS:
            raise AttributeError(name)
        if "library" not in self.__dict__:
            self.__dict__["library"] = _open()
        function = self.__dict__["library"][name]
        function.restype, function.argtypes = _ARGUMENTS[name][0], _ARGUMENTS[name][1:]
        self.__dict__[name] = function
        return function


lib = _Functions()
free = ctypes.CDLL(None).free
free.restype, free.argtypes = None, (c_void_p,)


def text_of(value):
    """A text of the library."""
    return value.decode("utf-8", "replace") if value else ""


def last_error(otherwise=Status.INTERNAL):
    """The exception for the last failure in this thread."""
    error = lib.esp_last_error().contents
    if error.status == Status.OK:
        return error_of(otherwise, "the call failed, and the library has no text")
    return error_of(error.status, text_of(error.text))


def check(status):
    """Raises what an esp_status other than ESP_OK means."""
    if status != 0:
        raise last_error(status)
