"""TLS between a socket and its channel, without the socket."""

from __future__ import annotations

import ssl
from pathlib import Path

from fakemq.client.carriers.secure import SecureEnd
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.tls.contexts import ClientTls, KeyPair, server_context
from fakemq.tls.stream import TlsStream
from tests.support.certificates import Certificates
from tests.support.channel_lab import ChannelLab, codes


def test_answer_arrives_although_the_next_write_fails(tmp_path: Path) -> None:
    own = KeyPair(*Certificates(tmp_path).pair("server"))
    context = server_context(own, client_auth="none", trust_path="")
    server, lab = TlsStream(context, server_side=True), ChannelLab()
    lab.request(5)
    channel, received, is_reset = lab.connected[0].channel, b"", False

    def flush() -> None:
        nonlocal received
        if is_reset:
            end.lost()
            return
        while data := end.data_to_send():
            received += server.receive(bytes(data))
            end.data_sent(len(data))

    end = SecureEnd(channel, ClientTls().stream("127.0.0.1"), flush)
    end.opened()
    while data := server.data_to_send():
        end.data_received(data)
    (request,) = Connection().receive_data(received)
    answer = RemotingCommand(5, flag=FLAG_RESPONSE, opaque=request.opaque)
    server.write(Connection().encode(answer))
    is_reset = True
    end.data_received(server.data_to_send())
    assert codes(lab.outcomes) == [5]


def test_bytes_with_the_end_of_the_handshake_are_received(tmp_path: Path) -> None:
    """TLS 1.2 allows a server to send them together."""
    own = KeyPair(*Certificates(tmp_path).pair("server"))
    context = server_context(own, client_auth="none", trust_path="")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    server, lab = TlsStream(context, server_side=True), ChannelLab()
    asked: list[int] = []
    lab.connections.on_request = lambda addr, request, answer: asked.append(request.opaque)
    request = RemotingCommand(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, flag=FLAG_ONEWAY, opaque=7)
    server.write(Connection().encode(request))  # leaves when the handshake is over
    lab.request(5)

    def flush() -> None:
        while data := end.data_to_send():
            server.receive(bytes(data))
            end.data_sent(len(data))

    end = SecureEnd(lab.connected[0].channel, ClientTls().stream("127.0.0.1"), flush)
    end.opened()
    while data := server.data_to_send():
        end.data_received(data)
    assert asked == [7]
