"""The load of the gRPC benchmark, at a fake of a test's own."""

from __future__ import annotations

import pytest

import fakemq
from bench import grpc_load


@pytest.mark.slow  # over a second: it measures twice for half a second
def test_load_sends_and_receives_by_an_independent_client() -> None:
    with fakemq.Cluster(grpc=True, topics={"t": 2}) as mq:
        load = grpc_load.Load(mq.grpc_addr, "t")
        try:
            load.wait_for_route()
            sent = grpc_load.measured(load.send, 2, 0.5)
            messages = len(mq.messages("t"))
            received = grpc_load.measured(load.receiver(), 1, 0.1)
        finally:
            load.close()
    assert 0 < sent["rate"] * 0.25 <= messages
    assert received["rate"] > 0
    assert received["p99_ms"] > 0


def test_load_stops_at_an_answer_that_is_not_ok() -> None:
    with fakemq.Cluster(grpc=True, topics={"t": 2}) as mq:
        load = grpc_load.Load(mq.grpc_addr, "TBW102")
        try:
            with pytest.raises(ValueError, match="ILLEGAL_TOPIC"):
                grpc_load.measured(load.send, 1, 0.5)
        finally:
            load.close()
