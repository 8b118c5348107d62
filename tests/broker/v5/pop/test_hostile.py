"""What no client sends: POP continues, and takes no more memory than it should."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.pop.revive import LAG_MS
from fakemq.events import Acknowledged, HandlerFailed
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.pop import BatchAckMsg, PopCheckPoint
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.pop import ExtraInfo
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.peer import Peer
from tests.support.pops import (
    GROUP,
    INVISIBLE_MS,
    TOPIC,
    Popped,
    ack,
    change_header,
    pop,
    send,
)

REVIVED_MS = INVISIBLE_MS + LAG_MS


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    broker = lab.broker(reference=REFERENCE)
    broker.create_topic(TOPIC, 2)
    return broker


@pytest.mark.parametrize(
    ("times", "next_times"), [("-100", "1"), ("9" * 20, "128"), ("nonsense", "128")]
)
def test_checkpoint_with_an_odd_number_of_attempts_is_put_again(
    lab: BrokerLab, broker: Broker, peer: Peer, times: str, next_times: str
) -> None:
    send(peer)
    service = broker5(broker).pop
    now_ms = lab.clock.now_ms()
    ck = PopCheckPoint(
        num=1,
        pop_time=now_ms,
        invisible_time=INVISIBLE_MS,
        group=GROUP,
        topic=TOPIC,
        queue_offset_diff=[0],
        re_put_times=times,
    )
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP))
    service.revive._put = lambda message: put_ended(PutMessageStatus.SERVICE_NOT_AVAILABLE)
    service.log.put_checkpoint(ck, 0)
    lab.pass_time(REVIVED_MS)
    assert [one.re_put_times for one in service.revive.waiting()] == [next_times]


def test_stopped_broker_revives_nothing_more(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    for body in (b"a", b"b"):
        send(peer, body)
        pop(peer, max_msg_nums=1)
    lab.pass_time(INVISIBLE_MS)
    revive = broker5(broker).pop.revive
    queue = revive._queues[0]
    cks = [*queue.pending.values(), *revive._queues[1].pending.values()]
    for number, ck in enumerate(cks):
        ck.revive_time -= LAG_MS
        ck.revive_offset = number
        queue.add(ck)
    steps = revive._scan(queue)
    next(steps)
    revive.stop()
    assert [*steps] == []
    assert len(queue.pending) == 1


LONG_MIN = -LONG_MAX - 1


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("invisible_ms", [LONG_MIN, -1, 0, 1 << 62, LONG_MAX])
def test_invisible_time_may_be_any_number(
    lab: BrokerLab, broker: Broker, peer: Peer, invisible_ms: int, order: bool
) -> None:
    send(peer)
    fields = {"order": order, "queue_id": 0}
    first = Popped(pop(peer, invisible_time=invisible_ms, **fields))
    changed = change_header(first, first.messages[0], invisible_ms)
    peer.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, changed)
    lab.pass_time(3 * REVIVED_MS)
    ack(peer, first, first.messages[0])
    lab.pass_time(3 * REVIVED_MS)
    send(peer, queue_id=1)
    assert pop(peer, queue_id=1).code == 0
    assert broker.journal.find(HandlerFailed) == []


def test_handle_of_many_parts_is_cut_once() -> None:
    for text in (" " * 1_000_000, "1 2 3 4 0 broker-a 0 7" + " x" * 500_000):
        assert len(ExtraInfo(text)._parts) <= 9
    assert ExtraInfo("1 2 3 4 0 broker-a 0 7" + " x" * 500_000).queue_offset == 7


def test_attempt_id_has_a_length(broker: Broker, peer: Peer) -> None:
    send(peer)
    refused = pop(peer, order=True, queue_id=0, attempt_id="x" * 1_001)
    assert (refused.code, refused.remark) == (
        29,
        "fakemq keeps no attempt id of over 1000 characters",
    )
    assert broker5(broker).pop.order.table == {}
    assert pop(peer, order=True, queue_id=0, attempt_id="x" * 1_000).code == 0


def test_batch_acknowledges_no_more_than_a_pop_may_return(broker: Broker, peer: Peer) -> None:
    for _ in range(200):
        send(peer)
    bits = "/" * 64  # 384 bits that are set
    body = f'{{"acks":[{{"c":"{GROUP}","t":"{TOPIC}","r":"0","pt":1,"it":1,"b":"{bits}"}}]}}'
    assert peer.ask(RequestCode5.BATCH_ACK_MESSAGE, body=body.encode()).code == 0
    assert len(broker.journal.find(Acknowledged)) == 127


def test_records_of_peers_take_no_more_than_they_may_mean(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send(peer)
    service, now_ms = broker5(broker).pop, lab.clock.now_ms()
    ck = PopCheckPoint(
        num=2,
        pop_time=now_ms,
        invisible_time=INVISIBLE_MS,
        group=GROUP,
        topic=TOPIC,
        broker_name="broker-a",
        queue_offset_diff=list(range(10_000)),
    )
    service.log.put_checkpoint(ck, 0)
    [waiting] = service.revive.waiting()
    assert waiting.queue_offset_diff == [0, 1]
    done = BatchAckMsg(
        group=GROUP,
        topic=TOPIC,
        pop_time=now_ms,
        broker_name="broker-a",
        ack_offset_list=[0] * 50_000 + list(range(7, 50_000)),
    )
    service.log.put_ack(done, 0, now_ms + INVISIBLE_MS)
    assert waiting.unacknowledged() == [1]
