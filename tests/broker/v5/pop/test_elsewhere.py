"""Checkpoints that name another broker: its messages come into a retry topic of this one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.broker import Broker5
from fakemq.events import HandlerFailed
from fakemq.later import Later
from fakemq.protocol.bodies.pop import PopCheckPoint
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.message import MessageExt, decode_good_records
from tests.support.broker_lab import send_header
from tests.support.clients import TOPIC
from tests.support.pops import GROUP, pop, send
from tests.support.replication import Replicated

RETRY: Final = f"%RETRY%{GROUP}_{TOPIC}"


class Pair(Replicated):
    """Two masters of plain 5.5.0 with one revive queue each."""

    def __init__(self) -> None:
        super().__init__(
            reference="5.5.0",
            masters=2,
            slaves=0,
            topics={TOPIC: 1},
            config={"reviveQueueNum": 1},
        )
        self.other = self.core.broker("broker-b")
        for broker in (self.master, self.other):
            assert pop(self.peer(broker)).code != ResponseCode.SYSTEM_ERROR
        self.core.advance(1_000)

    @property
    def reviving(self) -> Broker5:
        assert isinstance(self.master, Broker5)
        return self.master

    def store(self, broker: Broker, *bodies: bytes) -> None:
        for body in bodies:
            send(self.peer(broker), body=body)

    def put_checkpoint(
        self, *, broker_name: str = "broker-b", num: int = 1, start: int = 0
    ) -> None:
        """Let a client send a checkpoint whose messages became visible a second ago."""
        now_ms = self.core.clock.now_ms()
        ck = PopCheckPoint(
            num=num,
            pop_time=now_ms - 2_000,
            invisible_time=1_000,
            start_offset=start,
            group=GROUP,
            topic=TOPIC,
            queue_id=0,
            broker_name=broker_name,
            queue_offset_diff=list(range(num)),
        )
        header = send_header(self.reviving.pop.log.topic, properties="TAGS\x01ck\x02", queue_id=0)
        peer = self.peer(self.master)
        assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, ck.encode()).code == 0

    def revived(self) -> list[bytes]:
        return [one.body for one in self.master.store.messages_in_queue(RETRY, 0)]


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.core.stop()


def test_messages_of_another_broker_are_revived(pair: Pair) -> None:
    pair.store(pair.other, b"one", b"two")
    pair.put_checkpoint(num=2)
    pair.core.advance(10_000)
    assert pair.revived() == [b"one", b"two"]


def test_malformed_order_conf_does_not_stop_a_revive_queue(pair: Pair) -> None:
    (name_server,) = pair.core.name_servers
    name_server.config.order_message_enable = True
    name_server.kv.put("ORDER_TOPIC_CONFIG", TOPIC, "broker-b")
    pair.store(pair.other, b"there")
    pair.put_checkpoint()
    pair.core.advance(10_000)
    assert pair.revived() == [b"there"]
    assert not pair.core.journal.find(HandlerFailed)


def test_error_of_a_read_is_tried_again(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.store(pair.other, b"there")
    with monkeypatch.context() as patch:
        patch.setattr(pair.reviving.routes, "ask", lambda _: 1 / 0)
        pair.put_checkpoint()
        pair.core.advance(5_000)
    assert pair.core.journal.find(HandlerFailed)
    pair.core.advance(5_000)
    assert pair.revived() == [b"there"]


@pytest.mark.parametrize("wrong", ["topic", "queue_id", "queue_offset"])
def test_answer_with_another_message_is_not_taken(
    pair: Pair, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(body: bytes) -> list[MessageExt]:
        found = decode_good_records(body)
        setattr(found[0], wrong, "other" if wrong == "topic" else 7)
        return found

    pair.store(pair.other, b"there")
    with monkeypatch.context() as patch:
        patch.setattr("fakemq.broker.v5.escape.reading.decode_good_records", another)
        pair.put_checkpoint()
        pair.core.advance(8_000)
    assert not pair.revived()
    pair.core.advance(30_000)
    assert pair.revived() == [b"there"]


def test_silent_broker_holds_a_revive_queue_for_one_time_out(pair: Pair) -> None:
    pair.store(pair.master, b"here")
    pair.other.pause()
    pair.put_checkpoint(num=100)
    pair.put_checkpoint(broker_name="broker-a")
    pair.core.advance(5_000)
    assert not pair.revived()
    pair.core.advance(10_000)
    assert pair.revived() == [b"here"]
    again = {ck.start_offset for ck in pair.reviving.pop.revive.waiting()}
    assert again == set(range(100))


def test_checkpoint_asks_for_one_route(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = pair.reviving.routes.ask

    def noted(topic: str) -> Later[TopicRouteData | None]:
        asked.append(topic)
        return ask(topic)

    monkeypatch.setattr(pair.reviving.routes, "ask", noted)
    pair.store(pair.other, b"one", b"two", b"three")
    pair.put_checkpoint(num=3)
    pair.core.advance(10_000)
    assert pair.revived() == [b"one", b"two", b"three"]
    assert asked == [TOPIC]


def test_stop_leaves_a_checkpoint_to_the_next_start(pair: Pair) -> None:
    pair.store(pair.other, b"one", b"two")
    pair.other.pause()
    pair.put_checkpoint(num=2)
    pair.core.advance(5_000)
    pair.stop(pair.master)
    pair.core.advance(20_000)
    pair.other.resume()
    pair.start(pair.master)
    pair.core.advance(10_000)
    assert pair.revived() == [b"one", b"two"]
