"""What the control port does for gRPC clients: their front, and types of topics."""

from __future__ import annotations

import fakemq
from tests.support.control import Http


def test_grpc_front_is_stopped_and_started() -> None:
    with fakemq.Cluster(control_port=0, grpc=True) as cluster:
        http = Http(str(cluster.control_url))
        assert http.get("/v1/state")["proxy"] == {
            "name": "proxy-0",
            "state": "running",
            "skew_ms": 0,
            "addr": cluster.grpc_addr,
        }
        for act, state in (
            ("pause", "paused"),
            ("resume", "running"),
            ("kill", "stopped"),
            ("restart", "running"),
            ("stop", "stopped"),
            ("restart", "running"),
        ):
            assert http.post(f"/v1/proxies/proxy-0/{act}")["state"] == state
            assert cluster.proxy.state == state
        skewed = http.post("/v1/proxies/proxy-0/skew", {"by": "-300ms"})
        assert skewed == http.get("/v1/proxies/proxy-0")
        assert skewed["skew_ms"] == cluster.proxy.clock.skew_ms == -300
        unknown = http.ask("POST", "/v1/proxies/proxy-1/kill")
        assert (unknown.status, unknown.error) == (
            404,
            "no proxy 'proxy-1'; there are: proxy-0",
        )


def test_cluster_without_a_grpc_front_says_so(http_client: Http) -> None:
    assert http_client.get("/v1/state")["proxy"] is None
    answer = http_client.ask("POST", "/v1/proxies/proxy-0/kill")
    assert (answer.status, answer.error) == (
        409,
        "this cluster has no gRPC port: start it with grpc=True",
    )


def test_message_type_of_a_topic_is_shown_and_set() -> None:
    with fakemq.Cluster(control_port=0, reference="5.5.0") as later:
        http = Http(str(later.control_url))
        made = http.put("/v1/topics/steps", {"queues": 1, "message_type": "FIFO"})
        assert (made["message_type"], later.topic("steps").message_type) == ("FIFO", "FIFO")
        assert http.put("/v1/topics/steps", {"queues": 2})["message_type"] == "FIFO"
        refused = http.ask("PUT", "/v1/topics/none", {"message_type": "FIFI"})
        assert (refused.status, refused.error) == (
            400,
            "no message type is called 'FIFI'; did you mean FIFO?",
        )
        assert "none" not in later.topics()
        later.broker("broker-a").kill()
        assert http.get("/v1/topics/steps")["message_type"] == "FIFO"


def test_message_type_is_refused_by_a_cluster_without_it(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    assert http_client.get("/v1/topics/orders")["message_type"] == "NORMAL"
    refused = http_client.ask("PUT", "/v1/topics/none", {"message_type": "FIFO"})
    assert (refused.status, refused.error) == (
        400,
        "topics of 4.9.7 have no message types: only those of RocketMQ 5 do",
    )
    assert "none" not in mq.topics()
