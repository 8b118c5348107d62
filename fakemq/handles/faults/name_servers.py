"""The faults of `mq.faults` for name servers: registrations they miss, false routes they show."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Unpack

from fakemq.clock.durations import Duration, duration_ms
from fakemq.config import checked
from fakemq.errors import ConfigError
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, lasting
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from fakemq.namesrv.faults import RouteView

Namesrv: TypeAlias = str | int | None
"""A name server by number (0), name (``"namesrv-0"``) or address; None: every name server."""

_REGISTRATIONS = frozenset({RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER})


class NameServerFaults(FaultPlacing):
    """Faults between brokers and name servers, and of the routes that name servers show.

    They last until they are removed unless ``often`` says otherwise. ``namesrv`` selects one name
    server. Each method raises LookupError for a broker or name server that does not exist, and
    ConfigError for a value out of range.
    """

    def silence(self, broker: str, *, namesrv: Namesrv = None, **often: Unpack[Often]) -> Fault:
        """Stop the requests of a broker to a name server, such as registrations.

        The broker's connections stay open and it serves its clients.
        """
        from fakemq.faults.points import SILENCE

        node = self._core.broker(broker).name
        to = "" if namesrv is None else f" to {self._one(namesrv)}"
        peer = None if namesrv is None else self._name_servers(namesrv)[0].addr
        return self._place(
            SILENCE,
            None,
            f"silence {node}{to}",
            Scope(node=node, peer=peer),
            lasting(often),
            must_fire=often.get("must_fire", True),
        )

    def lag_registrations(
        self,
        by: Duration,
        *,
        broker: str | None = None,
        namesrv: Namesrv = None,
        must_fire: bool = True,
    ) -> Fault:
        """Let registrations take effect later, ``by`` a time of the cluster's clock (``"30s"``).

        The name server answers brokers at once. First registrations, renewals and unregistrations
        are all late. ``broker`` limits the fault to one broker.
        """
        from fakemq.faults.points import BEFORE_STORE
        from fakemq.namesrv.faults import RouteLag

        ms = duration_ms(by, name="lag_registrations")
        if ms <= 0:
            raise ConfigError(f"lag_registrations by {by!r}: expected more than nothing")
        addr = None if broker is None else self._core.broker(broker).addr
        of = "" if broker is None else f" of {broker}"
        return self._place(
            BEFORE_STORE,
            RouteLag(ms),
            f"lag registrations{of} by {ms} ms{self._at(namesrv)}",
            Scope(code=_REGISTRATIONS, node=self._node(namesrv), client=addr),
            ALWAYS,
            must_fire=must_fire,
        )

    def stale_routes(self, *, namesrv: Namesrv = None, must_fire: bool = True) -> Fault:
        """Freeze the routes that a name server shows at their present state.

        It still takes registrations, and shows their effect once the fault is removed. ConfigError
        without ``namesrv`` if there are several name servers.
        """
        from fakemq.namesrv.faults import Stale

        one = self._name_servers(namesrv)
        if len(one) != 1:
            raise ConfigError("stale_routes: name one name server, as in namesrv=0")
        view = self._call(lambda: Stale(one[0].tables))
        return self._view(f"stale routes{self._at(namesrv)}", view, namesrv, must_fire)

    def hide_broker(self, broker: str, *, namesrv: Namesrv = None, must_fire: bool = True) -> Fault:
        """Hide one node (``"broker-a-1"``) or every node of a brokerName (``"broker-a"``)."""
        from fakemq.namesrv.faults import HiddenBroker

        config = self._core.broker(broker).config
        broker_id = None if broker == config.broker_name else config.broker_id
        what = f"hide broker {broker}{self._at(namesrv)}"
        return self._view(what, HiddenBroker(config.broker_name, broker_id), namesrv, must_fire)

    def hide_topic(
        self,
        topic: str,
        *,
        broker: str | None = None,
        namesrv: Namesrv = None,
        must_fire: bool = True,
    ) -> Fault:
        """Hide all queues of a topic, or those at one ``broker``."""
        return self._queues(f"hide topic {topic}", topic, 0, broker, namesrv, must_fire)

    def show_queues(
        self,
        topic: str,
        queues: int,
        *,
        broker: str | None = None,
        namesrv: Namesrv = None,
        must_fire: bool = True,
    ) -> Fault:
        """Show ``queues`` (1 or more) read and write queues of a topic, instead of the true number.

        A smaller number than the true one hides the queues with the highest numbers.
        """
        if checked.whole("queues", queues, 0, INT_MAX) == 0:
            raise ConfigError("queues=0: expected 1 or more; see hide_topic")
        return self._queues(
            f"show {queues} queues of {topic}", topic, queues, broker, namesrv, must_fire
        )

    def show_addr(
        self, broker: str, addr: str, *, namesrv: Namesrv = None, must_fire: bool = True
    ) -> Fault:
        """Show ``addr`` (``"host:port"``) as the address of a broker."""
        from fakemq.namesrv.faults import OtherAddress

        host, _, port = checked.text("addr", addr).rpartition(":")
        if not (host and port.isdecimal() and 0 < int(port) < 65536):
            raise ConfigError(f"addr={addr!r}: expected host:port")
        config = self._core.broker(broker).config
        view = OtherAddress(config.broker_name, config.broker_id, addr)
        return self._view(f"show {broker} at {addr}{self._at(namesrv)}", view, namesrv, must_fire)

    # -- placing ------------------------------------------------------------------------------

    def _queues(
        self,
        what: str,
        topic: str,
        queues: int,
        broker: str | None,
        namesrv: Namesrv,
        must_fire: bool,
    ) -> Fault:
        from fakemq.namesrv.faults import OtherQueues

        name = None if broker is None else self._core.broker(broker).config.broker_name
        of = "" if name is None else f" of {name}"
        return self._view(
            f"{what}{of}{self._at(namesrv)}", OtherQueues(topic, queues, name), namesrv, must_fire
        )

    def _view(self, what: str, view: RouteView, namesrv: Namesrv, must_fire: bool) -> Fault:
        from fakemq.faults.points import VIEW

        return self._place(
            VIEW, view, what, Scope(node=self._node(namesrv)), ALWAYS, must_fire=must_fire
        )

    def _one(self, namesrv: Namesrv) -> str:
        return self._name_servers(namesrv)[0].name

    def _node(self, namesrv: Namesrv) -> str | None:
        return None if namesrv is None else self._one(namesrv)

    def _at(self, namesrv: Namesrv) -> str:
        return "" if namesrv is None else f" at {self._one(namesrv)}"
