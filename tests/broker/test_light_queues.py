"""A broker with light queues: its tables, its files, and what it counts."""

from __future__ import annotations

from pathlib import Path

from fakemq.broker.broker import Broker
from fakemq.clock.slices import finished
from fakemq.config.model import BrokerConfig
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import RequestCode
from fakemq.store.inner_message import inner_message
from tests.support.broker_lab import BrokerLab

LIGHT, GROUP = "%LMQ%a", "%LMQ%g"


def light_broker(lab: BrokerLab, folder: Path | None = None) -> Broker:
    config = BrokerConfig(enable_lmq=True, enable_multi_dispatch=True)
    return lab.broker(config, config_folder=folder)


def read(folder: Path, name: str) -> object:
    return fastjson.loads((folder / name).read_text())


def test_every_light_topic_and_group_is_there(lab: BrokerLab) -> None:
    broker = light_broker(lab)
    topic, group = broker.topics.select(LIGHT), broker.groups.find(GROUP)
    assert topic == TopicConfig(LIGHT, 1, 1, 6)
    assert group == SubscriptionGroupConfig(group_name=GROUP)
    broker.topics.update(TopicConfig(LIGHT, 5, 5, 4))
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP, consume_enable=False))
    assert (broker.topics.select(LIGHT), broker.groups.find(GROUP)) == (topic, group)
    assert LIGHT not in broker.topics.snapshot()
    assert GROUP not in broker.groups.snapshot()
    assert LIGHT.encode() not in broker.topics.encoded()


def test_without_lmq_such_topics_and_groups_are_usual_ones(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(enable_multi_dispatch=True))
    assert broker.topics.select(LIGHT) is None
    broker.offsets.commit(GROUP, LIGHT, 3, 7)
    assert broker.offsets.query(GROUP, LIGHT, 0) == -1


def test_offsets_of_light_groups_have_a_table_of_their_own(lab: BrokerLab, tmp_path: Path) -> None:
    broker = light_broker(lab, tmp_path)
    broker.offsets.commit(GROUP, LIGHT, 3, 7)
    broker.offsets.commit("g", LIGHT, 0, 5)
    assert dict(broker.offsets.query_all(GROUP, LIGHT)) == {0: 7}
    assert finished(broker.offsets.which_groups_by_topic(LIGHT)) == ["g"]
    lab.pass_time(10_000)
    assert not (tmp_path / "consumerOffset.json").exists()
    assert read(tmp_path, "lmqConsumerOffset.json") == {
        "lmqOffsetTable": {f"{LIGHT}@{GROUP}": 7},
        "offsetTable": {f"{LIGHT}@g": {0: 5}},
    }
    broker.stop()
    again = light_broker(lab, tmp_path)
    assert again.offsets.query(GROUP, LIGHT, 9) == 7
    assert again.offsets.query("g", LIGHT, 0) == 5


def test_offsets_of_light_groups_are_sent_beside_the_others(lab: BrokerLab) -> None:
    broker = light_broker(lab)
    broker.offsets.commit(GROUP, LIGHT, 0, 7)
    answer = lab.peer(broker.addr).ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    assert bytes(answer.body) == b'{"lmqOffsetTable":{"%LMQ%a@%LMQ%g":7},"offsetTable":{}}'


def test_pulls_of_all_light_queues_count_as_one(lab: BrokerLab) -> None:
    broker = light_broker(lab)
    broker.stats.pulled(GROUP, LIGHT, 0, 2, 10)
    broker.stats.pulled("%LMQ%h", "%LMQ%b", 0, 3, 10)
    broker.stats.pulled("g", LIGHT, 0, 1, 10)
    lab.pass_time(10_000)
    found = broker.stats.snapshots("GROUP_GET_NUMS", "%LMQ%@%LMQ%")
    assert found is not None
    assert broker.stats.snapshots("GROUP_GET_NUMS", "%LMQ%@g") is not None
    assert broker.stats.snapshots("GROUP_GET_NUMS", f"{LIGHT}@{GROUP}") is None
    assert broker.stats.tps_group_get_nums(GROUP, LIGHT) == broker.stats.tps_group_get_nums(
        "%LMQ%x", "%LMQ%y"
    )


def test_message_wakes_pulls_of_its_light_queues(lab: BrokerLab) -> None:
    broker = light_broker(lab)
    woken: list[str] = []
    broker.holds.arrived = lambda records: woken.extend(  # type: ignore[method-assign]
        f"{one.topic}:{one.queue_id} {one.queue_offset}" for one in records
    )
    broker.holds.by_queue = {("x", 0): None}  # type: ignore[dict-item]
    properties = {"INNER_MULTI_DISPATCH": f"{LIGHT},other"}
    text = f"INNER_MULTI_DISPATCH\x01{LIGHT},other"
    for _ in range(2):
        broker.put(inner_message("orders", 3, b"x", properties, text))
    assert woken == [
        *("orders:3 0", f"{LIGHT}:0 0", "other:3 0"),
        *("orders:3 1", f"{LIGHT}:0 1", "other:3 1"),
    ]
