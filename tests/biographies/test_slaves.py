"""Diagnoses after the loss of a master whose slaves have the messages."""

from __future__ import annotations

import pytest

import fakemq


def diagnosis_without_master(reference: str, slaves: int, read: bool) -> list[str]:
    with fakemq.Cluster(
        reference=reference,
        slaves=slaves,
        clock="frozen",
        start_at="2024-02-29T12:00:00Z",
        topics={"orders": 1},
        config={"slaveReadEnable": str(read).lower()},
    ) as mq:
        mq.seed("orders", ["one"])
        mq.clock.advance("70s")  # the slaves have it, and their tables
        mq.broker("broker-a").kill()
        return mq.diagnosis("orders")


@pytest.mark.parametrize(
    ("reference", "slaves", "read", "end"),
    [
        ("5.5.0", 1, False, ", and broker-a-1 refuses pulls: slaveReadEnable=false"),
        (
            *("5.5.0", 2, False),
            ", and broker-a-1 and broker-a-2 refuse pulls: slaveReadEnable=false",
        ),
        ("5.5.0", 1, True, ""),
        ("5.5.0", 0, False, ""),
        ("4.9.7", 1, False, ""),
    ],
)
def test_slaves_that_refuse_pulls_are_named(
    reference: str, slaves: int, read: bool, end: str
) -> None:
    (line,) = diagnosis_without_master(reference, slaves, read)
    assert line == f"b'one' of orders: never delivered: its broker broker-a-0 is stopped{end}"
