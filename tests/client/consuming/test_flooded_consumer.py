"""A push consumer consumes soon after its broker has flooded it with requests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import pytest

import fakemq
from fakemq.broker.broker import Broker
from fakemq.client import Producer, PushConsumer
from fakemq.client.consuming import push
from fakemq.client.consuming.push import RESET_WAIT_MS
from fakemq.client.consuming.requests import WAITING_MAX
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.bodies.offset import ResetOffsetBody
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.headers.client import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
)
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from tests.support.consuming_faces import Seen
from tests.support.eventually import eventually
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import A

FLOOD = 4_000


def requests(queue: MessageQueue, client_id: str = CLIENT) -> Iterator[RemotingCommand]:
    """Yield requests of each kind in turn, without end; the resets begin a queue anew."""
    other = PlayedBroker()
    other.put(b"directly")
    record = other.messages[other.queue()][0]
    reset = ResetOffsetRequestHeader(topic="orders", group=GROUP, timestamp=1)
    offsets = ResetOffsetBody(offset_table={queue: 0})
    report = GetConsumerRunningInfoRequestHeader(
        consumer_group=GROUP, client_id=client_id, jstack_enable=False
    )
    directly = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=GROUP, client_id=client_id, broker_name="a"
    )
    changed = NotifyConsumerIdsChangedRequestHeader(consumer_group=GROUP)
    kinds: list[tuple[int, Header, bytes, int]] = [
        (RequestCode.RESET_CONSUMER_CLIENT_OFFSET, reset, offsets.encode(), FLAG_ONEWAY),
        (RequestCode.GET_CONSUMER_RUNNING_INFO, report, b"", 0),
        (RequestCode.CONSUME_MESSAGE_DIRECTLY, directly, record, 0),
        (RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, changed, b"", FLAG_ONEWAY),
    ]
    for code, header, body, flag in cycle(kinds):
        yield RemotingCommand(code, ext_fields=header.encode(), body=body, flag=flag)


def started(ordered: bool) -> PushLab:
    """A consumer that has consumed one message."""
    lab = PushLab(PlayedBroker(), consume_from="first", ordered=ordered).start()
    lab.put(b"before")
    assert lab.consumed == [b"before"]
    return lab


def flood(lab: PushLab) -> None:
    flooding = requests(lab.broker.queue())
    for _ in range(FLOOD):
        lab.carrier.push(A, next(flooding))


@pytest.mark.parametrize("ordered", [False, True], ids=["concurrent", "ordered"])
def test_flooded_consumer_consumes_again_when_a_reset_would_end(ordered: bool) -> None:
    lab = started(ordered)
    tasks = len(lab.services.tasks)
    flood(lab)
    assert lab.core.is_suspended
    assert len(lab.services.tasks) <= tasks + 1, "one reset waits"
    answers = [one.answer.code for one in lab.carrier.received]
    assert answers == [ResponseCode.SUCCESS] * (FLOOD // 2), "reports, and messages consumed"
    lab.batches.clear()
    lab.put(b"after")
    lab.advance(RESET_WAIT_MS + 2_000)
    assert lab.consumed == [b"before", b"after"]
    assert not lab.core.is_suspended


@pytest.mark.parametrize("ordered", [False, True], ids=["concurrent", "ordered"])
def test_flood_is_refused_at_once_while_the_listener_is_busy(
    ordered: bool, caplog: pytest.LogCaptureFixture
) -> None:
    lab = started(ordered)
    tasks = len(lab.services.tasks)
    lab.carrier.performs_at_once = False
    flood(lab)
    assert len(lab.services.tasks) <= tasks + WAITING_MAX
    assert len(lab.carrier.performing) == WAITING_MAX - 1, "and a reset"
    assert len(lab.carrier.received) == FLOOD // 2 - len(lab.carrier.performing)
    assert lab.carrier.received[-1].answer.code == ResponseCode.SYSTEM_BUSY
    assert caplog.text.count("too many wait") == 1, "one line for a flood"
    while lab.carrier.performing:
        lab.carrier.perform_next()
    lab.carrier.performs_at_once = True
    lab.batches.clear()
    lab.put(b"after")
    lab.advance(RESET_WAIT_MS + 2_000)
    assert lab.consumed == [b"before", b"after"]
    assert len(lab.services.tasks) == tasks


def test_consumer_that_is_flooded_over_a_socket_consumes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rest_ms = 500
    monkeypatch.setattr(push, "RESET_WAIT_MS", rest_ms)
    seen = Seen()

    def send_flood(core: ClusterCore) -> None:
        broker: Broker = next(iter(core.brokers.values()))
        group = broker.consumers.group(GROUP)
        assert group is not None
        (channel,) = group.channels.values()
        queue = MessageQueue(topic="orders", broker_name=broker.config.broker_name, queue_id=0)
        flooding = requests(queue, channel.client_id)
        for _ in range(FLOOD):
            channel.session.send(next(flooding))

    with (
        fakemq.Cluster(topics={"orders": 1}) as mq,
        Producer(mq.namesrv_addr, group="g") as producer,
        PushConsumer(
            mq.namesrv_addr,
            group=GROUP,
            subscribe="orders",
            on_message=seen,
            consume_from="first",
        ),
    ):
        producer.send("orders", b"before")
        eventually(lambda: b"before" in seen.bodies)
        mq.inspect(send_flood)
        producer.send("orders", b"after")
        # If each reset that waits took its own time, it would be `WAITING_MAX` times as long.
        eventually(lambda: b"after" in seen.bodies, 30 * rest_ms)
