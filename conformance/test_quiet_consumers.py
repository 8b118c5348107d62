"""When a program stops to wait for what its consumer may still receive."""

from __future__ import annotations

import time

from conformance.drivers.drivers import Received
from conformance.fail_over_clients import QUIET_S, is_quiet


def received_ago(seconds: float) -> list[Received]:
    at_ms = int((time.time() - seconds) * 1000)
    return [Received(at_ms, "m-1", "broker-a", 0, 0, 0, False)]


def test_consumer_is_quiet_some_time_after_its_last_message() -> None:
    assert not is_quiet(received_ago(0))
    assert is_quiet(received_ago(QUIET_S + 1))


def test_consumer_that_received_nothing_is_quiet() -> None:
    assert is_quiet([])
