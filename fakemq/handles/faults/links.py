"""Faults of links: what happens to the connections between two ends.

An end is a node (``"broker-a"``, ``"broker-a-1"``, ``"namesrv-0"``), ``"clients"`` for every peer
outside the cluster, a client id, or an outside peer's host or ``host:port``. A fault is for every
connection between its ends, open or yet to come. To it a connection is one call: it hits when it
first has an effect there, and goes on having it. With ``one_way`` it is for what goes from the
first end to the second only; ``link`` is ``"ha"`` or ``"remoting"`` where only one of them is
meant. Removing a fault lets go on at once what it kept back.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from fakemq.clock.durations import Duration, Size, duration_ms, size_bytes
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import ALWAYS, Point, When
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, require_known, when_said

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.net.faults.scopes import LinkScope

ActionT = TypeVar("ActionT")
LANGUAGES = ("ha", "remoting")


class LinkLimits(Often, total=False):
    """Which connections of a link are meant, and how many; all, where nothing is said."""

    one_way: bool
    """Only what goes from the first end to the second."""
    link: Literal["ha", "remoting"]
    """Only replication, or only requests and their responses."""


class HoldFault(Fault):
    """Bytes that are kept back until `release`."""

    def release(self) -> None:
        """Let go on what was kept back, and what comes; as `remove`."""
        self.remove()


class LinkFaults(FaultPlacing):
    """Faults of links, placed by name."""

    def partition(self, a: str, b: str, **limits: Unpack[LinkLimits]) -> Fault:
        """Let nothing through, as a firewall that drops: connections stay and are silent.

        What is sent arrives when it heals, if the connection is still there. A node's connects get
        no answer and fail after 3 s; those of outside peers to a node succeed, as their kernels
        have it, and are silent.
        """
        from fakemq.faults.points import PARTITION

        return self._place_link(PARTITION, None, "partition", (a, b), limits)

    def heal(self) -> None:
        """Remove every partition."""
        for fault in self._partitions():
            fault.remove()

    def hold(self, a: str, b: str, **limits: Unpack[LinkLimits]) -> HoldFault:
        """Keep back what is sent until ``release()``; connections are made as ever."""
        from fakemq.faults.points import HOLD_LINK

        fault = self._place_link(HOLD_LINK, None, "hold", (a, b), limits)
        return HoldFault(self._running, fault._placed)

    def latency(
        self,
        a: str,
        b: str,
        latency: Duration,
        *,
        jitter: Duration = 0,
        **limits: Unpack[LinkLimits],
    ) -> Fault:
        """Have bytes arrive so much later, each way, give or take ``jitter``; in their order."""
        from fakemq.faults.points import LATENCY, Latency

        late_ms = duration_ms(latency, name="latency")
        jitter_ms = duration_ms(jitter, name="jitter")
        if late_ms <= 0:
            raise ConfigError(f"latency={latency!r}: expected more than nothing")
        if not 0 <= jitter_ms <= late_ms:
            raise ConfigError(f"jitter={jitter!r}: expected at most the latency, {latency!r}")
        what = f"latency {late_ms} ms" + (f" ± {jitter_ms} ms" if jitter_ms else "")
        return self._place_link(LATENCY, Latency(late_ms, jitter_ms), what, (a, b), limits)

    def bandwidth(self, a: str, b: str, bytes_per_s: Size, **limits: Unpack[LinkLimits]) -> Fault:
        """Let so many bytes through a second, such as ``"64KiB"``, each way of each connection."""
        from fakemq.faults.points import BANDWIDTH

        size = checked.whole("bandwidth", size_bytes(bytes_per_s, name="bandwidth"), 1)
        return self._place_link(BANDWIDTH, size, f"bandwidth {size} B/s", (a, b), limits)

    def slice(self, a: str, b: str, *, bytes: int = 1, **limits: Unpack[LinkLimits]) -> Fault:
        """Hand on so many bytes at a time, one piece right after the other."""
        from fakemq.faults.points import SLICE

        size = checked.whole("bytes", bytes, 1)
        return self._place_link(SLICE, size, f"slice of {size} B", (a, b), limits)

    def cut(self, a: str, b: str, *, after_bytes: Size, **limits: Unpack[LinkLimits]) -> Fault:
        """End a connection after so many more bytes from ``a`` to ``b``, which arrive.

        Of connections that are made later, after their first so many bytes. Once, unless something
        else is said.
        """
        from fakemq.faults.points import CUT

        size = size_bytes(after_bytes, name="after_bytes")
        limits["one_way"] = True
        return self._place_link(CUT, size, f"cut after {size} B", (a, b), limits, When(1))

    def reset(self, a: str, b: str, **limits: Unpack[LinkLimits]) -> Fault:
        """End connections with RST: all that are open, or the first to carry anything."""
        from fakemq.faults.points import RESET

        if checked.flag("one_way", limits.get("one_way", False)):
            raise ConfigError("a reset ends both ways of a connection: leave out one_way")
        return self._place_link(RESET, None, "reset", (a, b), limits, None)

    # -- inside -------------------------------------------------------------------------------

    def _partitions(self) -> list[Fault]:
        def placed() -> list[Any]:
            return [one for one in self._core.faults.all() if one.point.name == "partition"]

        return [Fault(self._running, one) for one in self._call(placed)]

    def _place_link(
        self,
        point: Point[ActionT],
        action: ActionT,
        what: str,
        ends: tuple[str, str],
        limits: LinkLimits,
        usually: When | None = ALWAYS,
    ) -> Fault:
        """Place a fault, for those connections that are open, too.

        Where ``limits`` do not say how often, it is ``usually``; None is as often as connections
        are open, and once if none is.
        """
        from fakemq.net.faults.links import plan_of

        require_known(limits, LinkLimits.__annotations__)
        core, scope = self._core, _scope(self._core, ends, limits)
        often = Often(**{name: limits[name] for name in Often.__annotations__ if name in limits})  # type: ignore[literal-required, typeddict-item]
        must_fire = checked.flag("must_fire", often.get("must_fire", True))
        count = when_said(often, usually)

        def begin() -> Fault:
            links = plan_of(core)
            placed = links.place(point, action, what, scope, count, must_fire=must_fire)
            core.network.settle()
            return Fault(self._running, placed)

        return self._call(begin)


def _scope(core: ClusterCore, ends: tuple[str, str], limits: LinkLimits) -> LinkScope:
    from fakemq.net.faults.links import node_names
    from fakemq.net.faults.scopes import LinkScope

    source, target = (_end(core, end) for end in ends)
    link = limits.get("link")
    if link is not None:
        checked.one_of("link", link, LANGUAGES)
    nodes = node_names(core)
    if source == target or not nodes.intersection((source, target)):
        raise ConfigError(f"{ends[0]} – {ends[1]}: expected two ends, one of them a node")
    if limits.get("must_fire", True):
        _require_link(core, source, target, link)
    return LinkScope(
        node=source if source in nodes else target,
        source=source,
        target=target,
        one_way=checked.flag("one_way", limits.get("one_way", False)),
        language=link,
    )


def _require_link(core: ClusterCore, source: str, target: str, link: str | None) -> None:
    """Refuse two nodes, or a kind of link, between which there is never a connection."""
    ends = {source, target}
    name_servers = ends.intersection(one.name for one in core.name_servers)
    brokers = [core.brokers[end] for end in ends & core.brokers.keys()]
    if link == "ha" and name_servers:
        what = "no HA link"
    elif len(name_servers) == 2 or len({one.config.broker_name for one in brokers}) == 2:
        what = "no link"
    else:
        return
    raise ConfigError(
        f"{source} – {target}: there is {what} between them; brokers talk to name servers, and to"
        " those of their own brokerName. With must_fire=False it is placed all the same"
    )


def _end(core: ClusterCore, end: str) -> str:
    """What the connections of an end call it. LookupError for what is none."""
    from fakemq.net.faults.scopes import CLIENTS

    checked.text("the end of a link", end)
    names = [one.name for one in core.name_servers]
    if end == CLIENTS or end in names or end in core.brokers:
        return end
    if "@" in end or _is_addr(end):
        return next((one.name for one in core.brokers.values() if one.addr == end), end)
    try:
        return core.broker(end).name
    except LookupError as error:
        hint = did_you_mean(end, [CLIENTS, *names, *core.brokers], lists=False)
        raise LookupError(
            f"no end of a link {end!r}: {error}, and {', '.join([*names, CLIENTS])};"
            f" a client id has an @, a peer outside is an IP address, or one with a port{hint}"
        ) from None


def _is_addr(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    if colon and port.isdecimal() and not host.endswith(":"):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
