"""The Java program that fills stores and takes stock of them, and what must hold of what it finds.

Source: conformance/java/src/main/java/conformance/Stocks.java
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from conformance.drivers.java_program import JavaDriver
from conformance.targets.java_jars import REFERENCE

TOPICS, QUEUES, GROUP = ("First", "Second"), 4, "GStock"
DELAYED = ("delay",)
HALF = ("commit", "rollback", "later")
STOCK_CONFIG = {
    "messageDelayLevel": "1s 4s 10s",
    # Longer than a slow machine needs to end a transaction: a broker that checks a half message
    # whose end it has not read yet stores the message twice, as its producers commit it twice.
    "transactionTimeOut": "10000",
    "transactionCheckInterval": "2000",
}
"""What is in flight when a broker ends is over soon after it starts again."""
_TIMEOUT_S = 120.0


class Stored(NamedTuple):
    """The acknowledgement of a message, or of its half message."""

    kind: str
    key: str
    topic: str
    queue_id: int
    queue_offset: int
    unique_id: str
    offset_msg_id: str


class Found(NamedTuple):
    """What a consumer finds out about a message."""

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    unique_id: str
    offset_msg_id: str
    key: str
    kind: str
    body_right: bool
    sys_flag: int
    store_timestamp_ms: int
    offset_by_time: int
    by_key: tuple[int, ...]


class Stock(JavaDriver):
    """The program, for one cluster after the other; everything in lists is of all of them."""

    def __init__(self) -> None:
        self.acks: list[Stored] = []
        self.consumed: dict[str, int] = {}
        """The last that a listener took, by key: how often it had been sent back."""
        self.sent_back: set[str] = set()
        self._found: list[Found] = []
        self._ended: dict[str, int] = defaultdict(int)
        super().__init__(REFERENCE, "-", "stock")

    def load(self, namesrv_addr: str, name: str, count: int) -> None:
        """Begin to send ``count`` messages from each of 16 threads, or until one fails."""
        self.say(f"load {namesrv_addr} {name} {count}")

    def wait_acks(self, count: int) -> None:
        """Wait until ``count`` messages are acknowledged."""
        self.wait_for(lambda: len(self.acks) >= count, f"{count} acknowledged", _TIMEOUT_S)

    def wait_loaded(self) -> None:
        """Wait until the last `load` has ended."""
        self._wait_end("loaded", 0)

    def consume(self, namesrv_addr: str) -> None:
        """Consume, and answer checks, until `leave`."""
        self._do(f"consume {namesrv_addr}", "consuming")

    def leave(self) -> None:
        self._do("leave", "left")

    def walk(self, namesrv_addr: str, *more_topics: str) -> list[Found]:
        """Every message of the topics, by queue, in order."""
        self._found = []
        self._do(f"walk {' '.join((namesrv_addr, *TOPICS, *more_topics))}", "walked")
        return sorted(self._found)

    def keys(self, *kinds: str) -> set[str]:
        """Return the keys of what was acknowledged, of some kinds or of all but rolled back."""
        return {ack.key for ack in self.acks if ack.kind in (kinds or (ack.kind,))} - {
            ack.key for ack in self.acks if ack.kind == "rollback"
        }

    def wait_consumed(self, keys: set[str]) -> None:
        """Wait until listeners have taken all of these."""
        self.wait_for(
            lambda: self.consumed.keys() >= keys,
            f"{len(keys)} messages received",
            _TIMEOUT_S,
        )

    def _do(self, command: str, end: str) -> None:
        before = self._ended[end]
        self.say(command)
        self._wait_end(end, before)

    def _wait_end(self, end: str, before: int) -> None:
        self.wait_for(lambda: self._ended[end] > before, end, _TIMEOUT_S)
        if end == "loaded":
            self._ended[end] = 0

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        words = rest.split(" ")
        if kind == "ack":
            what, key, topic, queue_id, offset, unique_id, offset_msg_id = words
            self.acks.append(
                Stored(what, key, topic, int(queue_id), int(offset), unique_id, offset_msg_id)
            )
        elif kind == "recv":
            self.consumed[words[0]] = int(words[1])
        elif kind == "later":
            self.sent_back.add(words[0])
        elif kind == "found":
            self._found.append(_found(words))
        elif kind != "fail":
            self._ended[kind] += 1


def _found(words: list[str]) -> Found:
    topic, queue_id, queue_offset, phy_offset, unique_id, offset_msg_id, key, kind = words[:8]
    body_right, sys_flag, stored_ms, by_time, by_key = words[8:]
    return Found(
        topic,
        int(queue_id),
        int(queue_offset),
        int(phy_offset),
        unique_id,
        offset_msg_id,
        key,
        kind,
        body_right == "true",
        int(sys_flag),
        int(stored_ms),
        int(by_time),
        tuple(int(one) for one in by_key.strip("[]").split(",") if one),
    )


def check_stock(found: list[Found], acks: Iterable[Stored]) -> None:
    """Every acknowledged message is where its acknowledgement says, and every query finds it.

    What was delayed or half need only be there by now; and what was rolled back must not.
    """
    at = {(one.topic, one.queue_id, one.queue_offset): one for one in found}
    places = defaultdict(list)
    last: dict[tuple[str, int], Found] = {}
    for one in found:
        places[one.topic, one.key].append(one.phy_offset)
    for one in found:
        assert one.body_right, one
        assert one.phy_offset in one.by_key, one
        assert set(one.by_key) <= set(places[one.topic, one.key]), one
        before = last.get((one.topic, one.queue_id))
        assert one.queue_offset == (0 if before is None else before.queue_offset + 1), one
        assert before is None or before.phy_offset < one.phy_offset, one
        last[one.topic, one.queue_id] = one
    for ack in acks:
        if ack.kind == "rollback":
            assert (ack.topic, ack.key) not in places, ack
        elif ack.kind in DELAYED + HALF:
            assert (ack.topic, ack.key) in places, ack
        else:
            there = at[ack.topic, ack.queue_id, ack.queue_offset]
            assert there[4:8] == (ack.unique_id, ack.offset_msg_id, ack.key, ack.kind), ack


def unwalked(found: list[Found]) -> set[int]:
    """Return the offsets of messages that a query by key found and the walk did not."""
    walked = {one.phy_offset for one in found}
    return {offset for one in found for offset in one.by_key} - walked


def check_order(found: list[Found]) -> None:
    """What one thread sent to a queue, one after the other, is there in that order."""
    last: dict[tuple[str, int, str], str] = {}
    for one in found:
        if one.kind not in DELAYED + HALF and not one.topic.startswith("%"):
            thread = one.key.rpartition("-")[0]
            assert last.get((one.topic, one.queue_id, thread), "") <= one.key, one
            last[one.topic, one.queue_id, thread] = one.key


def wrong_times(found: list[Found]) -> list[Found]:
    """Those whose time finds none of that time.

    A millisecond is nothing: ours may say of a delivery from the schedule that it came so much
    before the message in front of it, and a look-up then stops beside what it looks for.
    """
    times = {(one.topic, one.queue_id, one.queue_offset): one.store_timestamp_ms for one in found}
    return [
        one
        for one in found
        if abs(times.get((one.topic, one.queue_id, one.offset_by_time), 0) - one.store_timestamp_ms)
        > 1
    ]
