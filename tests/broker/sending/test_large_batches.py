"""A large batch is stored in slices: what others do meanwhile, and what ends it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.broker.acl.stored import stored_topic
from fakemq.broker.broker import Broker
from fakemq.events import Dispatched, HandlerFailed, LogAppended
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.peer import Answer, Peer
from tests.support.slices import work_in_turns

NUMBER = 2_000
BODY = encode_batch(
    [BatchMember(b"%d" % number, b"KEYS\x01key%d" % number) for number in range(NUMBER)]
)


@pytest.fixture
def broker(lab: BrokerLab, monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = lab.broker()
    outside(lab, broker).ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"first")
    work_in_turns(lab.clock, monkeypatch)
    return broker


def outside(lab: BrokerLab, broker: Broker, number: int = 1) -> Peer:
    return lab.outside_peer(broker, f"127.0.0.1:{5000 + number}")


def send_batch(peer: Peer, code: int = RequestCode.SEND_BATCH_MESSAGE) -> Answer:
    return peer.send(code, send_header(batch=True), BODY)


def send_one(peer: Peer, body: bytes) -> Answer:
    return peer.send(RequestCode.SEND_MESSAGE_V2, send_header(), body)


def turns(lab: BrokerLab, until: Callable[[], bool] = lambda: False) -> int:
    """Take turns until ``until`` says that it is enough, or no work is left; return how many."""
    lab.network.settle()
    number = 0
    while lab.clock.slices.waiting and not until():
        lab.clock.slices.take_turn()
        lab.network.settle()
        number += 1
    return number


def bodies(broker: Broker) -> list[bytes]:
    return [message.body for message in broker.store.messages_in_queue("orders", 0)]


def code_of(answer: Answer) -> int | None:
    return None if answer.response is None else answer.response.code


def appended(broker: Broker) -> Callable[[], bool]:
    """Return a function that says whether the batch is in the log."""
    end = broker.store.max_phy_offset
    return lambda: broker.store.max_phy_offset > end


@pytest.mark.parametrize("code", [RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_MESSAGE_V2])
def test_message_sent_meanwhile_is_before_or_behind_the_whole_batch(
    lab: BrokerLab, broker: Broker, code: int
) -> None:
    many, other = outside(lab, broker, 1), outside(lab, broker, 2)
    is_appended = appended(broker)
    batch = send_batch(many, code)
    before = send_one(other, b"before")
    lab.network.settle()
    assert code_of(before) == ResponseCode.SUCCESS
    assert bodies(broker) == [b"first", b"before"]
    is_appended = appended(broker)
    assert turns(lab, is_appended) > 1, "the drafts take more than one turn"
    behind = send_one(other, b"behind")
    lab.network.settle()
    assert (code_of(batch), code_of(behind)) == (None, None)
    assert len(bodies(broker)) < NUMBER
    assert turns(lab) > 1, "the way to the queue takes more than one turn"
    assert (code_of(batch), code_of(behind)) == (ResponseCode.SUCCESS, ResponseCode.SUCCESS)
    members = [b"%d" % number for number in range(NUMBER)]
    assert bodies(broker) == [b"first", b"before", *members, b"behind"]
    assert not lab.journal.find(HandlerFailed)


def test_large_batch_is_stored_as_at_once(lab: BrokerLab, broker: Broker) -> None:
    send_batch(outside(lab, broker))
    turns(lab)
    at_once = BrokerLab()
    other = at_once.broker()
    peer = outside(at_once, other)
    peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"first")
    peer.ask(RequestCode.SEND_BATCH_MESSAGE, send_header(batch=True), BODY)
    for store in (broker.store, other.store):
        assert store.max_offset_in_queue("orders", 0) == NUMBER + 1
    log = broker.store.log.read_from(0)
    assert log is not None
    assert log == other.store.log.read_from(0)
    queues = [store.consume_queue("orders", 0) for store in (broker.store, other.store)]
    assert [queue and queue.units_from(0) for queue in queues] == [queues[1].units_from(0)] * 2  # type: ignore[union-attr]


def test_events_of_each_record_have_their_own_cause(lab: BrokerLab, broker: Broker) -> None:
    send_batch(outside(lab, broker, 1))
    turns(lab, appended(broker))
    send_one(outside(lab, broker, 2), b"behind")
    turns(lab)
    for kind in (LogAppended, Dispatched):
        causes = [entry.cause for entry in lab.journal if isinstance(entry.event, kind)]
        assert len(causes) == NUMBER + 2
        assert len(set(causes)) == 3
        assert causes[1] != causes[-1]


def test_end_of_the_connection_drops_a_batch_that_is_not_in_the_log(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = outside(lab, broker)
    send_batch(peer)
    peer.close()
    turns(lab)
    assert bodies(broker) == [b"first"]


def test_batch_in_the_log_reaches_its_queue_without_its_sender(
    lab: BrokerLab, broker: Broker
) -> None:
    peer = outside(lab, broker)
    send_batch(peer)
    turns(lab, appended(broker))
    assert len(bodies(broker)) < NUMBER
    peer.close()
    turns(lab)
    assert len(bodies(broker)) == NUMBER + 1


def test_record_of_a_batch_is_of_its_topic_before_it_is_in_its_queue(
    lab: BrokerLab, broker: Broker
) -> None:
    store = broker.store
    end = store.max_phy_offset
    send_batch(outside(lab, broker))
    turns(lab, appended(broker))
    send_one(outside(lab, broker, 2), b"behind")
    lab.network.settle()
    offsets, size_bytes = [], 0
    while end + size_bytes < store.max_phy_offset:
        end += size_bytes
        offsets.append(end)
        record = store.select_one_message_by_offset(end)
        assert record is not None
        size_bytes = len(record)
    assert len(bodies(broker)) < len(offsets) == NUMBER + 1
    assert {stored_topic(broker, offset) for offset in offsets} == {"orders"}
    assert not store.has_record_at(offsets[-1], "orders", 0, NUMBER)
    assert not store.has_record_at(offsets[-1], "bills", 0, NUMBER + 1)
    turns(lab)
    assert {stored_topic(broker, offset) for offset in offsets} == {"orders"}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_broker_that_ends_has_all_records_in_their_queue(
    lab: BrokerLab, broker: Broker, how: str
) -> None:
    send_batch(outside(lab, broker))
    turns(lab, appended(broker))
    assert len(bodies(broker)) < NUMBER
    getattr(broker, how)()
    lab.network.settle()
    assert len(bodies(broker)) == NUMBER + 1
    broker.start()
    send_one(outside(lab, broker, 2), b"later")
    lab.network.settle()
    assert bodies(broker)[-1] == b"later"


def test_paused_broker_continues_a_batch_later(lab: BrokerLab, broker: Broker) -> None:
    answer = send_batch(outside(lab, broker))
    turns(lab, appended(broker))
    broker.pause()
    assert turns(lab) == 0
    broker.resume()
    turns(lab)
    assert code_of(answer) == ResponseCode.SUCCESS
    assert len(bodies(broker)) == NUMBER + 1


def test_odd_batch_is_refused_after_its_slices(lab: BrokerLab, broker: Broker) -> None:
    answer = outside(lab, broker).send(
        RequestCode.SEND_BATCH_MESSAGE, send_header(batch=True), BODY[:-3]
    )
    assert turns(lab) > 1
    assert code_of(answer) == ResponseCode.SYSTEM_ERROR
    assert bodies(broker) == [b"first"]
