"""GET_ALL_TOPIC_CONFIG (21): all topics, or a page of them."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import config5
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode
from tests.support.peer import Peer


def ask(peer: Peer, **fields: str) -> tuple[list[str], dict[str, Any]]:
    """Return the names of an answer in order, and the answer."""
    answer = peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG, ext_fields=fields)
    assert answer.code == 0, answer.remark
    body: dict[str, Any] = fastjson.loads(answer.body)
    return sorted(body["topicConfigTable"]), {**body, **answer.ext_fields}


def test_client_that_says_nothing_gets_all(broker: Broker, peer: Peer) -> None:
    names, answer = ask(peer)
    assert names == sorted(broker.topics.snapshot())
    assert answer["totalTopicNum"] == str(len(names))
    assert answer["dataVersion"].keys() == {"counter", "stateVersion", "timestamp"}
    assert answer["topicQueueMappingDetailMap"] == answer["topicQueueMappingInfoMap"] == {}


def test_pages_follow_each_other(broker: Broker, peer: Peer) -> None:
    every = sorted(broker.topics.snapshot())
    version = ""
    found: list[str] = []
    while len(found) < len(every):
        names, answer = ask(peer, topicSeq=str(len(found)), maxTopicNum="5", dataVersion=version)
        version = fastjson.dumps(answer["dataVersion"])
        assert names == every[len(found) : len(found) + 5]
        found += names
    assert ask(peer, topicSeq=str(len(found)), maxTopicNum="5", dataVersion=version)[0] == []


def test_page_of_an_older_table_is_the_first_one(broker: Broker, peer: Peer) -> None:
    first, answer = ask(peer, topicSeq="0", maxTopicNum="3", dataVersion="")
    version = fastjson.dumps(answer["dataVersion"])
    broker.create_topic("zulu", 1)
    for old in (version, "", " "):
        assert ask(peer, topicSeq="3", maxTopicNum="3", dataVersion=old)[0] == first


def test_config_limits_pages(broker: Broker, peer: Peer) -> None:
    config = config5(broker.config)
    config.split_metadata_size = 2
    assert len(ask(peer, topicSeq="0", maxTopicNum="2000", dataVersion="")[0]) == 2
    assert len(ask(peer, topicSeq="0", dataVersion="")[0]) == 2
    config.enable_split_metadata = False
    assert len(ask(peer, topicSeq="1", maxTopicNum="1", dataVersion="")[0]) > 2


@pytest.mark.parametrize(
    "fields",
    [
        {"maxTopicNum": "5"},
        {"topicSeq": "0", "maxTopicNum": "0"},
        {"topicSeq": "1", "maxTopicNum": "1", "dataVersion": "{"},
    ],
)
def test_page_that_is_none_is_refused(peer: Peer, fields: dict[str, str]) -> None:
    assert peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG, ext_fields=fields).code == 1


def test_page_before_the_first_one_is_refused(broker: Broker, peer: Peer) -> None:
    _, answer = ask(peer)
    version = fastjson.dumps(answer["dataVersion"])
    fields = {"topicSeq": "-1", "maxTopicNum": "5", "dataVersion": version}
    assert peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG, ext_fields=fields).code == 1
