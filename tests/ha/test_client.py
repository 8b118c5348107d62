"""A slave's way to its master: attempts, results and a stop between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.ha.client import PAUSE_MS, HAClient
from tests.support.time import ManualTime


class Dials:
    """Outbound connections whose results a test chooses."""

    def __init__(self) -> None:
        self.open: list[tuple[str, Callable[[Any], None]]] = []

    def is_inside(self, addr: str) -> bool:
        return True

    def dial(self, addr: str, make: Callable[[Any], Any], opened: Callable[[Any], None]) -> None:
        self.open.append((addr, opened))


@pytest.fixture
def dials() -> Dials:
    return Dials()


@pytest.fixture
def clock() -> Clock:
    return Clock(frozen=True, source=ManualTime())


@pytest.fixture
def client(dials: Dials, clock: Clock) -> HAClient:
    node = MagicMock(outbound=dials, clock=NodeClock(clock, "broker-a-1"))
    node.config.ha_master_address = None
    client = HAClient(node, appended=lambda: None)
    client.start()
    return client


def test_client_waits_for_an_address_and_for_the_grid(
    client: HAClient, dials: Dials, clock: Clock
) -> None:
    clock.advance_ms(1_000)
    assert not dials.open
    client.update_master_address("master:1")
    clock.advance_ms(PAUSE_MS - 1_001)
    assert not dials.open
    clock.advance_ms(1)
    assert [addr for addr, _ in dials.open] == ["master:1"]


def test_client_tries_again_after_a_failure(client: HAClient, dials: Dials, clock: Clock) -> None:
    client.update_master_address("master:1")
    client.sync_now()
    client.sync_now()  # while it connects
    assert len(dials.open) == 1
    dials.open[0][1](None)
    clock.advance_ms(PAUSE_MS)
    assert len(dials.open) == 2


def test_client_connects_again_when_its_connection_is_closed(
    client: HAClient, dials: Dials, clock: Clock
) -> None:
    client.update_master_address("master:1")
    client.sync_now()
    end = MagicMock(closed=False)
    dials.open[0][1](end)
    assert client.end is end
    client.connection_closed()
    clock.advance_ms(PAUSE_MS)
    assert len(dials.open) == 2


def test_client_closes_a_connection_that_opens_after_its_stop(
    client: HAClient, dials: Dials, clock: Clock
) -> None:
    client.update_master_address("master:1")
    client.sync_now()
    client.stop("broker stopped")
    end = MagicMock(closed=False)
    dials.open[0][1](end)
    end.close.assert_called_once_with("no longer wanted")
    client.update_master_address("master:2")
    clock.advance_ms(10 * PAUSE_MS)
    assert len(dials.open) == 1
