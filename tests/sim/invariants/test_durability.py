"""Which clusters promise to keep a message, and which lost messages are violations."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fakemq.sim.invariants.durability import lost_messages, promises
from fakemq.sim.plan import ClusterPlan
from tests.support.histories import history, sent

CLUSTER = ClusterPlan(
    masters=1,
    slaves=1,
    namesrvs=1,
    role="ASYNC_MASTER",
    flush="ASYNC_FLUSH",
    on_disk=True,
    log_file_bytes=65536,
)


@pytest.mark.parametrize(
    ("role", "flush", "lost_from", "promised"),
    [
        ("ASYNC_MASTER", "ASYNC_FLUSH", {}, True),
        ("ASYNC_MASTER", "ASYNC_FLUSH", {"broker-b-0": 0}, True),
        ("ASYNC_MASTER", "ASYNC_FLUSH", {"broker-a-0": 0}, False),
        ("ASYNC_MASTER", "ASYNC_FLUSH", {"broker-a-0": 701}, True),
        ("ASYNC_MASTER", "ASYNC_FLUSH", {"broker-a-0": 700}, False),
        ("SYNC_MASTER", "ASYNC_FLUSH", {"broker-a-0": 0, "broker-a-1": 701}, True),
        ("ASYNC_MASTER", "SYNC_FLUSH", {"broker-a-0": 0}, True),
        ("SYNC_MASTER", "ASYNC_FLUSH", {"broker-a-0": 0}, True),
        ("SYNC_MASTER", "ASYNC_FLUSH", {"broker-a-1": 0}, True),
        ("SYNC_MASTER", "ASYNC_FLUSH", {"broker-a-0": 0, "broker-a-1": 0}, False),
        ("SYNC_MASTER", "SYNC_FLUSH", {"broker-a-0": 0, "broker-a-1": 0}, True),
    ],
)
def test_send_ok_promises_depend_on_the_role(
    role: str, flush: str, lost_from: dict[str, int], promised: bool
) -> None:
    cluster = replace(CLUSTER, role=role, flush=flush)
    assert promises(cluster, lost_from)(sent(offset=7)) is promised


def test_missing_promised_message_is_named() -> None:
    story = history(sent("kept"), sent("gone", 7))
    (violation,) = lost_messages(
        story, lambda one: True, lambda *place: place == ("broker-a", 0, "ID-kept")
    )
    assert str(violation) == (
        "SEND_OK is kept: gone (ID-gone) was sent to broker-a, offset 700 of its log,"
        " and answered SEND_OK; no broker has it there"
    )
    assert violation.words == ("gone", "ID-gone")


def test_missing_unpromised_message_is_accepted() -> None:
    story = history(sent("late", status="FLUSH_SLAVE_TIMEOUT"), sent("excused"))
    assert not list(lost_messages(story, lambda one: one.key != "excused", lambda *place: False))
