"""One end of one connection in a scenario: raw frames out, whatever comes in, all written down."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import NamedTuple, TypeAlias

from conformance.normalise import Normaliser, shortened
from conformance.targets.java_jars import REFERENCE
from conformance.wire.raw import RawConnection, binary_frame, frame, split
from conformance.wire.releases import RELEASES, Release
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.frame import decode_frame
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.protocol.v5.codes import RequestCode5

RESPONSE, ONEWAY = 1, 2
ANSWER_TIMEOUT_S = 60.0
NO_CODE = 9999
"""What a broker answers at once, because it does not know it."""
SILENCE_S = 0.2
"""How long nothing comes where nothing will."""

Body: TypeAlias = bytes | str | Mapping[str, object] | list[object]
"""Bytes as they are, text as UTF-8, anything else as JSON."""

_ANSWERED_WITH_RECORDS = frozenset(
    {
        *(RequestCode.PULL_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.QUERY_MESSAGE),
        *(RequestCode.LITE_PULL_MESSAGE, RequestCode5.POP_MESSAGE, RequestCode5.PEEK_MESSAGE),
        RequestCode5.POP_LITE_MESSAGE,
    }
)
_ASKED_WITH_RECORDS: Mapping[int, str] = {
    RequestCode.CHECK_TRANSACTION_STATE: TRANS_HALF_TOPIC,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: "",
}
"""And the topic in whose queue they are, if not their own."""


class Frame(NamedTuple):
    """One frame as it came in."""

    is_binary: bool
    code: int
    flag: int
    opaque: int
    remark: str | None
    fields: dict[str, str] | None
    """None where the header has none, which some clients cannot read."""
    body: bytes


class Answer(NamedTuple):
    """What a scenario needs of an answer."""

    code: int
    fields: dict[str, str]
    body: bytes


class Display(NamedTuple):
    """How fields of a request and its answer are written down."""

    hidden: tuple[str, ...] = ()
    """They differ from run to run."""
    offsets: Mapping[str, str] = {}
    """Offsets in a topic that scenarios share: field → topic."""


PLAIN = Display()


class Pending:
    """A request under way."""

    def __init__(self, peer: Peer, code: int, opaque: int, display: Display) -> None:
        self._peer = peer
        self._code = code
        self._opaque = opaque
        self._display = display

    def has_come(self) -> bool:
        """Return whether the answer is there; take in what has arrived."""
        return self._peer.has_answer(self._opaque)

    def answer(self, timeout_s: float = ANSWER_TIMEOUT_S) -> Answer:
        """Wait for the answer and write it down. Raises TimeoutError."""
        return self._peer.take_answer(self._code, self._opaque, timeout_s, self._display)

    def no_answer(self) -> None:
        """Write down that nothing came; AssertionError if something did."""
        assert not self._peer.has_answer(self._opaque, SILENCE_S), "an answer came after all"
        self._peer.say("no answer")


class Peer:
    """A client's, broker's or admin's connection to one place."""

    def __init__(
        self,
        name: str,
        place: str,
        addr: str,
        normaliser: Normaliser,
        lines: list[str],
        release: Release = RELEASES[REFERENCE],
        connected: socket.socket | None = None,
    ) -> None:
        self.name = name
        self.place = place
        self._release = release
        self._normaliser = normaliser
        self._lines = lines
        self._socket = connected or _connected(addr, name, normaliser.names)
        self._connection = RawConnection.over(self._socket)
        self._answers: dict[int, Frame] = {}
        self._opaque = 0
        self._is_settled = True
        normaliser.names[_own_addr(self._socket)] = name

    def send(
        self,
        code: int,
        fields: Mapping[str, object] | None = None,
        body: Body = b"",
        *,
        oneway: bool = False,
        binary: bool = False,
        version: int | None = None,
        language: str = "JAVA",
        display: Display = PLAIN,
    ) -> Pending:
        """Send a request and write it down."""
        self._opaque += 1
        flag = ONEWAY if oneway else 0
        texts = {name: _text(value) for name, value in (fields or {}).items()}
        data = _body(body)
        opaque = self._opaque
        number = self._release.version if version is None else version
        if binary:
            whole = binary_frame(code, texts, data, opaque=opaque, flag=flag, version=number)
        else:
            whole = frame(
                *(code, texts, data),
                opaque=opaque,
                flag=flag,
                version=number,
                language=language,
            )
        self._connection.send(whole)
        self._is_settled = not oneway
        more = [
            *(["one-way"] if oneway else []),
            *(["binary header"] if binary else []),
            *([f"version {version}"] if version is not None else []),
            *([f"language {language}"] if language != "JAVA" else []),
        ]
        self._say("->", f"{self._release.request_name(code)} ({code})", more)
        self._say_fields(texts, code, display, sent=True)
        if code == RequestCode.SEND_BATCH_MESSAGE:
            self._lines.append(f"    body: a batch of {len(data)} bytes")
        else:
            self._say_lines(self._normaliser.body(data))
        return Pending(self, code, opaque, display)

    def settle(self) -> None:
        """Have everything taken in that was sent one-way: time must not pass before it arrives."""
        if not self._is_settled:
            self.quietly(NO_CODE)
            self._is_settled = True

    def quietly(
        self, code: int, fields: Mapping[str, str] | None = None, body: Body = b""
    ) -> Answer:
        """Send a request and give its answer, and write nothing of it down."""
        (answer,) = self.quietly_all([(code, fields or {})], body)
        return answer

    def quietly_all(
        self, requests: Iterable[tuple[int, Mapping[str, str]]], body: Body = b""
    ) -> list[Answer]:
        """Send requests at once and give their answers, and write nothing of them down."""
        sent = []
        for code, fields in requests:
            self._opaque += 1
            sent.append((code, self._opaque))
            self._connection.send(frame(code, fields, _body(body), opaque=self._opaque))
        answers = [self._wait(code, opaque, ANSWER_TIMEOUT_S) for code, opaque in sent]
        return [Answer(one.code, one.fields or {}, one.body) for one in answers]

    def take_requests(self, count: int = 1) -> None:
        """Wait for requests from the other side, which are written down as they come."""
        for _ in range(count):
            assert self.poll_request(ANSWER_TIMEOUT_S), f"{self.place} asked nothing of {self.name}"

    def poll_request(self, timeout_s: float = 0) -> Frame | None:
        """The next request from the other side, written down as it comes; None if none comes."""
        came = self._receive(timeout_s)
        assert came is None or not came.flag & RESPONSE, f"an answer no request waits for: {came}"
        return came

    def reply(
        self,
        request: Frame,
        code: int = 0,
        fields: Mapping[str, object] | None = None,
        body: Body = b"",
    ) -> None:
        """Answer a request from the other side, and write the answer down."""
        texts = {name: _text(value) for name, value in (fields or {}).items()}
        data = _body(body)
        self._connection.send(frame(code, texts, data, opaque=request.opaque, flag=RESPONSE))
        self._say("->", self._release.response_text(code), [])
        self._say_fields(texts, request.code, sent=True)
        self._say_lines(self._normaliser.body(data))

    def nothing_comes(self, silence_s: float = SILENCE_S) -> None:
        """Write down that the other side is silent."""
        came = self._receive(silence_s)
        assert came is None, f"{self.place} sent {came} to {self.name}"
        self.say("nothing more")

    def is_closed(self) -> bool:
        """Return whether the other side has closed the connection; take in what has arrived."""
        try:
            while self._receive(0.001) is not None:
                pass
        except ConnectionError:
            return True
        return False

    def has_answer(self, opaque: int, timeout_s: float = 0) -> bool:
        while opaque not in self._answers and self._receive(timeout_s) is not None:
            pass
        return opaque in self._answers

    def take_answer(self, code: int, opaque: int, timeout_s: float, display: Display) -> Answer:
        answer = self._wait(code, opaque, timeout_s)
        form = ["binary header"] if answer.is_binary else []
        none = ["no ext fields"] if answer.fields is None else []
        self._say("<-", self._release.response_text(answer.code), [*form, *none])
        if answer.remark is not None:
            self._lines.append(f"    remark: {_printable(self._normaliser.text(answer.remark))}")
        self._say_fields(answer.fields or {}, code, display)
        if code in _ANSWERED_WITH_RECORDS and answer.code == 0:
            self._say_lines(self._normaliser.records(answer.body))
        else:
            self._say_lines(self._normaliser.body(answer.body))
        return Answer(answer.code, answer.fields or {}, answer.body)

    def _wait(self, code: int, opaque: int, timeout_s: float) -> Frame:
        while opaque not in self._answers:
            if self._receive(timeout_s) is None:
                name = self._release.request_name(code)
                raise TimeoutError(f"{self.place} does not answer {name}")
        return self._answers.pop(opaque)

    def hang_up(self) -> None:
        """Close the connection and write it down."""
        self._say("->", "hangs up", [])
        self.close()

    def close(self) -> None:
        self._connection.close()

    def say(self, text: str) -> None:
        """A line about this connection."""
        self._say("<-", text, [])

    # -- frames -------------------------------------------------------------------------------

    def _receive(self, timeout_s: float) -> Frame | None:
        """Take in one frame, None if none comes in time; a request is written down at once."""
        self._socket.settimeout(timeout_s)
        try:
            whole = self._connection.receive()
        except (TimeoutError, BlockingIOError):
            return None
        came = frame_of(whole)
        if came.flag & RESPONSE:
            self._answers[came.opaque] = came
        else:
            form = ["binary header"] if came.is_binary else []
            form += ["one-way"] if came.flag & ONEWAY else []
            asks = f"asks {self._release.request_name(came.code)} ({came.code})"
            self._say("<-", asks, form)
            self._say_fields(came.fields or {}, came.code)
            if came.code in _ASKED_WITH_RECORDS:
                queue = _ASKED_WITH_RECORDS[came.code]
                self._say_lines(self._normaliser.records(came.body, queue))
            else:
                self._say_lines(self._normaliser.body(came.body))
        return came

    # -- words --------------------------------------------------------------------------------

    def _say(self, arrow: str, what: str, more: list[str]) -> None:
        self._lines.append(f"{self.name} {arrow} {self.place}  {', '.join([what, *more])}")

    def _say_fields(
        self,
        fields: Mapping[str, str],
        code: int,
        display: Display = PLAIN,
        *,
        sent: bool = False,
    ) -> None:
        broker, _, _ = self.place.partition(" ")
        for name, value in sorted(fields.items()):
            if name in display.hidden:
                text = "<hidden>"
            elif name in display.offsets:
                text = self._normaliser.since_start(display.offsets[name], value)
            else:
                text = self._normaliser.field(name, value, code, broker, sent=sent)
            self._lines.append(f"    {name}: {shortened(_printable(text))}")

    def _say_lines(self, lines: list[str]) -> None:
        self._lines += (f"    {line}" for line in lines)


def _connected(addr: str, name: str, names: Mapping[str, str]) -> socket.socket:
    """A connection from a port of its own: by the port messages show which peer sent them.

    The system may give the port of a connection that a broker closed to the next one.
    """
    host, _, port = addr.rpartition(":")
    with ExitStack() as others:
        while True:
            found = socket.create_connection((host, int(port)), ANSWER_TIMEOUT_S)
            if names.get(_own_addr(found), name) == name:
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return found
            others.enter_context(found)


def _own_addr(connected: socket.socket) -> str:
    host, port = connected.getsockname()[:2]
    return f"{host}:{port}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _printable(text: str) -> str:
    """Return a text with readable separators of properties and line ends."""
    return text.replace("\x01", "=").replace("\x02", " ; ").replace("\n", "\\n")


def _body(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return json.dumps(body, separators=(",", ":")).encode()


def frame_of(whole: bytes) -> Frame:
    """A whole frame, taken apart."""
    serialisation, header, body = split(whole)
    if serialisation != 0:
        command = decode_frame(memoryview(whole))
        return Frame(
            True,
            command.code,
            command.flag,
            command.opaque,
            command.remark,
            command.ext_fields,
            body,
        )
    fields = json.loads(header)
    return Frame(
        False,
        fields["code"],
        fields["flag"],
        fields["opaque"],
        fields.get("remark"),
        fields.get("extFields"),
        body,
    )
