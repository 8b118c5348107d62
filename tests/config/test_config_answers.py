"""GET_BROKER_CONFIG and GET_NAMESRV_CONFIG beside the answers of real nodes, key by key.

See ``conformance/capture/config_answers.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fakemq
from fakemq.client import Client
from fakemq.errors import ConfigWarning
from fakemq.events import Warned
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference import NAMES

DATA = Path(__file__).with_name("data")
Answer = dict[str, str]
"""The values of an answer by key, in its order."""

OF_THE_MACHINE = {
    "litePullMessageThreadPoolNums",
    *("heartbeatThreadPoolNums", "sendMessageThreadPoolNums", "putMessageFutureThreadPoolNums"),
    *("pullMessageThreadPoolNums", "processReplyMessageThreadPoolNums"),
    *("queryMessageThreadPoolNums", "endTransactionThreadPoolNums"),
    "clientCallbackExecutorThreads",
}
"""RocketMQ counts processors; the fake says the same on each machine."""
FOLDERS = {"rocketmqHome", "storePathRootDir", "kvConfigPath", "configStorePath"}
"""A node in memory has none."""


@pytest.fixture(scope="module", params=NAMES)
def reference(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def mq(reference: str) -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(reference=reference) as cluster:
        yield cluster


def recorded(node: str, reference: str) -> Answer:
    later = "" if reference == NAMES[0] else f"_{reference}"
    lines = (DATA / f"java_{node}_config{later}.txt").read_text(encoding="utf-8").splitlines()
    return read(line for line in lines if not line.startswith("#"))


def read(lines: Iterator[str] | list[str]) -> Answer:
    return dict(line.split("=", 1) for line in lines)


def asked(mq: fakemq.Cluster, addr: str, code: RequestCode) -> Answer:
    with Client(mq.namesrv_addr) as client:
        response = client.invoke(addr, client.instance.command(code))
    port = int(addr.rpartition(":")[2])
    text = response.body.decode().replace(mq.namesrv_addr, "<name server>")
    text = text.replace(f"={port}\n", "=<port>\n").replace(f"={port + 1}\n", "=<port + 1>\n")
    return read(text.splitlines())


def assert_same(answer: Answer, expected: Answer) -> None:
    """Compare the keys, their order, and the values that do not depend on the machine."""
    assert list(answer) == [key for key in expected if key not in FOLDERS]
    assert {
        key: (value, expected[key])
        for key, value in answer.items()
        if value != expected[key] and key not in OF_THE_MACHINE
    } == {}


def test_broker_shows_what_a_real_broker_shows(mq: fakemq.Cluster, reference: str) -> None:
    answer = asked(mq, mq.broker("broker-a").addr, RequestCode.GET_BROKER_CONFIG)
    assert_same(answer, recorded("broker", reference))


def test_name_server_shows_what_a_real_name_server_shows(
    mq: fakemq.Cluster, reference: str
) -> None:
    answer = asked(mq, mq.namesrv_addr, RequestCode.GET_NAMESRV_CONFIG)
    assert_same(answer, recorded("name_server", reference))


def test_broker_shows_further_keys_of_its_file_as_a_real_broker_does(reference: str) -> None:
    config = {
        "myOwnKey": "1",
        "zebra": "a b",
        "anEmptyOne": "",
        "rmqAddressServerSubGroup": "mine",
    }
    with pytest.warns(ConfigWarning, match="unknown key"):
        cluster = fakemq.Cluster(config=config, reference=reference)
    with cluster as mq:
        addr = mq.broker("broker-a").addr
        with Client(mq.namesrv_addr) as client:
            update = client.instance.command(
                RequestCode.UPDATE_BROKER_CONFIG, body=b"myOwnKey=2\nunheard=3\n"
            )
            assert client.invoke(addr, update).code == ResponseCode.SUCCESS
        answer = asked(mq, addr, RequestCode.GET_BROKER_CONFIG)
        assert_same(answer, recorded("broker_with_further_keys", reference))
        (warned,) = mq.journal.find(Warned)
        assert "unheard" in warned.text
        mq.reset()
        assert asked(mq, addr, RequestCode.GET_BROKER_CONFIG)["myOwnKey"] == "1"
