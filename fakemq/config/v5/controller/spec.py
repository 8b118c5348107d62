"""The controllers of a cluster, or a single one from its file: names, addresses, configs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fakemq.config.files import complaining, load
from fakemq.config.model import WHY_NO_OTHER, keys_of, known_exporter
from fakemq.config.rows import is_address
from fakemq.config.v5.controller.model import ControllerConfig, NamesrvWithControllerConfig
from fakemq.config.v5.model import NamesrvConfig5
from fakemq.errors import ConfigError, NotYetSupported
from fakemq.protocol.hosts import bracketed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fakemq.config.files import ConfigSource, Settings, Warn
    from fakemq.config.model import Value

GROUP = "DefaultControllerGroup"
"""The name of the group of a whole cluster's controllers."""


class ControllerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One controller."""

    name: str
    """``controller-0``, ``controller-1``, …"""
    peer_id: str
    """Its name in the group: ``n0``; with jRaft its address for Raft, "" for the one of brokers."""
    host: str
    """The host of the address that others are given."""
    port: int
    """0 means a free one."""
    config: ControllerConfig


def controllers_of_cluster(
    ports: Iterable[int], host: str, keys: Mapping[str, Value], folder: str | None
) -> tuple[ControllerSpec, ...]:
    """Return the controllers of a cluster, one at each port; 0 means a free one.

    ``keys`` has values of their config, by attribute; ``folder`` is that of their log.
    """
    config = ControllerConfig(controller_d_leger_group=GROUP)
    config.assign({} if folder is None else {"controller_store_path": folder})
    config.assign(keys)
    config.metrics_exporter_type = known_exporter(config.metrics_exporter_type)
    return tuple(
        ControllerSpec(
            name=f"controller-{number}",
            peer_id="" if config.is_jraft else f"n{number}",
            host=host,
            port=port,
            config=config,
        )
        for number, port in enumerate(ports)
    )


def controller_of_file(source: ConfigSource | None, *, strict: bool, warn: Warn) -> ControllerSpec:
    """Return the controller that a file, or a mapping, describes.

    Raise ConfigError for a key that is missing or wrong, and NotYetSupported for a controller that
    needs others in processes of their own.
    """
    with complaining(warn, strict=strict) as complain:
        settings = load({} if source is None else source, ControllerConfig, warn=complain)
        spec = _of(settings)
        said = spec.config.metrics_exporter_type
        acts = spec.config.metrics_exporter_type = known_exporter(said)
        if acts != said:
            complain(f"{settings.name}: metricsExporterType={said} has no effect: {WHY_NO_OTHER}")
    return spec


def namesrv_with_controller(
    source: ConfigSource, *, strict: bool, warn: Warn
) -> tuple[NamesrvConfig5, ControllerSpec]:
    """Return the configs in a file of a name server with a controller in it.

    Raise as `controller_of_file` does.
    """
    settings = load(source, NamesrvWithControllerConfig, strict=strict, warn=warn)
    config = NamesrvConfig5()
    config.assign(_for(NamesrvConfig5, settings))
    config.texts = settings.texts
    return config, _of(settings)


def _for(kind: type[NamesrvConfig5 | ControllerConfig], settings: Settings) -> dict[str, Value]:
    known = {key.attribute for key in keys_of(kind).values()}
    return {name: value for name, value in settings.values.items() if name in known}


def _of(settings: Settings) -> ControllerSpec:
    config = ControllerConfig()
    config.assign(_for(ControllerConfig, settings))
    config.texts = settings.texts
    where = settings.name
    own, peers = _jraft(config, where) if config.is_jraft else _dledger(config, where)
    if own not in peers:
        key = "jRaftServerId" if config.is_jraft else "controllerDLegerSelfId"
        known = ", ".join(peers) or "none"
        raise ConfigError(f"{where}: {key}={own} is none of the controllers of its group: {known}")
    if len(peers) > 1:
        raise NotYetSupported(
            f"{where}: a group of {len(peers)} controllers: fakemq has no Raft between processes;"
            " name this controller alone, or start all of them in one process: python -m fakemq"
            f" --reference 5.5.0 --controllers {len(peers)}"
        )
    host, _, port = peers[own].rpartition(":")
    return ControllerSpec(
        name="controller-0",
        peer_id=own,
        host=bracketed(host.strip("[]")),
        port=int(port),
        config=config,
    )


def _dledger(config: ControllerConfig, where: str) -> tuple[str, dict[str, str]]:
    """Return its own id, and the address of each id of the group.

    Source: controller/ControllerManager.java#initialize, dledger's DLedgerConfig.java (0.3.2)
    """
    peers = _required(config.controller_d_leger_peers, "controllerDLegerPeers", where)
    own = _required(config.controller_d_leger_self_id, "controllerDLegerSelfId", where)
    found: dict[str, str] = {}
    for peer in filter(None, map(str.strip, peers.split(";"))):
        peer_id, _, addr = peer.partition("-")
        if not peer_id or not is_address(addr):
            raise ConfigError(
                f"{where}: controllerDLegerPeers has {peer!r}: expected ID-HOST:PORT, with ;"
                " between several, such as n0-127.0.0.1:9878"
            )
        if peer_id in found:
            raise ConfigError(f"{where}: controllerDLegerPeers has {peer_id} twice")
        found[peer_id] = addr
    return own, found


def _jraft(config: ControllerConfig, where: str) -> tuple[str, dict[str, str]]:
    """Return its own address for Raft, and the address for brokers of each.

    Source: controller/ControllerManager.java#initialize, JRaftController.java#initPeerIdMap (5.5.0)
    """
    raft = _required(config.j_raft_init_conf, "jRaftInitConf", where).split(",")
    own = _required(config.j_raft_server_id, "jRaftServerId", where)
    addrs = config.j_raft_controller_r_p_c_addr.split(",")
    if len(addrs) < len(raft):
        raise ConfigError(
            f"{where}: jRaftInitConf has {len(raft)} controllers and jRaftControllerRPCAddr"
            f" {len(addrs)} addresses: expected one for each, in the same order"
        )
    for addr in addrs:
        if not is_address(addr):
            raise ConfigError(f"{where}: jRaftControllerRPCAddr has {addr!r}: expected HOST:PORT")
    return own, dict(zip(raft, addrs, strict=False))


def _required(value: str | None, name: str, where: str) -> str:
    """Return a value that Java does not start without; raise ConfigError with its words."""
    if not value:
        raise ConfigError(f"{where}: Attribute value {name} of ControllerConfig is null or empty")
    return value
