"""The Python types of a cluster's options, for type checkers: a start does not import this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from fakemq.clock.durations import Instant, Size
    from fakemq.config.files import ConfigSource


class TopicSettings(TypedDict, total=False):
    """What a topic can be declared with, beside its name."""

    queues: int
    """The number of its queues at each master; 8 by default."""
    message_type: str
    """What it is for: ``NORMAL``, ``FIFO``, ``DELAY``, ``TRANSACTION``, …; only 5.5.0 has it."""


class ClusterOptions(TypedDict, total=False):
    """The options of ``Cluster``, ``AsyncCluster`` and `spec.cluster_spec`, as Python types."""

    listen: str
    advertise: str | None
    namesrv_port: int | None
    namesrvs: int
    broker_port: int | None
    masters: int
    slaves: int
    reference: str | None
    controllers: int
    grpc: bool | int | None
    proxy_remoting: bool | int | None
    proxy_protocol_from: str | Iterable[str]
    store: str | os.PathLike[str] | None
    store_from: str | os.PathLike[str] | None
    memory_limit: Size
    role: Literal["ASYNC_MASTER", "SYNC_MASTER"] | None
    flush: Literal["ASYNC_FLUSH", "SYNC_FLUSH"] | None
    clock: Literal["real", "frozen"]
    start_at: Instant | None
    seed: int | None
    topics: Mapping[str, int | TopicSettings] | Iterable[str]
    control_port: int | None
    control_listen: str
    control_token: str | None
    ready_file: str | os.PathLike[str] | None
    config: ConfigSource | Iterable[ConfigSource]
    acl: str | os.PathLike[str] | Mapping[str, object] | None
    tls: Literal["disabled", "permissive", "enforcing"] | None
    tls_config: str | os.PathLike[str] | Mapping[str, object] | None
    strict: bool
    journal: str | os.PathLike[str] | None
    ram_size: Size | None
