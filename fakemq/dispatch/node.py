"""The common part of brokers and name servers: their context and their state."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec

from fakemq.events.core import Warned

if TYPE_CHECKING:
    import random

    from fakemq.clock.node_clock import NodeClock
    from fakemq.faults.plan import FaultPlan
    from fakemq.files.texts import TextFile
    from fakemq.journal.journal import Journal
    from fakemq.net.session import Session
    from fakemq.reference import Reference

ConfigT_co = TypeVar("ConfigT_co", covariant=True)


class JournaledNode(Protocol):
    """A node or its context, as code that reports errors of handlers uses it."""

    @property
    def name(self) -> str: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def reference(self) -> Reference: ...


class Node(JournaledNode, Protocol):
    """A node, as the dispatcher uses it."""

    @property
    def clock(self) -> NodeClock: ...
    @property
    def faults(self) -> FaultPlan: ...

    @property
    def replicates_later(self) -> bool:
        """Whether the node answers a send before its slaves have the message."""

    def client_ids(self, session: Session) -> set[str]:
        """Return the ids of the clients that registered on a connection by heartbeats."""


class NodeContext(msgspec.Struct, Generic[ConfigT_co], frozen=True, eq=False):
    """The objects that all parts of a node share. A part gets this, not the node itself."""

    name: str
    config: ConfigT_co
    """The node's own copy; a change at run time is made in place."""
    clock: NodeClock
    journal: Journal
    """The cluster's journal, with the entries of every node."""
    faults: FaultPlan
    """The cluster's plan, with the faults of every node."""
    randomness: random.Random
    """The node's own stream of the cluster's seed."""
    reference: Reference
    """The release of RocketMQ that the node behaves as."""


class NodeState(Enum):
    """The state of a broker or a name server; `value` is its public name."""

    STOPPED = "stopped"
    RUNNING = "running"
    PAUSED = "paused"
    """Like a process after SIGSTOP: sockets stay open, nothing is read and no timer fires."""
    STOPPING = "stopping"
    """A broker's: its clients are disconnected, and it waits for name servers to unregister it."""

    def __str__(self) -> str:
        return self.value

    @property
    def is_up(self) -> bool:
        """Whether the node was started and not stopped since; a paused node is up."""
        return self in (NodeState.RUNNING, NodeState.PAUSED)

    def then(self, state: NodeState) -> NodeState:
        """Return ``state``; raise AssertionError if no transition leads there from this one."""
        assert state in _TRANSITIONS[self], f"a node cannot go from {self.value} to {state.value}"
        return state


_TRANSITIONS = {
    NodeState.STOPPED: (NodeState.RUNNING,),
    NodeState.RUNNING: (NodeState.PAUSED, NodeState.STOPPING, NodeState.STOPPED),
    NodeState.PAUSED: (NodeState.RUNNING, NodeState.STOPPED),
    NodeState.STOPPING: (NodeState.STOPPED,),
}
"""State → the states that may follow: by start, pause, resume, stop and kill."""


# Writes one text file of a node; what fails, and that it succeeds again, is one line each.


class TextWriter:
    """The writes of one file. Java logs each failure, and tries again when there is a change."""

    def __init__(self, journal: Journal, node: str) -> None:
        self._journal = journal
        self._node = node
        self._failed = False
        """Whether the last write failed."""

    def write(self, file: TextFile, text: str) -> bool:
        """Write a text; return False if that failed, so that the caller tries again later."""
        try:
            file.write(text)
        except OSError as error:
            if not self._failed:
                self._failed = True
                self._warn(f"{file.path}: could not be written: {error.strerror}")
            return False
        if self._failed:
            self._failed = False
            self._warn(f"{file.path}: was written again")
        return True

    def _warn(self, text: str) -> None:
        self._journal.add(Warned(node=self._node, text=text))
