"""How many files and connections the process may have open."""

from __future__ import annotations

from contextlib import suppress

OPEN_MAX = 10_240
"""Descriptors of a process of macOS, unless it is told of more. Source: its sys/syslimits.h"""


def raise_descriptor_limit() -> None:
    """Have as many descriptors as the system allows, as a JVM does (MaxFDLimit)."""
    try:
        import resource
    except ImportError:  # Windows, whose sockets are no descriptors
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS says that there is no limit, and takes no more than its OPEN_MAX for all that.
    for wanted in (hard, max(soft, OPEN_MAX)):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return
