"""What a biography is made of: one class for each thing that can happen to a message.

Every step has its time (``at_ms``, the cluster's), the node, the number of its journal entry and
what is behind it (``because``): a fault that hit, a jump of the clock, a broker moved by hand; ""
for none of these. `str` returns it as a line of text.
"""

from __future__ import annotations

import msgspec

from fakemq.journal.journal import clock_text


class Step(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """Something that happened to a message; ``seq`` is 0 for what has not happened."""

    seq: int
    at_ms: int
    node: str
    because: str = ""

    def text(self) -> str:
        """What happened, without when and why."""
        raise NotImplementedError

    def __str__(self) -> str:
        why = f" — {self.because}" if self.because else ""
        return f"{clock_text(self.at_ms)} {self.text()}{why}"


class Forgotten(Step, frozen=True, kw_only=True, gc=False):
    """How it was stored is not in the journal; ``why`` says what is known of that."""

    why: str

    def text(self) -> str:
        return self.why


class Stored(Step, frozen=True, kw_only=True, gc=False):
    """It was appended to the log, for ``topic``; ``sender`` is "" for one that a test seeded.

    ``answer`` is what its sender was told: SEND_OK or the code of another answer; "" for nothing.
    """

    topic: str
    queue_id: int
    offset: int
    phy_offset: int
    sender: str
    answer: str

    def text(self) -> str:
        by = f", sent by {self.sender}" if self.sender else ""
        told = f", told {self.answer}" if self.answer else ", not answered" if self.sender else ""
        return f"stored in {self.topic} {self.node}/{self.queue_id}@{self.offset}{by}{told}"


class Replicated(Step, frozen=True, kw_only=True, gc=False):
    """A slave, ``node``, has it."""

    def text(self) -> str:
        return f"replicated to {self.node}"


class NotReplicated(Step, frozen=True, kw_only=True, gc=False):
    """A slave, ``node``, does not have it by now."""

    def text(self) -> str:
        return f"not replicated to {self.node}{'' if self.because else ' yet'}"


class Dispatched(Step, frozen=True, kw_only=True, gc=False):
    """It is in its consume queue: consumers can see it."""

    def text(self) -> str:
        return f"dispatched at {self.node}"


class Delayed(Step, frozen=True, kw_only=True, gc=False):
    """It waits for a delay level; ``topic`` is where it goes then."""

    level: int
    due_at_ms: int
    topic: str

    def text(self) -> str:
        due = clock_text(self.due_at_ms)
        return f"delayed for {self.topic} at level {self.level} until {due}"


class DelayEnded(Step, frozen=True, kw_only=True, gc=False):
    """Its delay was over and it is in its real topic and queue."""

    topic: str
    queue_id: int
    offset: int

    def text(self) -> str:
        return f"delay over, in {self.topic} {self.node}/{self.queue_id}@{self.offset}"


class Discarded(Step, frozen=True, kw_only=True, gc=False):
    """It went nowhere: a half message that was delayed, or one that was never decided."""

    why: str

    def text(self) -> str:
        return f"discarded: {self.why}"


class Delivered(Step, frozen=True, kw_only=True, gc=False):
    """A pull answer with it left for a consumer of ``group``, for the ``times``-th time."""

    times: int
    group: str
    client_id: str
    """"" for one that sent no heartbeat."""
    peer: str

    def text(self) -> str:
        who = f"{self.client_id} ({self.peer})" if self.client_id else self.peer
        return f"delivered {ordinal(self.times)} time to {self.group}@{who}"


class Withheld(Step, frozen=True, kw_only=True, gc=False):
    """A fault kept a pull answer with it back; if that leaves later, it is `Delivered` then."""

    group: str
    client_id: str
    """"" for one that sent no heartbeat."""
    peer: str

    def text(self) -> str:
        who = f"{self.client_id} ({self.peer})" if self.client_id else self.peer
        return f"answer with it withheld from {self.group}@{who}"


class Acknowledged(Step, frozen=True, kw_only=True, gc=False):
    """``group`` committed an offset past it, to ``offset``; ``client_id`` may be unknown."""

    group: str
    client_id: str
    offset: int

    def text(self) -> str:
        by = f" by {self.client_id}" if self.client_id else ""
        return f"acked by {self.group}: offset {self.offset} committed{by}"


class SetBack(Step, frozen=True, kw_only=True, gc=False):
    """``group`` had committed past it, and committed ``offset`` then: it is to have it again."""

    group: str
    client_id: str
    offset: int

    def text(self) -> str:
        by = f" by {self.client_id}" if self.client_id else ""
        return f"to be had again by {self.group}: offset set back to {self.offset}{by}"


class SentBack(Step, frozen=True, kw_only=True, gc=False):
    """A consumer could not cope with it: the group has it again after a delay of ``level``."""

    group: str
    level: int
    due_at_ms: int
    reconsume_times: int

    def text(self) -> str:
        due = clock_text(self.due_at_ms)
        return (
            f"sent back by {self.group}: retry {self.reconsume_times},"
            f" delayed at level {self.level} until {due}"
        )


class DeadLettered(Step, frozen=True, kw_only=True, gc=False):
    """It was tried often enough and went to the DLQ of ``group``."""

    group: str
    reconsume_times: int

    def text(self) -> str:
        return f"dead letter of {self.group} after {self.reconsume_times - 1} retries"


class HalfStored(Step, frozen=True, kw_only=True, gc=False):
    """It is the half message of a transaction for ``topic``: no consumer gets it yet."""

    topic: str

    def text(self) -> str:
        return f"half message for {self.topic}, not committed yet"


class Checked(Step, frozen=True, kw_only=True, gc=False):
    """The broker asked a producer of ``group`` about it; ``peer`` is None if none was there."""

    times: int
    group: str
    peer: str | None

    def text(self) -> str:
        whom = self.peer if self.peer is not None else f"nobody, as no {self.group} is connected"
        return f"checked {ordinal(self.times)} time, asked {whom}"


class Committed(Step, frozen=True, kw_only=True, gc=False):
    """Its transaction was committed: it is in its topic."""

    topic: str
    from_check: bool

    def text(self) -> str:
        return f"committed to {self.topic}{' when asked' if self.from_check else ''}"


class RolledBack(Step, frozen=True, kw_only=True, gc=False):
    """Its transaction was rolled back: no consumer gets it."""

    from_check: bool

    def text(self) -> str:
        return f"rolled back{' when asked' if self.from_check else ''}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, …"""
    ending = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"
