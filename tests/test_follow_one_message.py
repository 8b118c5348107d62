"""The path of one message, as docs/architecture.md describes it: the journal's very list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakemq import events
from fakemq.cluster import Cluster
from fakemq.events import Event
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import UpdateConsumerOffsetRequestHeader
from fakemq.protocol.headers.pull import PullMessageRequestHeader
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.broker_lab import send_header
from tests.support.tcp import TcpPeer

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
UNIQUE_ID = "7F000001" + "0" * 24


@pytest.fixture
def mq() -> Iterator[Cluster]:
    with Cluster(clock="frozen", topics={"orders": 1}) as cluster:
        cluster.reset()
        yield cluster


def held_pull() -> PullMessageRequestHeader:
    return PullMessageRequestHeader(
        consumer_group="billing",
        topic="orders",
        queue_id=0,
        queue_offset=0,
        max_msg_nums=32,
        sys_flag=PullSysFlag.SUBSCRIPTION | PullSysFlag.SUSPEND,
        commit_offset=0,
        suspend_timeout_millis=15_000,
        subscription="*",
        sub_version=0,
        expression_type="TAG",
    )


def commit() -> UpdateConsumerOffsetRequestHeader:
    return UpdateConsumerOffsetRequestHeader(
        consumer_group="billing", topic="orders", queue_id=0, commit_offset=1
    )


def documented() -> tuple[list[str], list[str]]:
    """The files and the events of the page's table, in its order."""
    table = PAGE.read_text().partition("| step | file | journal |")[2].partition("\n\n")[0]
    rows = [row.split("|") for row in table.splitlines()[2:]]
    files = [name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row[2])]
    return files, [name for row in rows for name in re.findall(r"`(\w+)`", row[3])]


def expected(at_producer: str, at_consumer: str, size_bytes: int) -> list[Event]:
    """What the journal has to say, from the first byte to the committed offset."""
    return [
        events.RequestReceived(
            node="broker-a-0", code=RequestCode.SEND_MESSAGE_V2, peer=at_producer, opaque=1
        ),
        events.MessageChecked(node="broker-a-0", topic="orders", queue_id=0),
        events.LogAppended(
            node="broker-a-0",
            topic="orders",
            queue_id=0,
            queue_offset=0,
            phy_offset=0,
            size_bytes=size_bytes,
            msg_id=UNIQUE_ID,
        ),
        events.Dispatched(
            node="broker-a-0", topic="orders", queue_id=0, queue_offset=0, phy_offset=0
        ),
        events.PullWoken(
            node="broker-a-0",
            topic="orders",
            queue_id=0,
            queue_offset=0,
            group="billing",
            why="arrival",
        ),
        events.Delivered(
            node="broker-a-0",
            topic="orders",
            queue_id=0,
            offsets=range(1),
            next_offset=1,
            group="billing",
            peer=at_consumer,
        ),
        events.RequestHandled(
            node="broker-a-0", code=RequestCode.PULL_MESSAGE, peer=at_consumer, response_code=0
        ),
        events.RequestHandled(
            node="broker-a-0", code=RequestCode.SEND_MESSAGE_V2, peer=at_producer, response_code=0
        ),
        events.RequestReceived(
            node="broker-a-0",
            code=RequestCode.UPDATE_CONSUMER_OFFSET,
            peer=at_consumer,
            opaque=1,
        ),
        events.OffsetCommitted(
            node="broker-a-0", group="billing", topic="orders", queue_id=0, offset=1
        ),
        events.RequestHandled(
            node="broker-a-0",
            code=RequestCode.UPDATE_CONSUMER_OFFSET,
            peer=at_consumer,
            response_code=0,
        ),
    ]


def test_journal_shows_the_path_of_one_message(mq: Cluster) -> None:
    addr = mq.broker("broker-a").addr
    with TcpPeer(addr) as consumer, TcpPeer(addr) as producer:
        at_consumer = "{}:{}".format(*consumer.sock.getsockname())
        at_producer = "{}:{}".format(*producer.sock.getsockname())
        pull = consumer.send(RequestCode.PULL_MESSAGE, held_pull())
        mq.wait_for(lambda: mq.journal.find(events.PullHeld))
        producer.ask(RequestCode.GET_MAX_OFFSET)  # so that its connection is no part of the path
        since = len(mq.journal)

        sent = producer.ask(
            RequestCode.SEND_MESSAGE_V2,
            send_header(properties=f"UNIQ_KEY\x01{UNIQUE_ID}\x02TAGS\x01paid"),
            b"hello",
        )
        assert sent.code == ResponseCode.SUCCESS
        assert consumer.receive(pull).code == ResponseCode.SUCCESS
        assert consumer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit()).code == 0

    path = [entry.event for entry in mq.journal][since:]
    happened = [event for event in path if not isinstance(event, events.LinkClosed)]
    size_bytes = mq.journal.find(events.LogAppended)[0].size_bytes
    assert happened == expected(at_producer, at_consumer, size_bytes)

    # And the page says so: the commit's own request is the only thing it leaves out.
    names = [type(event).__name__ for event in happened]
    files, steps = documented()
    assert steps == [*names[:8], "OffsetCommitted"]
    assert [name for name in files if not (PAGE.parents[1] / "fakemq" / name).exists()] == []
