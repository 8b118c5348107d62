"""Controllers and their groups over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

import fakemq
from fakemq.controller.group import ControllerGroup
from fakemq.core import overview
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.controller import (
    ApplyBrokerIdRequestHeader,
    ElectMasterRequestHeader,
)
from tests.support.browser import Browser, needs_chromium, text_of
from tests.support.control import Http
from tests.support.tcp import TcpPeer


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(control_port=0, controllers=3, clock="frozen") as cluster:
        yield cluster


def test_controllers_are_killed_paused_and_started(mq: fakemq.Cluster, http_client: Http) -> None:
    first = http_client.get("/v1/controllers")[0]
    addr = mq.controllers[0].addr
    assert first == {"name": "controller-0", "state": "running", "leads": True, "addr": addr}
    for act, state in (
        ("pause", "paused"),
        ("resume", "running"),
        ("kill", "stopped"),
        ("restart", "running"),
        ("stop", "stopped"),
    ):
        assert http_client.post(f"/v1/controllers/controller-0/{act}")["state"] == state
    assert not http_client.get("/v1/controllers")[0]["leads"]
    answer = http_client.ask("POST", "/v1/controllers/controller-7/kill")
    assert (answer.status, "no controller 'controller-7'" in answer.error) == (404, True)


def test_groups_are_shown(mq: fakemq.Cluster, http_client: Http) -> None:
    (own,) = http_client.get("/v1/replica-groups")
    assert (own["broker_name"], own["master"], own["in_sync"]) == ("broker-a", 1, [1])
    with TcpPeer(mq.controllers[0].addr) as peer:
        applied = ApplyBrokerIdRequestHeader(
            cluster_name="c", broker_name="b", applied_broker_id=1, register_check_code="h:1;7"
        )
        assert peer.ask(RequestCode5.CONTROLLER_APPLY_BROKER_ID, applied).code == 0
        elected = ElectMasterRequestHeader(broker_name="b", broker_id=1)
        assert peer.ask(RequestCode5.CONTROLLER_ELECT_MASTER, elected).code == 0
        groups = http_client.get("/v1/replica-groups")
        assert [one for one in groups if one != own] == [
            {
                "broker_name": "b",
                "master": 1,
                "master_epoch": 1,
                "in_sync": [1],
                "sync_state_set_epoch": 1,
                "replicas": {"1": "h:1"},
                "elected_at_ms": mq.clock.now_ms(),
                "why": "asked",
            }
        ]


def test_overview_has_leader_and_masters_and_why(mq: fakemq.Cluster, http_client: Http) -> None:
    started_ms = mq.clock.now_ms()
    mq.clock.advance("1m")
    seen = http_client.get("/v1/overview")
    assert [one["name"] for one in seen["controllers"] if one["leads"]] == ["controller-0"]
    (group,) = seen["replica_groups"]
    wanted = ("broker-a", 1, 1, started_ms, "asked", [1])
    names = ("broker_name", "master", "master_epoch", "elected_at_ms", "why", "in_sync")
    assert tuple(group[name] for name in names) == wanted
    mq.controllers.forget()
    assert http_client.get("/v1/overview")["replica_groups"] == []


def test_overview_counts_the_groups_that_are_left_out(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    names = [f"other-{number:03}" for number in range(overview.MOST + 2)]

    def of_all(core: ClusterCore) -> ControllerGroup:
        assert core.controllers is not None
        return core.controllers.group

    def join(core: ClusterCore) -> None:
        (own,) = of_all(core).kept()
        of_all(core).commit(msgspec.structs.replace(own, broker_name=name) for name in names)

    assert http_client.get("/v1/overview")["replica_groups_left_out"] == 0
    mq.inspect(join)
    seen = http_client.get("/v1/overview")
    assert (len(seen["replica_groups"]), seen["replica_groups_left_out"]) == (overview.MOST, 3)
    mq.inspect(lambda core: of_all(core).forget(names))


def test_cluster_without_controllers_shows_none() -> None:
    with fakemq.Cluster(control_port=0) as mq:
        assert mq.control_url is not None
        client = Http(mq.control_url)
        assert client.get("/v1/controllers") == client.get("/v1/replica-groups") == []


def test_message_that_was_cut_off_has_a_biography() -> None:
    options = {"slaves": 1, "controllers": 1, "clock": "frozen", "topics": {"orders": 1}}
    with fakemq.Cluster(control_port=0, **options) as mq:  # type: ignore[arg-type]
        mq.partition("broker-a@1", "broker-a@2")
        sent = mq.producer().send("orders", b"tea")
        mq.failover("broker-a")
        mq.heal()
        mq.broker("broker-a@1").restart()
        mq.clock.advance("40s")
        assert mq.messages("orders") == []
        client = Http(mq.control_url or "")
        path = f"/v1/topics/{{}}/messages/{sent.msg_id}/biography"
        shown = client.get(path.format("orders"))["steps"]
        assert any("cut off at broker-a@1 when it became a slave" in step for step in shown)
        assert client.ask("GET", path.format("others")).status == 404
        nowhere = client.ask("GET", "/v1/topics/orders/messages/o-2/biography")
        assert (nowhere.status, "no message with the unique id" in nowhere.error) == (404, True)


@needs_chromium
@pytest.mark.slow  # a browser
def test_page_shows_a_fail_over_and_the_links_that_are_left_out(
    opened: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fakemq.Cluster(control_port=0, slaves=2, controllers=1, clock="frozen") as mq:
        opened.open(f"{mq.control_url}/")
        rows, nodes = text_of("replicas"), text_of("nodes")
        opened.wait(f"{rows}.includes('broker-a@1, broker-a@2, broker-a@3')")
        assert not opened.run("document.getElementById('replicas-section').hidden")
        assert "controller, leader" in opened.run(nodes)
        mq.failover("broker-a")
        master = mq.group_of("broker-a").master
        assert master != "broker-a@1"
        opened.wait("document.querySelector('#replicas .warn')?.textContent.includes('broker-a@1')")
        assert opened.run("document.querySelector('#replicas .good').textContent") == master
        assert opened.run(text_of("links-left-out")) == ""
        monkeypatch.setattr(overview, "MOST_LINKS", 0)
        opened.wait(f"{text_of('links-left-out')}.includes('more links are not shown')")
        assert opened.console == []
