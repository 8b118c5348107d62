"""Tests with clients inside the cluster leave nothing behind."""

from __future__ import annotations

import pytest

from bench.inside import growth, one_test
from bench.leaks import NOISE_KIB
from fakemq import Cluster

TESTS = 50


def test_tests_with_clients_inside_leave_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "fakemq.client")  # the log would keep what the tests had
    with Cluster(clock="frozen", topics={"orders": 4}) as mq:
        grown = growth(mq, TESTS)
    for name in ("threads", "timers", "sessions", "descriptors"):
        assert grown[name] <= 0, name
    assert grown["objects"] < TESTS
    assert grown["bytes"] < NOISE_KIB * 1024


def test_measured_test_is_one_that_users_write() -> None:
    with Cluster(clock="frozen", topics={"orders": 4}) as mq:
        one_test(mq)
        one_test(mq)
        assert mq.inspect(lambda core: len(core.guests)) == 0
