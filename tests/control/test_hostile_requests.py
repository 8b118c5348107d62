"""The control port under requests that no honest client sends: refused, and never a bug."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import msgspec
import pytest

import fakemq
from fakemq.clock.slices import Steps
from fakemq.control import connection as connections
from fakemq.control.port import ControlPort
from fakemq.control.routes import ENDPOINTS
from fakemq.core import inspection
from fakemq.core.views import Message
from fakemq.events import HandlerFailed
from fakemq.events.core import Warned
from fakemq.serving import listener
from tests.support.control import Http


@pytest.fixture(autouse=True)
def _no_bug(mq: fakemq.Cluster) -> Iterator[None]:
    """Every test ends with a port that answers, and a journal without bugs."""
    yield
    assert mq.control_url is not None
    assert Http(mq.control_url).get("/v1/clock")
    failed = mq.journal.find(HandlerFailed)
    assert not failed, failed[0].traceback


def connect(mq: fakemq.Cluster, receive_bytes: int = 65_536) -> socket.socket:
    assert mq.control_url is not None
    host, _, port = mq.control_url.removeprefix("http://").rpartition(":")
    peer = socket.socket()
    peer.settimeout(10)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    peer.connect((host, int(port)))
    return peer


def replies(peer: socket.socket) -> bytes:
    """Return everything up to the end of the connection."""
    parts = []
    try:
        while data := peer.recv(65536):
            parts.append(data)
    except ConnectionResetError:  # the port closed with bytes of ours unread
        pass
    return b"".join(parts)


def statuses(mq: fakemq.Cluster, *requests: bytes) -> list[int]:
    """Send bytes and return the statuses of all answers, up to the end of the connection."""
    with connect(mq) as peer:
        with suppress(OSError):  # the port refused, and closed, before it had read it all
            peer.sendall(b"".join(requests))
            peer.shutdown(socket.SHUT_WR)
        return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+) ", replies(peer))]


def request(head: bytes, *headers: bytes, body: bytes = b"", host: bytes = b"localhost") -> bytes:
    lines = [head + b" HTTP/1.1", b"Host: " + host, b"Connection: close", *headers]
    if body:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


GET = b"GET /v1/clock"
JSON_TYPE = b"Content-Type: application/json\r\n"

# -- hosts and targets ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *(b"user@127.0.0.1", b"evil.example:80@127.0.0.1", b"127.0.0.1:x", b"127.0.0.1:0"),
        *(b"127.0.0.1:65536", b"127.0.0.1:1:1", b"127.0.0.1/", b"127.0.0.1#", b"localhost."),
        *(b"[::1", b"[::1]]", b"::1", b"127.0.0.1 evil", b"127.1", b"2130706433", b"\xff"),
    ],
)
def test_host_of_any_other_form_is_refused(mq: fakemq.Cluster, host: bytes) -> None:
    with connect(mq) as peer:
        peer.sendall(request(GET, host=host))
        assert replies(peer).startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))


def test_several_hosts_are_refused(mq: fakemq.Cluster) -> None:
    with connect(mq) as peer:
        peer.sendall(request(GET, b"Host: localhost"))
        answer = replies(peer)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b'{"error":"this is no valid HTTP request"}')


def test_unknown_path_with_an_odd_host_is_refused(mq: fakemq.Cluster) -> None:
    for host in (b"[", b"[::1", b"a:b:c"):
        for path in (b"GET /nowhere", b"GET /rocketmq/nsaddr"):
            with connect(mq) as peer:
                peer.sendall(request(path, host=host))
                assert replies(peer).startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 200 "))


def test_absolute_target_is_refused(mq: fakemq.Cluster) -> None:
    for target in (b"http://evil.example/v1/clock", b"http://localhost/v1/clock", b"*", b"evil:80"):
        with connect(mq) as peer:
            peer.sendall(request(b"GET " + target))
            answer = replies(peer)
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"this is no proxy" in answer


# -- methods, paths, queries ----------------------------------------------------------------------


def test_method_of_any_name_is_answered(mq: fakemq.Cluster) -> None:
    for method in (b"TRACE", b"CONNECT", b"OPTIONS", b"BREW", b"get"):
        with connect(mq) as peer:
            peer.sendall(request(method + b" /v1/clock"))
            answer = replies(peer)
        assert answer.startswith(b"HTTP/1.1 405 ")
        assert b'{"error":' in answer
    with connect(mq) as peer:
        peer.sendall(request(b"HEAD /v1/clock"))
        assert replies(peer).endswith(b"\r\n\r\n")


@pytest.mark.parametrize("path", ["%ff", "%ed%a0%80", "a%80"])
def test_path_that_is_not_utf8_is_refused(http_client: Http, path: str) -> None:
    answer = http_client.ask("GET", f"/v1/topics/{path}")
    assert (answer.status, answer.error) == (400, f"the path /v1/topics/{path} is not UTF-8")


@pytest.mark.parametrize("path", ["..", "%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%00"])
def test_path_never_leaves_its_endpoint(http_client: Http, path: str) -> None:
    for start in ("/v1/topics/", "/v1/brokers/", "/v1/snapshots/", "/v1/faults/"):
        assert http_client.ask("GET", start + path).status in (400, 404, 405)


@pytest.mark.parametrize("query", ["kind=%ff", "limit=%ff", "%ff=1", "limit=" + "9" * 5000, "a=1"])
def test_odd_query_is_refused(http_client: Http, query: str) -> None:
    assert http_client.ask("GET", f"/v1/journal?{query}").status == 400


# -- bodies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"fault":"silence","args":' + b"[" * 100_000, "got `array`"),
        (b'{"fault":"silence","args":[' + b'{"a":' * 100_000, "got `object`"),
        (b'{"fault":"silence","args":[1e400]}', "Number out of range"),
        (b'{"fault":"silence","args":[NaN]}', "the body is no JSON"),
        (b'{"fault":"silence","args":[' + b"9" * 5000 + b"]}", "out of range"),
        (b'{"fault":"silence","args":[9223372036854775808]}', "Expected `int` <= 9223372036854775"),
        (b'{"fault":"silence","fault":"silence"}', "the body has 'fault' twice in one object"),
        (b'{"fault":"silence","kwargs":{"a":1,"a":2}}', "the body has 'a' twice in one object"),
        (b'{"fault":"\\ud800"}', "the body is no JSON"),
        (b'{"fault":"\xed\xa0\x80"}', "the body is no JSON"),
        (b'{"fault":"' + b"a" * 1_000_000 + b'"}', "there is no fault 'aaa"),
    ],
    ids=lambda value: str(value[:30]),
)
def test_odd_json_is_refused(http_client: Http, body: bytes, why: str) -> None:
    answer = http_client.ask("POST", "/v1/faults", body)
    assert answer.status == 400
    assert why in answer.error
    assert len(answer.error) < 5_000


def test_numbers_of_every_body_and_query_have_limits() -> None:
    def unlimited(kind: msgspec.inspect.Type, where: str, seen: set[type]) -> Iterator[str]:
        if isinstance(kind, msgspec.inspect.IntType) and None in (kind.ge, kind.le):
            yield where
        elif isinstance(kind, msgspec.inspect.StructType) and kind.cls not in seen:
            seen.add(kind.cls)
            for field in kind.fields:
                yield from unlimited(field.type, f"{where}.{field.name}", seen)
        for name in ("types", "item_types"):
            for one in getattr(kind, name, ()):
                yield from unlimited(one, where, seen)
        for name in ("item_type", "value_type"):
            if hasattr(kind, name):
                yield from unlimited(getattr(kind, name), where, seen)

    found = [
        name
        for one in ENDPOINTS
        for kind in (one.body, one.query)
        if kind is not None
        for name in unlimited(msgspec.inspect.type_info(kind), one.name, set())
    ]
    assert found == []


# -- HTTP itself ----------------------------------------------------------------------------------

CHUNKED = b"Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    "sent",
    [
        request(b"POST /v1/reset", CHUNKED) + b"zz\r\n",
        request(b"POST /v1/reset", CHUNKED) + b"-1\r\n\r\n",
        request(b"POST /v1/reset", CHUNKED) + b"f" * 30 + b"\r\n",
        request(b"POST /v1/reset", CHUNKED) + b"1;" + b"a" * 70_000,
        request(b"POST /v1/reset", CHUNKED, b"Content-Length: 1") + b"zz\r\n",
        request(b"POST /v1/reset", b"Content-Length: -1"),
        request(b"POST /v1/reset", b"Content-Length: 1", b"Content-Length: 2"),
        request(b"POST /v1/reset", b"Content-Length: " + b"9" * 5000),
        request(b"POST /v1/reset", b"Transfer-Encoding: gzip"),
        request(b"GET /v1/clock", b"a: " + b"b" * 200_000),
        request(b"GET /v1/clock", b"a\x00: b"),
        request(b"GET /" + b"a" * 200_000),
        b"GET /v1/clock HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n" * 5_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=lambda sent: repr(sent[-40:]),
)
def test_odd_http_is_refused(mq: fakemq.Cluster, sent: bytes) -> None:
    assert set(statuses(mq, sent)) <= {400, 403, 404, 413}


def test_bad_chunk_behind_an_answer_ends_the_connection(mq: fakemq.Cluster) -> None:
    """The answer, a refusal, is complete before the body arrives."""
    with connect(mq) as peer:
        peer.sendall(b"POST /v1/reset HTTP/1.1\r\nHost: evil.example\r\n" + CHUNKED + b"\r\n\r\n")
        assert peer.recv(65536).startswith(b"HTTP/1.1 403 ")
        peer.sendall(b"zz\r\n")
        assert b"500" not in replies(peer)


def test_requests_of_a_pipeline_are_answered_in_order(mq: fakemq.Cluster) -> None:
    head = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(mq) as peer:
        peer.sendall(GET + head + b"GET /nowhere" + head + request(GET))
        found = re.findall(rb"HTTP/1\.1 (\d+) ", replies(peer))
    assert found == [b"200", b"404", b"200"]


def test_body_that_is_shorter_or_longer_than_it_says_changes_nothing(mq: fakemq.Cluster) -> None:
    before_ms = mq.clock.now_ms()
    body = b'{"duration": "1h"}'
    head = b"POST /v1/clock/advance HTTP/1.1\r\nHost: localhost\r\n" + JSON_TYPE
    head += b"Content-Length: %d\r\n\r\n"
    assert statuses(mq, head % (len(body) + 1), body) == []
    with connect(mq) as peer:
        peer.sendall(head % (len(body) - 1) + body)
        assert peer.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert mq.clock.now_ms() == before_ms


# -- slow peers, and many -------------------------------------------------------------------------


HALF_POST = b"POST /v1/reset HTTP/1.1\r\nHost: localhost\r\n" + JSON_TYPE


@pytest.mark.parametrize(
    "half",
    [
        b"GET /v1/cl",
        b"GET /v1/clock HTTP/1.1\r\nHost: loc",
        HALF_POST + b"Content-Length: 10\r\n\r\n{",
        HALF_POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        request(GET).replace(b"Connection: close\r\n", b"") + b"GET",
    ],
)
def test_half_a_request_ends_in_time(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch, half: bytes
) -> None:
    monkeypatch.setattr(connections, "REQUEST_S", 0.05)
    with connect(mq) as peer:
        peer.sendall(half)
        answer = replies(peer)
    text = b'{"error":"the request did not arrive within 0.05 s"}'
    assert answer.endswith(text)
    assert b"HTTP/1.1 408 " in answer
    assert [one.text for one in mq.journal.find(Warned)] == [
        "the request did not arrive within 0.05 s"
    ]


def test_connection_without_a_request_ends_in_time(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_S", 0.05)
    with connect(mq) as peer:
        assert replies(peer) == b""


def test_request_that_waits_is_not_half_a_request(
    http_client: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_S", 0.02)
    body = {"messages": {"topic": "orders"}, "timeout": "100ms"}
    answer = http_client.ask("POST", "/v1/wait-for", body)
    assert answer.status == 408
    assert answer.error == "not after 100 ms of real time: messages is 0, wanted at least 1"


def test_peer_that_does_not_read_its_answer_is_dropped(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ANSWER_S", 0.05)
    mq.seed("orders", [b"x" * 3_000_000] * 4)
    with connect(mq, receive_bytes=4096) as peer:
        peer.sendall(request(b"GET /v1/topics/orders/messages"))
        mq.wait_for(lambda: not mq.inspect(lambda core: open_connections()), timeout="5s")
        answer = replies(peer)
    (promised_bytes,) = re.findall(rb"content-length: (\d+)", answer)
    assert len(answer) < int(promised_bytes)


def open_connections() -> int:
    """Count the connections of control ports in this process."""
    import gc

    return sum(
        not one.transport.is_closing()
        for one in gc.get_objects()
        if isinstance(one, connections.HttpConnection) and vars(one).get("transport")
    )


def test_connections_have_a_limit(
    mq: fakemq.Cluster, http_client: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS_MOST", 3)
    with ExitStack() as peers:
        for _ in range(3):
            peer = peers.enter_context(connect(mq))
            peer.sendall(request(GET).replace(b"Connection: close\r\n", b""))
            assert peer.recv(65536).startswith(b"HTTP/1.1 200 ")
        answer = replies(peers.enter_context(connect(mq)))
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'{"error":"3 connections are open; ' in answer
        assert statuses(mq, request(GET)) == [503], "also for a peer that sends at once"
    (port,) = mq._running().server._services
    assert isinstance(port, ControlPort)
    there = port._state.connections
    mq.wait_for(lambda: not mq.inspect(lambda core: len(there)))
    assert http_client.ask("GET", "/v1/clock").status == 200


def test_port_leaves_descriptors_free(mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "PAUSE_S", 0.01)
    with connect(mq) as probe:
        most = probe.fileno() + 60
    monkeypatch.setattr(listener, "descriptor_limit", lambda: most)
    with ExitStack() as peers:
        for _ in range(60):
            peers.enter_context(connect(mq))
        mq.wait_for(lambda: mq.journal.find(Warned))
        (warned, *_) = mq.journal.find(Warned)
        assert warned.text.startswith("accepts no connection for ")
        open(__file__).close()


def test_peer_that_sends_nonsense_gets_few_lines(mq: fakemq.Cluster) -> None:
    for _ in range(30):
        assert statuses(mq, b"nonsense\r\n\r\n") == [400]
    assert len(mq.journal.find(Warned)) == 10


def test_work_ends_when_its_client_disconnects(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object) -> Steps[tuple[int, list[Message]]]:
        while True:
            yield

    monkeypatch.setattr(inspection, "messages_page", endless)

    def waiting() -> bool:
        return mq.inspect(lambda core: core.clock.slices.waiting)

    mq.create_topic("orders", queues=1)
    with connect(mq) as peer:
        peer.sendall(b"GET /v1/topics/orders/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        mq.wait_for(waiting)
    mq.wait_for(lambda: not waiting())


def test_warning_of_uvicorn_may_have_a_percent_sign() -> None:
    said: list[str] = []
    logger = connections._ToWarnings(said.append)
    logger.warning("50% of it")
    logger.warning("%d of %s", 1, "it")
    assert said == ["50% of it", "1 of it"]
