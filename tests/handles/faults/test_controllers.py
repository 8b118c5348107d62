"""Faults of controllers: which one leads, what they know, and which nodes they reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.client import RemotingError
from fakemq.controller.group import ControllerGroup
from fakemq.core.cluster import ClusterCore
from fakemq.errors import ConfigError, StoreError
from fakemq.events import RoleChanged
from fakemq.events.controller import ControllerDeposed, MasterElected, ReplicasCleaned
from fakemq.events.core import RequestHandled
from fakemq.events.faults import FaultHit
from fakemq.handles.faults import Faults
from fakemq.handles.faults.controllers import ControllerFaults
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.control import Http

ONE, TWO, THREE = "broker-a@1", "broker-a@2", "broker-a@3"


@pytest.fixture(scope="module")
def running() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        slaves=2,
        controllers=3,
        clock="frozen",
        topics={"orders": 1},
        config={"allAckInSyncStateSet": True},
        control_port=0,
        seed=1,
    ) as mq:
        yield mq


@pytest.fixture
def mq(running: fakemq.Cluster) -> fakemq.Cluster:
    running.reset()
    return running


def refusals(mq: fakemq.Cluster, code: RequestCode5, answer: int) -> int:
    return len(mq.journal.find(RequestHandled, code=code, response_code=answer))


def leader(mq: fakemq.Cluster) -> str:
    found = mq.controllers.leader
    return "" if found is None else found.name


def test_deposed_leader_is_followed_by_another(mq: fakemq.Cluster) -> None:
    fault = mq.controllers.depose()
    assert (fault.fired, fault.what, leader(mq)) == (1, "depose controller-0", "")
    mq.clock.advance("5s")
    assert refusals(mq, RequestCode5.CONTROLLER_GET_REPLICA_INFO, 2007) > 0
    mq.clock.advance_to_next("controller_election")
    assert leader(mq) in ("controller-1", "controller-2")
    (entry,) = mq.journal.entries(ControllerDeposed)
    assert FaultHit in [type(one.event) for one in mq.journal.cause_chain(entry)]
    mq.clock.advance("10s")
    assert mq.failover("broker-a").name in (TWO, THREE)
    mq.reset()
    assert leader(mq) == "controller-0"


def test_forgotten_groups_stay_unknown_though_their_master_serves(mq: fakemq.Cluster) -> None:
    fault = mq.controllers.forget()
    assert fault.fired == 1
    (cleaned,) = mq.journal.find(ReplicasCleaned)
    assert cleaned.broker_name == "broker-a"
    mq.clock.advance("20s")
    assert refusals(mq, RequestCode5.CONTROLLER_GET_REPLICA_INFO, 2008) >= 9
    assert refusals(mq, RequestCode5.CONTROLLER_REGISTER_BROKER, 2010) >= 9
    mq.producer().send("orders", b"tea")
    assert [one.body for one in mq.messages("orders")] == [b"tea"]
    assert mq.group_of("broker-a").master == ONE
    mq.broker(THREE).restart()
    mq.clock.advance("60s")
    assert mq.inspect(lambda core: core.brokers[THREE].role.fenced), "it is never known again"
    mq.broker(ONE).kill()
    mq.clock.advance("60s")
    assert mq.group_of("broker-a").master is None
    mq.reset()
    assert mq.failover("broker-a").name == TWO


def test_master_cut_off_from_controllers_serves_beside_its_successor(mq: fakemq.Cluster) -> None:
    fault = mq.controllers.partition("broker-a")
    mq.clock.advance("16s")
    assert fault.fired >= 3
    (elected,) = mq.journal.find(MasterElected)
    assert elected.broker_id in (2, 3)
    new = mq.group_of("broker-a").master
    nodes = mq.inspect(lambda core: list(core.brokers.values()))
    assert {one.name for one in nodes if not one.role.is_slave} == {ONE, new}
    mq.heal()
    mq.clock.advance("6s")
    assert mq.journal.find(RoleChanged)[-1].role == "SLAVE"
    assert mq.inspect(lambda core: core.brokers[ONE].role.is_slave)


def test_controllers_are_separated(mq: fakemq.Cluster) -> None:
    fault = mq.controllers.partition("controller-0")
    assert fault.fired == 2
    mq.clock.advance("10s")
    new = leader(mq)
    assert new in ("controller-1", "controller-2")
    other = ({"controller-1", "controller-2"} - {new}).pop()
    assert mq.controllers.partition("controller-0", other).fired == 1
    fault.remove()
    mq.clock.advance("20s")
    assert leader(mq) == new, "it reaches the first one again"
    mq.controllers[other].kill()
    mq.clock.advance("20s")
    assert leader(mq) == new
    second = mq.controllers.partition(new, "controller-0")
    mq.clock.advance("10s")
    assert leader(mq) == ""
    assert second.fired == 1
    mq.heal()
    mq.clock.advance("10s")
    assert leader(mq) != ""


def test_partition_that_chooses_counts_two_controllers_as_a_connection(mq: fakemq.Cluster) -> None:
    one = mq.faults.partition("controller-0", "controllers", times=1)
    assert (one.fired, one.pending) == (1, False)
    mq.clock.advance("20s")
    assert leader(mq) == "controller-0"


def test_partition_of_one_protocol_does_not_separate_controllers(mq: fakemq.Cluster) -> None:
    mq.faults.partition("controller-0", "others", link="remoting")
    mq.clock.advance("20s")
    assert leader(mq) == "controller-0"
    assert refusals(mq, RequestCode5.CONTROLLER_GET_REPLICA_INFO, 2007) == 0


def test_partition_one_way_from_all_controllers_separates_none(mq: fakemq.Cluster) -> None:
    fault = mq.partition("controllers", "brokers", one_way=True)
    mq.clock.advance("20s")
    assert fault.fired > 0
    assert leader(mq) == "controller-0"


def test_isolated_site_has_a_master_of_its_own(mq: fakemq.Cluster) -> None:
    """A broker and its clients on one side: acknowledged there, and cut off at the return.

    Source: apache/rocketmq#7017
    """
    producer = mq.producer()
    producer.send("orders", b"before")
    mq.clock.advance("6s")
    mq.partition([ONE, "clients"], "others")
    mq.clock.advance("21s")  # until the silent slaves are dropped, sends wait for them
    assert producer.send("orders", b"alone").status == "SEND_OK"
    assert mq.group_of("broker-a").master != ONE
    mq.heal()
    mq.clock.advance("40s")
    assert [one.body for one in mq.messages("orders")] == [b"before"]
    assert len(mq.group_of("broker-a").in_sync) == 3


def test_isolated_master_is_not_reached_by_its_clients(mq: fakemq.Cluster) -> None:
    mq.partition(ONE, "others")
    sending = mq.producer().send_async("orders", b"tea")
    mq.clock.advance("20s")
    with pytest.raises(RemotingError):
        sending.result()


@pytest.mark.parametrize(
    ("place", "error", "text"),
    [
        (
            lambda f: f.partition("controllers", "namesrvs"),
            ConfigError,
            "there is no link between",
        ),
        (lambda f: f.hold("controller-0", "controller-1"), ConfigError, "no connections to each"),
        (lambda f: f.partition(ONE, "controllers", link="ha"), ConfigError, "no HA link between"),
        (lambda f: f.partition([], "controllers"), ConfigError, "an empty list"),
        (lambda f: f.partition([ONE, 5], "controllers"), ConfigError, "=5: expected text"),
        (lambda f: f.partition([ONE], ONE), ConfigError, "expected two different ends$"),
        (
            lambda f: f.partition("clients", "others"),
            ConfigError,
            'expected a node at one of the ends; instead of "others" name them, such as',
        ),
        (
            lambda f: f.partition("controller-0", "controller-1", one_way=True),
            ConfigError,
            "controller-0 → controller-1: controllers are separated both ways: leave out one_way",
        ),
        (
            lambda f: f.partition(["controller-2", ONE], "others", one_way=True),
            ConfigError,
            "controllers are separated both ways",
        ),
        (lambda f: f.partition(["broker-z"], "others"), LookupError, "no end of a link 'broker-z'"),
        (
            lambda f: f.partition("broker-a@9", "others"),
            LookupError,
            "no end of a link 'broker-a@9'",
        ),
    ],
)
def test_end_that_has_no_such_link_is_refused(
    mq: fakemq.Cluster, place: Callable[[Faults], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        place(mq.faults)
    assert mq.faults.placed() == []


def test_cluster_without_controllers_says_so() -> None:
    with fakemq.Cluster() as mq:
        with pytest.raises(ConfigError, match="start it with controllers=1"):
            mq.controllers.depose()
        with pytest.raises(LookupError, match="'controllers': this cluster has none"):
            mq.controllers.partition("broker-a")


def test_log_that_cannot_be_written_is_not_lost(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("events.jsonl: could not be written: No space left on device")

    monkeypatch.setattr(ControllerGroup, "commit", refuse)
    with pytest.raises(StoreError, match="No space left"):
        mq.controllers.forget()
    monkeypatch.undo()
    assert mq.faults.placed() == []
    assert mq.journal.find(FaultHit) == []
    assert mq.journal.find(ReplicasCleaned) == []


def test_leader_is_looked_for_when_it_is_deposed(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out = ControllerFaults._call

    def depose(core: ClusterCore) -> None:
        assert core.controllers is not None
        core.controllers.group.depose()

    def later(self: ControllerFaults, act: Callable[[], object]) -> object:
        """Let the cluster depose its leader between two calls of another thread."""
        monkeypatch.setattr(ControllerFaults, "_call", carry_out)
        mq.inspect(depose)
        return carry_out(self, act)

    monkeypatch.setattr(ControllerFaults, "_call", later)
    with pytest.raises(LookupError, match="nothing to depose"):
        mq.controllers.depose()
    assert mq.faults.placed() == []


def test_nothing_to_depose_is_said(mq: fakemq.Cluster) -> None:
    mq.controllers.depose()
    with pytest.raises(LookupError, match="nothing to depose"):
        mq.controllers.depose()


def test_faults_are_placed_over_http(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    client = Http(mq.control_url)
    placed = client.post("/v1/faults", {"fault": "depose_leader"})
    assert (placed["what"], placed["fired"]) == ("depose controller-0", 1)
    site = {
        "fault": "partition",
        "args": [[ONE, "clients"], "others"],
        "kwargs": {"must_fire": False},
    }
    assert client.post("/v1/faults", site)["what"] == f"partition {ONE}, clients – others"
    assert client.post("/v1/faults", {"fault": "forget_groups"})["fired"] == 1
