# SPDX-License-Identifier: Apache-2.0
"""The connection of this process to a platform: begin, end, fork and exit."""
import atexit
import os
import threading

from ._library import COptions, Status, check, last_error, lib

_lock = threading.RLock()
_begun = False
_options = {}
#: Changes with every connection: handles and sessions of an older one are no longer valid.
epoch = 0
#: Called before the connection ends.
at_end = []


def _encode(value):
    return None if value is None else os.fsencode(value)


def _begin():
    global _begun, epoch
    options = COptions(config=_encode(_options.get("config")), redirector=_encode(_options.get("redirector")),
                       agent=_encode(_options.get("agent")), call_timeout_s=_options.get("call_timeout") or 0,
                       call_timeout_wins=1 if _options.get("call_timeout") else 0)
    check(lib.esp_initialize(options))
    _begun = True
    epoch += 1


def ensure():
    """Connects if this process is not connected (after a fork: the child, for itself)."""
    if not _begun:
        with _lock:
            if not _begun:
                _begin()


class Connection:
    """What connect() returns: closes at the end of a with statement."""

    def close(self):
        """Ends the connection; calls that are under way are cancelled."""
        disconnect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        given = ", ".join(f"{name}={value!r}" for name, value in _options.items() if value is not None)
        return f"<espalier connection ({given or 'as the configuration file says'})>"


def connect(redirector=None, *, agent=None, config=None, call_timeout=None):
    """Chooses the platform that calls go to.

    redirector    "host:port" of a redirector, in place of what the configuration file says
    agent         "host:port" of a master agent: no redirector is asked
    config        a configuration file; None: $ESPALIER_CONFIG, ~/.config/espalier/client.conf, the system's
    call_timeout  seconds that a single remote call may take at most

    Nobody is asked until the first call. A program that never calls connect() uses the configuration file. Connecting
    again ends the connection there is. Returns an object with close(), also for a with statement.
    """
    global _options
    for name, value in (("redirector", redirector), ("agent", agent), ("config", config)):
        if value is not None and not isinstance(value, (str, bytes, os.PathLike)):
            raise TypeError(f"{name}: expected a str, found {type(value).__name__}")
    with _lock:
        disconnect()
        before = _options
        _options = {"redirector": redirector, "agent": agent, "config": config, "call_timeout": call_timeout}
        try:
            _begin()
        except BaseException:
            _options = before
            raise
    return Connection()


def disconnect():
    """Ends the connection; calls that are under way are cancelled, arrays on servers that this process owns deleted."""
    global _begun
    with _lock:
        if not _begun:
            return
        for action in at_end:
            action()
        _begun = False
        lib.grpc_finalize()


def connected():
    """Whether this process has a connection."""
    return _begun


def _forked():
    """In a child: the parent's connection is not the child's."""
    global _begun, _lock
    _begun = False
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_forked)
atexit.register(disconnect)

__all__ = ["Connection", "connect", "connected", "disconnect", "ensure", "Status", "last_error"]
