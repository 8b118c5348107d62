"""What a test does with the gRPC front of its cluster."""

from __future__ import annotations

import grpc
import pytest

import fakemq
from fakemq.errors import FakemqError
from fakemq.protocol.grpc import messages as m
from tests.support.grpc_client import GrpcClient, grpc_client

ROUTE = m.QueryRouteRequest(topic=m.Resource(name="orders"))


def asked(client: GrpcClient, timeout_s: float = 10.0) -> int | str:
    """Return the code of a route's answer, or the status of the call."""
    try:
        answer = client.ask("QueryRoute", ROUTE, timeout_s=timeout_s, x_mq_client_id="c")
    except grpc.RpcError as error:
        return str(error.code().name)
    return int(answer.status.code)


def test_killed_front_refuses_and_answers_again_after_its_restart() -> None:
    with fakemq.Cluster(grpc=True, topics={"orders": 1}) as mq:
        proxy = mq.proxy
        assert (proxy.name, proxy.addr, proxy.state) == ("proxy-0", mq.grpc_addr, "running")
        for end in (proxy.kill, proxy.stop):
            with grpc_client(proxy.addr) as client:
                assert asked(client) == 20000
                end()
                assert proxy.state == "stopped"
                assert asked(client) == "UNAVAILABLE"
            proxy.restart()
            assert repr(proxy) == f"<proxy proxy-0 at {mq.grpc_addr}, running>"
            with grpc_client(proxy.addr) as client:
                assert asked(client) == 20000


def test_paused_front_is_silent_until_it_is_resumed() -> None:
    with (
        fakemq.Cluster(grpc=True, topics={"orders": 1}) as mq,
        grpc_client(mq.grpc_addr) as client,
    ):
        assert asked(client) == 20000
        mq.proxy.pause()
        assert mq.proxy.state == "paused"
        assert asked(client, 0.2) == "DEADLINE_EXCEEDED"
        mq.proxy.resume()
        assert asked(client) == 20000


def test_clock_of_the_front_can_be_wrong() -> None:
    with fakemq.Cluster(grpc=True, topics={"orders": 1}, clock="frozen") as mq:
        before_ms = mq.proxy.clock.now_ms()
        mq.proxy.clock.skew("+5s")
        assert mq.proxy.clock.now_ms() == before_ms + 5_000


def test_cluster_without_a_front_says_how_to_get_one() -> None:
    with fakemq.Cluster() as mq, pytest.raises(FakemqError, match="start it with grpc=True"):
        mq.proxy  # noqa: B018
