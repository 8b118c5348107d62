"""A project's tests on the fake and on a real cluster, by ``pytest --rocketmq-compare``."""

from __future__ import annotations

import pytest

from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaCluster
from tests.support.plugin_run import COMPARED

# A JVM, and consumers that wait for a real cluster.
pytestmark = [pytest.mark.slow, WAITING]

PROJECT = (
    COMPARED
    + """
    def test_messages_of_other_tests_are_gone(rocketmq):
        assert rocketmq.messages("orders") == []
"""
)


def test_real_cluster_and_fake_leave_the_same(java: None, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROJECT)
    with JavaCluster() as cluster:
        result = pytester.runpytest_subprocess(
            "-p", "no:cacheprovider", f"--rocketmq-compare={cluster.namesrv_addr}"
        )
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["tests: 5 are the same"])
