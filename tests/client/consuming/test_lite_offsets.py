"""Committing, seeking, and where a lite pull consumer begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakemq.client.errors import MQClientError, RemotingTimeoutError
from fakemq.client.operation import Call
from fakemq.errors import ConfigError
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.lite_lab import LiteLab
from tests.support.played_broker import GROUP
from tests.support.scripted_carrier import Outcome
from tests.support.scripted_operation import A, answer

# -- committing --------------------------------------------------------------------------------


def test_poll_commits_what_earlier_polls_returned_every_five_seconds() -> None:
    lab = LiteLab()
    lab.put(b"1")
    assert lab.poll() == [b"1"]
    lab.carrier.advance(4_999)
    lab.poll()
    assert lab.run(lab.consumer.committed(lab.queue())) == 0
    lab.carrier.advance(1)
    lab.poll()
    assert lab.run(lab.consumer.committed(lab.queue())) == 1
    assert lab.broker.committed() is None
    lab.carrier.advance(5_000)
    assert lab.broker.committed() == 1


def test_nothing_is_committed_by_itself_without_auto_commit() -> None:
    lab = LiteLab(auto_commit=False)
    lab.put(b"1")
    assert lab.poll() == [b"1"]
    lab.carrier.advance(60_000)
    lab.poll()
    lab.carrier.advance(60_000)
    assert lab.broker.committed() in (None, 0)
    lab.run(lab.consumer.commit())
    assert lab.broker.committed() == 1


def test_short_commit_interval_is_one_second() -> None:
    lab = LiteLab(auto_commit_interval_ms=10)
    lab.poll()
    lab.put(b"1")
    assert lab.poll() == [b"1"]
    lab.carrier.advance(999)
    lab.poll()
    assert lab.run(lab.consumer.committed(lab.queue())) == 0
    lab.carrier.advance(1)
    lab.poll()
    assert lab.run(lab.consumer.committed(lab.queue())) == 1


def test_commit_by_hand_is_of_all_or_some_queues_or_given_offsets() -> None:
    lab = LiteLab(queues=3, auto_commit=False)
    for number in range(3):
        lab.put(b"x", queue_id=number)
    assert len(lab.poll_all()) == 3
    lab.run(lab.consumer.commit([lab.queue(1)]))
    assert [lab.broker.committed(number) for number in range(3)] == [None, 1, None]
    with pytest.raises(ConfigError, match="offset=-1: expected a whole number from 0"):
        lab.run(lab.consumer.commit({lab.queue(2): 7, lab.queue(0): -1}))
    lab.run(lab.consumer.commit({lab.queue(2): 7, lab.queue(9): 3}))
    assert [lab.broker.committed(number) for number in range(3)] == [None, 1, 7]
    lab.run(lab.consumer.commit())
    assert [lab.broker.committed(number) for number in range(3)] == [1, 1, 1]


def test_committed_is_none_without_an_offset_and_an_error_without_a_broker() -> None:
    lab = LiteLab(auto_commit=False, assigns=True)
    lab.broker.first[lab.queue()] = 4
    assert lab.run(lab.consumer.committed(lab.queue())) is None
    lab.broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda call: RemotingTimeoutError(A, 1)
    with pytest.raises(MQClientError, match=r"from broker exception, .*orders.*timeout"):
        lab.run(lab.consumer.committed(lab.queue()))


def test_slow_messages_of_several_polls_hold_back_nothing() -> None:
    # Unlike a push consumer: what a poll has returned counts as consumed.
    lab = LiteLab(auto_commit=False, pull_batch_size=1)
    lab.put(b"1", b"2", b"3")
    assert lab.poll() == [b"1"]
    assert lab.poll() == [b"2"]
    lab.run(lab.consumer.commit())
    assert lab.broker.committed() == 2


def test_broadcasting_keeps_offsets_in_a_file(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    lab = LiteLab(queues=2, **settings)
    lab.put(b"1")
    lab.put(b"2", queue_id=1)
    assert len(lab.poll_all()) == 2
    lab.run(lab.consumer.commit())
    lab.run(lab.consumer.shutdown())
    assert RequestCode.UPDATE_CONSUMER_OFFSET not in lab.carrier.codes()
    again = LiteLab(queues=2, started=False, **settings)
    again.broker.messages = lab.broker.messages
    again.run(again.consumer.start())
    assert again.poll_all() == []
    assert {one.queue_offset for one in again.broker.pulls} == {1}
    assert RequestCode.GET_CONSUMER_LIST_BY_GROUP not in again.carrier.codes()


# -- where a queue begins ----------------------------------------------------------------------


@pytest.mark.parametrize(("consume_from", "offset"), [("last", 9), ("first", 0), ("timestamp", 1)])
def test_queue_without_committed_offset_begins_as_set(consume_from: str, offset: int) -> None:
    lab = LiteLab(started=False, consume_from=consume_from)
    lab.broker.answers[RequestCode.QUERY_CONSUMER_OFFSET] = lambda call: answer(
        ResponseCode.QUERY_NOT_FOUND
    )
    for _ in range(9):
        lab.broker.put(b"x")
    lab.run(lab.consumer.start())
    assert lab.broker.pulls[0].queue_offset == offset


def test_queue_with_committed_offset_begins_there() -> None:
    lab = LiteLab(started=False)
    for number in range(5):
        lab.broker.put(b"%d" % number)
    lab.broker.offsets[GROUP, lab.queue()] = 3
    lab.run(lab.consumer.start())
    assert lab.poll() == [b"3", b"4"]


# -- seeking -----------------------------------------------------------------------------------


def test_seek_forgets_what_was_read_ahead_and_reads_there() -> None:
    lab = LiteLab(pull_batch_size=2, auto_commit=False)
    lab.put(*(b"%d" % number for number in range(6)))
    assert lab.poll() == [b"0"]
    lab.run(lab.consumer.seek(lab.queue(), 4))
    lab.run(lab.consumer.commit())
    assert lab.broker.committed() == 4
    assert lab.poll_all() == [b"4", b"5"]
    lab.run(lab.consumer.seek_to_begin(lab.queue()))
    assert lab.poll() == [b"0", b"1"]
    lab.run(lab.consumer.seek_to_end(lab.queue()))
    assert lab.poll_all() == []
    lab.put(b"6")
    assert lab.poll() == [b"6"]


def test_seek_ignores_the_answer_of_a_pull_under_way() -> None:
    lab = LiteLab()
    lab.put(b"0")
    assert lab.poll() == [b"0"]
    held = lab.carrier.held[-1]
    lab.run(lab.consumer.seek(lab.queue(), 0))
    assert lab.poll() == [b"0"]
    held.answer(
        answer(body=b"", suggestWhichBrokerId=0, nextBeginOffset=9, minOffset=0, maxOffset=9)
    )
    lab.carrier.settle()
    lab.put(b"1")
    assert lab.poll_all() == [b"1"]


def test_seek_checks_queue_and_range() -> None:
    lab = LiteLab()
    lab.put(b"0", b"1")
    text = r"Seek offset illegal, seek offset = 3, min offset = 0, max offset = 2"
    with pytest.raises(MQClientError, match=text):
        lab.run(lab.consumer.seek(lab.queue(), 3))
    with pytest.raises(MQClientError, match="seek offset = -1"):
        lab.run(lab.consumer.seek(lab.queue(), -1))
    text = (
        r"not in assigned list, may be rebalancing, message queue: MessageQueue \[topic=orders,"
        r" brokerName=a, queueId=5\]"
    )
    with pytest.raises(MQClientError, match=text):
        lab.run(lab.consumer.seek(lab.queue(5), 0))
    assigning = LiteLab(assigns=True)
    with pytest.raises(MQClientError, match="not in assigned list, message queue: MessageQueue"):
        assigning.run(assigning.consumer.seek(lab.queue(), 0))


def test_seek_while_paused_is_kept() -> None:
    lab = LiteLab()
    lab.put(b"0", b"1")
    lab.consumer.pause([lab.queue()])
    lab.run(lab.consumer.seek(lab.queue(), 1))
    assert lab.poll() == []
    lab.consumer.resume([lab.queue()])
    lab.carrier.settle()
    assert lab.poll() == [b"1"]


def test_queue_dropped_while_a_seek_asks_is_not_read() -> None:
    lab = LiteLab()

    def leaving(call: Call) -> Outcome | None:
        lab.consumer.unsubscribe("orders")
        return None

    lab.broker.answers[RequestCode.GET_MAX_OFFSET] = leaving
    lab.run(lab.consumer.seek(lab.queue(), 0))
    lab.put(b"1")
    assert lab.poll_all() == []
    assert len(lab.broker.pulls) == 2, "the pull that was under way, and its answer"


def test_offset_is_searched_by_time() -> None:
    lab = LiteLab()
    assert lab.run(lab.consumer.offset_for_timestamp(lab.queue(), 5)) == 1
