"""The other end of a node's connection, held by a test: real bytes, no sockets, no waiting."""

from __future__ import annotations

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.journal.journal import Journal
from fakemq.net.link import Accept, Link
from fakemq.net.memory import MemoryLink, MemoryNetwork
from fakemq.net.session import Session
from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import (
    FLAG_RESPONSE,
    VERSION_4_9_7,
    RemotingCommand,
    SerializeType,
)
from fakemq.protocol.header import Header

TIMEOUT_MS = 3_000


class Answer:
    """What came back for one request: ``response`` is None until it does, and if nothing will."""

    def __init__(self) -> None:
        self.response: RemotingCommand | None = None
        self.over = False

    def take(self, response: RemotingCommand | None) -> None:
        self.response = response
        self.over = True


class Peer:
    """A client, broker or admin tool of the test's own, connected to the node at ``addr``.

    ``ask`` sends a request and returns its response once the network is quiet; ``send`` is for what
    is answered later or never. Requests of the node end up in ``requests``, unanswered.
    With ``accept_outside``, what the node does with a new link, the peer counts as one outside the
    cluster, like a JVM: its liveness follows real time.
    """

    def __init__(
        self,
        network: MemoryNetwork,
        clock: Clock,
        journal: Journal,
        addr: str,
        *,
        name: str = "peer",
        accept_outside: Accept | None = None,
    ) -> None:
        self.name = name
        self.clock = NodeClock(clock, name)
        self.journal = journal
        self.requests: list[RemotingCommand] = []
        self._network = network
        if accept_outside is None:
            session = network.connect(addr, name, self._make)
            assert session is not None, f"no node listens at {addr}"
            self.session = session
        else:
            self.session = self._connect_from_outside(addr, accept_outside)

    def _connect_from_outside(self, addr: str, accept: Accept) -> Session:
        link = MemoryLink(self._network, self.name, addr, self.name, addr, outside=True)
        return link.open(self._make, accept)

    def _make(self, link: Link) -> Session:
        return Session(link, self, self._take)

    def ask(
        self,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        version: int = VERSION_4_9_7,
        ext_fields: dict[str, str] | None = None,
        serialize_type: SerializeType = SerializeType.JSON,
    ) -> RemotingCommand:
        """Send a request and give its response; fails if there is none when all is quiet."""
        command = _command(code, header, body, ext_fields)
        command.version = version
        command.serialize_type = serialize_type
        answer = self.send_command(command)
        assert answer.response is not None, f"no answer to {command!r}"
        return answer.response

    def send(
        self,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        ext_fields: dict[str, str] | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Answer:
        """Send a request that may be answered later."""
        return self.send_command(_command(code, header, body, ext_fields), timeout_ms=timeout_ms)

    def send_command(self, command: RemotingCommand, *, timeout_ms: int = TIMEOUT_MS) -> Answer:
        answer = Answer()
        self.session.invoke(command, timeout_ms, answer.take)
        self._network.settle()
        return answer

    def oneway(self, code: int, header: Header | None = None, body: bytes = b"") -> None:
        """Send a request that wants no answer."""
        self.session.invoke_oneway(_command(code, header, body, None))
        self._network.settle()

    def answer(
        self,
        code: int = 0,
        body: bytes = b"",
        *,
        remark: str | None = None,
        ext_fields: dict[str, str] | None = None,
        language: LanguageCode = LanguageCode.JAVA,
        version: int = VERSION_4_9_7,
        serialize_type: SerializeType = SerializeType.JSON,
    ) -> RemotingCommand:
        """Answer the oldest request of the node, and give it."""
        request = self.requests.pop(0)
        self.session.send(
            RemotingCommand(
                code,
                ext_fields=ext_fields or {},
                body=body,
                flag=FLAG_RESPONSE,
                opaque=request.opaque,
                remark=remark,
                language=language,
                version=version,
                serialize_type=serialize_type,
            )
        )
        self._network.settle()
        return request

    def close(self) -> None:
        self.session.close("closed by the test")
        self._network.settle()

    @property
    def closed(self) -> bool:
        return self.session.closed

    def session_closed(self, session: Session) -> None:
        """Nothing to do: `closed` says it."""

    def _take(self, session: Session, command: RemotingCommand) -> None:
        self.requests.append(command)


def _command(
    code: int, header: Header | None, body: bytes, ext_fields: dict[str, str] | None
) -> RemotingCommand:
    fields = {} if header is None else header.encode()
    return RemotingCommand(code, ext_fields=fields | (ext_fields or {}), body=body)
