"""Pending and fired timers as tests see them, and why no timer fires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.core.views import Deadline

if TYPE_CHECKING:
    from fakemq.clock.clock import Clock
    from fakemq.clock.timers import Timer


def _deadline(timer: Timer, due_in_ms: int, at_ms: int) -> Deadline:
    """Return the snapshot of a timer."""
    return Deadline(timer.kind, timer.owner, due_in_ms, timer.domain.value, timer.outside, at_ms)


def fired(clock: Clock, timer: Timer, began_ms: int) -> Deadline:
    """Return the snapshot of a timer that fired in a movement begun at ``began_ms`` of its axis.

    A timer that was late at that time fired at once.
    """
    ago_ms = clock.elapsed_ms(outside=timer.outside) - max(timer.due_ms, began_ms)
    return _deadline(timer, 0, clock.now_ms() - ago_ms)


def timers(clock: Clock) -> list[Deadline]:
    """Return every pending deadline, soonest first."""
    now_ms = clock.now_ms()
    waits = [(timer, clock.due_in_ms(timer)) for timer in clock.timers()]
    pending = [_deadline(timer, in_ms, now_ms + in_ms) for timer, in_ms in waits]
    return sorted(pending, key=lambda one: one.due_in_ms)


SOON = 3
"""The most kinds of deadlines that `stillness` names, each by its soonest."""


def stillness(clock: Clock) -> str:
    """Return why no deadline fires by itself, and the next ones; "" if they do fire."""
    why = [f"held: {reason}" for reason in clock.holds]
    if clock.frozen:
        why.insert(0, "frozen")
    if not why:
        return ""
    first: dict[str, Deadline] = {}
    for one in sorted(timers(clock), key=lambda one: (one.due_in_ms, one.domain)):
        if not one.outside:
            first.setdefault(one.kind, one)
    soon = [
        f"{one.kind} of {one.owner} in {max(0, one.due_in_ms)} ms"
        for one in list(first.values())[:SOON]
    ]
    return f"the clock is {', '.join(why)}; next deadlines: {', '.join(soon) or 'none'}"
