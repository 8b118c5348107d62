"""The journal is true: what a reader of it alone would say is what the broker has.

Drawn requests pop messages, and acknowledge them or change their invisible time with any handle
that was ever given out. Each of them is answered with SUCCESS, whatever it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.broker.broker import Broker
from fakemq.events import (
    Acknowledged,
    Delivered,
    Event,
    InvisibleTimeChanged,
    OffsetCommitted,
    OffsetWentBack,
    Popped,
    Revived,
)
from fakemq.journal.journal import Journal
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import UpdateConsumerOffsetRequestHeader
from fakemq.protocol.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
)
from fakemq.protocol.message import decode_records
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support import pops
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC

ORDERED = "in-order"
"""The group that pops in order; `GROUP` does not."""
MESSAGES = 4
Out = tuple[str, str, int, int]
"""Topic, group, queue id and queue offset of a message that is out."""


class Handle(NamedTuple):
    """A receipt handle, and of which message of which group it is."""

    group: str
    topic: str
    offset: int
    text: str


class Known:
    """What a reader of the journal knows."""

    def __init__(self, journal: Journal) -> None:
        self.out: set[tuple[Out, int]] = set()
        """Messages that are out, each with the time of its pop."""
        self.in_order: dict[Out, int] = {}
        """Messages that are out in order → when they become visible."""
        self.committed: dict[tuple[str, str, int], int] = {}
        self._pop_times: dict[tuple[str, str, int], int] = {}
        """Topic, group and queue id → the time of the last pop in order."""
        self._delivered: Delivered | None = None
        for event in journal.find(Event):
            self._read(event)

    def _read(self, event: Event) -> None:
        match event:
            case Delivered():
                self._delivered = event
            case Popped():
                self._popped(event)
            case Acknowledged(has_effect=True):
                out = event.topic, event.group, event.queue_id, event.queue_offset
                if self.in_order.pop(out, None) is None:
                    self.out.remove((out, event.pop_time_ms))
            case InvisibleTimeChanged():
                self._changed(event)
            case Revived():
                out = event.topic, event.group, event.queue_id, event.queue_offset
                self.out.remove((out, event.pop_time_ms))
            case OffsetCommitted() | OffsetWentBack():
                self.committed[event.topic, event.group, event.queue_id] = event.offset
            case _:
                pass

    def _popped(self, event: Popped) -> None:
        assert self._delivered is not None
        queue = event.topic, event.group, event.queue_id
        if event.in_order:
            self._pop_times[queue] = event.pop_time_ms
            for out in [out for out in self.in_order if out[:3] == queue]:
                del self.in_order[out]
        for offset in self._delivered.offsets:
            if event.in_order:
                self.in_order[(*queue, offset)] = event.invisible_until_ms
            else:
                self.out.add(((*queue, offset), event.pop_time_ms))

    def _changed(self, event: InvisibleTimeChanged) -> None:
        out = event.topic, event.group, event.queue_id, event.queue_offset
        if event.pop_time_ms == event.next_pop_time_ms:
            if event.has_effect:
                assert out in self.in_order
                self.in_order[out] = event.invisible_until_ms
            return
        if event.has_effect:
            self.out.remove((out, event.pop_time_ms))
        self.out.add((out, event.next_pop_time_ms))


class Machine:
    """One broker, its client, and the handles that the client was ever given."""

    def __init__(self) -> None:
        self.lab = BrokerLab()
        self.broker: Broker = self.lab.broker(reference=REFERENCE)
        self.peer: Peer = self.lab.peer(self.broker.addr)
        self.handles: list[Handle] = []
        for number in range(MESSAGES):
            pops.send(self.peer, b"%d" % number)
        for group in (GROUP, ORDERED):
            config = self.broker.groups.find(group)
            assert config is not None

    def pop(self, group: str, number: int) -> None:
        order = group == ORDERED
        self.lab.clock.advance_ms(1)  # two pops of one offset at one moment have one key, as Java's
        answer = pops.pop(
            self.peer,
            consumer_group=group,
            order=order,
            queue_id=0,
            max_msg_nums=number % 3 + 1,
            invisible_time=5_000 + 1_000 * (number % 2),
        )
        for message in decode_records(bytes(answer.body)):
            popped = pops.Popped(answer)
            text = popped.handle(message)
            topic = f"%RETRY%{group}_{TOPIC}" if text.split(" ")[4] == "1" else TOPIC
            self.handles.append(Handle(group, topic, message.queue_offset, text))

    def _handle(self, number: int) -> Handle | None:
        return self.handles[number % len(self.handles)] if self.handles else None

    def acknowledge(self, group: str, number: int) -> None:
        if (handle := self._handle(number)) is not None:
            header = AckMessageRequestHeader(
                consumer_group=handle.group,
                topic=handle.topic,
                queue_id=0,
                extra_info=handle.text,
                offset=handle.offset,
            )
            self.peer.ask(RequestCode5.ACK_MESSAGE, header)

    def change(self, group: str, number: int) -> None:
        if (handle := self._handle(number)) is None:
            return
        self.lab.clock.advance_ms(1)
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=handle.group,
            topic=handle.topic,
            queue_id=0,
            extra_info=handle.text,
            offset=handle.offset,
            invisible_time=4_000,
        )
        answer = self.peer.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, header)
        fields = answer.ext_fields
        if answer.code == 0 and int(fields.get("popTime", "0")):
            start, _, _, _, *rest = handle.text.split(" ")
            if handle.group == GROUP:
                start = str(handle.offset)
            times = fields["popTime"], fields["invisibleTime"], fields["reviveQid"]
            text = " ".join((start, *times, *rest))
            self.handles.append(handle._replace(text=text))

    def commit(self, group: str, number: int) -> None:
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=group, topic=TOPIC, queue_id=0, commit_offset=number % (MESSAGES + 1)
        )
        self.peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)

    def wait(self, group: str, number: int) -> None:
        self.lab.clock.advance_ms(1_000 * (number % 9))

    def check(self) -> None:
        known, service = Known(self.lab.journal), broker5(self.broker).pop
        assert known.out == {
            ((ck.topic, ck.group, ck.queue_id, offset), ck.pop_time)
            for ck in service.revive.waiting()
            for offset in ck.unacknowledged()
        }
        assert known.in_order == {
            (topic, group, queue_id, offset): at_ms
            for topic, group, queue_id in service.order.queues()
            for offset, at_ms, _ in service.order.out(topic, group, queue_id)
        }
        assert known.committed == {
            (*key.split("@"), queue_id): offset
            for key, offsets in self.broker.offsets.snapshot().items()
            for queue_id, offset in offsets.items()
        }


ACTS: tuple[Callable[[Machine, str, int], None], ...] = (
    *(Machine.pop, Machine.acknowledge, Machine.change, Machine.commit, Machine.wait),
)
act = st.tuples(st.sampled_from(ACTS), st.sampled_from((GROUP, ORDERED)), st.integers(0, 30))


@settings(max_examples=40)
@given(st.lists(act, min_size=4, max_size=25))
def test_journal_has_what_is_out_and_committed(
    acts: list[tuple[Callable[[Machine, str, int], None], str, int]],
) -> None:
    machine = Machine()
    try:
        machine.pop(GROUP, 0)
        machine.pop(ORDERED, 0)
        for do, group, number in acts:
            do(machine, group, number)
            machine.check()
    finally:
        machine.lab.free()
