"""Peers outside the process have real time to react to each step of a wait."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from fakemq.handles.patience import LONG_PATIENCE_MS, PATIENCE_MS, SPARE_MS, PeerPatience

AT_MOST_MS, STEP_MS = 300_000, 30_000
HALF_MS = AT_MOST_MS // 2


def core(*, peers: bool, frozen: bool = True) -> Any:
    found = Mock()
    found.clock.frozen = frozen
    found.network.links.reach_outside.return_value = peers
    return found


def patience(step_ms: int, *, peers: bool = True) -> dict[int, int]:
    """What each step leaves, by the time that is left after it."""
    of_wait = PeerPatience(core(peers=peers), AT_MOST_MS)
    return {left_ms: of_wait.next_ms(left_ms) for left_ms in range(AT_MOST_MS, -1, -step_ms)}


def test_slow_peer_has_longer_in_the_second_half() -> None:
    found = patience(STEP_MS)
    assert {ms for left_ms, ms in found.items() if left_ms > HALF_MS} == {PATIENCE_MS}
    assert {ms for left_ms, ms in found.items() if left_ms <= HALF_MS} == {LONG_PATIENCE_MS}


@pytest.mark.parametrize("step_ms", [1_000, 100])
def test_long_wait_costs_five_seconds_more_at_most(step_ms: int) -> None:
    found = patience(step_ms)
    assert sum(found.values()) - PATIENCE_MS * len(found) == SPARE_MS
    assert found[0] == PATIENCE_MS


def test_clock_that_runs_waits_no_longer() -> None:
    assert PeerPatience(core(peers=True, frozen=False), AT_MOST_MS).next_ms(0) == PATIENCE_MS


def test_no_peer_costs_no_time() -> None:
    assert set(patience(STEP_MS, peers=False).values()) == {0}
