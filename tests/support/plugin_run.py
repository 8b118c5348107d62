"""What the fixture ``run`` of the plugin's tests is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]
"""Runs pytest on the text of a test file."""

COMPARED = """
    import pytest
    from fakemq.client import Producer

    @pytest.mark.parametrize("number", [1, 2])
    def test_the_same(rocketmq, number):
        rocketmq.seed("orders", [b"one"] * number)
        rocketmq.assert_sent("orders", number)

    def test_consumed(rocketmq):
        rocketmq.seed("orders", [b"one", b"two"], tags="t")
        consumer = rocketmq.consumer(
            group="billing", subscribe={"orders": "*"}, consume_from="first"
        )
        rocketmq.wait_for(lambda: len(consumer.received) == 2, "30s")

    def test_created_on_the_way(rocketmq):
        with Producer(rocketmq.namesrv_addr, group="p") as producer:
            producer.send("unknown", b"x")
"""
"""Tests of a project that leave the same on each cluster of one config."""
