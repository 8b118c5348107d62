"""Groups under controllers, as a test sees them: the present master, and a fail-over."""

from __future__ import annotations

import pytest

import fakemq
from fakemq import Cluster
from fakemq.errors import ConfigError, WaitTimeout
from fakemq.events import TopicChanged
from tests.support.eventually import eventually


@pytest.fixture(scope="module")
def running():  # type: ignore[no-untyped-def]
    with Cluster(
        reference="5.5.0",
        slaves=2,
        controllers=1,
        clock="frozen",
        topics={"orders": 2},
        config={"allAckInSyncStateSet": "true"},
    ) as mq:
        yield mq


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


def test_broker_name_means_the_present_master(mq: Cluster) -> None:
    assert mq.broker("broker-a").name == "broker-a@1"
    new = mq.failover("broker-a")
    assert new.name == mq.broker("broker-a").name == mq.group_of("broker-a").master
    assert mq.broker("broker-a@1").state == "stopped"


def test_fail_over_keeps_what_was_acknowledged(mq: Cluster) -> None:
    mq.clock.advance("10s")
    producer = mq.producer()
    for number in range(5):
        producer.send("orders", str(number))
    mq.failover("broker-a")
    group = mq.group_of("broker-a")
    assert group.epoch == 2
    assert group.confirm_offset > 0
    assert sorted(one.body for one in mq.messages("orders")) == [b"%d" % n for n in range(5)]
    mq.clock.advance("31s")  # the producer asks for the route again
    producer.send("orders", "more")
    assert len(mq.messages("orders")) == 6


def test_group_says_what_its_brokers_know(mq: Cluster) -> None:
    group = mq.group_of("broker-a")
    assert (group.name, group.master, group.epoch) == ("broker-a", "broker-a@1", 1)
    assert group.in_sync == group.replicas == ("broker-a@1", "broker-a@2", "broker-a@3")


def test_group_keeps_its_epoch_while_no_replica_runs(mq: Cluster) -> None:
    mq.failover("broker-a")
    for broker in mq.brokers:
        broker.kill()
    group = mq.group_of("broker-a")
    assert (group.master, group.epoch, group.in_sync) == (None, 2, ())


@pytest.mark.parametrize("name", ["broker-b", "Broker-a", "broker-a@2"])
def test_unknown_group_names_those_that_there_are(mq: Cluster, name: str) -> None:
    text = f"no group of replicas '{name}'; there are: broker-a$"
    with pytest.raises(LookupError, match=text):
        mq.group_of(name)
    with pytest.raises(LookupError, match=text):
        mq.failover(name)


def test_group_without_controllers_says_that_it_needs_some() -> None:
    with (
        Cluster(slaves=1, clock="frozen") as mq,
        pytest.raises(LookupError, match="a group of replicas needs controllers, as in Cluster"),
    ):
        mq.group_of("broker-a")


def test_fail_over_without_a_replica_says_so(mq: Cluster) -> None:
    mq.broker("broker-a@2").kill()
    mq.broker("broker-a@3").kill()
    why = "of its sync state set broker-a@1 is stopped"
    with pytest.raises(WaitTimeout, match=f"broker-a has no master: {why}\n"):
        mq.failover("broker-a")
    assert mq.group_of("broker-a").master is None
    with pytest.raises(LookupError, match=f"broker-a has no master now: {why}$"):
        mq.failover("broker-a")


def test_second_fail_over_at_once_says_what_it_waits_for(mq: Cluster) -> None:
    first = mq.failover("broker-a").name
    (left,) = {"broker-a@2", "broker-a@3"} - {first}
    with pytest.raises(WaitTimeout, match=f"{left} is not in the sync state set until it has"):
        mq.failover("broker-a")
    assert mq.diagnosis()[0].startswith(f"broker-a has no master: of its sync state set {first} is")
    mq.reset()
    first = mq.failover("broker-a").name
    mq.clock.advance("35s")
    assert mq.failover("broker-a").name not in (first, "broker-a@1")
    assert mq.diagnosis() == []


def test_group_without_a_leading_controller_says_so(mq: Cluster) -> None:
    mq.controllers[0].kill()
    with pytest.raises(WaitTimeout, match="broker-a has no master: no controller leads"):
        mq.failover("broker-a")


def test_running_clock_elects_by_itself() -> None:
    with Cluster(reference="5.5.0", slaves=1, controllers=1, topics={"orders": 1}) as mq:
        mq.broker("broker-a").kill()
        eventually(lambda: mq.group_of("broker-a").master == "broker-a@2")


@pytest.mark.anyio
async def test_asynchronous_test_fails_over_too() -> None:
    options = {"reference": "5.5.0", "slaves": 1, "controllers": 1, "clock": "frozen"}
    async with fakemq.AsyncCluster(**options) as mq:  # type: ignore[arg-type]
        assert (await mq.failover("broker-a")).name == "broker-a@2"


def test_role_under_controllers_is_no_key_to_change(mq: Cluster) -> None:
    slave = mq.broker("broker-a@2")
    with pytest.raises(ConfigError, match=r"the controllers elect; use mq\.failover"):
        slave.promote()
    with pytest.raises(ConfigError, match=r"the controllers elect; use mq\.failover"):
        mq.broker("broker-a@1").demote(4)
    with pytest.raises(ConfigError, match="a broker keeps its enableControllerMode"):
        slave.restart({"enableControllerMode": "false"})
    assert mq.group_of("broker-a").master == "broker-a@1"


def test_silent_master_is_replaced_in_one_advance(mq: Cluster) -> None:
    silent = mq.broker("broker-a")
    silent.pause()
    mq.clock.advance("15s")  # 10 s without a heartbeat, and up to 5 s until the next look
    group = mq.group_of("broker-a")
    assert (group.epoch, group.master != silent.name) == (2, True)
    assert silent.name not in group.in_sync
    silent.resume()
    mq.clock.advance("15s")
    assert len(mq.group_of("broker-a").in_sync) == 3


def test_silent_slave_leaves_the_set_in_one_advance_and_returns_in_another(mq: Cluster) -> None:
    mq.clock.advance("10s")  # everyone has reported
    silent = mq.broker("broker-a@3")
    silent.pause()
    mq.seed("orders", [b"tea"])
    mq.clock.advance("20s")  # a slave may be 15 s behind, and a master looks each 5 s
    assert mq.group_of("broker-a").in_sync == ("broker-a@1", "broker-a@2")
    silent.resume()
    mq.clock.advance("15s")
    assert len(mq.group_of("broker-a").in_sync) == 3


def test_reads_use_the_later_master_while_the_old_one_is_paused(mq: Cluster) -> None:
    producer = mq.producer()
    mq.broker("broker-a").pause()
    mq.clock.advance("40s")  # another master, and the producer has asked for the route again
    assert producer.send("orders", b"paid").status == "SEND_OK"
    assert [one.body for one in mq.messages("orders")] == [b"paid"]
    with pytest.raises(AssertionError):
        mq.assert_nothing_sent("orders")
    assert mq.group("billing").lag("orders") == 1
    assert sum(queue.max_offset for queue in mq.queues("orders")) == 1


def test_seed_stores_at_the_later_master_while_the_old_one_is_paused(mq: Cluster) -> None:
    mq.broker("broker-a").pause()
    mq.clock.advance("20s")
    mq.seed("orders", [b"paid"])
    mq.broker("broker-a@1").resume()
    mq.clock.advance("40s")
    assert [one.body for one in mq.messages("orders")] == [b"paid"]


def test_seed_stores_at_the_later_of_two_masters(mq: Cluster) -> None:
    mq.controllers.partition("broker-a")
    mq.clock.advance("20s")
    assert mq.broker("broker-a").name == "broker-a@2"
    mq.seed("orders", [b"paid"])
    assert [one.body for one in mq.messages("orders")] == [b"paid"]
    mq.heal()
    mq.clock.advance("40s")
    assert [one.body for one in mq.messages("orders")] == [b"paid"]


def test_topic_changes_at_the_later_of_two_masters_alone(mq: Cluster) -> None:
    mq.controllers.partition("broker-a")
    mq.clock.advance("20s")
    mq.create_topic("refunds", queues=3)
    created = mq.journal.entries(TopicChanged, topic="refunds")
    assert [one.event.node for one in created] == ["broker-a@2"]
