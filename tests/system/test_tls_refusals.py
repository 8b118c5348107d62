"""Peers that TLS refuses, and what a peer can make a cluster hold by half of a handshake."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import fakemq
from fakemq.client import (
    AsyncClient,
    Client,
    Producer,
)
from fakemq.client.errors import RemotingConnectError
from fakemq.net import tls as net_tls
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import client_connection
from fakemq.protocol.limits import HELD_MAX_BYTES
from fakemq.tls.contexts import ClientTls
from fakemq.tls.stream import HANDSHAKE_BYTES
from tests.support.certificates import Certificates
from tests.support.eventually import eventually
from tests.support.tls_peers import asked, connected, insecure, warned_once, warnings

PLAIN_FRAME = bytes.fromhex("00000015 00000011") + b'{"code":106,"a":1'


# -- refusals ---------------------------------------------------------------------------------


def ends(sock: socket.socket) -> bool:
    """Return whether the peer has closed the connection, whatever it sent before."""
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def test_plain_bytes_at_an_enforcing_port_are_refused() -> None:
    with fakemq.Cluster(tls="enforcing") as mq, connected(mq) as sock:
        sock.sendall(PLAIN_FRAME)
        assert ends(sock)
        warned_once(mq, r"closed the connection of .*: bytes that are no TLS, which this port dem")


def test_tls_at_a_disabled_port_is_refused() -> None:
    with fakemq.Cluster(tls="disabled") as mq:
        assert "TLS: the peer closed the connection during the handshake" in asked(mq, tls=True)
        warned_once(mq, "a TLS handshake, which is disabled here")
        assert mq.tls.ca_file == ""


def test_garbage_after_the_first_byte_is_refused() -> None:
    with fakemq.Cluster() as mq, connected(mq) as sock:
        sock.sendall(b"\x16" + bytes(100))
        assert ends(sock)
        warned_once(mq, "TLS: bytes that are no TLS")


def test_wrong_host_is_refused_unless_it_does_not_matter(authority: Certificates) -> None:
    keys = authority.server_keys("example.org")
    with fakemq.Cluster(tls="enforcing", tls_config=keys) as mq:
        options = {"tls": True, "tls_ca_file": authority.ca}
        assert "IP address mismatch" in asked(mq, **options)
        warned_once(mq, "TLS: the peer refuses our certificate")
        assert asked(mq, **options, tls_check_host=False) == ""


def test_expired_certificate_is_refused(authority: Certificates) -> None:
    keys = authority.server_keys(expired=True)
    with fakemq.Cluster(tls="enforcing", tls_config=keys) as mq:
        assert "certificate has expired" in asked(mq, tls=True, tls_ca_file=authority.ca)
        warned_once(mq, "TLS: the peer refuses our certificate: it has expired")


def test_unknown_authority_is_refused(authority: Certificates, tmp_path: Path) -> None:
    with fakemq.Cluster(tls="enforcing") as mq:
        why = asked(mq, tls=True, tls_ca_file=authority.ca)
        assert "its authority is not known" in why
        warned_once(mq, "TLS: the peer refuses our certificate: it does not know the authority")


def test_client_without_a_required_certificate_is_refused(authority: Certificates) -> None:
    keys = authority.server_keys(auth="require")
    with fakemq.Cluster(tls="enforcing", tls_config=keys) as mq:
        options = {"tls": True, "tls_ca_file": authority.ca}
        assert "failed" in asked(mq, **options)
        warned_once(mq, "TLS: the peer shows no certificate, and one is required")
        cert, key = authority.pair("client")
        assert asked(mq, **options, tls_cert_file=cert, tls_key_file=key) == ""


@pytest.mark.anyio
async def test_every_kind_of_client_says_why_it_is_refused(
    enforcing: fakemq.Cluster, authority: Certificates
) -> None:
    options: dict[str, Any] = {"tls": True, "tls_ca_file": authority.ca}
    reason = "TLS: the peer's certificate is refused: its authority is not known"
    addr = enforcing.namesrv_addr
    with Client(addr, **options) as client, pytest.raises(RemotingConnectError, match=reason):
        client.cluster_info()
    async with AsyncClient(addr, **options) as other:
        with pytest.raises(RemotingConnectError, match=reason):
            await other.cluster_info()
    with (
        Producer(addr, group="shop", **options) as producer,
        pytest.raises(fakemq.FakemqError, match=reason),
    ):
        producer.send("orders", b"tea")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tls_ca_file": "/ca.pem"}, "need tls=True"),
        ({"tls": True, "tls_cert_file": "/c.pem"}, "give both"),
        ({"tls": True, "tls_key_password": "x"}, "needs tls_cert_file and tls_key_file"),
        ({"tls": True, "tls_ca_file": "/no/ca.pem"}, "/no/ca.pem: cannot read this file"),
    ],
)
def test_wrong_options_of_a_client_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fakemq.ConfigError, match=message):
        Producer("127.0.0.1:9876", group="shop", **options).start()
    with pytest.raises(fakemq.ConfigError, match=message):
        Client("127.0.0.1:9876", **options)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"tls.test.mode.enable": "false"}, "no tls.server.certPath and no tls.server.keyPath"),
        (
            {
                "tls.test.mode.enable": "false",
                "tls.server.certPath": "/no/c.pem",
                "tls.server.keyPath": "/no/c.key",
            },
            "/no/c.pem: cannot read this file for TLS",
        ),
    ],
)
def test_wrong_certificates_are_refused_at_the_start(keys: dict[str, str], message: str) -> None:
    with pytest.raises(fakemq.ConfigError, match=message):
        fakemq.Cluster(tls_config=keys).start()


def test_end_during_the_handshake_is_a_warning() -> None:
    with fakemq.Cluster() as mq:
        with connected(mq) as sock:
            sock.sendall(hello()[:50])
            eventually(lambda: held_bytes(mq) > 0)
        warned_once(mq, "TLS: the peer closed the connection during the handshake")


def test_end_within_a_frame_is_a_warning() -> None:
    with fakemq.Cluster() as mq:
        with connected(mq) as sock:
            sock.sendall(PLAIN_FRAME[:20])
        warned_once(mq, r"the connection of 127.0.0.1:\d+ ended within a frame, of which 20 bytes")


# -- limits -----------------------------------------------------------------------------------


def hello() -> bytes:
    """Return the first bytes of a client."""
    stream = ClientTls().stream("127.0.0.1")
    stream.start()
    return stream.data_to_send()


def held_bytes(mq: fakemq.Cluster) -> int:
    total: int = mq._running().server._held.total_bytes
    return total


def test_half_handshakes_are_counted_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = 20
    assert HELD_MAX_BYTES // HANDSHAKE_BYTES > 1_000
    with fakemq.Cluster() as mq, ExitStack() as stack:
        assert asked(mq, tls=True) == ""
        eventually(lambda: held_bytes(mq) == 0)  # when the cluster knows of the end
        monkeypatch.setattr(net_tls, "HANDSHAKE_TIMEOUT_S", 1.0)
        socks = [stack.enter_context(connected(mq)) for _ in range(peers)]
        for sock in socks:
            sock.sendall(hello()[:50])
        eventually(lambda: held_bytes(mq) == peers * (HANDSHAKE_BYTES + 50))
        assert all(ends(sock) for sock in socks)
        eventually(lambda: held_bytes(mq) == 0)
        assert "TLS: the handshake is not over after 1 s" in warnings(mq)[0]
        assert len(warnings(mq)) == 10  # and the others are counted


def test_paused_node_refuses_no_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_tls, "HANDSHAKE_TIMEOUT_S", 0.05)
    with fakemq.Cluster() as mq, connected(mq) as sock:
        sock.sendall(hello()[:50])
        eventually(lambda: held_bytes(mq) > 0)
        mq.name_server().pause()
        sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        mq.name_server().resume()
        sock.settimeout(5)
        assert ends(sock)


def test_bytes_that_arrive_during_a_pause_are_decrypted_after_it() -> None:
    codec = client_connection(None)
    request = RemotingCommand(code=RequestCode.GET_BROKER_CLUSTER_INFO, opaque=codec.next_opaque())
    with fakemq.Cluster() as mq, insecure().wrap_socket(connected(mq)) as sock:
        mq.name_server().pause()
        sock.sendall(codec.encode(request))
        sock.settimeout(0.1)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        mq.name_server().resume()
        sock.settimeout(5)
        (answer,) = codec.receive_data(sock.recv(65_536))
        assert b"broker-a" in answer.body
