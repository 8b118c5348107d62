"""What a cluster shall be, as a plain value, made in one place for command line and Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import msgspec

from fakemq.clock.durations import Instant, Size, instant_ms, size_bytes
from fakemq.config.files import ConfigSource, Settings, Warn, load, warn_user
from fakemq.config.keys import CHOICES
from fakemq.config.layout import (
    BROKER_PORT,
    MEMORY,
    lay_out,
    local_address,
    lone_broker,
    refuse_shared_ports,
)
from fakemq.config.model import BrokerConfig, NamesrvConfig, Value
from fakemq.config.unsupported import require_broker
from fakemq.errors import ConfigError
from fakemq.protocol.hosts import bracketed
from fakemq.protocol.topics import topic_name_error

NAMESRV_PORT = 9876
CLOCKS = ("real", "frozen")
LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
"""Where mqnamesrv and mqbroker listen: 4.9.7 has no key for it."""


class ControlSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Where the control port is, and what its users must know."""

    port: int
    listen: str
    token: str | None

    @property
    def on_loopback(self) -> bool:
        """Whether nobody outside this machine reaches it."""
        return self.listen in ("localhost", "::1") or self.listen.startswith("127.")


class ClusterSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a cluster is started from; ports of 0 are free ones, not yet chosen."""

    listen: str
    advertised_host: str
    """What clients are told: never a wildcard address."""
    namesrv_ports: tuple[int, ...]
    """One for each name server; none for a lone broker, whose config has ``namesrv_addr``."""
    namesrv_config: NamesrvConfig
    broker_configs: tuple[BrokerConfig, ...]
    """broker-a-0, broker-a-1 …, broker-b-0 …; none for a lone name server."""
    store: str = MEMORY
    """``"memory"`` or a folder; each broker's own is its ``store_path_root_dir``."""
    store_from: str | None = None
    """A folder with stores whose copies the brokers begin with, and come back to with a reset."""
    memory_limit_bytes: int = 1 << 30
    ram_size_bytes: int | None = None
    """What brokers take for the machine's RAM when they ask what is still in memory; None asks."""
    clock: str = "real"
    start_at_ms: int | None = None
    seed: int | None = None
    topics: dict[str, int] = {}
    control: ControlSpec | None = None
    ready_file: str | None = None
    journal_path: str | None = None

    @property
    def cluster_name(self) -> str:
        """The brokerClusterName of the first broker: ``DefaultCluster`` unless a config says so."""
        return self.broker_configs[0].broker_cluster_name if self.broker_configs else ""


class ClusterOptions(TypedDict, total=False):
    """The options of ``python -m fakemq serve``, ``Cluster`` and ``AsyncCluster``, all optional.

    See ``cluster_spec`` for what they mean.
    """

    listen: str
    advertise: str | None
    namesrv_port: int | None
    namesrvs: int
    broker_port: int | None
    masters: int
    slaves: int
    store: str | os.PathLike[str] | None
    store_from: str | os.PathLike[str] | None
    memory_limit: Size
    role: str | None
    flush: str | None
    clock: str
    start_at: Instant | None
    seed: int | None
    topics: Mapping[str, int] | Iterable[str]
    control_port: int | None
    control_listen: str
    control_token: str | None
    ready_file: str | os.PathLike[str] | None
    config: ConfigSource | Iterable[ConfigSource]
    strict: bool
    journal: str | os.PathLike[str] | None
    ram_size: Size | None


def require_options(options: Iterable[str], whose: str = "a cluster") -> None:
    """TypeError, as for any unknown argument, for an option that clusters do not have."""
    known = ClusterOptions.__annotations__
    for name in options:
        if name not in known:
            from difflib import get_close_matches  # only for who errs

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(known)}"
            raise TypeError(f"{whose} has no option {name!r}{hint}")


def cluster_spec(
    *,
    listen: str = "127.0.0.1",
    advertise: str | None = None,
    namesrv_port: int | None = None,
    namesrvs: int = 1,
    broker_port: int | None = None,
    masters: int = 1,
    slaves: int = 0,
    store: str | os.PathLike[str] | None = None,
    store_from: str | os.PathLike[str] | None = None,
    memory_limit: Size = "1GiB",
    role: str | None = None,
    flush: str | None = None,
    clock: str = "real",
    start_at: Instant | None = None,
    seed: int | None = None,
    topics: Mapping[str, int] | Iterable[str] = (),
    control_port: int | None = None,
    control_listen: str = LOOPBACK,
    control_token: str | None = None,
    ready_file: str | os.PathLike[str] | None = None,
    config: ConfigSource | Iterable[ConfigSource] = (),
    strict: bool = False,
    journal: str | os.PathLike[str] | None = None,
    ram_size: Size | None = None,
    free_ports: bool = False,
    warn: Warn = warn_user,
) -> ClusterSpec:
    """Return the cluster that the options describe.

    An option given beats what ``config`` sets, and that beats the defaults, so None is not a value
    but "not given": ``role`` (of masters), ``flush``, ``store``, ``advertise`` and the ports.
    Ports not given are 9876 and 10911, or with ``free_ports`` whatever is free, as a port of 0 is.
    ``config`` is a file or a mapping of RocketMQ's keys for all brokers, or several in their order.
    ``topics`` maps names to queues, or lists ``NAME:QUEUES``. Raises ConfigError, NotYetSupported.
    """
    advertised = bracketed(advertise or _reachable_at(listen.strip("[]")))
    namesrv_ports = _namesrv_ports(namesrv_port, namesrvs, free_ports)
    brokers = lay_out(
        masters=whole("masters", masters, 1),
        slaves=whole("slaves", slaves, 0),
        sources=_sources(config, strict, warn),
        advertise=advertised,
        base_port=_port("broker_port", broker_port, 0 if free_ports else BROKER_PORT),
        keep_ports=broker_port is not None,
        flags=_flags(advertise and advertised, flush),
        role=role if role is None else one_of("role", role, CHOICES["BrokerRole"][:2]),
        store=store if store is None else os.fspath(store),
    )
    refuse_shared_ports(brokers, namesrv_ports)
    require_supported(brokers)
    return ClusterSpec(
        listen=listen.strip("[]"),  # as one may write an IPv6 address
        advertised_host=advertised,
        namesrv_ports=namesrv_ports,
        namesrv_config=NamesrvConfig(listen_port=namesrv_ports[0]),
        broker_configs=brokers,
        store=_path("store", store) or MEMORY,
        store_from=_path("store_from", store_from),
        memory_limit_bytes=size_bytes(memory_limit, name="memory_limit"),
        ram_size_bytes=None if ram_size is None else size_bytes(ram_size, name="ram_size"),
        clock=one_of("clock", clock, CLOCKS),
        start_at_ms=None if start_at is None else instant_ms(start_at, name="start_at"),
        seed=seed if seed is None else whole("seed", seed, None),
        topics=checked_topics(topics),
        control=_control(control_port, control_listen.strip("[]"), control_token),
        ready_file=_path("ready_file", ready_file),
        journal_path=_path("journal", journal),
    )


def _control(port: int | None, listen: str, token: str | None) -> ControlSpec | None:
    """The control port that the options ask for, if they do; ConfigError if it cannot be."""
    if port is None:
        if token:
            raise ConfigError("control_token= is for a control port: give control_port=, too")
        return None
    _port("control_port", port, 0)
    if token == "":
        raise ConfigError("control_token is empty: expected some text, or no token at all")
    spec = ControlSpec(port=port, listen=listen, token=token)
    if not (token or spec.on_loopback):
        raise ConfigError(
            f"control_listen={listen}: who can reach the control port can do anything to the"
            " cluster; away from loopback it needs a control_token"
        )
    from importlib.util import find_spec

    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise ConfigError(
            f"control_port={port} needs an extra that is not installed:"
            " pip install 'fakemq[control]'"
        )
    return spec


def _path(name: str, path: str | os.PathLike[str] | None) -> str | None:
    text = path if path is None else os.fspath(path)
    if text == "":
        raise ConfigError(f"{name} is empty: expected a path")
    return text


def _reachable_at(listen: str) -> str:
    return local_address() if listen in ("", EVERYWHERE, "::") else listen


def namesrv_spec(
    source: ConfigSource | None = None, *, strict: bool = False, warn: Warn = warn_user
) -> ClusterSpec:
    """Return one name server and nothing else, as mqnamesrv is: reachable from everywhere."""
    config = NamesrvConfig()
    if source is not None:
        config.assign(load(source, NamesrvConfig, strict=strict, warn=warn).values)
    return ClusterSpec(
        listen=EVERYWHERE,
        advertised_host=local_address(),
        namesrv_ports=(config.listen_port,),
        namesrv_config=config,
        broker_configs=(),
    )


def broker_spec(
    source: ConfigSource | None = None,
    *,
    namesrv_addr: str | None = None,
    strict: bool = False,
    warn: Warn = warn_user,
) -> ClusterSpec:
    """Return one broker and nothing else, as mqbroker is: reachable from everywhere.

    It is named after the host and advertises the host's address; its name servers are those given
    here, else in the file, else in the environment's NAMESRV_ADDR, else none.
    """
    config = lone_broker(source, namesrv_addr=namesrv_addr, strict=strict, warn=warn)
    return ClusterSpec(
        listen=EVERYWHERE,
        advertised_host=config.broker_ip1,
        namesrv_ports=(),
        namesrv_config=NamesrvConfig(),
        broker_configs=(config,),
    )


def require_supported(brokers: Iterable[BrokerConfig]) -> None:
    """Raise NotYetSupported if one of these brokers needs what is not there."""
    for broker in brokers:
        require_broker(broker)


def _flags(advertise: str | None, flush: str | None) -> dict[str, Value]:
    """Options that stand for config keys, if given."""
    flags: dict[str, Value] = {}
    if advertise:
        flags |= {"broker_ip1": advertise, "broker_ip2": advertise}
    if flush is not None:
        flags["flush_disk_type"] = one_of("flush", flush, CHOICES["FlushDiskType"])
    return flags


def _sources(
    config: ConfigSource | Iterable[ConfigSource], strict: bool, warn: Warn
) -> Sequence[Settings]:
    if isinstance(config, str | os.PathLike | Mapping):
        loaded = [load(config, BrokerConfig, strict=strict, warn=warn)]
    else:
        loaded = [
            load(source, BrokerConfig, name=f"config[{index}]", strict=strict, warn=warn)
            for index, source in enumerate(config)
        ]
    for settings in loaded:
        # A file from a real cluster must not register a fake broker there.
        addr = settings.values.pop("namesrv_addr", None)
        if addr is not None:
            warn(
                f"{settings.where['namesrv_addr']}: namesrvAddr={addr} has no effect here: brokers"
                " register with this cluster's own name servers"
                " (one broker for others: python -m fakemq broker -n ADDR)"
            )
    return loaded


def checked_topics(topics: Mapping[str, int] | Iterable[str]) -> dict[str, int]:
    """Name → queues, from that or from ``NAME:QUEUES`` texts; ConfigError for what cannot be."""
    if not isinstance(topics, Mapping):
        pairs: dict[str, int] = {}
        for text in [topics] if isinstance(topics, str) else topics:
            name, _, number = text.rpartition(":")
            if not (name and number.isascii() and number.isdigit() and len(number) < 10):
                raise ConfigError(f"topic {text!r}: expected NAME:QUEUES, such as orders:8")
            if name in pairs:
                raise ConfigError(f"topic {name} is given twice; once is enough")
            pairs[name] = int(number)
        topics = pairs
    if not topics:
        return {}
    for name, queues in topics.items():
        error = topic_name_error(name)
        if error is not None:
            raise ConfigError(f"topic {name!r}: {error}")
        whole(f"queues of topic {name}", queues, 1)
    return dict(topics)


def _namesrv_ports(first: int | None, count: int, free_ports: bool) -> tuple[int, ...]:
    port = _port("namesrv_port", first, 0 if free_ports else NAMESRV_PORT)
    count = whole("namesrvs", count, 1)
    return tuple(port and port + number for number in range(count))


def _port(name: str, port: int | None, default: int) -> int:
    return default if port is None else whole(name, port, 0, 65535)


def whole(name: str, value: object, low: int | None, high: int | None = None) -> int:
    """Return a whole number within limits; ConfigError for anything else, True included."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or (low is not None and value < low)
        or (high is not None and value > high)
    ):
        limits = "" if low is None else f", {low} or more"
        limits = limits if high is None else f" from {low} to {high}"
        raise ConfigError(f"{name}={value!r}: expected a whole number{limits}")
    return value


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ConfigError(f"{name}={value!r}: expected {' or '.join(choices)}")
    return value
