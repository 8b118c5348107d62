"""What all requests to the control port together make it hold."""

from __future__ import annotations

import http.client
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

import fakemq
from fakemq.control import bodies, connection
from fakemq.control.port import ControlPort
from fakemq.control.results import Refusal
from tests.support.control import Http


def begun_body(mq: fakemq.Cluster, size_bytes: int) -> socket.socket:
    """Begin to seed with a body that has one byte more than this, which `last_byte` sends."""
    assert mq.control_url is not None
    place = urlsplit(mq.control_url)
    peer = socket.create_connection((place.hostname, place.port), 10)
    peer.sendall(
        b"POST /v1/topics/orders/messages HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % (size_bytes + 1) + b" " * size_bytes
    )
    return peer


def last_byte(peer: socket.socket) -> tuple[int, bytes]:
    """Send the byte that was missing; return the status and the body of the answer."""
    peer.sendall(b" ")
    answer = http.client.HTTPResponse(peer)
    answer.begin()
    return answer.status, answer.read()


def test_bodies_under_way_have_a_limit_together(
    mq: fakemq.Cluster, http_client: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "ALL_MAX_BYTES", 1 << 20)
    monkeypatch.setattr(connection, "REQUEST_S", 120.0)  # a busy machine may take its time
    (port,) = mq._running().server._services
    assert isinstance(port, ControlPort)
    counted = port._control.bodies

    def held(size_bytes: int) -> bool:
        return mq.inspect(lambda core: counted.total_bytes) == size_bytes - bodies.FREE_BYTES

    with ExitStack() as peers:
        largest = peers.enter_context(begun_body(mq, 900_000))
        mq.wait_for(lambda: held(900_000))
        smaller = peers.enter_context(begun_body(mq, 500_000))
        mq.wait_for(lambda: held(500_000))  # the largest is given up, and its memory free
        status, answer = last_byte(largest)
        assert status == 503
        assert b"all requests under way have over 1 MiB; send fewer" in answer
        body = {"bodies": ["x" * 300_000]}
        assert http_client.ask("POST", "/v1/topics/orders/messages", body).status == 200
        status, answer = last_byte(smaller)
        assert status == 400
        assert b"the body is no JSON" in answer
    mq.wait_for(lambda: mq.inspect(lambda core: counted.total_bytes) == 0)


def test_body_that_has_arrived_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "ALL_MAX_BYTES", 1 << 20)
    all_bodies = bodies.Bodies()
    with all_bodies.begin(1 << 20) as first, all_bodies.begin(1 << 20) as second:
        first.add(b"x" * 900_000)
        assert len(first.whole()) == 900_000
        second.add(b"x" * bodies.FREE_BYTES)
        with pytest.raises(Refusal, match="have over 1 MiB") as refused:
            second.add(b"x" * 300_000)
        assert refused.value.status == 503
        assert all_bodies.total_bytes == 900_000 - bodies.FREE_BYTES
    assert all_bodies.total_bytes == 0
