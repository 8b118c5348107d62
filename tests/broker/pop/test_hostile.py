"""What no client sends: POP continues, and takes no more memory than it should."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.parts_5_5_0 import parts_of
from fakemq.broker.pop.revive import LAG_MS
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.pop import PopCheckPoint
from fakemq.reference.v5_5_0 import REFERENCE
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.pops import (
    GROUP,
    INVISIBLE_MS,
    TOPIC,
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
    service = parts_of(broker).pop
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
    revive = parts_of(broker).pop.revive
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
