"""Ports for brokers and name servers of tests, reserved among all tests of this machine."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

_PORTS = range(12_000, 32_000, 4)
"""Where blocks of four ports begin, below the range that outgoing connections use."""

_reserved: set[int] = set()


def free_port(*, broker: bool = False) -> int:
    """Return a port that is free now; for a broker also -2 and +1 are.

    No other test on this machine gets it as long as this process lives: a port that is to be bound
    later, as by a slave that starts in the middle of a test, is free for any other until then.
    """
    offsets = (-2, 0, 1) if broker else (0,)
    pick = random.SystemRandom()
    while True:
        port = pick.choice(_PORTS) + 2
        if _reserve(port) and all(_is_free(port + offset) for offset in offsets):
            return port


@cache
def _reservations() -> int:
    """Return the descriptor of a file whose bytes are locked, one for each port in use."""
    path = Path(tempfile.gettempdir(), f"fakemq-test-ports-{os.getuid()}")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _reserve(port: int) -> bool:
    """Reserve a port until this process ends; return False if it is reserved already."""
    if port in _reserved:
        return False
    try:
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _reserved.add(port)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
