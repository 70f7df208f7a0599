# SPDX-License-Identifier: Apache-2.0
"""Inputs that were sent before: they stay on the server that took them, and are not sent again.

An array is known by its memory while it is write-protected, else by a hash of its whole content. What was sent stays on
servers as volatile data, up to a number of bytes; what was used longest ago goes first.
"""
import weakref
from collections import OrderedDict

import numpy as np

from . import _connection
from ._library import InvalidError

LEAST = 65536  # bytes of an array that is worth it
_INPUTS = 1    # ESP_SESSION_INPUTS
_STRING = 10   # the first type that is no number

_mode = "auto"
_most = 1 << 30
_far = {}                # by epoch: whether the servers are on other hosts, once a call has told
_known = OrderedDict()   # by type, extents and hash: the RemoteArray
_protected = {}          # by address of the object: a weak reference to the array, and its key
_seen = OrderedDict()    # where arrays were that went in: a hash of what never comes again is worth nothing
_hits = 0


def reuse(mode="auto", most_bytes=None):
    """Whether inputs that were sent before are sent again.

    mode        "auto": write-protected arrays are not; of others the content is hashed where servers are on other
                hosts, from the second call with that memory on. True: the content of all is hashed. False: everything is sent with each call
    most_bytes  so many bytes stay on servers at most (1 GiB at first)

    A program that lifts the protection of an array, changes the array and protects it again calls
    forget() in between.
    """
    global _mode, _most
    if mode not in ("auto", True, False):
        raise InvalidError(f"mode: expected 'auto', True or False, found {mode!r}")
    _mode = mode
    if most_bytes is not None:
        _most = int(most_bytes)
    if mode is False:
        forget()
    _trim()


def forget():
    """Inputs that were sent are no longer known, and are deleted from the servers."""
    _known.clear()
    _protected.clear()
    _seen.clear()


_connection.at_end.append(forget)


def hits():
    """How many arrays were not sent because they had been sent before."""
    return _hits


def _is_protected(array):
    """Nobody can write to it: neither the array nor what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        if array.base is None:
            return True
        array = array.base
    return isinstance(array, bytes)


def _content(array):
    import hashlib
    return hashlib.sha256(array.ravel(order="K").view(np.uint8)).digest()


def _key(array, formal, argument, wants_hash):
    """What the array is known by; None: by nothing."""
    place = _protected.get(id(array))
    if place is not None and place[0]() is array and not array.flags.writeable:
        return place[1] + (formal.row_major,)
    protected = _is_protected(array)
    if not protected and not wants_hash:
        return None
    key = (array.dtype.char, tuple(argument.dims[:argument.n_dims]), array.flags.c_contiguous and array.ndim > 1,
           _content(array))
    if protected:
        number = id(array)
        _protected[number] = (weakref.ref(array, lambda _: _protected.pop(number, None)), key)
    return key + (formal.row_major,)


def apply(prepared):
    """Before a call: what servers have is named, what they do not have is to stay there."""
    global _hits
    if _mode is False:
        return
    which = prepared.problem
    is_far = bool(_far.get(_connection.epoch))
    for position, given in prepared.given.items():
        formal = which.formals[position]
        if given.nbytes < LEAST or formal.section or formal.storage or formal.type >= _STRING:
            continue
        argument = prepared.vector[position]
        key = _key(given, formal, argument, _mode is True or is_far and _came_before(given))
        if key is None:
            if _mode == "auto" and _connection.epoch not in _far:
                prepared.left.setdefault(position, None)  # the call tells where servers are
            continue
        known = _known.get(key)
        if known is not None:
            _known.move_to_end(key)
            argument.datum = known.identity.encode()
            prepared.sent[position] = (key, known)
            _hits += 1
        elif not which.is_abstract:
            argument.stays = _INPUTS
            prepared.left[position] = key


def _came_before(array):
    """Whether an array of this memory went into a call before."""
    place = (array.ctypes.data, array.nbytes)
    known = place in _seen
    _seen[place] = True
    _seen.move_to_end(place)
    while len(_seen) > 1000:
        _seen.popitem(last=False)
    return known


def learn(prepared, address, data):
    """After a call: what has stayed on servers is known from now on."""
    from .remote import RemoteArray
    if address:
        _far.setdefault(_connection.epoch, not _is_here(address))
    for position, side, identity in data:
        key = prepared.left.get(position)
        if side == _INPUTS and key is not None:
            argument = prepared.vector[position]
            _known[key] = RemoteArray._made(identity, argument.dims[:argument.n_dims],
                                            prepared.problem.formals[position].dtype)
    prepared.left.clear()
    _trim()


def unlearn(prepared):
    """A server did not have what it had been sent: it is sent again."""
    for position, (key, _) in prepared.sent.items():
        _known.pop(key, None)
        prepared.vector[position].datum = None
    prepared.sent.clear()
    prepared.left.clear()


def _trim():
    size = sum(remote.nbytes for remote in _known.values())
    while size > _most:
        size -= _known.popitem(last=False)[1].nbytes


def _is_here(address):
    """Whether an address is one of this host's: then it can be listened on."""
    import socket
    host = address.rpartition(":")[0].strip("[]")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
        return True
    except OSError:
        return False
