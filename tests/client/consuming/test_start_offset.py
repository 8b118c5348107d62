"""Where queues of a new group begin."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fakemq.client.consuming.start_offset import timestamp_ms
from fakemq.client.errors import MQClientError, RemotingConnectError
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import answer
from tests.support.time import START_MS

RETRY = f"%RETRY%{GROUP}"


def lab_with(stored: int, first: int = 0, **settings: object) -> PushLab:
    """A consumer of a queue with ``stored`` messages from offset ``first`` on."""
    broker = PlayedBroker()
    broker.first[broker.queue()] = first
    for one in range(stored):
        broker.put(b"%d" % (first + one))
    return PushLab(broker, **settings).start()


@pytest.mark.parametrize("where", ["last", "first", "timestamp"])
def test_committed_offset_is_where_a_queue_continues(where: str) -> None:
    broker = PlayedBroker()
    for one in range(5):
        broker.put(b"%d" % one)
    broker.offsets[GROUP, broker.queue()] = 3
    assert PushLab(broker, consume_from=where).start().consumed == [b"3", b"4"]


def test_new_group_begins_at_the_end() -> None:
    lab = lab_with(3, first=10)
    assert lab.consumed == []
    lab.put(b"new")
    assert lab.consumed == [b"new"]


def test_new_group_begins_with_the_first_message_while_that_is_message_0() -> None:
    assert lab_with(3).consumed == [b"0", b"1", b"2"]


def test_new_group_begins_with_the_first_message_if_it_says_so() -> None:
    lab = lab_with(3, first=10, consume_from="first")
    lab.advance(31_000)  # the broker moves it from 0 to its first offset
    assert lab.consumed == [b"10", b"11", b"12"]


def test_new_group_begins_at_a_time() -> None:
    broker = PlayedBroker()
    asked = []
    broker.first[broker.queue()] = 10
    for one in range(3):
        broker.put(b"%d" % one)

    def search(call: object) -> object:
        asked.append(broker.carrier.calls[-1].command.ext_fields["timestamp"])
        return answer(offset=11)

    broker.answers[RequestCode.SEARCH_OFFSET_BY_TIMESTAMP] = search  # type: ignore[assignment]
    assert PushLab(broker, consume_from="timestamp").start().consumed == [b"1", b"2"]
    assert asked == [str(START_MS - 30 * 60_000)]


def test_time_of_the_settings_is_asked_for() -> None:
    broker = PlayedBroker()
    broker.first[broker.queue()] = 10
    at = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    PushLab(broker, consume_from="timestamp", consume_timestamp=at).start()
    asked = [
        one.command.ext_fields["timestamp"]
        for one in broker.carrier.calls
        if one.command.code == RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    ]
    assert asked == [str(int(at.timestamp() * 1000))]


@pytest.mark.parametrize(("where", "offset"), [("last", 0), ("first", 0), ("timestamp", 12)])
def test_messages_to_be_tried_again_are_skipped_only_by_a_time(where: str, offset: int) -> None:
    broker = PlayedBroker()
    broker.topics[RETRY] = 1
    broker.first[broker.queue(0, RETRY)] = 10
    broker.put(b"10", topic=RETRY)
    broker.put(b"11", topic=RETRY)
    lab = PushLab(broker, consume_from=where).start()
    pulls = [one.queue_offset for one in broker.pulls if one.topic == RETRY]
    assert pulls == [offset]
    assert lab.owned(RETRY)


def test_queue_is_taken_later_if_its_offset_cannot_be_had() -> None:
    broker = PlayedBroker()
    broker.put(b"0")
    broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda _: answer(
        ResponseCode.SYSTEM_ERROR, remark="no"
    )
    lab = PushLab(broker).start()
    assert lab.owned() == []
    broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda call: RemotingConnectError(call.addr)
    lab.advance(20_000)
    assert lab.owned() == []
    broker.answers.clear()
    lab.advance(20_000)
    assert lab.consumed == [b"0"]


def test_timestamp_is_local_time() -> None:
    expected = datetime(2013, 12, 23, 17, 12, 1).timestamp()  # local time is meant
    assert timestamp_ms("20131223171201") == int(expected * 1000)


@pytest.mark.parametrize("text", ["", "2013", "20131323171201", "20131223171201x", "x" * 99])
def test_timestamp_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(MQClientError, match="the valid format is yyyyMMddHHmmss,but received"):
        timestamp_ms(text)
