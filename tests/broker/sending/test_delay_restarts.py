"""Delayed messages over stops, kills, pauses, changed levels and resets."""

from __future__ import annotations

import pytest

from fakemq.events import Scheduled
from tests.support.broker_lab import BrokerLab
from tests.support.delays import Delays


@pytest.fixture
def delays(lab: BrokerLab) -> Delays:
    return Delays(lab)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_messages_due_while_the_broker_was_down_are_delivered_a_second_after_start(
    delays: Delays, how: str
) -> None:
    delays.send(1, b"a")
    delays.send(3, b"b")
    if how == "stop":
        delays.broker.stop()
    else:
        delays.broker.kill()
    delays.pass_ms(2_500)
    assert delays.bodies() == []
    delays.start()
    assert delays.timers() == [("delay_level_1", 1_000), ("delay_level_3", 1_000)]
    delays.pass_ms(1_000)
    assert delays.bodies() == [b"a", b"b"]


def test_clean_stop_keeps_the_progress(delays: Delays) -> None:
    delays.send(1)
    delays.pass_ms(1_000)
    delays.restart("stop")
    delays.pass_ms(60_000)
    assert len(delays.bodies()) == 1


def test_kill_delivers_again_what_was_delivered_since_the_last_persist(delays: Delays) -> None:
    delays.send(1, b"a")
    delays.pass_ms(10_000)  # persisted at the tenth second
    delays.send(1, b"b")
    delays.pass_ms(9_999)
    assert delays.bodies() == [b"a", b"b"]
    delays.restart("kill")
    delays.pass_ms(1_000)
    assert delays.bodies() == [b"a", b"b", b"b"]
    delays.pass_ms(9_000)
    delays.restart("kill")
    delays.pass_ms(60_000)
    assert delays.bodies() == [b"a", b"b", b"b"]


def test_only_existing_progress_is_persisted(delays: Delays) -> None:
    def pending() -> int:
        return sum(timer.kind == "delay_offset_persist" for timer in delays.lab.clock.timers())

    assert pending() == 0
    delays.send(1)
    assert pending() == 0
    delays.pass_ms(1_000)
    assert pending() == 1
    delays.pass_ms(9_000)
    assert pending() == 0


def test_paused_broker_delivers_after_resume(delays: Delays) -> None:
    delays.send(1)
    delays.broker.pause()
    delays.broker.clock.skew_ms = 1
    delays.pass_ms(5_000)
    assert delays.bodies() == []
    delays.broker.resume()
    assert len(delays.bodies()) == 1
    assert delays.timers() == []


def test_slave_waits_for_its_master_to_deliver(delays: Delays) -> None:
    delays.send(1)
    delays.broker.stop()
    delays.config.broker_role = "SLAVE"
    delays.start()
    delays.pass_ms(60_000)
    assert delays.timers() == []
    assert delays.bodies() == []


def test_level_removed_from_the_table_is_not_delivered(delays: Delays) -> None:
    delays.send(1, b"one")
    delays.send(3, b"three")
    delays.config.message_delay_level = "1s 2s"
    delays.restart("stop")
    delays.pass_ms(60_000)
    assert delays.bodies() == [b"one"]
    delays.config.message_delay_level = "1s 2s 3s"
    delays.restart("stop")
    delays.pass_ms(1_000)
    assert delays.bodies() == [b"one", b"three"]


def test_shortened_level_shortens_the_wait(lab: BrokerLab) -> None:
    delays = Delays(lab, "1h")
    delays.send(1)
    delays.config.message_delay_level = "1m"
    delays.restart("stop")
    delays.pass_ms(1_000)
    assert len(delays.bodies()) == 1


def test_progress_beyond_the_queue_is_corrected(delays: Delays) -> None:
    delays.send(1)
    delays.pass_ms(1_000)
    delays.broker.stop()
    delays.broker.store.reset()
    delays.start()
    delays.send(1)  # the queue has it now, at offset 0, where progress says 1
    delays.pass_ms(1_000)
    assert len(delays.bodies()) == 1


def test_reset_leaves_no_delayed_message(delays: Delays) -> None:
    delays.send(1)
    delays.pass_ms(1_000)
    delays.send(1)
    delays.send(3)
    delays.broker.reset()
    assert delays.timers() == []
    assert delays.broker.delay.encode() == b'{"offsetTable":{}}'
    delays.send(1, b"new")
    delays.pass_ms(1_000)
    assert delays.bodies() == [b"new"]


def test_message_stored_while_the_broker_is_down_waits_for_its_start(delays: Delays) -> None:
    delays.broker.kill()
    delays.put("orders", "DELAY\x012")
    assert delays.lab.journal.find(Scheduled)[0].level == 2
    assert delays.timers() == []
