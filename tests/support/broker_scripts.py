"""What a broker can do to a client, whatever carries it."""

from __future__ import annotations

from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from tests.support.scripted_broker import BrokerEnd, respond

NOTIFY, RUNNING_INFO = 40, 307


def answers(peer: BrokerEnd) -> None:
    peer.send(respond(peer.receive()))


def asks_before_it_answers(peer: BrokerEnd) -> None:
    """Code 40, then a request that wants an answer, both with the opaque of the heartbeat."""
    request = peer.receive()
    peer.send(
        RemotingCommand(NOTIFY, flag=FLAG_ONEWAY, opaque=request.opaque),
        RemotingCommand(RUNNING_INFO, opaque=request.opaque),
        respond(request, 7),
    )
    response = peer.receive()
    assert (response.is_response, response.code, response.opaque) == (True, 3, request.opaque)


def answers_in_reverse(peer: BrokerEnd) -> None:
    first, second = peer.receive(), peer.receive()
    peer.send(respond(second, second.code), respond(first, first.code))


def stays_silent(peer: BrokerEnd) -> None:
    peer.receive()
    assert peer.socket.recv(1) == b"", "the client closes what gave no answer"


def hangs_up(peer: BrokerEnd) -> None:
    peer.receive()


def talks_nonsense(peer: BrokerEnd) -> None:
    peer.receive()
    peer.socket.sendall(b"HTTP/1.1 200 OK\r\n\r\n")


def answers_unasked(peer: BrokerEnd) -> None:
    request = peer.receive()
    late = respond(request, 9)
    late.opaque += 100
    peer.send(late, respond(request, 7))
