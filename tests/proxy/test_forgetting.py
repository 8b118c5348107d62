"""What the front forgets, and when: routes and groups that were not used, settings of consumers."""

from __future__ import annotations

import pytest

from fakemq.protocol.grpc import messages as m
from fakemq.proxy import routes
from fakemq.proxy.routes import EXPIRED_MS, Cache
from fakemq.proxy.status import Code
from tests.support.proxy_lab import FrontClient, ProxyLab, message, resource


@pytest.fixture
def names(lab: ProxyLab) -> Cache[int]:
    return Cache(lab.proxy.clock)


def test_value_is_forgotten_when_it_was_not_used_for_300_s(
    lab: ProxyLab, names: Cache[int]
) -> None:
    names.put("a", 1)
    lab.core.advance(EXPIRED_MS - 1)
    assert len(names) == 1
    lab.core.advance(1)
    assert len(names) == 0
    assert names.get("a") is None


def test_use_of_a_value_keeps_it(lab: ProxyLab, names: Cache[int]) -> None:
    names.put("a", 1)
    names.put("b", 2)
    lab.core.advance(200_000)
    assert names.get("a") == 1
    lab.core.advance(100_000)
    assert (names.get("b"), len(names)) == (None, 1)
    lab.core.advance(200_000)
    names.put("a", 3)
    lab.core.advance(EXPIRED_MS - 1)
    assert len(names) == 1
    lab.core.advance(1)
    assert len(names) == 0


def test_beyond_the_most_the_value_goes_that_was_not_used_for_the_longest_time(
    names: Cache[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MOST", 2)
    for value, name in enumerate(("a", "b")):
        names.put(name, value)
    names.get("a")
    names.put("c", 2)
    assert [name for name in "abc" if names.get(name) is not None] == ["a", "c"]


def test_cleared_cache_waits_for_nothing(lab: ProxyLab, names: Cache[int]) -> None:
    names.put("a", 1)
    names.clear()
    assert (len(names), names.get("a")) == (0, None)
    assert "grpc_cache" not in {timer.kind for timer in lab.core.clock.timers()}


def test_route_without_name_servers_is_known_for_300_s(lab: ProxyLab) -> None:
    client = lab.client(outside=True)
    route = m.QueryRouteRequest(topic=resource("normal"))
    assert client.ask("QueryRoute", route).code == Code.OK
    for name_server in lab.core.name_servers:
        name_server.pause()
    lab.core.advance(EXPIRED_MS - 1)
    assert client.ask("QueryRoute", route).code == Code.OK
    lab.core.advance(EXPIRED_MS)
    asked = client.ask("QueryRoute", route)
    refused = f"connect to {lab.core.name_servers[0].addr} failed. RemotingConnectException."
    assert asked.code == Code.INTERNAL_SERVER_ERROR
    assert asked.message.startswith(refused)


def test_unknown_topic_is_remembered_as_unknown(lab: ProxyLab) -> None:
    """As at a real proxy of 5.5.0 whose name server was killed."""
    client = lab.client(outside=True)
    early, late = (m.QueryRouteRequest(topic=resource(name)) for name in ("early", "late"))
    assert client.ask("QueryRoute", early).code == Code.TOPIC_NOT_FOUND
    for name_server in lab.core.name_servers:
        name_server.stop("kill")
    assert client.ask("QueryRoute", early).code == Code.TOPIC_NOT_FOUND
    assert client.ask("QueryRoute", late).code == Code.INTERNAL_SERVER_ERROR


def test_group_without_brokers_is_known_for_300_s(lab: ProxyLab) -> None:
    assert lab.proxy.routes.group_config("g") is not None
    lab.broker.pause()
    lab.core.advance(EXPIRED_MS - 1)
    assert lab.proxy.routes.group_config("g") is not None
    lab.core.advance(EXPIRED_MS)
    assert lab.proxy.routes.group_config("g") is None


# -- settings -------------------------------------------------------------------------------------


def beats(client: FrontClient) -> int:
    return client.ask("Heartbeat", m.HeartbeatRequest(group=resource("g"))).code


def test_expired_consumer_may_come_back_until_its_settings_are_forgotten(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    lab.core.advance_to_next("grpc_client_expiry")
    assert not lab.proxy.clients.consumers("g")
    assert beats(client) == Code.OK
    lab.core.advance_to_next("grpc_client_expiry")
    lab.core.advance_to_next("grpc_settings")
    assert beats(client) == Code.UNRECOGNIZED_CLIENT_TYPE


def test_settings_of_an_expired_producer_are_forgotten_at_once(lab: ProxyLab) -> None:
    client = lab.client()
    client.produce("normal")
    lab.core.advance_to_next("grpc_client_expiry")
    assert beats(client) == Code.UNRECOGNIZED_CLIENT_TYPE


def test_producer_without_topics_is_never_forgotten(lab: ProxyLab) -> None:
    """It is in no group, so nothing says that it has gone; it may send to any topic."""
    client = lab.client()
    client.produce()
    lab.core.advance(3_600_000)
    assert beats(client) == Code.OK
    assert client.send(message()).code == Code.OK


def test_consumer_that_is_in_no_group_is_forgotten_at_the_next_look(lab: ProxyLab) -> None:
    client = lab.client()
    push = m.Settings(client_type=m.ClientType.PUSH_CONSUMER, publishing=m.Publishing())
    client.settings(m.TelemetryCommand(settings=push))
    lab.core.advance(1_000)
    client.settings(m.TelemetryCommand(settings=push))
    assert lab.proxy.settings.raw("c1") is not None
    lab.core.advance(4_000)
    assert lab.proxy.settings.raw("c1") is None
