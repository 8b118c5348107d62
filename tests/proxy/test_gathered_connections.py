"""What a connection of the front has gathered is walked in turns: calls, messages, answers."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from fakemq.clock.slices import SLICE_MS
from fakemq.net.grpc_session import GrpcSession
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.framing import framed
from fakemq.protocol.http2 import frames as f
from fakemq.protocol.http2.connection import PIECE_BYTES
from fakemq.protocol.http2.hpack import encode
from tests.support.proxy_lab import ProxyLab
from tests.support.session_lab import RecordingLink
from tests.support.slices import take_turns, work_in_turns

MANY = 20 * SLICE_MS
"""Each takes a step of a millisecond, so that all take some twenty turns."""


class TurningLink(RecordingLink):
    """A link on which another connection waits after each message."""

    yields = True

    def should_yield(self) -> bool:
        return self.yields


def telemetry(stream_id: int) -> bytes:
    path = "/apache.rocketmq.v2.MessagingService/Telemetry"
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path)]
    fields += [("content-type", "application/grpc"), ("te", "trailers"), ("x-mq-client-id", "c")]
    return f.frame(f.HEADERS, f.END_HEADERS, stream_id, encode(fields))


SMALL = framed(
    m.TelemetryCommand(settings=m.Settings(publishing=m.Publishing())).SerializeToString()
)


def test_messages_in_one_frame_are_taken_in_turns(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = TurningLink(outside=True)
    session = lab.proxy.accept(link)
    session.data_received(f.PREFACE + f.frame(f.SETTINGS, 0, 0) + telemetry(1))
    session.resume_processing()
    put = Mock(wraps=lab.proxy.settings.put)
    monkeypatch.setattr(lab.proxy.settings, "put", put)
    session.data_received(f.frame(f.DATA, f.END_STREAM, 1, SMALL * 10))
    assert put.call_count == 1
    for number in range(2, 11):
        session.resume_processing()
        assert put.call_count == number
    assert session.calls, "the end of the stream is behind its messages"
    session.resume_processing()
    assert not session.calls


def opened_at_once(lab: ProxyLab, link: TurningLink) -> tuple[GrpcSession, int]:
    """A connection whose peer has opened all its windows, and how much it has to get."""
    session = lab.proxy.accept(link)
    assert isinstance(session, GrpcSession)
    closed = f.frame(f.SETTINGS, 0, 0, f.SETTING.pack(f.INITIAL_WINDOW_SIZE, 0))
    calls = b"".join(telemetry(1 + 2 * one) for one in range(MANY))
    session.data_received(f.PREFACE + closed + calls)
    while session._left:
        session.resume_processing()
    for call in session.calls:
        session.send_message(call, framed(bytes(60_000)))
    link.written.clear()
    waiting_bytes = session.unfinished_bytes
    more = (f.WINDOW_MAX_BYTES - f.FIRST_WINDOW_BYTES).to_bytes(4, "big")
    wide = f.SETTING.pack(f.INITIAL_WINDOW_SIZE, f.WINDOW_MAX_BYTES)
    session.data_received(f.frame(f.WINDOW_UPDATE, 0, 0, more) + f.frame(f.SETTINGS, 0, 0, wide))
    return session, waiting_bytes - session.unfinished_bytes


def test_answers_whose_windows_open_at_once_leave_in_turns(lab: ProxyLab) -> None:
    link = TurningLink(outside=True)
    session, sent_bytes = opened_at_once(lab, link)
    turn_bytes = 2 * (PIECE_BYTES + f.FRAME_MAX_BYTES)
    assert 0 < sent_bytes <= turn_bytes
    turns = 0
    while session._http2.may_send:
        before = session._http2.queued_bytes
        session.resume_processing()
        assert 0 < before - session._http2.queued_bytes <= turn_bytes
        turns += 1
    assert turns >= MANY * 60_000 // turn_bytes
    assert sum(map(len, link.written)) > MANY * 60_000
    assert len(session.calls) == MANY


def test_answers_of_a_peer_that_does_not_read_wait_for_it(lab: ProxyLab) -> None:
    link = TurningLink(outside=True)
    session, _ = opened_at_once(lab, link)
    link.write_blocked = True
    before = session._http2.queued_bytes
    session.resume_processing()
    assert session._http2.queued_bytes == before
    link.write_blocked = link.yields = False
    session.resume_processing()
    assert session._http2.queued_bytes == 0


@pytest.mark.parametrize("how", ["close", "lost"])
def test_connection_ends_between_the_turns_of_its_answers(lab: ProxyLab, how: str) -> None:
    link = TurningLink(outside=True)
    session, _ = opened_at_once(lab, link)
    sent_bytes = sum(map(len, link.written))
    if how == "close":
        session.close("stopped")
        assert sum(map(len, link.written)) > MANY * 60_000, "what the windows allow"
    else:
        session.connection_lost()
        assert sum(map(len, link.written)) == sent_bytes
    session.resume_processing()
    assert session.closed
    assert session.unfinished_bytes == 0
    assert session not in lab.proxy.sessions


def test_connection_with_many_calls_ends_in_slices(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = lab.proxy.accept(RecordingLink(outside=True))
    assert isinstance(session, GrpcSession)
    calls = b"".join(
        telemetry(1 + 2 * one) + f.frame(f.DATA, 0, 1 + 2 * one, SMALL) for one in range(MANY)
    )
    session.data_received(f.PREFACE + f.frame(f.SETTINGS, 0, 0) + calls)
    ended = 0

    def closed() -> None:
        nonlocal ended
        ended += 1

    for call in session.calls:
        call.on_closed = closed
    assert len(session.calls) == MANY
    work_in_turns(lab.core.clock, monkeypatch)
    session.connection_lost()
    assert not session.calls
    assert ended <= SLICE_MS
    assert session in lab.proxy.sessions
    assert take_turns(lab.core.clock) >= 15
    assert ended == MANY
    assert session not in lab.proxy.sessions
