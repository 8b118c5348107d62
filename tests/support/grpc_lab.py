"""A gRPC session by hand, without a network, and an HTTP/2 client at its far end."""

from __future__ import annotations

from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamReset,
    TrailersReceived,
)

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.journal.journal import Journal
from fakemq.net.grpc_call import GrpcCall, RpcRoute
from fakemq.net.grpc_session import GrpcSession
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.framing import MessageReader, framed
from fakemq.protocol.grpc.table import BY_NAME, RPCS
from tests.support.session_lab import RecordingLink
from tests.support.time import ManualTime


class Answer:
    """What came back on one stream."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.trailers: dict[str, str] = {}
        self.data = b""
        self.reset: int | None = None

    @property
    def status(self) -> str | None:
        return self.trailers.get("grpc-status", self.headers.get("grpc-status"))

    @property
    def text(self) -> str | None:
        return self.trailers.get("grpc-message", self.headers.get("grpc-message"))

    @property
    def messages(self) -> list[bytes]:
        return list(MessageReader().receive(self.data))


class GrpcLab:
    """The node whose session it is, and a client at the far end of the link.

    The node answers SendMessage with its first message id, keeps every other call open in
    ``calls``, and their messages in ``messages``.
    """

    name = "proxy-0"

    def __init__(self, *, outside: bool = True) -> None:
        self.time = ManualTime()
        self.real = Clock(frozen=True, source=self.time)
        self.clock = NodeClock(self.real, self.name)
        self.journal = Journal(self.real)
        self.gone: list[GrpcSession] = []
        self.calls: list[GrpcCall[Any, Any]] = []
        self.messages: list[Any] = []
        self.link = RecordingLink(outside)
        routes = {rpc.path: RpcRoute(rpc, self.take) for rpc in RPCS}
        self.session = GrpcSession(self.link, self, routes)
        self.client = H2Connection(H2Configuration(client_side=True, header_encoding="ascii"))
        self.client.initiate_connection()
        self.answers: dict[int, Answer] = {}
        self.goodbye: ConnectionTerminated | None = None
        self.acknowledges = True
        """Whether the client opens its window again for what it has read."""

    def session_closed(self, session: GrpcSession) -> None:
        self.gone.append(session)

    def take(self, call: GrpcCall[Any, Any], message: Any) -> None:
        self.calls.append(call)
        self.messages.append(message)
        if call.rpc.name == "SendMessage":
            entry = m.SendResultEntry(message_id=message.messages[0].system_properties.message_id)
            call.reply(m.SendMessageResponse(entries=[entry]))
        elif call.rpc.name == "QueryRoute":
            raise ValueError("a defect")

    # -- the client ---------------------------------------------------------------------------

    def begin(self, rpc: str, headers: dict[str, str] | None = None, *, end: bool = False) -> int:
        """Open a stream; return its id."""
        stream_id = self.client.get_next_available_stream_id()
        path = BY_NAME[rpc].path if rpc in BY_NAME else rpc
        fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "here"}
        fields |= {"content-type": "application/grpc", "te": "trailers"} | (headers or {})
        self.client.send_headers(stream_id, list(fields.items()), end_stream=end)
        self.answers[stream_id] = Answer()
        return stream_id

    def write(self, stream_id: int, data: bytes, *, end: bool = False) -> None:
        self.client.send_data(stream_id, data, end_stream=end)

    def ask(self, rpc: str, message: Any, headers: dict[str, str] | None = None) -> Answer:
        """Send a whole request; return what came back so far."""
        stream_id = self.begin(rpc, headers)
        self.write(stream_id, framed(message.SerializeToString()), end=True)
        return self.exchange()[stream_id]

    def send(self, message_id: str = "01AB") -> Answer:
        message = m.Message(topic=m.Resource(name="t"))
        message.system_properties.message_id = message_id
        return self.ask("SendMessage", m.SendMessageRequest(messages=[message]))

    def receive(self) -> tuple[int, GrpcCall[Any, Any]]:
        """Open a ReceiveMessage; return its stream and its call."""
        self.ask("ReceiveMessage", m.ReceiveMessageRequest())
        return max(self.answers), self.calls[-1]

    def exchange(self) -> dict[int, Answer]:
        """Carry bytes to and fro until there are none; return the answers by stream."""
        while True:
            self.read()
            data = self.client.data_to_send()
            if not data:
                return self.answers
            self.session.data_received(data)

    def read(self) -> None:
        data, self.link.written = b"".join(self.link.written), []
        for event in self.client.receive_data(data):
            self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, ResponseReceived):
            self.answers[event.stream_id].headers = _fields(event)
        elif isinstance(event, TrailersReceived):
            self.answers[event.stream_id].trailers = _fields(event)
        elif isinstance(event, DataReceived):
            self.answers[event.stream_id].data += event.data
            if self.acknowledges:
                self.client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamReset):
            self.answers[event.stream_id].reset = int(event.error_code)
        elif isinstance(event, ConnectionTerminated):
            self.goodbye = event


def _fields(event: ResponseReceived | TrailersReceived) -> dict[str, str]:
    return {str(name): str(value) for name, value in event.headers}
