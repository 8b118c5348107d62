"""The scopes of link faults: from which end to which end, in which language."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from fakemq.faults.plan import Scope
from fakemq.protocol.hosts import host_of

CLIENTS = "clients"
"""As an end of a link: every peer outside the cluster."""
OTHERS = "others"
"""As an end of a link: all that is not at the other end."""


class Latency(msgspec.Struct, frozen=True):
    """How late bytes are; the time varies by up to ``jitter_ms``, up and down."""

    latency_ms: int
    jitter_ms: int


AMONG_CONTROLLERS = "raft"
"""The language in which controllers elect their leader: no ``link=`` of a fault names it."""


Names: TypeAlias = frozenset[str]
"""All names of one end of a link: its node, address, host and client ids, and `CLIENTS`."""


class Passing(Scope, frozen=True, kw_only=True, gc=False):
    """Bytes from one end of a link to the other.

    They are in ``remoting``, ``ha`` or ``grpc``, or in that of `AMONG_CONTROLLERS`.
    """

    source: Names
    target: Names
    language: str

    def back(self) -> Passing:
        """Return the other direction."""
        return Passing(source=self.target, target=self.source, language=self.language)


class LinkScope(Scope, frozen=True, kw_only=True, gc=False):
    """Links from ``source`` to ``target``, and back unless ``one_way``; of one ``language``.

    Each end is one name or several, or `OTHERS`.
    """

    source: Names
    target: Names
    one_way: bool = False
    language: str | None = None

    def covers(self, happening: Scope) -> bool:
        if not isinstance(happening, Passing) or self.language not in (None, happening.language):
            return False
        forth = self._is_between(happening.source, happening.target)
        return forth or (not self.one_way and self._is_between(happening.target, happening.source))

    def concerns(self, node: str) -> bool:
        return bool({node, OTHERS} & (self.source | self.target))

    def _is_between(self, source: Names, target: Names) -> bool:
        return _is_at(self.source, self.target, source) and _is_at(self.target, self.source, target)

    @property
    def narrowness(self) -> int:
        """A greater number for a narrower scope: of several faults, the narrowest one acts.

        A client or node is narrower than a host, and a host than all clients. After the ends,
        one language is narrower than both, and after that, one way than both ways.
        """
        ends = sum(min(map(_narrowness, end)) for end in (self.source, self.target))
        return 4 * ends + 2 * (self.language is not None) + self.one_way

    def __str__(self) -> str:
        arrow = "→" if self.one_way else "–"
        link = "" if self.language is None else f" ({self.language})"
        source, target = (", ".join(sorted(end)) for end in (self.source, self.target))
        return f"{source} {arrow} {target}{link}"

    @property
    def is_of_client(self) -> bool:
        """Whether an end is a client id, which no connection has before the first heartbeat."""
        return any("@" in name for name in self.source | self.target)


def _is_at(end: Names, other_end: Names, names: Names) -> bool:
    """Return whether what has these names is at ``end``."""
    return names.isdisjoint(other_end) if OTHERS in end else not names.isdisjoint(end)


def _narrowness(end: str) -> int:
    if end in (CLIENTS, OTHERS):
        return 0
    is_host = end.replace(".", "").isdigit() or (end.count(":") > 1 and not end.startswith("["))
    return 1 if is_host else 2


def inside(node: str, addr: str) -> Names:
    """Return the names of a node of the cluster at its end of a link."""
    return frozenset((node, addr))


def outside(addr: str) -> Names:
    """Return the names of an outside peer."""
    return frozenset((CLIENTS, addr, host_of(addr)))
