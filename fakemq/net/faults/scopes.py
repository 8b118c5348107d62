"""Which links a fault is for, and what its kinds are."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from fakemq.faults.plan import Scope

CLIENTS = "clients"
"""As an end of a link: every peer outside the cluster."""


class Latency(msgspec.Struct, frozen=True):
    """How late bytes are, give or take ``jitter_ms``."""

    latency_ms: int
    jitter_ms: int


Names: TypeAlias = frozenset[str]
"""All that one end of a link is called: its node, address, host, client ids, or `CLIENTS`."""


class Passing(Scope, frozen=True, kw_only=True, gc=False):
    """Bytes from one end of a link to the other; ``language`` is what is spoken on it."""

    source: Names
    target: Names
    language: str

    def back(self) -> Passing:
        """The other direction."""
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
        """One client is narrower than its host, and that than all; so is one way, one language."""
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
    """What a node of the cluster is called at its end of a link."""
    return frozenset((node, addr))


def outside(addr: str) -> Names:
    """What a peer outside is called."""
    host = addr.rpartition(":")[0].removeprefix("[").removesuffix("]")
    return frozenset((CLIENTS, addr, host))
