"""What the journal consists of: an entry, and the only event that the journal itself makes."""

from __future__ import annotations

import msgspec

from fakemq.events.core import Event


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in the order (``seq``, from 1) and the cluster's wall time.

    ``cause`` is the ``seq`` of its cause, 0 for none. A cause is a request that arrived, a timer, a
    fault that hit, or a test's change of the clock or of a broker.
    """

    seq: int
    at_ms: int
    event: Event
    cause: int = 0


class TimerFired(Event, frozen=True, kw_only=True, gc=False):
    """A timer of the node was due; ``kind`` is a row of `fakemq.clock.timers.DOMAINS`.

    It is written just before its first effect, and not at all without an effect.
    """

    kind: str
