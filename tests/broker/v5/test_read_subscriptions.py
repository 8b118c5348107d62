"""What a broker of 5.5.0 keeps of the requests of groups that read topics."""

from __future__ import annotations

import pytest

from fakemq.broker.v5.read_subscriptions import ReadSubscriptions
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.v5.model import BrokerConfig5
from tests.support.time import ManualTime

EXPIRED_MS = 600_001


class Lab:
    def __init__(self) -> None:
        self.clock = Clock(frozen=True, source=ManualTime())
        self.reads = ReadSubscriptions(NodeClock(self.clock, "b"), BrokerConfig5())

    def known(self, *groups: str) -> list[str]:
        return [group for group in groups if self.reads.find(group, "t") is not None]


def test_request_is_forgotten_after_its_time_by_the_next_of_any_group() -> None:
    lab = Lab()
    lab.reads.popped("a", "t", "x", "TAG")
    lab.clock.advance(EXPIRED_MS)
    lab.reads.pulled("b", "t", None, None)
    assert len(lab.reads) == 1
    assert lab.known("a", "b") == ["b"]


def test_oldest_requests_are_forgotten_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakemq.broker.v5.read_subscriptions.EXPRESSIONS_MAX_CHARS", 30)
    lab = Lab()
    for group in ("a", "b", "a", "c"):
        lab.reads.popped(group, "t", "tag1||tag2", "TAG")
    assert lab.known("a", "b", "c") == ["a", "c"]
    lab.reads.clear()
    lab.reads.popped("d", "t", "x" * 40, "TAG")
    assert lab.known("d") == ["d"]
