"""The faults of `mq.faults` for links: for the connections between two ends.

An end is one of:

1. a node: ``"broker-a"`` (the master), ``"broker-a-1"``, ``"namesrv-0"``, ``"controller-0"``;
2. all nodes of a kind: ``"brokers"``, ``"namesrvs"``, ``"controllers"``;
3. ``"clients"``: every peer outside the cluster;
4. one peer outside: a client id, a host, or ``host:port``;
5. a site: a list of these, such as ``["broker-a", "clients"]``;
6. ``"others"``: all that is not at the other end.

A fault acts on every connection between its ends, open now or opened later. It counts connections,
not bytes: it fires once for a connection, at its first effect there, and then keeps its effect on
that connection. ``times=2``, for example, affects two connections. When a fault is removed, the
bytes that it held back are delivered at once.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, Unpack, get_args

from fakemq.clock.durations import Duration, Size, duration_ms, size_bytes
from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import ALWAYS, Point, When
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, require_known, when_said

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.net.faults.scopes import LinkScope

ActionT = TypeVar("ActionT")
Language: TypeAlias = Literal["ha", "remoting", "grpc"]
"""The protocols that connections of a cluster speak."""
End: TypeAlias = str | Sequence[str]
"""An end of links: a name, or several that are one site."""


class LinkLimits(Often, total=False):
    """The limits of a link fault: which connections it acts on, and on how many; by default all."""

    one_way: bool
    """True: only bytes from the first end to the second."""
    link: Language
    """``"ha"``: only replication; ``"remoting"``: only requests and their responses; ``"grpc"``:
    only clients of the gRPC front."""


class HoldFault(Fault):
    """A fault that holds bytes back until `release`."""

    def release(self) -> None:
        """Deliver the held bytes and hold no more; the same as `remove`."""
        self.remove()


class LinkFaults(FaultPlacing):
    """Faults of links, between an end ``a`` and an end ``b``; see the module for what an end is.

    ``limits`` are those of `LinkLimits`. Each method raises LookupError for an end that does not
    exist, and ConfigError for ends that never have a connection (unless ``must_fire=False``) and
    for arguments that contradict each other.
    """

    def partition(
        self, a: str | Sequence[str], b: str | Sequence[str], **limits: Unpack[LinkLimits]
    ) -> Fault:
        """Let no byte through, like a firewall that drops packets: connections stay open.

        Bytes that were sent arrive when the fault is removed, if the connection is still open. New
        connections: 1. one that a node opens gets no answer and fails after 3 s; 2. one that an
        outside peer opens to a node succeeds, because the peer's kernel accepts it, but carries
        nothing. Two controllers count as one connection, which no ``link`` is: they elect
        as real ones do that do not reach each other. ConfigError if they would be separated
        ``one_way``.
        """
        from fakemq.faults.points import PARTITION

        return self._place_link(PARTITION, None, "partition", (a, b), limits)

    def heal(self) -> None:
        """Remove every partition."""
        for fault in self._partitions():
            fault.remove()

    def hold(
        self, a: str | Sequence[str], b: str | Sequence[str], **limits: Unpack[LinkLimits]
    ) -> HoldFault:
        """Hold the bytes that are sent until ``release()``; new connections still open."""
        from fakemq.faults.points import HOLD_LINK

        fault = self._place_link(HOLD_LINK, None, "hold", (a, b), limits)
        return HoldFault(self._running, fault._placed)

    def latency(
        self,
        a: str | Sequence[str],
        b: str | Sequence[str],
        latency: Duration,
        *,
        jitter: Duration = 0,
        **limits: Unpack[LinkLimits],
    ) -> Fault:
        """Deliver bytes later by ``latency`` ± ``jitter`` in each direction, and keep their order.

        Both are durations of the cluster's clock, such as ``"30ms"``. ConfigError unless
        ``latency`` > 0 and 0 <= ``jitter`` <= ``latency``.
        """
        from fakemq.faults.points import LATENCY, Latency

        late_ms = duration_ms(latency, name="latency")
        jitter_ms = duration_ms(jitter, name="jitter")
        if late_ms <= 0:
            raise ConfigError(f"latency={latency!r}: expected more than nothing")
        if not 0 <= jitter_ms <= late_ms:
            raise ConfigError(f"jitter={jitter!r}: expected at most the latency, {latency!r}")
        what = f"latency {late_ms} ms" + (f" ± {jitter_ms} ms" if jitter_ms else "")
        return self._place_link(LATENCY, Latency(late_ms, jitter_ms), what, (a, b), limits)

    def bandwidth(
        self,
        a: str | Sequence[str],
        b: str | Sequence[str],
        bytes_per_s: Size,
        **limits: Unpack[LinkLimits],
    ) -> Fault:
        """Let ``bytes_per_s`` bytes through a second, in each direction of each connection.

        A number, or a text such as ``"64KiB"``; at least 1.
        """
        from fakemq.faults.points import BANDWIDTH

        size = checked.whole("bandwidth", size_bytes(bytes_per_s, name="bandwidth"), 1)
        return self._place_link(BANDWIDTH, size, f"bandwidth {size} B/s", (a, b), limits)

    def slice(
        self,
        a: str | Sequence[str],
        b: str | Sequence[str],
        *,
        bytes: int = 1,
        **limits: Unpack[LinkLimits],
    ) -> Fault:
        """Deliver bytes in pieces of ``bytes`` bytes, each piece right after the one before."""
        from fakemq.faults.points import SLICE

        size = checked.whole("bytes", bytes, 1)
        return self._place_link(SLICE, size, f"slice of {size} B", (a, b), limits)

    def cut(
        self,
        a: str | Sequence[str],
        b: str | Sequence[str],
        *,
        after_bytes: Size,
        **limits: Unpack[LinkLimits],
    ) -> Fault:
        """Close a connection after ``after_bytes`` bytes from ``a`` to ``b``; these bytes arrive.

        The count begins now for an open connection, and at its first byte for a later one. Acts
        once, on one connection, unless ``limits`` say otherwise.
        """
        from fakemq.faults.points import CUT

        size = size_bytes(after_bytes, name="after_bytes")
        limits["one_way"] = True
        return self._place_link(CUT, size, f"cut after {size} B", (a, b), limits, When(1))

    def reset(
        self, a: str | Sequence[str], b: str | Sequence[str], **limits: Unpack[LinkLimits]
    ) -> Fault:
        """Reset connections (TCP RST): all that are open, or if none is, the next to carry bytes.

        ConfigError with ``one_way``: a reset always ends both directions.
        """
        from fakemq.faults.points import RESET

        if checked.flag("one_way", limits.get("one_way", False)):
            raise ConfigError("a reset ends both directions of a connection: leave out one_way")
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
        ends: tuple[End, End],
        limits: LinkLimits,
        usually: When | None = ALWAYS,
    ) -> Fault:
        """Place a fault and let it act on the connections that are already open.

        ``usually`` is how often it acts if ``limits`` do not say; None means once for each open
        connection, and once if none is open.
        """
        from fakemq.net.faults.links import plan_of

        require_known(limits, LinkLimits.__annotations__)
        core, scope = self._core, _scope(self._core, point, ends, limits)
        often = Often(**{name: limits[name] for name in Often.__annotations__ if name in limits})  # type: ignore[literal-required, typeddict-item]
        must_fire = checked.flag("must_fire", often.get("must_fire", True))
        count = when_said(often, usually)

        def begin() -> Fault:
            links = plan_of(core)
            placed = links.place(point, action, what, scope, count, must_fire=must_fire)
            core.network.settle()
            return Fault(self._running, placed)

        return self._call(begin)


def _scope(
    core: ClusterCore, point: Point[Any], ends: tuple[End, End], limits: LinkLimits
) -> LinkScope:
    from fakemq.net.faults.links import node_names, parted_controllers
    from fakemq.net.faults.scopes import OTHERS, LinkScope

    source, target = (_names(core, end) for end in ends)
    link = limits.get("link")
    if link is not None:
        checked.one_of("link", link, get_args(Language))
    nodes = node_names(core)
    found = [name for name in (*source, *target) if name in nodes]
    if set(source) == set(target) or not found:
        what = "two different ends" if set(source) == set(target) else "a node at one of the ends"
        raise ConfigError(f"{_said(ends[0])} – {_said(ends[1])}: expected {what}{_hint(ends)}")
    if OTHERS not in {*source, *target} and limits.get("must_fire", True):
        _require_link(core, point, source, target, link)
    scope = LinkScope(
        node=found[0],
        source=frozenset(source),
        target=frozenset(target),
        one_way=checked.flag("one_way", limits.get("one_way", False)),
        language=link,
    )
    if scope.one_way and point.name == "partition" and parted_controllers(core, scope):
        raise ConfigError(
            f"{_said(ends[0])} → {_said(ends[1])}: controllers are separated both ways: leave out"
            " one_way"
        )
    return scope


def _hint(ends: tuple[End, End]) -> str:
    """Return which names to use instead of "others", if an end is that."""
    if "others" not in ends:
        return ""
    return '; instead of "others" name them, such as ["brokers", "namesrvs"]'


def _said(end: End) -> str:
    return end if isinstance(end, str) else ", ".join(end)


def _require_link(
    core: ClusterCore,
    point: Point[Any],
    source: Sequence[str],
    target: Sequence[str],
    link: str | None,
) -> None:
    """Refuse ends, or a kind of link, between which there is never a connection."""
    whys = [_why_none(core, point, a, b, link) for a in source for b in target if a != b]
    if all(whys):
        raise ConfigError(whys[0])


def _why_none(core: ClusterCore, point: Point[Any], a: str, b: str, link: str | None) -> str:
    """Return why there is never such a connection between two ends; "" if there may be one."""
    kinds = sorted((_kind(core, a), _kind(core, b)))
    if "front" in kinds and kinds != ["front", "outside"]:
        return (
            f"{a} – {b}: the front asks nodes of its cluster without a connection; use"
            " mq.faults.error, delay and drop, or pause the node"
        )
    if kinds == ["controller", "controller"]:
        if point.name == "partition" and link is None:
            return ""
        return (
            f"{a} – {b}: the controllers of a cluster have no connections to each other; use"
            " mq.partition, mq.controllers.depose, kill or pause"
        )
    names = {core.brokers[end].config.broker_name for end in (a, b) if end in core.brokers}
    if link is not None and (link == "grpc") is not ("front" in kinds):
        what = f"no {link} link"
    elif link == "ha" and not {"namesrv", "controller"}.isdisjoint(kinds):
        what = "no HA link"
    elif len(names) == 2 or kinds in (["namesrv", "namesrv"], ["controller", "namesrv"]):
        what = "no link"
    else:
        return ""
    return (
        f"{a} – {b}: there is {what} between them; brokers connect to name servers, to controllers"
        " and to brokers of their own brokerName, gRPC clients to the front. With must_fire=False"
        " the fault is placed nevertheless"
    )


def _kind(core: ClusterCore, end: str) -> str:
    """Return of which kind an end is: ``broker``, ``namesrv``, ``controller``, ``front`` or
    ``outside``."""
    if end in core.brokers:
        return "broker"
    for kind, nodes in (
        ("namesrv", core.name_servers),
        ("controller", core.controllers_called(None)),
    ):
        if any(one.name == end for one in nodes):
            return kind
    return "front" if core.proxy is not None and core.proxy.name == end else "outside"


def _names(core: ClusterCore, end: End) -> list[str]:
    """Return the names that connections have for an end. LookupError if it is no end."""
    if isinstance(end, str):
        return _all_of(core, end) or [_end(core, end)]
    several = checked.several_texts("the end of a link", end)
    if not several:
        raise ConfigError("the end of a link is an empty list: expected names")
    return list(dict.fromkeys(name for one in several for name in _names(core, one)))


def _all_of(core: ClusterCore, end: str) -> list[str]:
    """Return the nodes of a kind; none for an end that is no kind."""
    kinds = {
        "brokers": [*core.brokers],
        "namesrvs": [one.name for one in core.name_servers],
        "controllers": [one.name for one in core.controllers_called(None)],
    }
    found = kinds.get(end)
    if found is None:
        return []
    if not found:
        raise LookupError(f"no end of a link {end!r}: this cluster has none")
    return found


def _end(core: ClusterCore, end: str) -> str:
    """Return the name that connections have for an end. LookupError if it is no end.

    A node's address becomes the node's name; the address of an outside peer stays as it is.
    """
    from fakemq.net.faults.scopes import CLIENTS, OTHERS

    checked.text("the end of a link", end)
    names = [one.name for one in core.name_servers]
    names += [one.name for one in core.controllers_called(None)]
    if core.proxy is not None:
        names.append(core.proxy.name)
    if end in (CLIENTS, OTHERS) or end in names or end in core.brokers:
        return end
    # A client id has an @, and so has the name of a replica, such as broker-a@1.
    broker_names = {one.config.broker_name for one in core.brokers.values()}
    is_client = "@" in end and end.partition("@")[0] not in broker_names
    if is_client or _is_addr(end):
        return next((one.name for one in core.brokers.values() if one.addr == end), end)
    try:
        return core.broker(end).name
    except LookupError as error:
        hint = did_you_mean(end, [CLIENTS, OTHERS, *names, *core.brokers], lists=False)
        raise LookupError(
            f"no end of a link {end!r}: {error}, and {', '.join([*names, CLIENTS, OTHERS])};"
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
