"""How many files and connections the process may have open."""

from __future__ import annotations

import sys
from contextlib import suppress

OPEN_MAX = 10_240
"""The most descriptors that macOS allows a process by default. Source: its sys/syslimits.h"""

SPARE_DESCRIPTORS = 32
"""How many descriptors stay free, so that opening a file or importing a module does not fail."""


def descriptor_limit() -> int:
    """Return how many descriptors this process may have."""
    try:
        import resource
    except ImportError:  # Windows has no such limit: sockets are not descriptors there
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def raise_descriptor_limit() -> None:
    """Raise the limit of descriptors as far as the system allows, as a JVM does (MaxFDLimit)."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS reports no limit, but refuses more than OPEN_MAX.
    for wanted in (hard, max(soft, OPEN_MAX)):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return
