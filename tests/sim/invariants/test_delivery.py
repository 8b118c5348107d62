"""Messages that somebody still waits for."""

from __future__ import annotations

from fakemq.events import DeadLettered
from fakemq.sim.events import Decided
from fakemq.sim.invariants.delivery import undelivered
from tests.sim.invariants.made_up import consumed, history, sent

GROUPS = {"workers": ("orders",), "ledger": ("payments",)}


def dead(key: str) -> DeadLettered:
    return DeadLettered(
        node="broker-a-0",
        group="workers",
        reconsume_times=3,
        from_phy_offset=1,
        phy_offset=2,
        origin_msg_id="",
        msg_id=f"ID-{key}",
    )


def decided(key: str, how: str) -> Decided:
    return Decided(node="producer", topic="orders", key=key, how=how)


def test_a_message_that_nobody_ever_had() -> None:
    (violation,) = undelivered(history(sent("a"), sent("b"), consumed("a")), GROUPS)
    assert violation.text == (
        "b (ID-b), sent to orders queue 0 at broker-a was not delivered to workers: it never had it"
    )
    assert violation.words == ("b", "ID-b")


def test_a_message_that_was_sent_back_and_never_seen_again() -> None:
    (violation,) = undelivered(history(sent(), consumed(well=False)), GROUPS)
    assert "workers-1 wanted it again, in vain" in violation.text


def test_delivered_in_the_end_or_dead() -> None:
    story = history(
        *(sent("a"), consumed("a", well=False), consumed("a", topic="%RETRY%workers")),
        *(sent("b"), consumed("b", well=False), dead("b")),
        sent("c", status="FLUSH_SLAVE_TIMEOUT"),
        sent("d", broker="broker-lost"),
    )
    assert not list(undelivered(story, GROUPS, {"broker-lost"}))


def test_each_group_is_to_have_it() -> None:
    groups = {"workers": ("orders",), "audit": ("orders", "payments")}
    (violation,) = undelivered(history(sent(), consumed()), groups)
    assert "was not delivered to audit" in violation.text


def test_what_was_rolled_back_reaches_nobody() -> None:
    assert not list(undelivered(history(decided("a", "rollback"), sent("a")), GROUPS))
    (violation,) = undelivered(history(decided("a", "rollback"), sent("a"), consumed("a")), GROUPS)
    assert violation.text.endswith("was rolled back, and consumed by workers-1")
    assert list(undelivered(history(decided("a", "commit"), sent("a")), GROUPS))
