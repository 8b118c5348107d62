"""Drives a cluster's clock and memory links on an asyncio loop."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from fakemq.clock.clock import Clock
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.clock.slices import SLICE_MS
from fakemq.net.memory import MemoryNetwork

TURN_MS = 25
"""After this much real time deliveries leave the loop to others, in case that they never end: the
functions of clients inside the cluster may send each other messages for ever."""


class EventLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, with a clock that freezegun does not patch."""

    time = staticmethod(partial(time.clock_gettime, time.CLOCK_MONOTONIC))


class Driver:
    """Wakes the loop when the clock's next timer is due, and at no other time."""

    def __init__(self, clock: Clock, network: MemoryNetwork) -> None:
        self._clock = clock
        self._network = network
        self._loop = asyncio.get_running_loop()
        self._wake: asyncio.TimerHandle | None = None
        # Real elapsed time at which `_wake` finds a timer due.
        self._wake_at_ms = 0
        self._turn: asyncio.Handle | None = None
        clock.settle = network.settle
        clock.on_change = self._clock_changed
        network.on_post = self.schedule
        clock.slices.soon = self.schedule

    def schedule(self) -> None:
        """Schedule a turn on the loop soon; several calls make one turn."""
        if self._turn is None:
            self._turn = self._loop.call_soon(self._take_turn)

    def _clock_changed(self) -> None:
        # A pull that is held each time the last one is answered makes the same timer again and
        # again: it needs no turn of the loop if the next wake-up is early enough.
        due_at_ms = self._clock.next_due_at_ms()
        if self._wake is None or due_at_ms is None or due_at_ms < self._wake_at_ms:
            self.schedule()

    def _take_turn(self) -> None:
        self._turn = None
        if not self._network.settle_for(TURN_MS):
            return  # the network has scheduled the next turn
        try:
            self._clock.fire_due(SLICE_MS)
            if self._clock.slices.waiting:
                self._clock.slices.take_turn()
                self._network.settle()
        finally:  # time continues after a timer that failed
            self._wake_when_due()
            if self._clock.slices.waiting:
                self.schedule()

    def _wake_when_due(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        due_at_ms = self._clock.next_due_at_ms()
        if due_at_ms is not None:
            self._wake_at_ms = due_at_ms
            # A millisecond on top, or the loop would wake within the last one and find nothing.
            wait_ms = max(0, due_at_ms - real_elapsed_ms()) + 1
            self._wake = self._loop.call_later(wait_ms / 1000, self._take_turn)

    def close(self) -> None:
        """Detach from the clock and the network."""
        for handle in (self._wake, self._turn):
            if handle is not None:
                handle.cancel()
        nothing = lambda: None  # noqa: E731
        self._clock.on_change = nothing
        self._clock.slices.soon = None
        self._network.on_post = nothing
