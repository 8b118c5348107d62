"""RESET_CONSUMER_CLIENT_OFFSET at a client."""

from __future__ import annotations

import pytest

from fakemq.protocol.bodies.body import Body
from fakemq.protocol.bodies.offset import MessageQueueForC, ResetOffsetBody, ResetOffsetBodyForC
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import A

BEFORE = [b"0", b"1", b"2", b"3"]


@pytest.fixture
def lab() -> PushLab:
    lab = PushLab(PlayedBroker(queues=2)).start()
    lab.put(*BEFORE)
    return lab


def reset(lab: PushLab, body: Body | bytes, group: str = GROUP, topic: str = "orders") -> None:
    header = ResetOffsetRequestHeader(topic=topic, group=group, timestamp=1)
    request = RemotingCommand(
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        ext_fields=header.encode(),
        body=body.encode() if isinstance(body, Body) else body,
        flag=FLAG_ONEWAY,
    )
    lab.carrier.push(A, request)


def as_map(lab: PushLab, offset: int) -> Body:
    return ResetOffsetBody(offset_table={lab.broker.queue(0): offset})


def as_list(lab: PushLab, offset: int) -> Body:
    return ResetOffsetBodyForC(
        offset_table=[MessageQueueForC(topic="orders", broker_name="a", queue_id=0, offset=offset)]
    )


@pytest.mark.parametrize("body", [as_map, as_list])
def test_queue_continues_at_its_new_offset_after_ten_seconds(lab: PushLab, body: object) -> None:
    assert callable(body)
    reset(lab, body(lab, 2))
    assert lab.core.is_suspended
    lab.advance(9_999)
    assert lab.consumed == BEFORE
    lab.advance(2_000)
    assert lab.consumed == [*BEFORE, b"2", b"3"]
    assert not lab.core.is_suspended


def test_reset_commits_the_new_offset(lab: PushLab) -> None:
    reset(lab, as_map(lab, 1))
    lab.react = lambda _: pytest.fail("suspended")
    lab.advance(9_999)
    lab.react = None
    committed = []
    lab.broker.answers[RequestCode.UPDATE_CONSUMER_OFFSET] = lambda call: committed.append(
        int(call.command.ext_fields["commitOffset"])
    )
    lab.advance(1)
    assert committed[-1] == 1


def test_messages_of_a_queue_that_is_reset_are_not_consumed(lab: PushLab) -> None:
    lab.carrier.performs_at_once = False
    lab.put(b"late")
    reset(lab, as_map(lab, 5))
    while lab.carrier.performing:
        lab.carrier.perform_next()
    lab.carrier.performs_at_once = True
    lab.advance(12_000)
    assert lab.consumed == BEFORE


def test_second_reset_joins_the_first(lab: PushLab) -> None:
    reset(lab, as_map(lab, 3))
    lab.advance(5_000)
    reset(lab, as_map(lab, 2))
    lab.advance(7_000)
    assert not lab.core.is_suspended
    assert lab.consumed == [*BEFORE, b"2", b"3"]


def test_many_resets_take_as_long_as_one(lab: PushLab) -> None:
    reset(lab, as_map(lab, 3))
    tasks = len(lab.services.tasks)
    for _ in range(1_000):
        reset(lab, as_map(lab, 3))
    assert len(lab.services.tasks) == tasks
    lab.advance(12_000)
    assert not lab.core.is_suspended
    assert lab.consumed == [*BEFORE, b"3"]


def test_reset_of_another_topic_changes_no_queue(lab: PushLab) -> None:
    queue = lab.core.queues[lab.broker.queue(0)]
    reset(lab, as_map(lab, 1), topic="others")
    lab.advance(12_000)
    assert lab.core.queues[lab.broker.queue(0)] is queue
    assert lab.consumed == BEFORE


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b'{"offsetTable":[1]}'])
def test_body_that_cannot_be_read_is_ignored(lab: PushLab, body: bytes) -> None:
    reset(lab, body)
    assert not lab.core.is_suspended
    lab.put(b"4")
    assert lab.consumed == [*BEFORE, b"4"]


def test_group_without_a_consumer_is_ignored(lab: PushLab) -> None:
    reset(lab, as_map(lab, 1), group="others")
    assert not lab.core.is_suspended
