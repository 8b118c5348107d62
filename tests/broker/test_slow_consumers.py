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


def test_reset_forgets_slow_groups(lab: BrokerLab) -> None:
    broker, _ = behind(lab)
    broker.reset()
    lab.clock.advance("10m")
    assert [timer.kind for timer in lab.clock.timers() if timer.kind == "protect_broker"] == []
