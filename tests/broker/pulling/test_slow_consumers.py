"""Groups that are too far behind are suspended, as by a real broker's protection of itself."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.seeding import seed
from fakemq.config.model import BrokerConfig
from fakemq.events import Warned
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, pull
from tests.support.peer import Peer

FAR_BYTES = 2_000


def behind(lab: BrokerLab, **config: bool) -> tuple[Broker, Peer]:
    """Return a broker at which a group is about 3,000 bytes behind, and its member."""
    broker = lab.broker(
        BrokerConfig(
            **{"disable_consume_if_consumer_read_slowly": True, **config},
            consumer_fallbehind_threshold=FAR_BYTES,
        )
    )
    broker.create_topic(TOPIC, 1)
    for _ in range(4):
        seed(broker, TOPIC, 0, b"x" * 1_000)
    peer = lab.peer(broker.addr)
    assert pull(peer, max_msg_nums=1).code == ResponseCode.SUCCESS
    return broker, peer


def is_suspended(broker: Broker) -> bool:
    return not broker.groups.snapshot()[GROUP].consume_enable


def test_group_that_is_far_behind_is_suspended_after_three_minutes(lab: BrokerLab) -> None:
    broker, _ = behind(lab)
    version = broker.groups.data_version.counter
    lab.clock.advance("179.999s")
    assert not is_suspended(broker)
    lab.clock.advance("1ms")
    assert is_suspended(broker)
    assert broker.groups.data_version.counter == version + 1
    assert pull(lab.peer(broker.addr)).code == ResponseCode.NO_PERMISSION
    (warned,) = lab.journal.find(Warned)
    assert warned.text.startswith(f"group {GROUP} is ")


def test_group_that_catches_up_stays(lab: BrokerLab) -> None:
    broker, peer = behind(lab)
    assert pull(peer, 3).code == ResponseCode.SUCCESS
    lab.clock.advance("10m")
    assert not is_suspended(broker)


def test_protection_is_off_by_default(lab: BrokerLab) -> None:
    broker, _ = behind(lab, disable_consume_if_consumer_read_slowly=False)
    lab.clock.advance("10m")
    assert not is_suspended(broker)


def test_nothing_is_known_without_disk_fall_recorded(lab: BrokerLab) -> None:
    broker, _ = behind(lab, disk_fall_recorded=False)
    lab.clock.advance("10m")
    assert not is_suspended(broker)


def test_config_can_switch_it_off_before_the_look(lab: BrokerLab) -> None:
    broker, peer = behind(lab)
    text = b"disableConsumeIfConsumerReadSlowly=false"
    assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text).code == ResponseCode.SUCCESS
    lab.clock.advance("10m")
    assert not is_suspended(broker)


def test_lower_threshold_holds_for_groups_that_pull_no_more(lab: BrokerLab) -> None:
    broker, peer = behind(lab)
    assert pull(peer, 2).code == ResponseCode.SUCCESS
    text = b"consumerFallbehindThreshold=100"
    assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text).code == ResponseCode.SUCCESS
    lab.clock.advance("3m")
    assert is_suspended(broker)


def test_first_of_several_queues_that_is_far_behind_suspends_its_group(lab: BrokerLab) -> None:
    broker, _ = behind(lab)
    slow = broker.slow_consumers()
    for queue_id in range(1, 5):
        slow.read(GROUP, TOPIC, queue_id, 0)
    lab.clock.advance("3m")
    assert is_suspended(broker)
    assert len(lab.journal.find(Warned)) == 1


def test_look_forgets_what_was_deleted(lab: BrokerLab) -> None:
    broker, _ = behind(lab)
    slow = broker.slow_consumers()
    for number in range(50):
        slow.read(f"gone-{number}", TOPIC, 0, 10)
        slow.read(GROUP, f"gone-{number}", 0, 10)
    assert len(slow) == 101
    lab.clock.advance("3m")
    assert len(slow) == 1
    broker.topics.delete(TOPIC)
    lab.clock.advance("3m")
    assert len(slow) == 0
    assert [timer.kind for timer in lab.clock.timers() if timer.kind == "protect_broker"] == []


def test_reset_forgets_slow_groups(lab: BrokerLab) -> None:
    broker, _ = behind(lab)
    broker.reset()
    lab.clock.advance("10m")
    assert [timer.kind for timer in lab.clock.timers() if timer.kind == "protect_broker"] == []
