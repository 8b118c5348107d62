"""What the system must allow a process before it starts a cluster (ulimit).

A cluster that starts with less fails later: while it listens, or at the first message.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

from fakemq.errors import FakemqError
from fakemq.protocol.layout.codecs import INDEX_ENTRY, INDEX_SLOT
from fakemq.store.descriptors import SPARE_DESCRIPTORS, descriptor_limit, raise_descriptor_limit
from fakemq.store.memory_files import GIB, NO_RESERVE, size_text

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig
    from fakemq.config.spec import ClusterSpec

_LOOP_DESCRIPTORS = 10
"""Of the event loop itself, and of the files of the cluster: ready file, journal."""
_NODE_DESCRIPTORS = 2
"""Of each port: one socket reserves it, one listens."""
_BROKER_PORTS = 3
_STORE_DESCRIPTORS = 64
"""Of each directory: its lock, and one for each mapped file. A queue has at least one."""
_CONNECTIONS = 8
_SPARE_BYTES = 256 << 20
"""Addresses of the interpreter and of the queues."""


def require_limits(spec: ClusterSpec) -> None:
    """Raise FakemqError if a limit of this process is too small for the cluster.

    The limit of descriptors is raised first, as far as the system allows, if that is needed.
    """
    _require_descriptors(spec)
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit_bytes != resource.RLIM_INFINITY:
        _require_addresses(spec, limit_bytes)
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit_bytes != resource.RLIM_INFINITY:
        _require_file_size(spec, limit_bytes)


def _require_descriptors(spec: ClusterSpec) -> None:
    ports = len(spec.namesrv_ports) + _BROKER_PORTS * len(spec.broker_configs)
    ports += (spec.control is not None) + (spec.grpc_port is not None) + len(spec.controllers)
    ports += sum(config.metrics_port is not None for config in spec.broker_configs)
    stores = sum(config.store_path_root_dir is not None for config in spec.broker_configs)
    needed = _LOOP_DESCRIPTORS + _NODE_DESCRIPTORS * ports + _STORE_DESCRIPTORS * stores
    needed += _CONNECTIONS + SPARE_DESCRIPTORS
    opened = _opened()
    if opened + needed > descriptor_limit():
        raise_descriptor_limit()
    if opened + needed > (limit := descriptor_limit()):
        right = max(1024, 1 << (2 * (opened + needed)).bit_length())
        raise FakemqError(
            f"the limit of open files (ulimit -n) is {limit}: this cluster needs {needed} beside"
            f" the {opened} that are open; ulimit -n {right} is enough"
        )


def _opened() -> int:
    """Return how many descriptors are open; a new one is the lowest that is free."""
    try:
        number = os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return descriptor_limit()
    os.close(number)
    return number


def _require_addresses(spec: ClusterSpec, limit_bytes: int) -> None:
    needed = _SPARE_BYTES + sum(map(_first_files_bytes, spec.broker_configs))
    try:
        mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE).close()
    except (OSError, OverflowError):
        right_kib = (needed // GIB + 2) * GIB >> 10
        raise FakemqError(
            f"the limit of addresses (ulimit -v) is {limit_bytes >> 10} KiB: the first log and"
            f" index of each broker, and fakemq itself, need {needed >> 10} KiB beside what is"
            f" in use; ulimit -v {right_kib} is enough, or smaller files"
            " (mappedFileSizeCommitLog, maxIndexNum)"
        ) from None


def _first_files_bytes(config: BrokerConfig) -> int:
    """Return how many addresses the files for a broker's first message take."""
    index_bytes = (
        INDEX_SLOT.size * config.max_hash_slot_num + INDEX_ENTRY.size * config.max_index_num
    )
    return config.mapped_file_size_commit_log + index_bytes


def _require_file_size(spec: ClusterSpec, limit_bytes: int) -> None:
    for config in spec.broker_configs:
        needed = config.mapped_file_size_commit_log
        if config.store_path_root_dir is not None and limit_bytes < needed:
            raise FakemqError(
                f"the limit of file sizes (ulimit -f) is {limit_bytes} bytes: a file of the log of"
                f" {config.node_name} has {needed} ({size_text(needed)}); ulimit -f unlimited is"
                " enough, or smaller files (mappedFileSizeCommitLog)"
            )
