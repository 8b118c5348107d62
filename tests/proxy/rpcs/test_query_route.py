"""QueryRoute, as the proxy of 5.5.0 answered it."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.grpc import messages as m
from tests.support.proxy_lab import PORT, Asked, ProxyLab, resource

HERE = m.Endpoints(scheme=m.AddressScheme.IPv4, addresses=[m.Address(host="localhost", port=9)])


def route(lab: ProxyLab, topic: str, endpoints: Any = HERE) -> Asked:
    request = m.QueryRouteRequest(topic=resource(topic), endpoints=endpoints)
    return lab.client().ask("QueryRoute", request)


def test_every_queue_has_the_host_that_was_asked_and_the_port_of_the_front(lab: ProxyLab) -> None:
    answer = route(lab, "normal").answer
    assert [queue.id for queue in answer.message_queues] == [0, 1, 2, 3]
    queue = answer.message_queues[3]
    assert (queue.broker.name, queue.broker.id, queue.permission) == ("broker-a", 0, 4)
    (address,) = queue.broker.endpoints.addresses
    assert (address.host, address.port) == ("localhost", PORT)


@pytest.mark.parametrize(
    ("topic", "accepted"),
    [
        ("normal", [1]),
        ("fifo", [2]),
        ("delay", [3]),
        ("tx", [4]),
        ("prio", [6]),
        ("mixed", [1, 2, 3, 4]),
    ],
)
def test_queues_say_which_messages_they_take(
    lab: ProxyLab, topic: str, accepted: list[int]
) -> None:
    assert [*route(lab, topic).answer.message_queues[0].accept_message_types] == accepted


def test_queues_that_can_only_be_read_come_first(lab: ProxyLab) -> None:
    lab.create_topic("normal", queues=1, read=3)
    queues = route(lab, "normal").answer.message_queues
    assert [(queue.id, queue.permission) for queue in queues] == [(0, 2), (1, 2), (2, 4)]


@pytest.mark.parametrize("perm", [0, 1])
def test_queues_without_permissions_say_so(lab: ProxyLab, perm: int) -> None:
    lab.create_topic("normal", perm=perm)
    assert {queue.permission for queue in route(lab, "normal").answer.message_queues} == {1}


def test_request_without_endpoints_gets_no_address(lab: ProxyLab) -> None:
    queue = route(lab, "normal", m.Endpoints()).answer.message_queues[0]
    assert queue.broker.endpoints.scheme == m.AddressScheme.IPv4
    assert not queue.broker.endpoints.addresses


def test_namespace_of_the_topic_comes_back(lab: ProxyLab) -> None:
    topic = m.Resource(name="normal", resource_namespace="ns")
    request = m.QueryRouteRequest(topic=topic, endpoints=HERE)
    answer = lab.client().ask("QueryRoute", request).answer
    assert answer.message_queues[0].topic == topic


LONG = "x" * 128


@pytest.mark.parametrize(
    ("topic", "code", "text"),
    [
        ("", 40002, "The specified topic is blank"),
        (" ", 40002, "The specified topic is blank"),
        (LONG, 40002, "The specified topic is longer than topic max length 127."),
        (
            "a b",
            40002,
            (
                "The specified topic[a b] contains illegal characters,"
                " allowing only ^[%|a-zA-Z0-9_-]+$"
            ),
        ),
        ("TBW102", 40002, "cannot access system topic"),
        ("rmq_sys_x", 40002, "cannot access system topic"),
        (
            "%RETRY%g",
            40402,
            (
                "CODE: 17  DESC: No topic route info in name server for the topic: %RETRY%g\n"
                "For more information, please visit the url,"
                " https://rocketmq.apache.org/docs/bestPractice/06FAQ"
            ),
        ),
    ],
)
def test_topics_that_no_client_may_use_are_refused(
    lab: ProxyLab, topic: str, code: int, text: str
) -> None:
    asked = route(lab, topic)
    assert (asked.code, asked.message) == (code, text)


@pytest.mark.parametrize(
    ("endpoints", "text"),
    [
        (
            m.Endpoints(addresses=[m.Address(host="h", port=1)]),
            (
                "No enum constant org.apache.rocketmq.proxy.common.Address.AddressScheme"
                ".ADDRESS_SCHEME_UNSPECIFIED. IllegalArgumentException."
                " java.base/java.lang.Enum.valueOf(Enum.java:273)"
            ),
        ),
        (
            m.Endpoints(scheme=m.AddressScheme.IPv4, addresses=[m.Address(host="a:1", port=1)]),
            (
                "Host has a port: a:1. IllegalArgumentException."
                " com.google.common.base.Preconditions.checkArgument(Preconditions.java:218)"
            ),
        ),
    ],
    ids=["no scheme", "port in the host"],
)
def test_endpoints_that_java_does_not_read_are_refused(
    lab: ProxyLab, endpoints: Any, text: str
) -> None:
    asked = route(lab, "normal", endpoints)
    assert (asked.code, asked.message) == (50001, text)


def test_route_that_was_found_holds_while_no_name_server_answers(lab: ProxyLab) -> None:
    before = route(lab, "normal").answer
    lab.core.name_servers[0].pause()
    assert route(lab, "normal").answer == before
    assert route(lab, "unknown").code == 50001


def test_topic_of_very_many_queues_costs_nothing(lab: ProxyLab) -> None:
    lab.create_topic("normal", queues=2**31 - 1)
    asked = route(lab, "normal")
    assert (asked.code, asked.message) == (
        40000,
        "the topic has 4294967294 queues; fakemq lists no more than 10000",
    )
    client = lab.client()
    routes = lab.proxy.routes
    queues = routes.route("normal").write_queues()
    assert (len(queues), queues[2**31 - 2].queue_id) == (2**31 - 1, 2**31 - 2)
    assert routes.next_write_queue(routes.route("normal")) is not None
    config = SubscriptionGroupConfig(group_name="g", consume_message_orderly=True)
    lab.broker.groups.update(config)
    request = m.QueryAssignmentRequest(
        topic=resource("normal"), group=resource("g"), endpoints=HERE
    )
    assert client.ask("QueryAssignment", request).code == 40000
