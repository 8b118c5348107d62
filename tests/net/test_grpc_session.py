"""One gRPC connection: calls, their ends, deadlines, flow control; by hand, without a network."""

# Over 400 lines: every way that a call or its connection ends, over one scripted client.

from __future__ import annotations

import gzip

import pytest

from fakemq.events import HandlerFailed, LinkClosed, LinkOpened, Warned
from fakemq.net.grpc_session import CALL_BYTES, IDLE_MS
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.framing import framed
from fakemq.protocol.grpc.rpc import REQUEST_MAX_BYTES
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.grpc.table import SEND_MAX_BYTES
from fakemq.protocol.http2.connection import ALLOWANCE, RESET_COST
from tests.support.grpc_lab import GrpcLab


@pytest.fixture
def lab() -> GrpcLab:
    return GrpcLab()


# -- calls ------------------------------------------------------------------------------------


def test_unary_call_is_answered_with_message_and_status(lab: GrpcLab) -> None:
    answer = lab.send("01AB")
    assert answer.headers[":status"] == "200"
    assert answer.headers["content-type"] == "application/grpc"
    (data,) = answer.messages
    assert m.SendMessageResponse.FromString(data).entries[0].message_id == "01AB"
    assert answer.trailers == {"grpc-status": "0"}
    assert lab.calls[0].closed
    assert lab.session.calls == []
    assert lab.journal.find(LinkOpened)


def test_metadata_of_a_call_are_its_headers(lab: GrpcLab) -> None:
    lab.ask("ReceiveMessage", m.ReceiveMessageRequest(), {"x-mq-client-id": "me@1"})
    (call,) = lab.calls
    assert call.metadata["x-mq-client-id"] == "me@1"
    assert (call.remote_addr, call.local_addr, call.outside) == ("there:2", "here:1", True)
    assert call.remaining_ms() is None


def test_call_is_answered_later(lab: GrpcLab) -> None:
    stream_id, call = lab.receive()
    assert not lab.answers[stream_id].headers
    call.send(m.ReceiveMessageResponse(status=m.Status(code=m.Code.OK)))
    call.end()
    call.end(GrpcStatus.INTERNAL)  # it is over already
    answer = lab.exchange()[stream_id]
    assert len(answer.messages) == 1
    assert answer.status == "0"


def test_answers_of_one_batch_are_one_write(lab: GrpcLab) -> None:
    message = framed(m.SendMessageRequest(messages=[m.Message()]).SerializeToString())
    for _ in range(3):
        lab.write(lab.begin("SendMessage"), message, end=True)
    lab.link.written.clear()
    lab.session.data_received(lab.client.data_to_send())
    assert len(lab.link.written) == 1


def test_stream_of_requests_is_read_until_its_end(lab: GrpcLab) -> None:
    stream_id = lab.begin("Telemetry")
    lab.exchange()
    assert lab.calls == []
    command = framed(m.TelemetryCommand(settings=m.Settings()).SerializeToString())
    lab.write(stream_id, command)
    lab.exchange()
    (call,) = lab.calls
    received: list[str] = []
    call.on_message = lambda message: received.append(message.WhichOneof("command"))
    call.on_half_close = lambda: received.append("end")
    lab.write(stream_id, command * 2, end=True)
    lab.exchange()
    assert received == ["settings", "settings", "end"]
    call.end()
    assert lab.exchange()[stream_id].status == "0"


def test_call_ended_before_its_caller_is_reset_with_no_error(lab: GrpcLab) -> None:
    stream_id = lab.begin("Telemetry")
    lab.write(stream_id, framed(m.TelemetryCommand(settings=m.Settings()).SerializeToString()))
    lab.exchange()
    lab.calls[0].end(GrpcStatus.INVALID_ARGUMENT, "50% nothing")
    answer = lab.exchange()[stream_id]
    assert (answer.status, answer.text) == ("3", "50%25 nothing")
    assert answer.reset == 0


# -- refusals ---------------------------------------------------------------------------------


def test_unknown_method_is_unimplemented(lab: GrpcLab) -> None:
    stream_id = lab.begin("/apache.rocketmq.v2.MessagingService/Nix", end=True)
    answer = lab.exchange()[stream_id]
    assert answer.status == "12"
    assert answer.text == "Method not found: apache.rocketmq.v2.MessagingService/Nix"


def test_unary_call_without_a_message_is_refused(lab: GrpcLab) -> None:
    stream_id = lab.begin("SendMessage", end=True)
    answer = lab.exchange()[stream_id]
    assert (answer.status, answer.text) == ("13", "Half-closed without a request")


def test_unary_call_with_two_messages_is_refused(lab: GrpcLab) -> None:
    stream_id = lab.begin("SendMessage")
    lab.write(stream_id, framed(b"") * 2, end=True)
    answer = lab.exchange()[stream_id]
    assert (answer.status, answer.text) == ("13", "Too many requests")


def test_message_that_is_no_protobuf_ends_only_its_call(lab: GrpcLab) -> None:
    stream_id = lab.begin("SendMessage")
    lab.write(stream_id, framed(b"\xff"), end=True)
    assert lab.exchange()[stream_id].status == "2"
    assert lab.send().status == "0"


def test_error_of_a_handler_ends_only_its_call(lab: GrpcLab) -> None:
    answer = lab.ask("QueryRoute", m.QueryRouteRequest())
    assert (answer.status, answer.text) == ("2", "Application error processing RPC")
    (failed,) = lab.journal.find(HandlerFailed)
    assert "a defect" in failed.error
    assert lab.send().status == "0"


REFUSED = {
    "no content type": ({"content-type": ""}, "415", "13", "Content-Type '' is not supported"),
    "text": (
        {"content-type": "text/plain"},
        "415",
        "13",
        "Content-Type 'text/plain' is not supported",
    ),
    "grpc-web": (
        {"content-type": "application/grpc-web"},
        *("415", "13", "Content-Type 'application/grpc-web' is not supported"),
    ),
    "GET": ({":method": "GET"}, "405", "13", "Method 'GET' is not supported"),
    "no slash": ({":path": "x"}, "404", "12", "Expected path to start with /: x"),
    "unknown encoding": (
        {"grpc-encoding": "snappy"},
        *("200", "12", "Can't find decompressor for snappy"),
    ),
}
"""As a proxy of 5.5.0 answers them."""


@pytest.mark.parametrize(
    ("headers", "http_status", "status", "text"), REFUSED.values(), ids=REFUSED
)
def test_request_that_is_no_grpc_is_refused(
    lab: GrpcLab, headers: dict[str, str], http_status: str, status: str, text: str
) -> None:
    answer = lab.answers.get(lab.begin("SendMessage", headers))
    lab.exchange()
    assert answer is not None
    assert answer.headers[":status"] == http_status
    assert (answer.status, answer.text, answer.reset) == (status, text, 0)
    assert lab.calls == []
    assert lab.send().status == "0"


@pytest.mark.parametrize("kind", ["application/grpc+proto", "application/grpc;charset=utf-8"])
def test_kinds_of_grpc_are_taken(lab: GrpcLab, kind: str) -> None:
    answer = lab.ask(
        "SendMessage", m.SendMessageRequest(messages=[m.Message()]), {"content-type": kind}
    )
    assert answer.status == "0"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\x02\0\0\0\0", "identity"),
        (b"\x01\0\0\0\0", "identity"),
        (b"\x01\0\0\0\x01x", "gzip"),
        (b"\0\x7f\xff\xff\xff", "identity"),
        (b"\0\0\0\0\x05x", "identity"),
    ],
    ids=["flag", "not announced", "no gzip", "too long", "cut"],
)
def test_stream_of_a_message_that_cannot_be_read_is_reset(
    lab: GrpcLab, data: bytes, encoding: str
) -> None:
    stream_id = lab.begin("SendMessage", {"grpc-encoding": encoding})
    lab.write(stream_id, data, end=True)
    assert lab.exchange()[stream_id].reset == 8
    assert lab.session.unfinished_bytes == 0
    assert lab.send().status == "0"


@pytest.mark.parametrize(
    ("rpc", "most_bytes"), [("AckMessage", REQUEST_MAX_BYTES), ("SendMessage", SEND_MAX_BYTES)]
)
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "compressed"])
def test_request_has_a_largest_size(lab: GrpcLab, rpc: str, most_bytes: int, zipped: bool) -> None:
    """Compressed it is small, and as large as others once it is read."""

    def prefixed(size_bytes: int) -> bytes:
        data = gzip.compress(bytes(size_bytes)) if zipped else bytes(100)
        length = len(data) if zipped else size_bytes
        return bytes([zipped]) + length.to_bytes(4, "big") + data

    for size_bytes, code in ((most_bytes, None), (most_bytes + 1, 8)):
        stream_id = lab.begin(rpc, {"grpc-encoding": "gzip"})
        lab.write(stream_id, prefixed(size_bytes))
        assert lab.exchange()[stream_id].reset == code


def test_request_and_its_fields_count_until_the_call_is_over(lab: GrpcLab) -> None:
    request = m.ReceiveMessageRequest(attempt_id="x" * 5_000)
    lab.ask("ReceiveMessage", request, {"x-mq-client-id": "y" * 3_000})
    held_bytes = lab.session.unfinished_bytes
    assert held_bytes > CALL_BYTES + 5_000 + 3_000
    lab.ask("ReceiveMessage", request, {"x-mq-client-id": "y" * 3_000})
    assert lab.session.unfinished_bytes == 2 * held_bytes
    for call in list(lab.session.calls):
        call.end()
    assert lab.session.unfinished_bytes == 0


@pytest.mark.parametrize(("timeout", "code"), [("abc", 2), ("0n", 8)])
def test_stream_with_no_time_left_is_reset(lab: GrpcLab, timeout: str, code: int) -> None:
    stream_id = lab.begin("SendMessage", {"grpc-timeout": timeout})
    assert lab.exchange()[stream_id].reset == code


def test_peer_with_too_many_useless_frames_loses_its_connection_with_one_warning(
    lab: GrpcLab,
) -> None:
    lab.send()
    for _ in range(3):
        lab.session.data_received(b"\0\0\x08\x06\0\0\0\0\0" + bytes(8))
    assert not lab.gone
    lab.session.data_received((b"\0\0\x08\x06\0\0\0\0\0" + bytes(8)) * 10_001)
    assert lab.gone == [lab.session]
    (warned,) = lab.journal.find(Warned)
    assert "too many frames that carry no request" in warned.text


@pytest.mark.parametrize("wrong", ["timeout", "flag", "cut"])
def test_peer_with_too_many_wrong_calls_loses_its_connection(lab: GrpcLab, wrong: str) -> None:
    for number in range(ALLOWANCE // RESET_COST + 1):
        stream_id = lab.begin("SendMessage", {"grpc-timeout": "x" if wrong == "timeout" else "5S"})
        if wrong != "timeout":
            data = b"\x02\0\0\0\0" if wrong == "flag" else b"\0\0"
            lab.write(stream_id, data, end=True)
        if number % 100 == 0:
            lab.exchange()
    assert not lab.gone
    lab.exchange()
    lab.begin("SendMessage")
    lab.exchange()
    assert lab.gone == [lab.session]
    (warned,) = lab.journal.find(Warned)
    assert "too many frames that carry no request" in warned.text


def test_peer_gets_a_new_allowance_each_second(lab: GrpcLab) -> None:
    lab.send()
    for _ in range(3):
        lab.session.data_received((b"\0\0\x08\x06\x01\0\0\0\0" + bytes(8)) * 9_000)
        lab.time.passed_ms += 1_000
    assert not lab.gone


# -- the end of calls -------------------------------------------------------------------------


def test_call_that_is_given_up_calls_on_closed(lab: GrpcLab) -> None:
    stream_id, call = lab.receive()
    notified: list[bool] = []
    call.on_closed = lambda: notified.append(call.closed)
    lab.client.reset_stream(stream_id, 8)
    lab.exchange()
    assert notified == [True]
    call.send(m.ReceiveMessageResponse())
    call.end()
    lab.exchange()
    assert not lab.answers[stream_id].data


def test_call_is_over_at_its_deadline(lab: GrpcLab) -> None:
    lab.ask("ReceiveMessage", m.ReceiveMessageRequest(), {"grpc-timeout": "5S"})
    (call,) = lab.calls
    notified: list[bool] = []
    call.on_closed = lambda: notified.append(True)
    assert call.remaining_ms() == 5_000
    lab.time.passed_ms += 3_000
    assert call.remaining_ms() == 2_000
    lab.time.passed_ms += 2_000
    lab.real.fire_due()
    assert notified == [True]
    assert lab.exchange()[1].reset == 8
    assert call.remaining_ms() == 0


@pytest.mark.parametrize("rpc", ["SendMessage", "Telemetry"])
@pytest.mark.parametrize("part", [b"", b"\0\0\0\0\x05x"], ids=["nothing", "a part"])
def test_call_whose_request_does_not_come_is_over_at_its_deadline(
    lab: GrpcLab, rpc: str, part: bytes
) -> None:
    stream_id = lab.begin(rpc, {"grpc-timeout": "5S"})
    lab.write(stream_id, part)
    lab.exchange()
    lab.time.passed_ms += 4_999
    lab.real.fire_due()
    assert len(lab.session.calls) == 1
    lab.time.passed_ms += 1
    lab.real.fire_due()
    assert lab.session.calls == []
    assert lab.exchange()[stream_id].reset == 8
    lab.time.passed_ms += IDLE_MS
    lab.real.fire_due()
    assert lab.gone == [lab.session]


def test_call_whose_request_comes_late_has_one_deadline(lab: GrpcLab) -> None:
    stream_id = lab.begin("ReceiveMessage", {"grpc-timeout": "5S"})
    lab.exchange()
    lab.time.passed_ms += 3_000
    lab.write(stream_id, framed(b""), end=True)
    lab.exchange()
    (call,) = lab.calls
    assert call.remaining_ms() == 2_000
    assert [one.kind for one in lab.real.timers()].count("grpc_deadline") == 1
    lab.time.passed_ms += 2_000
    lab.real.fire_due()
    assert lab.exchange()[stream_id].reset == 8


def test_lost_link_closes_every_call_and_the_session(lab: GrpcLab) -> None:
    _, call = lab.receive()
    notified: list[bool] = []
    call.on_closed = lambda: notified.append(True)
    lab.session.connection_lost()
    lab.session.connection_lost()
    assert notified == [True]
    assert lab.gone == [lab.session]
    assert [one.why for one in lab.journal.find(LinkClosed)] == ["closed by the peer"]
    assert lab.real.timers() == []


def test_lost_connection_holds_nothing(lab: GrpcLab) -> None:
    lab.acknowledges = False
    _, call = lab.receive()
    call.send(m.ReceiveMessageResponse(message=m.Message(body=bytes(200_000))))
    lab.session.data_received(b"\0\0\x08")
    lab.session.connection_lost()
    assert lab.session.unfinished_bytes == 0


# -- flow control -----------------------------------------------------------------------------


def test_large_answer_waits_for_the_window_of_its_caller(lab: GrpcLab) -> None:
    lab.acknowledges = False
    stream_id, call = lab.receive()
    drained: list[bool] = []
    call.on_drained = lambda: drained.append(call.write_blocked)
    message = m.ReceiveMessageResponse(message=m.Message(body=bytes(200_000)))
    call.send(message)
    assert call.write_blocked
    call.end()
    lab.exchange()
    assert len(lab.answers[stream_id].data) == 65_535
    assert lab.session.unfinished_bytes > 130_000
    lab.client.increment_flow_control_window(1_000_000)
    lab.client.increment_flow_control_window(1_000_000, stream_id)
    answer = lab.exchange()[stream_id]
    (data,) = answer.messages
    assert m.ReceiveMessageResponse.FromString(data) == message
    assert answer.status == "0"
    assert lab.session.unfinished_bytes == 0


def test_drained_call_is_notified(lab: GrpcLab) -> None:
    lab.acknowledges = False
    _, call = lab.receive()
    drained: list[bool] = []
    call.on_drained = lambda: drained.append(call.write_blocked)
    call.send(m.ReceiveMessageResponse(message=m.Message(body=bytes(200_000))))
    lab.exchange()
    lab.client.increment_flow_control_window(1_000_000)
    lab.client.increment_flow_control_window(1_000_000, 1)
    lab.exchange()
    assert drained == [False]


# -- the end of the connection ----------------------------------------------------------------


def test_bytes_that_are_no_http2_close_the_connection_with_a_warning(lab: GrpcLab) -> None:
    lab.session.data_received(b"GET / HTTP/1.1\r\n\r\n")
    assert lab.link.closed
    (warned,) = lab.journal.find(Warned)
    assert warned.text.startswith("closed the connection of there:2: ")


def test_idle_connection_gets_a_goaway(lab: GrpcLab) -> None:
    lab.send()
    lab.time.passed_ms += IDLE_MS - 1
    lab.real.fire_due()
    assert not lab.gone
    lab.time.passed_ms += 1
    lab.real.fire_due()
    assert lab.gone == [lab.session]
    lab.read()
    assert lab.goodbye is not None
    assert lab.goodbye.error_code == 0


def test_connection_with_an_open_call_is_not_idle(lab: GrpcLab) -> None:
    _, call = lab.receive()
    for _ in range(3):
        lab.time.passed_ms += IDLE_MS
        lab.real.fire_due()
    assert not lab.gone
    call.end()
    lab.time.passed_ms += IDLE_MS
    lab.real.fire_due()
    assert lab.gone == [lab.session]


@pytest.mark.parametrize("whole", [True, False])
def test_peer_that_takes_no_answers_loses_its_connection_with_one_warning(
    lab: GrpcLab, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    monkeypatch.setattr("fakemq.net.grpc_session.UNREAD_MAX_BYTES", 200_000)
    _, call = lab.receive()
    large = m.ReceiveMessageResponse(message=m.Message(body=b"x" * 300_000))
    if whole:
        call.reply(large)
    else:
        call.send(large)
    assert lab.gone == [lab.session]
    assert call.closed
    (warned,) = lab.journal.find(Warned)
    assert "wait for the windows of the peer; 200000 is the most" in warned.text
