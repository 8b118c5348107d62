"""Two connections that have one client id in a group; a part of the chronicle.

Brokers list both, as Java's do, and each of the two takes the queues of that id.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import Final, NamedTuple

from fakemq.events.core import MemberChanged, RequestReceived
from fakemq.events.grpc import RpcReceived
from fakemq.journal.entries import Entry
from fakemq.protocol.codes import RequestCode

PAIRS_AT_MOST: Final = 4
"""With how many earlier connections of the same client id a new one is compared."""
_POP_MESSAGE = 200050
_OF_MEMBERS = (
    RequestCode.HEART_BEAT,
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.UPDATE_CONSUMER_OFFSET,
    _POP_MESSAGE,
)
"""What a connection sends while it is used. One that was lost, and replaced, sends nothing more."""


class Twins(NamedTuple):
    """Two connections that were used at the same time."""

    client_id: str
    earlier: str
    """The address of the one that joined first."""
    later: str
    grpc: bool


class TwinTable:
    """The connections of each member, and when each was used last."""

    def __init__(self) -> None:
        self._joined: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
        """Node, group and client id → address of each connection, and the entry of its join."""
        self._pairs: dict[str, dict[tuple[str, str, str, str], int]] = defaultdict(dict)
        """Group → node, client id and both addresses → the entry by which there were both."""
        self._used: dict[tuple[str, str], int] = {}
        """Node and address → the last entry of a request of a member."""
        self._calls: dict[str, dict[str, None]] = defaultdict(dict)
        """Client id of gRPC → the addresses of its calls, the last one at the end."""
        self._groups: dict[str, dict[str, None]] = defaultdict(dict)
        """Group → the client ids that were in it."""
        self._grpc: dict[str, Twins] = {}
        """Client id → two connections whose calls took turns."""

    def changed(self, entry: Entry, event: MemberChanged) -> None:
        """Take note that a consumer joined or left."""
        if event.kind != "consumer":
            return
        self._groups[event.group][event.client_id] = None
        joined = self._joined[event.node, event.group, event.client_id]
        if event.how != "registered":
            joined.pop(event.peer, None)
            return
        for peer in islice(joined, PAIRS_AT_MOST):  # a peer may open any number of connections
            if peer != event.peer:
                pair = event.node, event.client_id, peer, event.peer
                self._pairs[event.group].setdefault(pair, entry.seq)
        joined[event.peer] = entry.seq

    def requested(self, entry: Entry, event: RequestReceived) -> None:
        """Take note of a request."""
        if event.code in _OF_MEMBERS:
            self._used[event.node, event.peer] = entry.seq

    def called(self, event: RpcReceived) -> None:
        """Take note of a call of gRPC: one that lost its connection never returns to it."""
        peers = self._calls[event.client_id]
        if event.peer in peers:
            last = next(reversed(peers))
            if last == event.peer:
                return
            if event.client_id not in self._grpc:
                self._grpc[event.client_id] = Twins(event.client_id, event.peer, last, grpc=True)
            del peers[event.peer]
        peers[event.peer] = None

    def groups(self) -> list[str]:
        """Return the groups that had members."""
        return list(self._groups)

    def used(self, node: str, peer: str) -> bool:
        """Return whether a connection was used since the journal begins."""
        return (node, peer) in self._used

    def of(self, group: str) -> dict[str, Twins]:
        """Return the first two connections of each client id of a group that has two."""
        found = {
            client_id: self._grpc[client_id]
            for client_id in self._groups.get(group, ())
            if client_id in self._grpc
        }
        for (node, client_id, earlier, later), seq in self._pairs.get(group, {}).items():
            if self._used.get((node, earlier), 0) > seq and self._used.get((node, later), 0):
                found.setdefault(client_id, Twins(client_id, earlier, later, grpc=False))
        return found
