"""Serving for a command line: run until a signal, and print a line when all nodes listen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.serving import foreground
from fakemq.serving.foreground import OpenControl, Watch
from fakemq.serving.ready import ReadyInfo, ready_line, remove_ready_file, write_ready_file

if TYPE_CHECKING:
    from fakemq.config.spec import ClusterSpec


def serve(
    spec: ClusterSpec,
    open_control: OpenControl | None = None,
    watch: Watch | None = None,
) -> int:
    """Run a cluster, or a single node, until SIGTERM or SIGINT; return the exit code.

    ``open_control`` is called once all nodes are registered; ``watch`` runs beside the cluster
    after the ready line. Raise FakemqError if the cluster cannot start, for example because a port
    is taken or the ready file's folder is missing.
    """
    path = spec.ready_file
    if path is not None:
        remove_ready_file(path)

    def on_ready(info: ReadyInfo) -> None:
        if path is not None:
            write_ready_file(path, info)
        print(ready_line(info), flush=True)

    if watch is None:
        return foreground.run(spec, on_ready, open_control)
    return foreground.run(spec, on_ready, open_control, watch)
