"""Waiting for what other threads do and no journal has."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fakemq.clock.machine_time import real_elapsed_ms

LIMIT_MS = 30_000
LOOK_S = 0.002

_never = threading.Event()


def eventually(condition: Callable[[], object], limit_ms: int = LIMIT_MS) -> None:
    """Return as soon as a condition holds; fail if it does not in time."""
    end_ms = real_elapsed_ms() + limit_ms
    while not condition():
        assert real_elapsed_ms() < end_ms, "not in time"
        _never.wait(LOOK_S)


async def eventually_async(condition: Callable[[], object], limit_ms: int = LIMIT_MS) -> None:
    """As `eventually`, without holding up the loop."""
    import anyio

    with anyio.fail_after(limit_ms / 1000):
        await anyio.sleep(0)  # tasks that were started have begun then
        while not condition():
            await anyio.sleep(LOOK_S)
