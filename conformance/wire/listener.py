"""A broker of a scenario's own, seen by what a node sends to its address."""

from __future__ import annotations

import socket

from conformance.normalise import Normaliser
from conformance.wire.peer import ANSWER_TIMEOUT_S, SILENCE_S, Peer
from conformance.wire.releases import Release


class Listener:
    """An address that a node connects to; what it asks there is written down as it is taken."""

    def __init__(
        self, name: str, place: str, normaliser: Normaliser, lines: list[str], release: Release
    ) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.addr = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._name = name
        self._place = place
        self._normaliser = normaliser
        self._lines = lines
        self._release = release
        self._peer: Peer | None = None
        normaliser.names[self.addr] = name

    def take_request(self) -> None:
        """Wait for a request, and write it down. Raises AssertionError if none comes."""
        peer = self._connected(ANSWER_TIMEOUT_S)
        assert peer is not None, f"{self._place} does not connect to {self._name}"
        peer.take_requests()

    def nothing_comes(self, silence_s: float = SILENCE_S) -> None:
        """Write down that the node is silent."""
        peer = self._connected(silence_s)
        if peer is None:
            self._lines.append(f"{self._name} <- {self._place}  nothing")
        else:
            peer.nothing_comes(silence_s)

    def close(self) -> None:
        if self._peer is not None:
            self._peer.close()
        self._server.close()

    def _connected(self, timeout_s: float) -> Peer | None:
        if self._peer is None:
            self._server.settimeout(timeout_s)
            try:
                connected, _ = self._server.accept()
            except TimeoutError:
                return None
            self._peer = Peer(
                *(self._name, self._place, self.addr, self._normaliser, self._lines),
                *(self._release, connected),
            )
        return self._peer
