"""Names of peers that would lead outside a store, or into another topic's queue: every way in."""

from __future__ import annotations

from pathlib import Path

import pytest

import fakemq
from fakemq.events import HandlerFailed, ScheduledDelivered, ScheduledDiscarded, Warned
from fakemq.handles.values import Message
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.protocol.header import Header
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
from fakemq.store.files import File
from tests.support.broker_lab import send_header
from tests.support.odd_records import rename
from tests.support.tcp import TcpPeer
from tests.support.transactions import COMMIT

HALF_PAIR = "zzzzzz"
"""Becomes ``\\ud800`` in the JSON of a header: our own encoder never writes that."""
BAD_NAMES = [
    *("../../outside", "a/b", "/etc", "g/0", "a\0b", "é" * 80, "a" * 128, "a" * 40_000, HALF_PAIR),
]
NODE = "broker-a-0"


def ask(peer: TcpPeer, code: RequestCode, header: Header) -> RemotingCommand:
    command = RemotingCommand(code, ext_fields=header.encode())
    command.opaque = peer.send(RequestCode.GET_BROKER_RUNTIME_INFO) + 1_000
    frame = Connection().encode(command)
    peer.sock.sendall(frame.replace(HALF_PAIR.encode(), b"\\ud800"))
    return peer.receive(command.opaque)


def send_back(peer: TcpPeer, message: Message, group: str, level: int) -> RemotingCommand:
    header = ConsumerSendMsgBackRequestHeader(
        offset=message.commit_log_offset, group=group, delay_level=level
    )
    return ask(peer, RequestCode.CONSUMER_SEND_MSG_BACK, header)


def send(peer: TcpPeer, sys_flag: int = 0, **properties: str) -> EndTransactionRequestHeader:
    """Send a message with these properties, and return what would commit it."""
    pairs = {"PGROUP": "g", **properties}
    text = "\x02".join(f"{name}\x01{value}" for name, value in pairs.items())
    answer = ask(peer, RequestCode.SEND_MESSAGE_V2, send_header(properties=text, sys_flag=sys_flag))
    assert answer.code == 0, answer.remark
    return EndTransactionRequestHeader(
        producer_group="g",
        tran_state_table_offset=int(answer.ext_fields["queueOffset"]),
        commit_log_offset=int(answer.ext_fields["msgId"][16:], 16),
        commit_or_rollback=COMMIT,
        msg_id="K",
    )


def tree(root: Path) -> list[str]:
    """Return all folders below, and the files that are in none of them."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir())


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else str(tmp_path / "deep" / "store")


def restarts(mq: fakemq.Cluster) -> None:
    """Stop the broker and kill it; it must come back both times."""
    broker = mq.broker("broker-a")
    for end in (broker.stop, broker.kill):
        end()
        broker.restart()
    assert not mq.journal.find(HandlerFailed)


def test_send_back_is_refused_when_no_folder_is_called_so(store: str, tmp_path: Path) -> None:
    with fakemq.Cluster(store=store, clock="frozen", topics={"orders": 1}) as mq:
        (message,) = mq.seed("orders", ["x"])
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            send_back(peer, message, "g", 1)
            mq.clock.advance("1s")
            before = tree(tmp_path)
            for group in BAD_NAMES:
                for level in (0, 1, -1):
                    answer = send_back(peer, message, group, level)
                    assert answer.code == ResponseCode.SYSTEM_ERROR, group
                    assert (answer.remark or "").startswith("MESSAGE_ILLEGAL"), group
            send_back(peer, message, "g", 1)
            mq.clock.advance("1h")
            assert tree(tmp_path) == before
            assert len(mq.messages("%RETRY%g")) == 2
        restarts(mq)
        assert len(mq.messages("%RETRY%g")) == 2


@pytest.mark.parametrize("delayed", [False, True])
def test_commit_is_refused_when_its_real_topic_is_no_folder(
    store: str, delayed: bool, tmp_path: Path
) -> None:
    # A true half message has its real topic from the broker; these are only similar.
    flag, more = (4, {"DELAY": "1"}) if delayed else (0, {})
    places = [(name, "0") for name in (*BAD_NAMES[:-2], ".", "..")]
    with fakemq.Cluster(store=store, clock="frozen", topics={"orders": 1}) as mq:
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            send(peer, DELAY="1")
            mq.clock.advance("1s")
            before = tree(tmp_path)
            for topic, queue_id in [*places, ("orders", "-1")]:
                end = send(peer, flag, REAL_TOPIC=topic, REAL_QID=queue_id, **more)
                answer = ask(peer, RequestCode.END_TRANSACTION, end)
                assert answer.code == ResponseCode.MESSAGE_ILLEGAL, topic
                assert topic != "g/0" or "it contains a slash" in (answer.remark or "")
            send(peer, DELAY="1")
            mq.clock.advance("1h")
            assert tree(tmp_path) == before
            assert mq.delayed() == []
        restarts(mq)


def test_named_queue_that_is_no_folder_is_passed_over(store: str, tmp_path: Path) -> None:
    config = {"enableLmq": True, "enableMultiDispatch": True}
    short = [name for name in BAD_NAMES if len(name) < 1_000 and name != HALF_PAIR]
    with fakemq.Cluster(store=store, clock="frozen", topics={"orders": 1}, config=config) as mq:
        mq.seed("orders", ["x"])
        with TcpPeer(mq.broker("broker-a").addr) as peer:
            before = tree(tmp_path)
            for name in short:
                send(peer, INNER_MULTI_DISPATCH=f"{name},{name}/%LMQ%a,../../{name}")
        assert tree(tmp_path) == before
        assert len(mq.messages("orders")) == 1 + len(short)
        restarts(mq)
        after = [path for path in tree(tmp_path) if not path.endswith("/index")]
        assert after == before, "a record is read as it was put"


def test_delivery_that_cannot_succeed_leaves_its_level(store: str) -> None:
    with fakemq.Cluster(store=store, clock="frozen", topics={"orders": 1}) as mq:
        mq.seed("orders", ["bad", "good"], properties={"DELAY": "1"})
        # As a broker of another kind has stored it.
        mq.inspect(lambda core: rename_real_topic(core.brokers[NODE].store.log.files[0][1]))
        mq.clock.advance("1s")
        assert [message.body for message in mq.messages("orders")] == [b"good"]
        (dropped,) = mq.journal.find(ScheduledDiscarded)
        assert "it contains a slash" in dropped.why
        (warning,) = mq.journal.find(Warned)
        assert warning.text.startswith("a message of delay level 1 for topic 'or/0rs' is dropped")
        assert len(mq.journal.find(ScheduledDelivered)) == 1
        restarts(mq)


def rename_real_topic(file: File) -> None:
    at = bytes(file.view[:4096]).index(b"REAL_TOPIC\x01orders") + len("REAL_TOPIC\x01")
    file.write_at(at, b"or/0rs", 0)


@pytest.mark.parametrize("more", [{}, {"DELAY": "1"}])
def test_message_for_the_schedule_topic_is_not_delayed_for_ever(more: dict[str, str]) -> None:
    with (
        fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq,
        TcpPeer(mq.broker("broker-a").addr) as peer,
    ):
        end = send(peer, 4, REAL_TOPIC="SCHEDULE_TOPIC_XXXX", REAL_QID="0", **more)
        mq.clock.advance("2s")
        ask(peer, RequestCode.END_TRANSACTION, end)
        mq.clock.advance("1h")
        assert len(mq.messages("SCHEDULE_TOPIC_XXXX")) <= 3
        send(peer, DELAY="1")
        mq.clock.advance("1s")
        assert mq.delayed() == []
        assert mq.messages("orders")[-1].properties["DELAY"] == "1"


def test_store_starts_when_its_log_has_such_names(tmp_path: Path) -> None:
    with fakemq.Cluster(store=str(tmp_path / "store"), topics={"orders": 1}) as mq:
        mq.seed("orders", ["bad", "good"])
        mq.inspect(lambda core: rename(core.brokers[NODE].store, 0, "../../"))
        mq.broker("broker-a").kill()
    for name in ("store", "copy"):
        start = {"store_from": str(tmp_path / "store")} if name == "copy" else {}
        with fakemq.Cluster(store=str(tmp_path / name), **start) as mq:  # type: ignore[arg-type]  # one option
            assert [message.body for message in mq.messages("orders")] == [b"good"]
            copy = mq.snapshot()
            mq.restore(copy)
            assert [message.body for message in mq.messages("orders")] == [b"good"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "store"]


@pytest.mark.parametrize("name", ["../x", "a/b", "a\0b", "/x", "é" * 127])
def test_broker_is_refused_when_its_name_is_no_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(fakemq.ConfigError, match=r"brokerName=.* cannot be the name of a folder"):
        fakemq.Cluster(store=str(tmp_path / "store"), config={"brokerName": name})
