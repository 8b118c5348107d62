"""What an admin asks of a consumer behind the front."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakemq.net.memory import MemoryNetwork
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.grpc import messages as m
from tests.support.peer import Peer
from tests.support.proxy_lab import Asked, FrontClient, ProxyLab, message


@pytest.fixture
def client(lab: ProxyLab) -> FrontClient:
    return lab.client()


@pytest.fixture
def stream(client: FrontClient) -> Asked:
    """The telemetry stream of a push consumer of group ``g``."""
    return client.consume(push=True)


class Admin:
    """An admin tool at the broker."""

    def __init__(self, lab: ProxyLab) -> None:
        core = lab.core
        network: MemoryNetwork = core.network
        self._lab = lab
        self._peer = Peer(network, core.clock, core.journal, lab.broker.addr, name="admin")
        self.answers: list[RemotingCommand | None] = []

    def ask(self, code: RequestCode, fields: dict[str, str], body: bytes = b"") -> None:
        command = RemotingCommand(code, ext_fields=fields, body=body)
        self._peer.session.invoke(command, 60_000, self.answers.append)
        self._lab.core.network.settle()

    @property
    def answer(self) -> RemotingCommand:
        self._lab.core.network.settle()
        (answer,) = self.answers
        assert answer is not None
        return answer


@pytest.fixture
def admin(lab: ProxyLab) -> Admin:
    return Admin(lab)


def stack_of(admin: Admin, client_id: str = "c1", jstack: str = "true") -> None:
    fields = {"consumerGroup": "g", "clientId": client_id, "jstackEnable": jstack}
    admin.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, fields)


def sent_to(stream: Asked, kind: str) -> Any:
    """The last command to the client."""
    command = stream.answers[-1]
    assert command.WhichOneof("command") == kind
    return getattr(command, kind)


def test_stack_trace_comes_from_the_client(stream: Asked, admin: Admin) -> None:
    stack_of(admin)
    nonce = sent_to(stream, "print_thread_stack_trace_command").nonce
    stream.call.on_message(
        m.TelemetryCommand(
            status=m.Status(code=m.Code.OK),
            thread_stack_trace=m.ThreadStackTrace(nonce=nonce, thread_stack_trace="main: …"),
        )
    )
    assert admin.answer.code == 0
    assert json.loads(admin.answer.body) == {"jstack": "main: …"}


@pytest.mark.parametrize(
    ("code", "answer", "remark"),
    [
        (m.Code.VERIFY_FIFO_MESSAGE_UNSUPPORTED, 16, "forbidden to verify message"),
        (m.Code.INTERNAL_ERROR, 1, "verify message failed"),
    ],
)
def test_client_that_has_no_stack_trace_says_so(
    stream: Asked, admin: Admin, code: Any, answer: int, remark: str
) -> None:
    stack_of(admin)
    nonce = sent_to(stream, "print_thread_stack_trace_command").nonce
    stream.call.on_message(
        m.TelemetryCommand(
            status=m.Status(code=code), thread_stack_trace=m.ThreadStackTrace(nonce=nonce)
        )
    )
    assert (admin.answer.code, admin.answer.remark) == (answer, remark)


def test_silent_client_is_waited_for_five_seconds(
    lab: ProxyLab, stream: Asked, admin: Admin
) -> None:
    stack_of(admin)
    lab.core.advance(4_900)
    assert not admin.answers
    lab.core.advance(200)
    assert (admin.answer.code, admin.answer.remark) == (2, "call remote timeout")


@pytest.mark.parametrize(("client_id", "jstack"), [("unknown", "true"), ("c1", "false")])
def test_other_requests_are_answered_as_without_the_front(
    stream: Asked, admin: Admin, client_id: str, jstack: str
) -> None:
    stack_of(admin, client_id, jstack)
    assert admin.answer.remark == f"The Consumer <g> <{client_id}> not online"
    assert len(stream.answers) == 1


@pytest.mark.parametrize(
    ("code", "result"),
    [(m.Code.OK, "CR_SUCCESS"), (m.Code.FAILED_TO_CONSUME_MESSAGE, "CR_LATER")],
)
def test_message_is_consumed_for_an_admin(
    client: FrontClient, stream: Asked, admin: Admin, code: Any, result: str
) -> None:
    client.send(message())
    (one,) = client.receive().received
    log_offset = int(one.system_properties.receipt_handle.split(" ")[8])
    msg_id = f"7F000001{20_000:08X}{log_offset:016X}"
    fields = {"consumerGroup": "g", "clientId": "c1", "msgId": msg_id, "brokerName": "broker-a"}
    admin.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
    command = sent_to(stream, "verify_message_command")
    assert (command.message.body, command.message.topic.name) == (b"x", "normal")
    verified = m.VerifyMessageResult(nonce=command.nonce)
    stream.call.on_message(
        m.TelemetryCommand(status=m.Status(code=code), verify_message_result=verified)
    )
    assert admin.answer.code == 0
    answer = json.loads(admin.answer.body)
    assert (answer["consumeResult"], answer["remark"]) == (result, "from gRPC client")


def test_answer_to_nothing_is_ignored(stream: Asked) -> None:
    trace = m.ThreadStackTrace(nonce="77")
    stream.call.on_message(m.TelemetryCommand(thread_stack_trace=trace))
    assert (len(stream.answers), stream.status) == (1, None)


def test_only_the_client_that_was_asked_answers_and_only_what_it_was_asked(
    lab: ProxyLab, stream: Asked, admin: Admin
) -> None:
    other = lab.client("c2").consume(push=True)
    stack_of(admin)
    nonce = sent_to(stream, "print_thread_stack_trace_command").nonce
    status = m.Status(code=m.Code.OK)
    trace = m.ThreadStackTrace(nonce=nonce, thread_stack_trace="of another client")
    other.call.on_message(m.TelemetryCommand(status=status, thread_stack_trace=trace))
    verified = m.VerifyMessageResult(nonce=nonce)
    stream.call.on_message(m.TelemetryCommand(status=status, verify_message_result=verified))
    lab.core.network.settle()
    assert not admin.answers
    trace.thread_stack_trace = "its own"
    stream.call.on_message(m.TelemetryCommand(status=status, thread_stack_trace=trace))
    assert json.loads(admin.answer.body) == {"jstack": "its own"}
