"""References: how one is found, and what a cluster of each says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import fakemq
from bench.measure import ENVIRONMENT
from fakemq.broker.broker import broker_class
from fakemq.broker.broker import handles as broker_handles
from fakemq.config.spec import broker_spec, cluster_spec, config_classes, namesrv_spec
from fakemq.errors import ConfigWarning
from fakemq.namesrv.namesrv import handles as namesrv_handles
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.command import VERSION_4_9_7
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference import NAMES, find_reference
from fakemq.reference.v5 import REFERENCE as V5_5_0
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.namesrv_lab import NamesrvLab


@pytest.mark.parametrize("name", NAMES)
def test_reference_is_found_by_its_name(name: str) -> None:
    found = find_reference(name)
    assert found.name == name
    assert cluster_spec(reference=name).reference is found
    assert namesrv_spec(reference=name).reference is found
    assert broker_spec(reference=name, namesrv_addr="127.0.0.1:1").reference is found
    broker, namesrv = config_classes(found)
    assert broker.release == namesrv.release == name


def test_unknown_reference_is_refused_with_the_known_ones() -> None:
    known = r"reference='5\.5': expected 4\.9\.7 or 5\.3\.2 or 5\.5\.0"
    with pytest.raises(fakemq.ConfigError, match=known):
        fakemq.Cluster(reference="5.5")


def test_default_reference_loads_nothing_of_another() -> None:
    code = """
import json, sys
import fakemq
with fakemq.Cluster(topics={"orders": 4}) as mq:
    mq.seed("orders", [b"one"])
    mq.diagnosis()
print(json.dumps([name for name in sys.modules if "v5" in name.split(".")]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert json.loads(done.stdout) == [], done.stderr


def test_every_answer_has_the_version_of_the_reference(lab: BrokerLab) -> None:
    versions = {"4.9.7": VERSION_4_9_7, "5.3.2": 477, "5.5.0": 513}
    for reference, version in ((find_reference(name), versions[name]) for name in NAMES):
        peer = lab.peer(lab.broker(reference=reference).addr)
        sent = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("TBW102"), b"body")
        assert sent.code == ResponseCode.SUCCESS
        assert sent.ext_fields["queueOffset"] == "0"
        refused = peer.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP)
        unknown = peer.ask(9_999)
        assert unknown.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert {sent.version, refused.version, unknown.version} == {version}
        lab = BrokerLab()


def test_handlers_of_a_reference_do_not_know_what_is_gone_or_later() -> None:
    later = broker_class(V5_5_0).handlers
    assert broker_class(find_reference("4.9.7")).handlers is broker_handles
    assert later.find(RequestCode5.GET_TOPIC_CONFIG) is not None
    assert broker_handles.find(RequestCode5.GET_TOPIC_CONFIG) is None
    assert later.find(RequestCode.SEND_MESSAGE_V2) == broker_handles.find(
        RequestCode.SEND_MESSAGE_V2
    )
    assert namesrv_handles.find(RequestCode5.BROKER_HEARTBEAT) is None
    assert set(V5_5_0.out_of_scope).isdisjoint(later.load())


def test_code_out_of_scope_is_refused_in_one_line(lab: BrokerLab) -> None:
    broker = lab.broker(reference=V5_5_0)
    answer = lab.peer(broker.addr).ask(RequestCode5.UPDATE_AND_CREATE_STATIC_TOPIC)
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    text = " request type 513 not supported: static topics are out of fakemq's scope"
    assert answer.remark == text


def test_code_that_a_reference_no_longer_has_is_not_supported(lab: BrokerLab) -> None:
    broker = lab.broker(reference=V5_5_0)
    answer = lab.peer(broker.addr).ask(RequestCode.GET_BROKER_CLUSTER_ACL_INFO)
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def test_name_server_of_5_5_0_refuses_unknown_codes() -> None:
    lab = NamesrvLab()
    answer = lab.peer(lab.name_server(reference=V5_5_0)).ask(RequestCode.SEND_MESSAGE)
    assert (answer.code, answer.remark) == (3, " request type 10 not supported")
    assert answer.version == 513


def test_cluster_of_5_5_0_has_its_topics_and_config() -> None:
    with fakemq.Cluster(reference="5.5.0", config={"reviveQueueNum": "3"}) as mq:
        topics = mq.inspect(lambda core: core.broker("broker-a").topics.snapshot())
        assert topics["rmq_sys_REVIVE_LOG_DefaultCluster"].read_queue_nums == 3
        assert topics["rmq_sys_SYNC_BROKER_MEMBER_broker-a"].perm == 1
        assert "rmq_sys_wheel_timer" in topics
        timeout_ms = mq.inspect(
            lambda core: core.broker("broker-a").config.register_broker_timeout_mills
        )
        assert timeout_ms == 24_000
        mq.reset()
        mq.broker("broker-a").restart()
    with fakemq.Cluster(reference="5.3.2") as mq:
        first = mq.inspect(lambda core: core.broker("broker-a").topics.snapshot())
        assert topics.keys() - first.keys() == {
            "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
            "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
        }
    with pytest.raises(fakemq.NotYetSupported, match="storeType=defaultRocksDB"):
        fakemq.Cluster(reference="5.5.0", config={"storeType": "defaultRocksDB"})


def test_key_of_another_reference_is_unknown() -> None:
    with pytest.warns(ConfigWarning, match=r"RocketMQ 4\.9\.7 does not have it"):
        fakemq.Cluster(config={"reviveQueueNum": "3"})
    with pytest.warns(ConfigWarning, match=r"RocketMQ 5\.5\.0 does not have it"):
        fakemq.Cluster(reference="5.5.0", config={"maxDelayTime": "3"})
    with pytest.warns(ConfigWarning, match=r"RocketMQ 5\.3\.2 does not have it"):
        fakemq.Cluster(reference="5.3.2", config={"priorityOrderAsc": "true"})


def test_code_of_any_reference_has_a_name() -> None:
    assert code_name(10) == "SEND_MESSAGE"
    assert code_name(200050) == "POP_MESSAGE"
    assert code_name(9_999) == "code 9999"


@pytest.fixture
def lab() -> BrokerLab:
    return BrokerLab()
