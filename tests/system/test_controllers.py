"""Controllers of a whole cluster, behind sockets: they fail over, and a restart finds their log."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

import fakemq
from bench.measure import ENVIRONMENT
from fakemq.errors import ConfigError
from fakemq.events.controller import MasterElected
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.controller import (
    AlterSyncStateSetRequestHeader,
    ApplyBrokerIdRequestHeader,
    ElectMasterRequestHeader,
    GetReplicaInfoRequestHeader,
)
from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader
from tests.support.tcp import TcpPeer, refuses


def join(peer: TcpPeer, broker_id: int) -> None:
    applied = ApplyBrokerIdRequestHeader(
        cluster_name="c",
        broker_name="b",
        applied_broker_id=broker_id,
        register_check_code=f"127.0.0.1:{broker_id};7",
    )
    assert peer.ask(RequestCode5.CONTROLLER_APPLY_BROKER_ID, applied).code == 0
    beat(peer, broker_id)


def beat(peer: TcpPeer, broker_id: int) -> None:
    header = BrokerHeartbeatRequestHeader(
        cluster_name="c", broker_addr="h:1", broker_name="b", broker_id=broker_id
    )
    assert peer.ask(RequestCode5.BROKER_HEARTBEAT, header).code == 0


def elect(peer: TcpPeer, broker_id: int) -> int:
    header = ElectMasterRequestHeader(broker_name="b", broker_id=broker_id)
    return peer.ask(RequestCode5.CONTROLLER_ELECT_MASTER, header).code


def master(peer: TcpPeer) -> str | None:
    header = GetReplicaInfoRequestHeader(broker_name="b")
    answer = peer.ask(RequestCode5.CONTROLLER_GET_REPLICA_INFO, header)
    return answer.ext_fields.get("masterBrokerId")


def test_leader_that_is_paused_for_a_moment_leads_again_at_once() -> None:
    with fakemq.Cluster(controllers=3, clock="frozen", seed=1) as mq:
        mq.controllers[0].pause()
        assert [one.leads for one in mq.controllers] == [False] * 3
        mq.clock.advance("3s")
        mq.controllers[0].resume()
        assert [one.leads for one in mq.controllers] == [True, False, False]
        mq.clock.advance("20s")
        assert mq.group_of("broker-a").epoch == 1


@pytest.mark.parametrize("how", ["kill", "stop", "pause"])
def test_leader_that_leaves_is_replaced(how: str) -> None:
    with fakemq.Cluster(controllers=3, clock="frozen", seed=1) as mq:
        leader = mq.controllers[0]
        assert leader.leads
        getattr(leader, how)()
        assert not mq.controllers.leader
        mq.clock.advance_to_next("controller_election")
        (new,) = [one for one in mq.controllers if one.leads]
        assert new.name != "controller-0"
        (leader.resume if how == "pause" else leader.restart)()
        assert leader.state == "running"
        assert not leader.leads


def test_killed_controller_refuses_connections() -> None:
    with fakemq.Cluster(controllers=1) as mq:
        one = mq.controllers[0]
        one.kill()
        assert refuses(int(one.addr.rpartition(":")[2]))
        assert mq.controllers[one.addr].state == "stopped"
        with pytest.raises(LookupError, match="no controller 'controller-7'; there are: contr"):
            mq.controllers["controller-7"]


def test_group_survives_kills_in_memory_and_a_reset() -> None:
    with fakemq.Cluster(controllers=1, clock="frozen") as mq, ExitStack() as stack:
        peer = stack.enter_context(TcpPeer(mq.controllers.addr))
        join(peer, 1)
        assert elect(peer, 1) == 0
        mq.controllers[0].kill()
        mq.controllers[0].restart()
        mq.clock.advance_to_next("controller_election")
        mq.reset()
        assert master(stack.enter_context(TcpPeer(mq.controllers.addr))) == "1"


def test_next_process_finds_the_log(tmp_path: Path) -> None:
    with ExitStack() as stack, fakemq.Cluster(controllers=2, store=tmp_path) as mq:
        # Open until the end: a connection that closes before is the death of the master.
        peer = stack.enter_context(TcpPeer(mq.controllers[0].addr))
        join(peer, 1)
        assert elect(peer, 1) == 0
    with fakemq.Cluster(controllers=2, store=tmp_path) as mq, TcpPeer(mq.controllers[0].addr) as it:
        assert master(it) == "1"
    log = tmp_path / "controllers" / "events.jsonl"
    log.write_bytes(b"damaged\n" + log.read_bytes())
    with pytest.raises(ConfigError, match=r"events\.jsonl:1: no event of a controllers' log"):
        fakemq.Cluster(controllers=2, store=tmp_path).start()


def test_silent_master_of_real_time_is_replaced_by_an_advance_for_outside_peers() -> None:
    with fakemq.Cluster(controllers=1, clock="frozen") as mq, ExitStack() as stack:
        first, second = (stack.enter_context(TcpPeer(mq.controllers.addr)) for _ in range(2))
        join(first, 1)
        join(second, 2)
        assert elect(first, 1) == 0
        mq.clock.advance("20s")
        assert master(second) == "1"
        mq.clock.advance("9s", outside_peers=True)
        beat(second, 2)
        mq.clock.advance("4s", outside_peers=True)
        assert master(second) is None, "2 was not in sync"
        assert mq.journal.find(MasterElected)[-1].broker_id is None


def test_cluster_without_controllers_has_none() -> None:
    with fakemq.Cluster() as mq:
        assert len(mq.controllers) == 0
        assert mq.controllers.addr == ""
        assert mq.controllers.leader is None


def test_partition_of_a_controller_from_a_peer_is_placed() -> None:
    with fakemq.Cluster(controllers=1) as mq:
        fault = mq.partition("controller-0", "127.0.0.1:1")
        assert not fault.used
        mq.heal()


def test_lost_answer_to_a_set_is_refused_when_the_master_asks_again() -> None:
    with fakemq.Cluster(controllers=1) as mq, TcpPeer(mq.controllers.addr) as peer:
        join(peer, 1)
        join(peer, 2)
        assert elect(peer, 1) == 0
        code = RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET
        header = AlterSyncStateSetRequestHeader(broker_name="b", master_broker_id=1, master_epoch=1)
        body = b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}'
        lost = mq.faults.drop(code, node="controller-0", at="before_reply")
        peer.send(code, header, body)
        mq.wait_for(lambda: lost.used)
        assert peer.ask(code, header, body).code == 2013


def test_fault_kills_the_leader_before_it_decides() -> None:
    with fakemq.Cluster(controllers=3, clock="frozen") as mq:
        mq.faults.kill("CONTROLLER_APPLY_BROKER_ID", node="controller-0")
        with TcpPeer(mq.controllers[0].addr) as peer, pytest.raises(ConnectionError):
            join(peer, 1)
        assert mq.controllers[0].state == "stopped"


@pytest.mark.parametrize(
    ("code", "node", "text"),
    [
        (RequestCode.SEND_MESSAGE, "controller-0", "is for brokers or name servers"),
        (RequestCode5.CONTROLLER_ELECT_MASTER, "broker-a", "is for controllers"),
        (RequestCode5.CONTROLLER_ELECT_MASTER, "namesrv-0", "is for controllers"),
    ],
)
def test_fault_of_a_request_that_a_node_never_gets_is_refused(
    code: RequestCode | RequestCode5, node: str, text: str
) -> None:
    with fakemq.Cluster(controllers=1) as mq, pytest.raises(ConfigError, match=text):
        mq.faults.drop(code, node=node)


FAIL_OVERS = 20


def test_fail_overs_leave_nothing_behind_but_their_journal() -> None:
    with fakemq.Cluster(controllers=1, slaves=2, clock="frozen") as mq:

        def held() -> Counter[str]:
            gc.collect()
            return Counter(type(one).__name__ for one in gc.get_objects())

        def fail_over() -> None:
            dead = mq.broker("broker-a")
            mq.failover("broker-a")
            dead.restart()
            mq.clock.advance("30s")
            assert len(mq.group_of("broker-a").in_sync) == 3

        for _ in range(5):  # until what is made at first use is there
            fail_over()
        before, noted = held(), len(mq.journal)
        for _ in range(FAIL_OVERS):
            fail_over()
        grown = held() - before
        # The journal, which is bounded, keeps its events as tuples.
        assert grown.pop("tuple") <= len(mq.journal) - noted
        assert {name: more for name, more in grown.items() if more >= FAIL_OVERS} == {}


WITHOUT = """
import json, sys
import fakemq
with fakemq.Cluster(reference=sys.argv[1], slaves=1, topics={"orders": 1}, clock="frozen") as mq:
    mq.seed("orders", [b"tea"])
    mq.clock.advance("60s")
    print(json.dumps([sorted(sys.modules), [one.kind for one in mq.clock.timers()]]))
"""


@pytest.mark.parametrize("reference", ["4.9.7", "5.5.0"])
def test_cluster_without_controllers_loads_and_waits_for_nothing_of_them(reference: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, reference], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    loaded, timers = json.loads(done.stdout)
    theirs = re.compile(r"fakemq\..*\b(controllers?|autoswitch|replicas)\b")
    assert list(filter(theirs.search, loaded)) == []
    assert "slave_sync" in timers
    assert not [one for one in timers if one.startswith(("controller_", "replica_", "sync_set"))]
