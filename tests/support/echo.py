"""An endpoint that speaks no remoting protocol: plain bytes, sent back or only kept."""

from __future__ import annotations

from typing import Self

from fakemq.net.link import CLOSED_BY_PEER, Link


class Echo:
    """What it ``received``, why it was ``lost``; if it ``answers``, then with the same bytes."""

    link: Link
    language = "bytes"
    node = "echo"

    def __init__(self, *, answers: bool = True) -> None:
        self.received = b""
        self.lost: list[str] = []
        self._answers = answers

    def on(self, link: Link) -> Self:
        """This endpoint, at the end of ``link``."""
        self.link = link
        return self

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self._answers:
            self.link.write(data)

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        self.lost.append(why)

    unfinished_bytes = 0

    def resume_processing(self) -> None:
        """Nothing was left."""

    def close_for_violation(self, why: str, kind: str) -> None:
        self.lost.append(why)
        self.link.close()

    def pause(self) -> None:
        self.link.pause_reading()

    def resume(self) -> None:
        self.link.resume_reading()
