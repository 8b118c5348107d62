"""The ports at which nodes export their metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fakemq.metrics.nodes import Exporter, exporters
from fakemq.serving.listener import Port

if TYPE_CHECKING:
    from fakemq.config.spec import ClusterSpec
    from fakemq.core.cluster import ClusterCore

OPTION = "metricsPromExporterPort"


class ExportedNode(NamedTuple):
    """What a node exports, and the port for that."""

    exporter: Exporter
    port: Port


def exported(core: ClusterCore, spec: ClusterSpec, ports: list[Any]) -> dict[str, ExportedNode]:
    """Return what the nodes of a cluster export, by name; their ports are added to ``ports``.

    Raise FakemqError for a port that is taken, ConfigError without the extra.
    """
    found: dict[str, ExportedNode] = {}
    for exporter in exporters(core, spec):
        name = exporter.node.name
        port = Port(exporter.host.strip("[]"), exporter.port, f"metrics port of {name}", OPTION)
        ports.append(port)
        found[name] = ExportedNode(exporter, port)
    return found
