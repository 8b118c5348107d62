"""The report of a started cluster: the line on stdout and the ready file."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import msgspec

from fakemq.config.layout import MEMORY
from fakemq.errors import FakemqError
from fakemq.files.regular import require_regular

if TYPE_CHECKING:
    from fakemq.config.spec import ClusterSpec
    from fakemq.serving.server import ClusterServer
    from fakemq.serving.tls import ClusterTls


class ReadyBroker(msgspec.Struct, frozen=True, kw_only=True):
    """One broker that listens and is registered; addresses are ``host:port``."""

    name: str
    """The brokerName, which a master shares with its slaves."""
    id: int
    addr: str
    vip: str
    ha: str
    """The address for slaves."""
    store: str
    """``"memory"``, or the folder of the broker's files."""
    node: str | msgspec.UnsetType = msgspec.UNSET
    """The name of a broker under controllers, whose id changes; left out for others."""


class ReadyTls(msgspec.Struct, frozen=True, kw_only=True):
    """How clients reach the cluster by TLS."""

    mode: str
    """``permissive`` or ``enforcing``."""
    ca_file: str
    """The certificates that clients can trust; empty if the cluster does not know any."""
    config_file: str
    """A ``tls.properties`` for Java clients; empty if there is none."""


class ReadyInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the ready file: JSON with these field names."""

    namesrv: str
    """``host:port[;host:port]``; empty for a broker without name servers."""
    cluster: str
    pid: int
    control: str | None = None
    """The URL of the control port."""
    controllers: str | msgspec.UnsetType = msgspec.UNSET
    """``host:port[;host:port]``, as brokers' controllerAddr; left out without controllers."""
    grpc: str | msgspec.UnsetType = msgspec.UNSET
    """``host:port`` for gRPC clients; left out without such a port."""
    proxy_remoting: str | msgspec.UnsetType = msgspec.UNSET
    """``host:port`` of the proxy for clients that speak remoting; left out without such a port."""
    tls: ReadyTls | msgspec.UnsetType = msgspec.UNSET
    """Left out unless an option asks for TLS."""
    metrics: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Node → ``host:port`` of its metrics for Prometheus; left out without any."""
    brokers: tuple[ReadyBroker, ...] = ()


def ready_info(server: ClusterServer, control_url: str | None) -> ReadyInfo:
    """Return the addresses, stores and TLS files of a cluster that has started."""
    core = server.core
    brokers = tuple(
        ReadyBroker(
            name=broker.config.broker_name,
            id=broker.config.broker_id,
            addr=broker.addr,
            vip=broker.vip_addr,
            ha=broker.ha_addr,
            store=broker.config.store_path_root_dir or MEMORY,
            node=broker.name if broker.config.has_controller else msgspec.UNSET,
        )
        for broker in core.brokers.values()
    )
    return ReadyInfo(
        namesrv=";".join(core.namesrv_addrs) or _outside_name_servers(core.spec),
        cluster=core.spec.cluster_name,
        pid=os.getpid(),
        control=control_url,
        controllers=";".join(core.controller_addrs) or msgspec.UNSET,
        grpc=server.grpc_addr or msgspec.UNSET,
        proxy_remoting=server.proxy_remoting_addr or msgspec.UNSET,
        tls=_ready_tls(server.tls),
        metrics={name: one.port.addr for name, one in server.exporters.items()} or msgspec.UNSET,
        brokers=brokers,
    )


def _outside_name_servers(spec: ClusterSpec) -> str:
    """Return the name servers of a lone broker; "" for a lone controller."""
    return (spec.broker_configs[0].namesrv_addr or "") if spec.broker_configs else ""


def _ready_tls(tls: ClusterTls) -> ReadyTls | msgspec.UnsetType:
    if not tls.announced or tls.mode == "disabled":
        return msgspec.UNSET
    files = tls.files()
    return ReadyTls(mode=files.mode, ca_file=files.ca_file, config_file=files.config_file)


def ready_line(info: ReadyInfo) -> str:
    """Return the line that reports, for a person or a script, that all nodes are up."""
    brokers = " ".join(f"{one.node or f'{one.name}-{one.id}'} {one.addr}" for one in info.brokers)
    parts = [f"namesrv {info.namesrv or 'none'}"]
    if brokers:
        parts.append(f"brokers {brokers}")
    if info.controllers is not msgspec.UNSET:
        parts.append(f"controllers {info.controllers}")
    if info.grpc is not msgspec.UNSET:
        parts.append(f"grpc {info.grpc}")
    if info.proxy_remoting is not msgspec.UNSET:
        parts.append(f"proxy-remoting {info.proxy_remoting}")
    if info.control is not None:
        parts.append(f"control {info.control}")
    if info.metrics is not msgspec.UNSET:
        addrs = " ".join(f"{node} {addr}" for node, addr in info.metrics.items())
        parts.append(f"metrics {addrs}")
    if info.tls is not msgspec.UNSET:
        parts.append(f"tls {info.tls.mode} {info.tls.ca_file}".rstrip())
    return f"fakemq ready: {', '.join(parts)} (pid {info.pid})"


def write_ready_file(path: str, info: ReadyInfo) -> None:
    """Write the ready file in one step, so that no reader sees a part.

    A link stays, and the file that it leads to is written. Raise FakemqError if it cannot be
    written, or if something else than a file is there.
    """
    target = os.path.realpath(path)
    temporary = f"{target}.{info.pid}.tmp"
    try:
        require_regular(target)
        with open(temporary, "wb") as file:
            file.write(_encoded(info))
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise _unwritable(path, error) from None


def remove_ready_file(path: str, info: ReadyInfo | None = None) -> None:
    """Remove a file that describes a cluster that does not run any more.

    With ``info`` only a file that says it: another run may have written its own meanwhile. Raise
    FakemqError as `write_ready_file` does.
    """
    target = os.path.realpath(path)
    try:
        require_regular(target)
        if info is not None:
            with open(target, "rb") as file:
                wanted = _encoded(info)
                if file.read(len(wanted) + 1) != wanted:
                    return
        os.unlink(target)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(path, error) from None


def _encoded(info: ReadyInfo) -> bytes:
    return msgspec.json.encode(info) + b"\n"


def _unwritable(path: str, error: OSError) -> FakemqError:
    return FakemqError(f"{path}: cannot write the ready file: {error.strerror}")
