"""Finding one message of a topic by its id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakemq.clock.slices import finished
from fakemq.cluster import Cluster
from fakemq.core.finding import find
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import send_header
from tests.support.tcp import TcpPeer


@pytest.fixture(params=["memory", "directory"])
def mq(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    store = tmp_path if request.param == "directory" else None
    with Cluster(clock="frozen", topics={"orders": 2}, store=store) as cluster:
        yield cluster


def found(mq: Cluster, wanted: str) -> bytes | None:
    message = mq.inspect(lambda core: finished(find(core, "orders", wanted)))
    return None if message is None else message.body


def test_message_is_found_by_each_of_its_ids(mq: Cluster) -> None:
    mq.seed("others", ["other"])
    one, two = mq.seed("orders", ["one", "two"])
    assert found(mq, one.msg_id) == b"one"
    assert found(mq, two.msg_id) == b"two"
    assert found(mq, two.offset_msg_id) == b"two"
    assert found(mq, "none") is None


def test_message_of_a_stopped_broker_is_found_as_long_as_its_store_is_open(mq: Cluster) -> None:
    (one,) = mq.seed("orders", ["one"])
    mq.broker("broker-a").stop()
    assert found(mq, one.msg_id) == (b"one" if mq.messages("orders") else None)


def test_message_that_is_damaged_or_deleted_is_not_found(mq: Cluster) -> None:
    one, two = mq.seed("orders", ["one", "two"])
    mq.faults.flip_byte(one, byte=4)
    assert found(mq, one.msg_id) is None
    mq.inspect(lambda core: core.broker("broker-a").store.delete_consume_queue("orders"))
    mq.seed("orders", ["new", "new"])
    assert found(mq, two.msg_id) is None


def test_oldest_of_several_messages_with_one_id_is_found(mq: Cluster) -> None:
    for body, queue_id in ((b"first", 1), (b"again", 0)):
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            header = send_header(queue_id=queue_id, properties="UNIQ_KEY\x01x")
            assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, body).code == 0
        assert found(mq, "x") == b"first"
        mq.clock.advance("1s")
