"""The scopes of link faults: from which end to which end, in which language."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from fakemq.faults.plan import Scope
from fakemq.protocol.hosts import host_of

CLIENTS = "clients"
"""As an end of a link: every peer outside the cluster."""


class Latency(msgspec.Struct, frozen=True):
    """How late bytes are; the time varies by up to ``jitter_ms``, up and down."""

    latency_ms: int
    jitter_ms: int


Names: TypeAlias = frozenset[str]
"""All names of one end of a link: its node, address, host and client ids, and `CLIENTS`."""


class Passing(Scope, frozen=True, kw_only=True, gc=False):
    """Bytes from one end of a link to the other, in ``remoting``, ``ha`` or ``grpc``."""

    source: Names
    target: Names
    language: str

    def back(self) -> Passing:
        """Return the other direction."""
        return Passing(source=self.target, target=self.source, language=self.language)


class LinkScope(Scope, frozen=True, kw_only=True, gc=False):
    """Links from ``source`` to ``target``, and back unless ``one_way``; of one ``language``."""

    source: str
    target: str
    one_way: bool = False
    language: str | None = None

    def covers(self, happening: Scope) -> bool:
        if not isinstance(happening, Passing) or self.language not in (None, happening.language):
            return False
        forth = self.source in happening.source and self.target in happening.target
        back = self.source in happening.target and self.target in happening.source
        return forth or (back and not self.one_way)

    @property
    def narrowness(self) -> int:
        """A greater number for a narrower scope: of several faults, the narrowest one acts.

        A client or node is narrower than a host, and a host than all clients. After the ends,
        one language is narrower than both, and after that, one way than both ways.
        """
        ends = sum(map(_narrowness, (self.source, self.target)))
        return 4 * ends + 2 * (self.language is not None) + self.one_way

    def __str__(self) -> str:
        arrow = "→" if self.one_way else "–"
        link = "" if self.language is None else f" ({self.language})"
        return f"{self.source} {arrow} {self.target}{link}"

    @property
    def is_of_client(self) -> bool:
        """Whether an end is a client id, which no connection has before the first heartbeat."""
        return "@" in self.source or "@" in self.target


def _narrowness(end: str) -> int:
    if end == CLIENTS:
        return 0
    is_host = end.replace(".", "").isdigit() or (end.count(":") > 1 and not end.startswith("["))
    return 1 if is_host else 2


def inside(node: str, addr: str) -> Names:
    """Return the names of a node of the cluster at its end of a link."""
    return frozenset((node, addr))


def outside(addr: str) -> Names:
    """Return the names of an outside peer."""
    return frozenset((CLIENTS, addr, host_of(addr)))
