"""Faults of controllers, as a Java broker under them sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

import fakemq
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import SMALL_JVM
from conformance.targets.java_controllers import JavaReplica
from conformance.wire.raw import call, frame, json_header
from conformance.wire.requests import send_v2_fields, texts
from fakemq.events import RequestHandled
from fakemq.events.controller import MasterElected
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5

# A JVM; elections and Java's looks for the leader take their time.
pytestmark = [pytest.mark.slow, WAITING]

NAME = "broker-j"
PATIENT = "60s"
SEND = 310


def is_handled(mq: fakemq.Cluster, code: RequestCode5, answer: int, node: str) -> bool:
    return bool(mq.journal.find(RequestHandled, code=code, response_code=answer, node=node))


def test_java_master_survives_a_new_leader_and_a_lost_log(java: None, tmp_path: Path) -> None:
    with fakemq.Cluster(controllers=3) as mq:
        controllers = [one.addr for one in mq.controllers]
        broker = JavaReplica(tmp_path, [mq.namesrv_addr], controllers, SMALL_JVM)
        broker.config["brokerName"] = NAME
        try:
            broker.launch()
            broker.wait_ready()
            mq.wait_for(lambda: mq.journal.find(MasterElected, broker_name=NAME), PATIENT)
            mq.faults.depose_leader()
            mq.wait_for(lambda: mq.controllers.leader, PATIENT)
            leader = mq.controllers.leader
            assert leader is not None
            assert leader.name != "controller-0"
            polled = RequestCode5.CONTROLLER_GET_REPLICA_INFO
            mq.wait_for(lambda: is_handled(mq, polled, 0, leader.name), PATIENT)
            mq.faults.forget_groups()
            registered = RequestCode5.CONTROLLER_REGISTER_BROKER
            refused = ResponseCode5.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED
            mq.wait_for(lambda: is_handled(mq, registered, refused, leader.name), PATIENT)
            sent = call(broker.addr, frame(SEND, texts(send_v2_fields("TBW102")), b"tea"))
            assert json_header(sent)["code"] == 0, "it keeps its role, and serves"
        finally:
            broker.kill()
