# SPDX-License-Identifier: Apache-2.0
"""Functions of the library that wait for others, so that Ctrl-C reaches the program meanwhile."""
import threading


def interruptible(function):
    """What the function returns or raises. In the main thread, which gets the signals, another thread runs it: an
    exception of a signal's handler goes to the caller at once, and what the function does is not waited for."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    ended = threading.Event()
    outcome = []

    def run():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))
        ended.set()

    thread = threading.Thread(target=run, name="espalier waits", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is ending
        return function()
    ended.wait()
    value, error = outcome.pop()
    if error is None:
        return value
    try:
        raise error
    finally:
        del error  # no circle through the traceback
