"""Channels: requests of peers, and peers that break the protocol."""

from __future__ import annotations

import logging

import pytest

from fakemq.client.carrier import Answer
from fakemq.client.carriers.connections import ChannelState
from fakemq.client.errors import RemotingSendRequestError
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from tests.support.channel_lab import ADDR, ChannelLab, Peer, codes


def test_request_of_a_peer_is_answered_over_its_connection() -> None:
    lab = ChannelLab()
    seen: list[tuple[str, int]] = []

    def on_request(addr: str, request: RemotingCommand, answer: Answer) -> None:
        seen.append((addr, request.code))
        answer(RemotingCommand(0, flag=FLAG_RESPONSE, opaque=request.opaque))
        answer(RemotingCommand(12, flag=FLAG_ONEWAY))

    lab.connections.on_request = on_request
    peer = lab.open()
    peer.send(RemotingCommand(40, opaque=5))
    response, oneway = peer.read()
    assert seen == [(ADDR, 40)]
    assert (response.is_response, response.opaque) == (True, 5)
    assert (oneway.code, oneway.is_oneway) == (12, True)


def test_failing_handler_leaves_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    lab = ChannelLab()

    def on_request(addr: str, request: RemotingCommand, answer: Answer) -> None:
        raise KeyError("a bug")

    lab.connections.on_request = on_request
    peer = lab.open()
    outcome = lab.request()
    (request,) = peer.read()
    peer.send(RemotingCommand(40), RemotingCommand(3, flag=FLAG_RESPONSE, opaque=request.opaque))
    assert codes([outcome]) == [3]
    assert "of 10.0.0.1:10911 failed" in caplog.text


def answering(lab: ChannelLab, body_bytes: int) -> Peer:
    def on_request(addr: str, request: RemotingCommand, answer: Answer) -> None:
        answer(RemotingCommand(0, body=bytes(body_bytes), flag=FLAG_RESPONSE))

    lab.connections.on_request = on_request
    return lab.open()


def test_peer_that_asks_and_never_reads_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    lab = ChannelLab(unsent_limit=10_000)
    peer = answering(lab, 4_000)
    outcome = lab.request()
    peer.send(*[RemotingCommand(40)] * 20)
    assert peer.channel.state is ChannelState.CLOSED
    assert codes([outcome]) == [RemotingSendRequestError]
    assert caplog.messages == [f"the connection to {ADDR} is closed: it reads no answers"]


def test_answer_that_fits_no_frame_closes_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    lab = ChannelLab()
    peer = answering(lab, 17 << 20)
    peer.send(RemotingCommand(40))
    assert peer.channel.state is ChannelState.CLOSED
    assert "no answer for" in caplog.text


def test_answer_after_the_end_of_its_connection_is_dropped() -> None:
    lab = ChannelLab()
    answers: list[Answer] = []
    lab.connections.on_request = lambda addr, request, answer: answers.append(answer)
    peer = lab.open()
    peer.send(RemotingCommand(40))
    peer.channel.lost()
    answers[0](RemotingCommand(0))
    assert not peer.channel.data_to_send()


def test_request_without_a_handler_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    lab = ChannelLab()
    peer = lab.open()
    with caplog.at_level(logging.DEBUG, "fakemq.client"):
        peer.send(RemotingCommand(40))
    assert "no handler" in caplog.text


@pytest.mark.parametrize(
    "data", [b"HTTP/1.1 200 OK\r\n\r\n", b"\x7f\xff\xff\xff", b"\xff" * 100, bytes(64)]
)
def test_peer_that_breaks_the_protocol_is_closed(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    lab = ChannelLab()
    peer = lab.open()
    outcome = lab.request()
    peer.channel.data_received(data)
    assert codes([outcome]) == [RemotingSendRequestError]
    assert f"the connection to {ADDR} is closed: " in caplog.text


def test_response_before_a_breach_of_the_protocol_counts() -> None:
    lab = ChannelLab()
    peer = lab.open()
    answered, lost = lab.request(1), lab.request(2)
    request, _ = peer.read()
    frame = peer.channel._codec.encode(
        RemotingCommand(1, flag=FLAG_RESPONSE, opaque=request.opaque)
    )
    peer.channel.data_received(frame + b"\xff" * 10)
    assert codes([answered, lost]) == [1, RemotingSendRequestError]
