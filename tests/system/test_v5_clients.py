"""What clients of 5.x say and want: served where they need it, ignored as 4.9.7 ignores it."""

from __future__ import annotations

import json
import warnings

import pytest

import fakemq
from fakemq.client import Client
from fakemq.config.files import load
from fakemq.config.model import BrokerConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import (
    GetMaxOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    SearchOffsetRequestHeader,
)
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, consumer_data, send
from tests.support.peer import Peer

VERSION_5_5_0 = 513


@pytest.mark.parametrize(("value", "said"), [("", None), ("false", False), ("true", True)])
def test_route_names_acting_masters_when_configured(value: str, said: bool | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a key that is not known would be warned of
        cluster = fakemq.Cluster(config={"enableActingMaster": value}, topics={TOPIC: 1})
    with cluster as mq, Client(mq.namesrv_addr) as client:
        route = client.update_route(TOPIC)
        assert route is not None
        assert [one.enable_acting_master for one in route.data.broker_datas] == [said]
        (broker,) = client.cluster_info().broker_addr_table.values()
        assert broker.enable_acting_master is said


def test_own_keys_are_known_checked_and_not_shown() -> None:
    config = BrokerConfig()
    config.assign(load({"litePullMessageEnable": "false"}, BrokerConfig, strict=True).values)
    assert config.lite_pull_message_enable is False
    with pytest.raises(fakemq.ConfigError, match="expected true, false or nothing"):
        load({"enableActingMaster": "maybe"}, BrokerConfig)
    assert "litePullMessageEnable" not in config.java_properties()
    assert "litePullMessageEnable=false\nenableActingMaster=\n" in config.printed()


@pytest.fixture
def peer() -> Peer:
    lab = BrokerLab()
    peer = lab.peer(lab.broker().addr)
    for _ in range(3):
        send(peer)
    lab.clock.advance("1s")
    return peer


def test_later_fields_change_nothing(peer: Peer) -> None:
    late = SearchOffsetRequestHeader(topic=TOPIC, queue_id=0, timestamp=99_999_999_999_999)
    known = QueryConsumerOffsetRequestHeader(topic=TOPIC, queue_id=0, consumer_group=GROUP)
    end = GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=0)
    for code, header, later in (
        (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, late, {"boundaryType": "UPPER", "lo": "false"}),
        (RequestCode.QUERY_CONSUMER_OFFSET, known, {"setZeroIfNotFound": "true", "ns": "x"}),
        (RequestCode.GET_MAX_OFFSET, end, {"committed": "true", "nsd": "true", "oway": "false"}),
    ):
        plain = peer.ask(code, header)
        more = peer.ask(code, header, ext_fields=later, version=VERSION_5_5_0)
        assert (plain.code, plain.ext_fields) == (more.code, more.ext_fields)
        assert plain.ext_fields["offset"] in ("0", "2", "3")


def test_heartbeat_v2_is_like_any_other(peer: Peer) -> None:
    """A client that learns of another kind would omit its subscriptions."""
    body = {
        "clientID": "client-1",
        "consumerDataSet": [consumer_data()],
        "producerDataSet": [],
        "heartbeatFingerprint": 5,
        "withoutSub": False,
    }
    answer = peer.ask(RequestCode.HEART_BEAT, body=json.dumps(body).encode(), version=VERSION_5_5_0)
    assert (answer.code, answer.ext_fields) == (0, {})
