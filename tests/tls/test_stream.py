"""Streams of TLS: both ends without sockets, cut anywhere, and refused for each reason."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.tls import stream as module
from fakemq.tls.contexts import ClientTls, KeyPair, server_context
from fakemq.tls.stream import HANDSHAKE_BYTES, RECORD_BYTES, TlsError, TlsStream
from tests.support.certificates import Certificates


def carry(source: TlsStream, target: TlsStream, step: int = 1 << 20) -> bytes:
    """Carry what one end has to send to the other; return the plain bytes that arrive."""
    data, plain = source.data_to_send(), b""
    for start in range(0, len(data), step):
        plain += target.receive(data[start : start + step])
    return plain


def shaken(client: TlsStream, server: TlsStream, step: int = 1 << 20) -> None:
    client.start()
    for _ in range(4):
        carry(client, server, step)
        carry(server, client, step)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def context(authority: Certificates) -> ssl.SSLContext:
    own = KeyPair(*authority.pair("server"))
    return server_context(own, client_auth="none", trust_path="")


@pytest.fixture(scope="module")
def trusting(authority: Certificates) -> ClientTls:
    return ClientTls(checks_server=True, trust_path=authority.ca, checks_host=True)


def ends(context: ssl.SSLContext, client: ClientTls) -> tuple[TlsStream, TlsStream]:
    return client.stream("127.0.0.1"), TlsStream(context, server_side=True)


@given(
    step=st.integers(1, 4_000),
    texts=st.lists(st.binary(max_size=40_000), max_size=4),
)
def test_bytes_arrive_however_they_are_cut(
    context: ssl.SSLContext, trusting: ClientTls, step: int, texts: list[bytes]
) -> None:
    client, server = ends(context, trusting)
    early = b"written before the handshake"
    client.write(early)
    client.start()
    arrived = b""
    for _ in range(4):
        arrived += carry(client, server, step)
        assert carry(server, client, step) == b""
    assert arrived == early
    for text in texts:
        client.write(text)
        assert carry(client, server, step) == text
        server.write(text)
        assert carry(server, client, step) == text
    assert server.held_bytes == 0
    assert client.held_bytes <= RECORD_BYTES  # what the server sends for later sessions


def test_write_after_the_own_end_is_refused(context: ssl.SSLContext, trusting: ClientTls) -> None:
    client, server = ends(context, trusting)
    shaken(client, server)
    client.close()
    with pytest.raises(TlsError, match="shutdown"):
        client.write(b"late")


def test_end_of_the_peer_is_seen_after_its_bytes(
    context: ssl.SSLContext, trusting: ClientTls
) -> None:
    client, server = ends(context, trusting)
    shaken(client, server)
    client.write(b"last")
    client.close()
    assert carry(client, server) == b"last"
    assert server.ended
    assert server.receive(bytes(1_000)) == b""
    assert server.held_bytes == 0


@pytest.mark.parametrize("is_server", [False, True])
def test_no_end_renegotiates(context: ssl.SSLContext, trusting: ClientTls, is_server: bool) -> None:
    options = context.options if is_server else trusting.context.options
    assert options & ssl.OP_NO_RENEGOTIATION


def test_half_handshake_and_half_record_are_counted(
    context: ssl.SSLContext, trusting: ClientTls
) -> None:
    client, server = ends(context, trusting)
    client.start()
    hello = client.data_to_send()
    server.receive(hello[:100])
    assert server.held_bytes == HANDSHAKE_BYTES + 100
    server.receive(hello[100:])
    for _ in range(3):
        carry(server, client)
        carry(client, server)
    client.write(bytes(16_000))
    record = client.data_to_send()
    server.receive(record[:10_000])
    assert server.held_bytes == 10_000 <= RECORD_BYTES
    assert server.receive(record[10_000:]) == bytes(16_000)
    assert server.held_bytes == 0


def test_handshake_without_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, context: ssl.SSLContext, trusting: ClientTls
) -> None:
    monkeypatch.setattr(module, "HANDSHAKE_MAX_BYTES", 100)
    client, server = ends(context, trusting)
    client.start()
    with pytest.raises(TlsError, match="a handshake of more than 100 bytes"):
        server.receive(client.data_to_send()[:101])


def refusals(client: TlsStream, server: TlsStream) -> tuple[str, str]:
    """Return why the client refuses the server, and why the server the client; "" if it does not.

    What one end says before it closes reaches the other.
    """
    found = {client: "", server: ""}
    client.start()
    for _ in range(4):
        for source, target in ((client, server), (server, client)):
            try:
                carry(source, target)
            except TlsError as error:
                found[target] = found[target] or str(error)
    return found[client], found[server]


def test_wrong_host_is_named(authority: Certificates, trusting: ClientTls) -> None:
    own = KeyPair(*authority.pair("other", "example.org"))
    context = server_context(own, client_auth="none", trust_path="")
    client, server = refusals(*ends(context, trusting))
    assert client == (
        "the peer's certificate is refused: IP address mismatch, certificate is not valid for"
        " '127.0.0.1'"
    )
    assert "the peer refuses our certificate" in server
    anywhere = ClientTls(checks_server=True, trust_path=authority.ca)
    assert refusals(*ends(context, anywhere)) == ("", "")


def test_expired_certificate_is_named(authority: Certificates, trusting: ClientTls) -> None:
    own = KeyPair(*authority.pair("old", expired=True))
    context = server_context(own, client_auth="none", trust_path="")
    assert refusals(*ends(context, trusting)) == (
        "the peer's certificate is refused: certificate has expired",
        "the peer refuses our certificate: it has expired",
    )


def test_unknown_authority_is_named(context: ssl.SSLContext, tmp_path: Path) -> None:
    stranger = ClientTls(checks_server=True, trust_path=Certificates(tmp_path).ca)
    client, server = refusals(*ends(context, stranger))
    assert "its authority is not known" in client
    assert server == "the peer refuses our certificate: it does not know the authority"


def test_client_needs_a_certificate_of_a_known_authority(
    authority: Certificates, tmp_path: Path
) -> None:
    own = KeyPair(*authority.pair("server"))
    context = server_context(own, client_auth="require", trust_path=authority.ca)
    without = refusals(*ends(context, ClientTls()))
    assert without == (
        "the peer requires a certificate of ours",
        "the peer shows no certificate, and one is required",
    )
    strange = ClientTls(own=KeyPair(*Certificates(tmp_path).pair("client")))
    assert "its authority is not known" in refusals(*ends(context, strange))[1]
    known = ClientTls(own=KeyPair(*authority.pair("client")))
    assert refusals(*ends(context, known)) == ("", "")


def test_optional_certificate_may_be_missing(authority: Certificates) -> None:
    own = KeyPair(*authority.pair("server"))
    context = server_context(own, client_auth="optional", trust_path=authority.ca)
    assert refusals(*ends(context, ClientTls())) == ("", "")


def test_damaged_record_ends_the_connection(context: ssl.SSLContext, trusting: ClientTls) -> None:
    client, server = ends(context, trusting)
    shaken(client, server)
    client.write(b"one")
    record = bytearray(client.data_to_send())
    record[-1] ^= 1
    with pytest.raises(TlsError, match="decryption failed or bad record mac"):
        server.receive(bytes(record))


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", bytes(64), b"\x16" + bytes(64)])
def test_bytes_that_are_no_tls_are_refused(context: ssl.SSLContext, data: bytes) -> None:
    server = TlsStream(context, server_side=True)
    with pytest.raises(TlsError):
        server.receive(data)
