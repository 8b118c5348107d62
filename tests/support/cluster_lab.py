"""A cluster on a frozen clock, and a producer whose answers come when time has passed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Self, Unpack

import fakemq
from fakemq.config.option_types import ClusterOptions
from fakemq.events import AppendRefused, LogAppended
from fakemq.events.faults import FaultHit
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import send_header
from tests.support.tcp import TcpPeer

START = "2023-11-14T22:13:20Z"
OK, NO_SLAVE = ResponseCode.SUCCESS, ResponseCode.SLAVE_NOT_AVAILABLE
SLAVE_TIMEOUT = ResponseCode.FLUSH_SLAVE_TIMEOUT
DISK_TIMEOUT = ResponseCode.FLUSH_DISK_TIMEOUT


class ClusterLab:
    """``mq``, with one topic ``orders`` of one queue, and a producer at its master."""

    def __init__(self, **options: Unpack[ClusterOptions]) -> None:
        given: ClusterOptions = {
            "clock": "frozen",
            "start_at": START,
            "seed": 1,
            "topics": {"orders": 1},
        }
        self.mq = fakemq.Cluster(**(given | options))
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.mq)
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def connect(self, broker: str = "broker-a") -> None:
        """Send to this broker from now on."""
        self.peer = self._stack.enter_context(TcpPeer(self.mq.broker(broker).addr))

    def begin(self, body: bytes = b"x") -> int:
        """Send a message; on return it is in the log, or refused. Return what `end` takes."""

        def handled() -> int:
            journal = self.mq.journal
            return len(journal.find(LogAppended)) + len(journal.find(AppendRefused))

        before = handled()
        opaque = self.peer.send(RequestCode.SEND_MESSAGE_V2, send_header(), body)
        self.mq.wait_for(lambda: handled() > before)
        return opaque

    def end(self, opaque: int) -> ResponseCode:
        """Return the code of a send's response."""
        return ResponseCode(self.peer.receive(opaque).code)

    def send(self, body: bytes = b"x", advance: str = "0s") -> ResponseCode:
        """Send, let time pass, and return the code of the response."""
        opaque = self.begin(body)
        self.mq.clock.advance(advance)
        return self.end(opaque)

    def bodies(self) -> list[bytes]:
        return [message.body for message in self.mq.messages("orders")]

    def stored_bodies(self, broker: str) -> list[bytes]:
        """Return the bodies in the store of one broker."""
        return self.mq.inspect(
            lambda core: [
                message.body for message in core.broker(broker).store.messages_in_queue("orders", 0)
            ]
        )

    def end_of(self, broker: str) -> int:
        """Return where the log of a broker ends."""
        return self.mq.inspect(lambda core: core.broker(broker).store.max_phy_offset)

    def hits(self) -> list[str]:
        """Return what faults have acted on."""
        return [event.on for event in self.mq.journal.find(FaultHit)]
