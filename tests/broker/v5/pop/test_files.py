"""What POP keeps in files of a broker: what is out in order, and the modes of groups."""

from __future__ import annotations

from pathlib import Path

import pytest

import fakemq
from fakemq.broker.broker import Broker
from fakemq.broker.v5.pop.modes import POP, PULL
from fakemq.client import MQBrokerError
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.bodies.pop import SetMessageRequestModeRequestBody
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.popper import Popper
from tests.support.pops import GROUP, TOPIC, Popped, ack, pop, send, set_mode


@pytest.fixture
def broker(lab: BrokerLab, tmp_path: Path) -> Broker:
    broker = lab.broker(reference=REFERENCE, config_folder=tmp_path)
    broker.create_topic(TOPIC, 1)
    return broker


def test_order_survives_a_stop(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    for body in (b"a", b"b"):
        send(peer, body)
    popped = Popped(pop(peer, order=True, queue_id=0, max_msg_nums=1))
    broker.stop()
    lab.network.settle()
    broker.start()
    later = lab.peer(broker.addr, "later")
    assert pop(later, order=True, queue_id=0).code == 210
    assert ack(later, popped, popped.messages[0]).code == 0
    assert Popped(pop(later, order=True, queue_id=0)).bodies == [b"b"]


def test_modes_are_written_as_java_writes_them(
    lab: BrokerLab, broker: Broker, tmp_path: Path
) -> None:
    set_mode(lab.peer(broker.addr))
    text = (tmp_path / "messageRequestMode.json").read_text(encoding="utf-8")
    assert text.split() == [
        "{",
        '"messageRequestModeMap":{',
        f'"{TOPIC}":{{',
        f'"{GROUP}":{{',
        f'"consumerGroup":"{GROUP}",',
        '"mode":"POP",',
        '"popShareQueueNum":0,',
        f'"topic":"{TOPIC}"',
        "}",
        "}",
        "}",
        "}",
    ]


def test_pop_obeys_a_reset_of_the_offset(lab: BrokerLab, broker: Broker) -> None:
    peer = lab.peer(broker.addr)
    for body in (b"a", b"b"):
        send(peer, body)
    pop(peer, order=True, queue_id=0)
    broker5(broker).offset_resets.assign(TOPIC, GROUP, 0, 1)
    assert Popped(pop(peer, order=True, queue_id=0)).bodies == [b"b"]


def mode_of(mq: fakemq.Cluster) -> str:
    def look(core: ClusterCore) -> str:
        service = broker5(core.broker("broker-a")).pop
        return service.modes.find(TOPIC, GROUP, service.config).mode

    return mq.inspect(look)


def test_snapshot_of_a_stopped_broker_has_them(tmp_path: Path) -> None:
    def pop_it(core: ClusterCore) -> None:
        service = broker5(core.broker("broker-a")).pop
        mode = SetMessageRequestModeRequestBody(topic=TOPIC, consumer_group=GROUP, mode=POP)
        service.modes.set(TOPIC, GROUP, mode)
        service.mode_file.persist()

    with fakemq.Cluster(reference="5.5.0", topics={TOPIC: 1}, store=str(tmp_path)) as mq:
        mq.inspect(pop_it)
        mq.broker("broker-a").stop()
        snap = mq.snapshot()
        mq.broker("broker-a").restart()
        mq.reset()
        assert mode_of(mq) == PULL
        mq.restore(snap)
        assert mode_of(mq) == POP


def test_file_of_order_has_nothing_of_what_is_gone(
    lab: BrokerLab, broker: Broker, tmp_path: Path
) -> None:
    peer = lab.peer(broker.addr)
    send(peer)
    Popped(pop(peer, order=True, queue_id=0))
    lab.pass_time(20_000)
    path = tmp_path / "consumerOrderInfo.json"
    assert f"{TOPIC}@{GROUP}" in path.read_text(encoding="utf-8")
    broker.groups.delete(GROUP)
    broker.stop()
    lab.network.settle()
    assert GROUP not in path.read_text(encoding="utf-8")


def test_pop_in_order_forgets_what_no_client_has_read_for_a_day(
    lab: BrokerLab, broker: Broker
) -> None:
    peer, table = lab.peer(broker.addr), broker5(broker).pop.order
    send(peer)
    Popped(pop(peer, order=True, queue_id=0, consumer_group="idle"))
    lab.pass_time(24 * 3_600_000 + 1)
    assert table.find(TOPIC, "idle", 0) is not None
    pop(lab.peer(broker.addr, "later"), order=True, queue_id=0)
    assert table.find(TOPIC, "idle", 0) is None


def test_order_at_a_slave_survives_a_stop(tmp_path: Path) -> None:
    with (
        fakemq.Cluster(
            reference="5.5.0",
            clock="frozen",
            slaves=1,
            topics={TOPIC: 1},
            store=tmp_path,
        ) as mq,
        Popper(mq.namesrv_addr, consumer_group=GROUP) as client,
    ):
        mq.seed(TOPIC, [b"a"])
        slave = mq.broker("broker-a-1")
        mq.clock.advance("10s")
        client.addr = slave.addr
        assert client.pop(order=True, queue_id=0).bodies == [b"a"]
        slave.stop()
        slave.restart()
        with pytest.raises(MQBrokerError, match=r"NO_MESSAGE_IN_QUEUE|210"):
            client.pop(order=True, queue_id=0)
