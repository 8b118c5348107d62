"""Requests that the config of a name server of 5.5.0 forbids, and what else its keys do."""

from __future__ import annotations

import pytest

from fakemq.config.model_5_5_0 import NamesrvConfig5
from fakemq.errors import ConfigError
from fakemq.events import BrokerGone
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5_5_0 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, route, topic
from tests.support.peer import Peer

TOPIC_LISTS = (
    RequestCode.GET_TOPICS_BY_CLUSTER,
    RequestCode.GET_UNIT_TOPIC_LIST,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
)


@pytest.fixture
def lab() -> NamesrvLab:
    return NamesrvLab()


def peer_of(lab: NamesrvLab, config: NamesrvConfig5) -> Peer:
    return lab.peer(lab.name_server(config, reference=REFERENCE))


def ask(peer: Peer, code: RequestCode) -> tuple[int, str | None]:
    answer = peer.ask(code, ext_fields={"cluster": "DefaultCluster"})
    return answer.code, answer.remark


def test_lists_of_topics_are_refused_when_they_are_switched_off(lab: NamesrvLab) -> None:
    peer = peer_of(lab, NamesrvConfig5(enable_topic_list=False))
    for code in TOPIC_LISTS:
        assert ask(peer, code) == (ResponseCode.SYSTEM_ERROR, "disable"), code.name
    assert ask(peer, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)[0] == ResponseCode.SUCCESS
    assert ask(peer, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)[0] == ResponseCode.SUCCESS


def test_list_of_all_topics_has_a_switch_of_its_own(lab: NamesrvLab) -> None:
    peer = peer_of(lab, NamesrvConfig5(enable_all_topic_list=False))
    code = RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
    assert ask(peer, code) == (ResponseCode.SYSTEM_ERROR, "disable")
    for code in TOPIC_LISTS:
        assert ask(peer, code)[0] == ResponseCode.SUCCESS, code.name


def test_routes_are_refused_until_a_name_server_is_ready(lab: NamesrvLab) -> None:
    peer = peer_of(lab, NamesrvConfig5(need_wait_for_service=True, wait_seconds_for_service=20))
    register(peer, topic("T"), topic("U"))
    lab.clock.advance("19s 999ms")
    answer = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": "T"})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "name server not ready")
    lab.clock.advance("1ms")
    assert route(peer, "T") is not None


@pytest.mark.parametrize(
    "key", ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome", "listenPort"]
)
def test_key_of_the_black_list_is_not_changed(lab: NamesrvLab, key: str) -> None:
    config = NamesrvConfig5(config_black_list="listenPort;bindAddress")
    peer = peer_of(lab, config)
    body = f"orderMessageEnable=true\n{key}=5\n".encode()
    answer = peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=body)
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "Can not update config in black list.",
    )
    assert not lab.servers[0].config.order_message_enable
    answer = peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true\n")
    assert answer.code == ResponseCode.SUCCESS
    assert lab.servers[0].config.order_message_enable


@pytest.mark.parametrize(("period_ms", "gone_s"), [(5_000, 125), (100_000, 205)])
def test_silent_broker_expires_at_the_scan_of_the_config(
    lab: NamesrvLab, period_ms: int, gone_s: int
) -> None:
    peer = peer_of(lab, NamesrvConfig5(scan_not_active_broker_interval=period_ms))
    lab.clock.advance("1s")
    register(peer, topic("T"), topic("U"))
    for _ in range(gone_s // 60):
        lab.clock.advance("60s")
        peer.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    lab.clock.advance(gone_s % 60 - 1.001)
    assert lab.journal.find(BrokerGone) == []
    lab.clock.advance("1ms")
    assert [gone.why for gone in lab.journal.find(BrokerGone)] == ["expired"]


def test_name_server_with_an_interval_of_0_does_not_start(lab: NamesrvLab) -> None:
    config = NamesrvConfig5(scan_not_active_broker_interval=0)
    with pytest.raises(ConfigError, match="scanNotActiveBrokerInterval=0: expected 1 or more"):
        lab.name_server(config, reference=REFERENCE)


@pytest.mark.parametrize("returned", [True, False])
def test_topics_in_order_are_said_to_brokers_by_default(lab: NamesrvLab, returned: bool) -> None:
    peer = peer_of(lab, NamesrvConfig5(return_order_topic_config_to_broker=returned))
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:4"}
    peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields)
    answer = register(peer, topic("T"), topic("U"))
    assert answer.code == ResponseCode.SUCCESS
    assert (b"broker-a:4" in answer.body) is returned
