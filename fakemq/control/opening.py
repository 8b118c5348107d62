"""The ports of a cluster that speak HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.serving.server import ClusterServer


async def open_http(server: ClusterServer) -> str | None:
    """Open what the spec of a running server wants; return the URL of the control port, if any."""
    if server.spec.exports_metrics:
        from fakemq.control.metrics import open_metrics  # few clusters export metrics

        await open_metrics(server)
    if server.spec.control is None:
        return None
    from fakemq.control.port import open_control  # clusters with metrics may have none

    return await open_control(server.spec.control, server)
