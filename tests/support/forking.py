"""Calls a function in a forked child."""

from __future__ import annotations

import os
import select
import signal
import traceback
import warnings
from collections.abc import Callable

LIMIT_S = 60
"""A child collects the garbage of all tests in it, and gets a small share of a busy machine."""


def in_child(function: Callable[[], object]) -> str:
    """Return the text of what ``function`` returns or raises in a forked child of this process.

    A child that hangs is killed, and fails the test.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns: there are threads
        pid = os.fork()
    if pid == 0:
        try:
            said = str(function())
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException:
            said = traceback.format_exc()
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as said_by_child:
        if not select.select([said_by_child], [], [], LIMIT_S)[0]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("the child hangs")
        text = said_by_child.read().decode()
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    return text
