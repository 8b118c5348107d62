"""One question by HTTP/1.0, on a connection of its own.

It follows no redirection, and reads no chunks: an answer to HTTP/1.0 has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from fakemq.net.link import CLOSED_BY_PEER, Link

_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?= |\r|$)")
ANSWER_MAX_BYTES: Final = 64 * 1024
"""The most that a server may answer, with its header."""


class HttpAnswer(NamedTuple):
    """What a server answered; ``why`` says why there is no answer, as a clause."""

    status: int = 0
    body: bytes = b""
    why: str = ""


class HttpGet:
    """The endpoint of a link that asks for ``path`` at once.

    ``on_answer`` is called once, unless the question was abandoned; the connection is closed then.
    """

    language = "http"

    def __init__(
        self, link: Link, node: str, host: str, path: str, on_answer: Callable[[HttpAnswer], None]
    ) -> None:
        self.link = link
        self._node = node
        self._on_answer: Callable[[HttpAnswer], None] | None = on_answer
        self._received = bytearray()
        link.write(f"GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())

    @property
    def node(self) -> str:
        return self._node

    def data_received(self, data: bytes) -> None:
        """Take bytes of the server, and the answer if it is whole."""
        self._received += data
        if len(self._received) > ANSWER_MAX_BYTES:
            self.give_up(f"the answer has more than {ANSWER_MAX_BYTES} bytes")
            return
        head, gap, body = bytes(self._received).partition(b"\r\n\r\n")
        length = _content_length(head) if gap else None
        if length is not None and len(body) >= length:
            self._end(_answer(head, body[:length]))

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """The server has sent all, or the connection is broken."""
        head, gap, body = bytes(self._received).partition(b"\r\n\r\n")
        whole = gap and why == CLOSED_BY_PEER and _content_length(head) is None
        self._end(
            _answer(head, body) if whole else HttpAnswer(why=f"the answer is not whole: {why}")
        )

    def give_up(self, why: str) -> None:
        """End the wait, unless the answer has arrived."""
        self._end(HttpAnswer(why=why))

    def abandon(self) -> None:
        """Close the connection; the answer is of no use any more."""
        self._on_answer = None
        self.link.close()

    def close_for_violation(self, why: str, kind: str) -> None:
        self.give_up(why)

    def resume_processing(self) -> None: ...

    @property
    def unfinished_bytes(self) -> int:
        """How much of the answer has arrived."""
        return len(self._received)

    def pause(self) -> None:
        self.link.pause_reading()

    def resume(self) -> None:
        self.link.resume_reading()

    def _end(self, answer: HttpAnswer) -> None:
        on_answer, self._on_answer = self._on_answer, None
        if on_answer is not None:
            self.link.close()
            on_answer(answer)


def _content_length(head: bytes) -> int | None:
    """Return the length that a header names; None if it names none."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        text = value.strip()
        if name.strip().lower() == b"content-length" and text.isdigit() and len(text) < 10:
            return int(text)
    return None


def _answer(head: bytes, body: bytes) -> HttpAnswer:
    found = _STATUS.match(head)
    return HttpAnswer(int(found[1]), body) if found else HttpAnswer(why="bytes that are no HTTP")
