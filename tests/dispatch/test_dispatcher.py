"""From a request to its answer: which handler runs, and how errors are answered."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from fakemq.broker.broker import handles as broker_handles
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Parked, Refused, Reply, Request
from fakemq.dispatch.dispatcher import Dispatcher
from fakemq.dispatch.registry import Handlers
from fakemq.events import HandlerFailed, RequestHandled, Warned
from fakemq.faults.plan import FaultPlan
from fakemq.journal.journal import Journal
from fakemq.later import Later
from fakemq.net.link import Link
from fakemq.net.memory import MemoryNetwork
from fakemq.net.session import Session
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.headers.offset import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
)
from fakemq.protocol.limits import FRAME_MAX_BYTES
from fakemq.protocol.table import NoHeader
from fakemq.reference import V4_9_7
from tests.support.peer import Peer

ADDR = "127.0.0.1:10911"


class LabNode:
    """A node whose handlers a test writes."""

    name = "lab"
    reference = V4_9_7

    def __init__(self) -> None:
        clock = Clock(frozen=True)
        self.clock = NodeClock(clock, self.name)
        self.journal = Journal(clock)
        self.faults = FaultPlan(self.journal)
        self.network = MemoryNetwork()
        self.handles: Handlers[LabNode] = Handlers("tests")
        self.handles._loaded = True  # nothing to look for
        self.dispatcher = Dispatcher(
            self,
            self.handles,
            on_unknown=lambda code: Reply[NoHeader](
                code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f"do not know {code}"
            ),
            without=frozenset({RequestCode.PULL_MESSAGE}),
        )
        self.network.listen(ADDR, self.accept)
        self.peer = Peer(self.network, clock, self.journal, ADDR)

    def accept(self, link: Link) -> Session:
        return Session(link, self, self.dispatcher.dispatch)

    replicates_later = False

    def client_ids(self, session: Session) -> set[str]:
        return set()

    def session_closed(self, session: Session) -> None:
        pass


@pytest.fixture
def node() -> LabNode:
    return LabNode()


Max = Request[GetMaxOffsetRequestHeader]
ASK = GetMaxOffsetRequestHeader(topic="orders", queue_id=3)


def test_answer_has_the_serialisation_of_the_request(node: LabNode) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> Reply[GetMaxOffsetResponseHeader]:
        assert request.header.topic == "orders"
        assert request.body == b"body"
        header = GetMaxOffsetResponseHeader(offset=request.header.queue_id + 4)
        return Reply(header, body=b"answer", ext_fields={"more": "x"})

    for serialize_type in SerializeType:
        response = node.peer.ask(
            RequestCode.GET_MAX_OFFSET, ASK, b"body", serialize_type=serialize_type
        )
        assert (response.code, response.body) == (0, b"answer")
        assert response.ext_fields == {"offset": "7", "more": "x"}
        assert response.serialize_type is serialize_type
    handled = node.journal.find(RequestHandled, code=RequestCode.GET_MAX_OFFSET)
    assert [one.response_code for one in handled] == [0, 0]


def test_handler_may_answer_nothing(node: LabNode) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> None:
        return None

    assert not node.peer.send(RequestCode.GET_MAX_OFFSET, ASK).over
    assert node.journal.find(RequestHandled)[0].response_code is None


def test_oneway_request_is_handled_and_not_answered(node: LabNode) -> None:
    asked = []

    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> Reply[GetMaxOffsetResponseHeader]:
        asked.append(request.header.topic)
        return Reply(GetMaxOffsetResponseHeader(offset=1))

    node.peer.oneway(RequestCode.GET_MAX_OFFSET, ASK)
    assert asked == ["orders"]
    assert node.peer.requests == []
    assert node.journal.find(RequestHandled)[0].response_code is None


def test_unhandled_code_is_answered(node: LabNode) -> None:
    response = node.peer.ask(12345)
    assert (response.code, response.remark) == (3, "do not know 12345")


def test_unsupported_code_is_answered(node: LabNode) -> None:
    @node.handles(table.PULL_MESSAGE)
    def handler(node: LabNode, request: object) -> None:
        raise AssertionError("never called")

    assert node.peer.ask(RequestCode.PULL_MESSAGE).code == 3


# -- three kinds of error, three fates ----------------------------------------------------------


def test_refusal_is_answered(node: LabNode) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, "no such topic")

    response = node.peer.ask(RequestCode.GET_MAX_OFFSET, ASK)
    assert (response.code, response.remark) == (17, "no such topic")
    assert not node.journal.find(HandlerFailed)


@pytest.mark.parametrize("serialize_type", SerializeType)
def test_unreadable_header_is_answered_as_by_java(
    node: LabNode, serialize_type: SerializeType
) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> None:
        _ = request.header.queue_id

    response = node.peer.ask(
        RequestCode.GET_MAX_OFFSET, ext_fields={"topic": "orders"}, serialize_type=serialize_type
    )
    assert response.code == 1
    assert response.remark is not None
    assert response.remark.startswith("java.lang.NullPointerException: ")
    assert "queue_id" in response.remark
    assert response.serialize_type is SerializeType.JSON
    assert not node.journal.find(HandlerFailed), "the sender's fault, not ours"


def test_other_exception_is_a_bug(node: LabNode) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> None:
        raise ZeroDivisionError("ours")

    response = node.peer.ask(RequestCode.GET_MAX_OFFSET, ASK)
    assert response.code == 1
    assert response.remark == "java.lang.RuntimeException: ZeroDivisionError: ours, fakemq"
    (failed,) = node.journal.find(HandlerFailed)
    assert failed.code == RequestCode.GET_MAX_OFFSET
    assert failed.error == "ZeroDivisionError('ours')"
    assert "in handler" in failed.traceback
    assert node.peer.ask(RequestCode.GET_MAX_OFFSET, ASK).code == 1, "and it continues"


# -- answers that come later --------------------------------------------------------------------


def parked_at(node: LabNode) -> list[Parked[GetMaxOffsetResponseHeader]]:
    parked: list[Parked[GetMaxOffsetResponseHeader]] = []

    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> Parked[GetMaxOffsetResponseHeader]:
        parked.append(Later())
        return parked[-1]

    return parked


def test_parked_answer_is_sent_when_resolved(node: LabNode) -> None:
    parked = parked_at(node)
    answer = node.peer.send(RequestCode.GET_MAX_OFFSET, ASK)
    assert not answer.over
    assert not node.journal.find(RequestHandled)
    parked[0].resolve(Reply(GetMaxOffsetResponseHeader(offset=5)))
    parked[0].resolve(Reply(GetMaxOffsetResponseHeader(offset=6)))
    node.network.settle()
    assert answer.response is not None
    assert answer.response.ext_fields == {"offset": "5"}
    assert len(node.journal.find(RequestHandled)) == 1


def test_parked_answer_can_be_a_refusal_or_none(node: LabNode) -> None:
    parked = parked_at(node)
    refused = node.peer.send(RequestCode.GET_MAX_OFFSET, ASK)
    silent = node.peer.send(RequestCode.GET_MAX_OFFSET, ASK)
    parked[0].resolve(Refused(ResponseCode.SYSTEM_BUSY, "later"))
    parked[1].resolve(None)
    node.network.settle()
    assert refused.response is not None
    assert refused.response.code == ResponseCode.SYSTEM_BUSY
    assert not silent.over


def test_answer_resolved_before_parking_is_sent_at_once(node: LabNode) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> Parked[GetMaxOffsetResponseHeader]:
        parked: Parked[GetMaxOffsetResponseHeader] = Later()
        parked.resolve(Reply(GetMaxOffsetResponseHeader(offset=5)))
        return parked

    assert node.peer.ask(RequestCode.GET_MAX_OFFSET, ASK).ext_fields == {"offset": "5"}


def test_answer_of_a_long_handler_may_be_parked(node: LabNode) -> None:
    parked: Parked[GetMaxOffsetResponseHeader] = Later()

    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> Steps[Any]:
        yield
        return parked

    answer = node.peer.send(RequestCode.GET_MAX_OFFSET, ASK)
    assert not answer.over
    parked.resolve(Reply(GetMaxOffsetResponseHeader(offset=5)))
    node.network.settle()
    assert answer.response is not None
    assert answer.response.ext_fields == {"offset": "5"}


def test_parked_answer_to_a_closed_connection_is_dropped(node: LabNode) -> None:
    parked = parked_at(node)
    node.peer.send(RequestCode.GET_MAX_OFFSET, ASK)
    node.peer.close()
    parked[0].resolve(Reply(GetMaxOffsetResponseHeader(offset=5)))
    node.network.settle()


# -- registration -------------------------------------------------------------------------------


def test_code_is_handled_once(node: LabNode) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> None: ...

    with pytest.raises(
        LookupError, match=r"GET_MAX_OFFSET is handled twice: by .*test_dispatcher and"
    ):

        @node.handles(table.GET_MAX_OFFSET)
        def again(node: LabNode, request: Max) -> None: ...


def test_module_may_be_imported_again(node: LabNode) -> None:
    for _ in range(2):

        @node.handles(table.GET_MAX_OFFSET)
        def handler(node: LabNode, request: Max) -> None: ...


def test_handler_module_is_imported_with_the_first_request() -> None:
    # In a process of its own: here they have long been imported.
    code = """
import sys
from fakemq.namesrv.namesrv import handles
from fakemq.protocol.codes import RequestCode
def imported(): return sum(m.startswith("fakemq.namesrv.handlers.") for m in sys.modules)
assert imported() == 0
assert handles.find(RequestCode.GET_KV_CONFIG) and imported() == 1
assert handles.find(RequestCode.GET_KV_CONFIG) and imported() == 1
assert handles.find(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS), "in a module of another name"
assert imported() > 10
assert handles.find(9999) is None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_failing_import_is_not_taken_for_a_missing_handler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(name: str) -> object:
        raise ModuleNotFoundError("No module named 'lz4'", name="lz4")

    monkeypatch.setattr("fakemq.dispatch.registry.import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="lz4"):
        Handlers[LabNode]("tests").find(RequestCode.GET_MAX_OFFSET)


def test_every_handler_of_the_broker_exists() -> None:
    assert RequestCode.SEND_MESSAGE_V2 in broker_handles.load()


def test_oversized_answer_closes_the_connection_after_earlier_answers(
    node: LabNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    @node.handles(table.GET_MAX_OFFSET)
    def small(_: LabNode, request: object) -> Reply[GetMaxOffsetResponseHeader]:
        return Reply(GetMaxOffsetResponseHeader(offset=1))

    @node.handles(table.GET_ALL_TOPIC_CONFIG)
    def huge(_: LabNode, request: object) -> Reply[Any]:
        return Reply(body=bytes(FRAME_MAX_BYTES))

    received: list[int | None] = []
    requests = bytearray()
    monkeypatch.setattr(node.peer.session.link, "write", requests.extend)
    for code in (RequestCode.GET_MAX_OFFSET, RequestCode.GET_ALL_TOPIC_CONFIG, 30):
        fields = {"topic": "t", "queueId": "0"}
        node.peer.session.invoke(
            RemotingCommand(code, ext_fields=fields),
            1000,
            lambda answer: received.append(None if answer is None else answer.code),
        )
    monkeypatch.undo()
    node.peer.session.link.write(bytes(requests))  # in one batch
    node.network.settle()
    assert received == [ResponseCode.SUCCESS, None, None]
    (warned,) = node.journal.find(Warned)
    assert "cannot send the answer to GET_ALL_TOPIC_CONFIG" in warned.text
    assert f"{FRAME_MAX_BYTES} is the most" in warned.text
    assert not node.journal.find(HandlerFailed)


def test_waiting_request_keeps_only_what_its_answer_needs(node: LabNode) -> None:
    parked: Parked[GetMaxOffsetResponseHeader] = Later()
    requests: list[Max] = []

    @node.handles(table.GET_MAX_OFFSET)
    def handler(node: LabNode, request: Max) -> Parked[GetMaxOffsetResponseHeader]:
        requests.append(request)
        return parked

    sent = RemotingCommand(
        RequestCode.GET_MAX_OFFSET,
        ext_fields={"topic": "t" * 500, "queueId": "3", "more": "x" * 900},
        body=bytes(10_000),
        remark="r" * 700,
    )
    answer = node.peer.send_command(sent)
    (request,) = requests
    command, session = request.command, request.session
    assert (command.body, command.ext_fields, command.remark) == (b"", {}, None)
    assert request.header.topic == "t" * 500
    assert session.unfinished_bytes == 10_000 + 500 + 1 + 900, "whatever its handler keeps"
    parked.resolve(Reply(GetMaxOffsetResponseHeader(offset=7)))
    node.network.settle()
    assert session.unfinished_bytes == 0
    assert answer.response is not None
    assert answer.response.ext_fields == {"offset": "7"}
