"""The specification of a cluster: a plain value, made here for the command line and for Python."""

# Over 400 lines: a whole cluster and each single node are made of the same parts.

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice, repeat
from typing import TYPE_CHECKING, Unpack, get_args

import msgspec

from fakemq.clock.durations import size_bytes, wall_ms
from fakemq.config.checked import (
    TopicSpec,
    declared_topics,
    flag,
    host_text,
    one_of,
    path_text,
    whole,
)
from fakemq.config.files import (
    ConfigSource,
    Settings,
    Warn,
    complaining,
    load,
    require_broker,
    warn_user,
)
from fakemq.config.keys import BrokerRole, FlushDiskType
from fakemq.config.layout import (
    BROKER_PORT,
    MEMORY,
    lay_out,
    local_address,
    lone_broker,
    refuse_shared_ports,
)
from fakemq.config.model import BrokerConfig, Config, NamesrvConfig, Value
from fakemq.config.options import DEFAULTS, require_options
from fakemq.errors import ConfigError, NotYetSupported
from fakemq.protocol.hosts import bracketed
from fakemq.reference import NAMES, V4_9_7, Reference, find_reference

if TYPE_CHECKING:
    from fakemq.config.control import ControlSpec
    from fakemq.config.option_types import ClusterOptions
    from fakemq.config.tls import TlsSettings
    from fakemq.config.v5.controller.spec import ControllerSpec

NAMESRV_PORT = 9876
CONTROLLER_PORT = 9870
NEWEST = NAMES[-1]
MOST_NODES = 1_000
"""The most masters, slaves of a master, or name servers: a broker needs three ports."""
MOST_CONTROLLERS = 50
"""Each asks each of the others: a real group has three or five."""
CLOCKS = ("real", "frozen")
EVERYWHERE = "0.0.0.0"
"""The address on which mqnamesrv and mqbroker listen: 4.9.7 has no key for it."""


TLS_MODES = ("disabled", "permissive", "enforcing")


class TlsSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a cluster that concern TLS."""

    mode: str = "permissive"
    """One of `TLS_MODES`. Source: remoting/netty/TlsSystemConfig.java#tlsMode (4.9.7)"""
    settings: TlsSettings | None = None
    """What ``tls.properties`` says; None for Java's defaults."""
    config_file: str = ""
    """The path of that file; empty if there is none."""
    announced: bool = False
    """Whether it was asked for. Else certificates are made when the first peer speaks TLS."""


class ClusterSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the start of a cluster needs; a port of 0 means a free one."""

    listen: str
    advertised_host: str
    """The address that clients get: never a wildcard."""
    namesrv_ports: tuple[int, ...]
    """One for each name server; none for a lone broker, whose config has ``namesrv_addr``."""
    namesrv_config: NamesrvConfig
    broker_configs: tuple[BrokerConfig, ...]
    """broker-a-0, broker-a-1 …, broker-b-0 …; none for a lone name server."""
    reference: Reference = V4_9_7
    """The release of RocketMQ that the nodes behave as; the configs are those of that release."""
    controllers: tuple[ControllerSpec, ...] = ()
    """controller-0, controller-1, …"""
    grpc_port: int | None = None
    proxy_remoting: int | None = None
    """The port of the proxy for clients that speak remoting; 0 means a free one."""
    """The port for gRPC clients; None without one."""
    proxy_protocol_from: tuple[str, ...] = ()
    """The addresses and networks whose PROXY headers are believed at that port."""
    store: str = MEMORY
    """``"memory"`` or a folder; each broker's own is its ``store_path_root_dir``."""
    store_from: str | None = None
    """A folder with stores. The brokers start with copies of them; a reset makes new copies."""
    memory_limit_bytes: int = 1 << 30
    ram_size_bytes: int | None = None
    """The RAM in bytes from which brokers compute what is in memory; None: the machine's."""
    clock: str = "real"
    start_at_ms: int | None = None
    seed: int | None = None
    topics: dict[str, TopicSpec] = {}
    acl: str | dict[str, object] | None = None
    """The file with accounts and permissions, or what it says. None: of each broker's config."""
    strict: bool = False
    """Whether a name of ``acl`` that has no effect is an error, too."""
    tls: TlsSpec = TlsSpec()
    control: ControlSpec | None = None
    ready_file: str | None = None
    journal_path: str | None = None

    @property
    def exports_metrics(self) -> bool:
        """Whether a node has a port for Prometheus."""
        ports = [config.metrics_port for config in self.broker_configs]
        ports += [one.config.metrics_port for one in self.controllers]
        return any(port is not None for port in ports)

    @property
    def speaks_http(self) -> bool:
        """Whether there is a port that speaks HTTP."""
        return self.control is not None or self.exports_metrics

    @property
    def cluster_name(self) -> str:
        """The brokerClusterName of the first broker: ``DefaultCluster`` unless a config says so."""
        return self.broker_configs[0].broker_cluster_name if self.broker_configs else ""


def cluster_spec(
    *, free_ports: bool = False, warn: Warn = warn_user, **options: Unpack[ClusterOptions]
) -> ClusterSpec:
    """Return the cluster that the options describe; `options.OPTIONS` explains each option.

    An option replaces the setting of ``config``, and that replaces the default. None means "not
    set". Ports default to 9876 and 10911, or to free ones with ``free_ports``; 0 means a free one.
    ``config`` is a file or a mapping of RocketMQ's keys for all brokers, or several in their order.
    ``topics`` is read by `declared_topics`. Raise ConfigError, NotYetSupported,
    and TypeError for an unknown option.
    """
    # Over 70 lines: a few for each option.
    require_options(options)
    given = DEFAULTS.copy()
    given.update(options)
    strict = flag("strict", given["strict"])
    listen = host_text("listen", given["listen"]).strip("[]")
    advertise = None if given["advertise"] is None else host_text("advertise", given["advertise"])
    broker_port, role = given["broker_port"], given["role"]
    store = path_text("store", given["store"])
    ram_size, start_at, seed = given["ram_size"], given["start_at"], given["seed"]
    acl = _source("acl", given["acl"])
    advertised = bracketed(advertise or _reachable_at(listen))
    namesrv_ports = _namesrv_ports(given["namesrv_port"], given["namesrvs"], free_ports)
    grpc_port = _grpc_port(given["grpc"], given["proxy_remoting"])
    proxy_remoting = _proxy_remoting(given["proxy_remoting"])
    count = whole("controllers", given["controllers"], 0, MOST_CONTROLLERS)
    reference = _reference(given["reference"], grpc_port, count)
    kind, namesrv_kind = config_classes(reference)
    with complaining(warn, strict=strict) as complain:
        tls = tls_spec(given["tls"], given["tls_config"], warn=complain)
        also = _controller_config() if count else None
        sources = _sources(given["config"], kind, complain, also)
        brokers = lay_out(
            masters=whole("masters", given["masters"], 1, MOST_NODES),
            slaves=whole("slaves", given["slaves"], 0, MOST_NODES),
            kind=kind,
            sources=sources,
            defaults=_tls_keys(tls),
            advertise=advertised,
            base_port=_port("broker_port", broker_port, 0 if free_ports else BROKER_PORT),
            keep_ports=broker_port is not None,
            flags=_flags(
                advertise and advertised,
                given["flush"],
                {} if acl is None else _acl_flags(reference),
                controllers=count > 0,
            ),
            role=role if role is None else one_of("role", role, get_args(BrokerRole)[:2]),
            store=store if store is None else os.fspath(store),
            options={name for name, value in given.items() if value is not None},
            complain=complain,
        )
    control = _control(given["control_port"], given["control_listen"], given["control_token"])
    controllers = _controllers(count, advertised, namesrv_ports, sources, store)
    others = [(one.port, one.name) for one in controllers]
    if proxy_remoting:
        others.append((proxy_remoting, "remoting at the proxy (proxy_remoting)"))
    refuse_shared_ports(
        brokers, namesrv_ports, grpc_port, control.port if control else None, others
    )
    require_supported(brokers)
    if not count and any(broker.has_controller for broker in brokers):
        raise ConfigError(
            "enableControllerMode=true: brokers of a whole cluster have its own controllers:"
            " expected controllers=1 or more"
        )
    if count and given["store_from"] is not None:
        raise ConfigError(
            "store_from: a cluster with controllers begins empty: expected controllers=0, or a"
            " folder of its own in store"
        )
    return ClusterSpec(
        listen=listen,
        advertised_host=advertised,
        namesrv_ports=namesrv_ports,
        namesrv_config=namesrv_kind(listen_port=namesrv_ports[0], **_for_groups(brokers)),
        broker_configs=brokers,
        reference=reference,
        controllers=controllers,
        grpc_port=grpc_port,
        proxy_remoting=proxy_remoting if grpc_port is not None else None,
        proxy_protocol_from=_proxy_protocol_from(given["proxy_protocol_from"], grpc_port),
        store=store or MEMORY,
        store_from=path_text("store_from", given["store_from"]),
        memory_limit_bytes=size_bytes(given["memory_limit"], name="memory_limit"),
        ram_size_bytes=None if ram_size is None else size_bytes(ram_size, name="ram_size"),
        clock=one_of("clock", given["clock"], CLOCKS),
        start_at_ms=None if start_at is None else wall_ms(start_at, name="start_at"),
        seed=seed if seed is None else whole("seed", seed, None),
        topics=declared_topics(given["topics"], reference),
        acl=acl,
        strict=strict,
        tls=tls,
        control=control,
        ready_file=path_text("ready_file", given["ready_file"]),
        journal_path=path_text("journal", given["journal"]),
    )


def _grpc_port(given: bool | int | None, remoting: bool | int | None) -> int | None:
    """Return the gRPC port; a proxy with a port for remoting always has one, as RocketMQ's."""
    if given is None and remoting is not None and remoting is not False:
        given = 0
    if given is None or given is False:
        return None
    from fakemq.config.grpc import grpc_port  # few clusters have one

    return grpc_port(0 if given is True else given)


def _proxy_remoting(given: bool | int | None) -> int | None:
    if given is None or given is False:
        return None
    return whole("proxy_remoting", 0 if given is True else given, 0, 65535)


def _control(port: int | None, listen: str, token: str | None) -> ControlSpec | None:
    listen = host_text("control_listen", listen).strip("[]")
    if port is None and not token:
        return None
    from fakemq.config.control import control_spec  # few clusters have one

    return control_spec(port, listen, token)


def _proxy_protocol_from(given: str | Iterable[str], grpc_port: int | None) -> tuple[str, ...]:
    if not given:
        return ()
    if grpc_port is None:
        raise ConfigError(
            "proxy_protocol_from needs a gRPC port: no other port takes PROXY headers"
        )
    from fakemq.config.grpc import proxy_protocol_from  # few clusters have one

    return proxy_protocol_from(given)


def _controller_config() -> type[Config]:
    from fakemq.config.v5.controller.model import ControllerConfig  # most clusters have none

    return ControllerConfig


def _controllers(
    count: int,
    host: str,
    namesrv_ports: Sequence[int],
    sources: Sequence[Settings],
    store: str | os.PathLike[str] | None,
) -> tuple[ControllerSpec, ...]:
    if not count:
        return ()
    from fakemq.config.v5.controller.spec import controllers_of_cluster  # most clusters have none

    folder = None if store in (None, MEMORY) else os.path.join(os.fspath(store), "controllers")
    keys = {name: value for source in sources for name, value in source.others.items()}
    after = (port for port in range(CONTROLLER_PORT, 65536) if port not in namesrv_ports)
    ports = list(islice(after if namesrv_ports[0] else repeat(0), count))
    return controllers_of_cluster(ports, host, keys, folder)


def _reference(given: str | None, grpc_port: int | None, controllers: int = 0) -> Reference:
    """Return the release that nodes behave as: the newest for what only it has, if none is given.

    That is a gRPC port, which needs POP, or controllers.
    """
    if given is None:
        return V4_9_7 if grpc_port is None and not controllers else find_reference(NEWEST)
    reference = find_reference(given)
    if controllers and reference.name != NEWEST:
        raise ConfigError(
            f"controllers={controllers}: fakemq has controllers of {NEWEST} only, not of {given}:"
            f" expected reference {NEWEST}, or none"
        )
    if grpc_port is not None and reference is V4_9_7:
        raise ConfigError(
            f"grpc={grpc_port}: gRPC clients need brokers with POP, which reference {given} does"
            f" not have: expected reference {NEWEST}, or none"
        )
    return reference


def config_classes(reference: Reference) -> tuple[type[BrokerConfig], type[NamesrvConfig]]:
    """Return the classes of the configs of brokers and name servers of a reference."""
    if not reference.configs:
        return BrokerConfig, NamesrvConfig
    module = import_module(reference.configs)
    return module.BROKER_CONFIG, module.NAMESRV_CONFIG


def _reachable_at(listen: str) -> str:
    return local_address() if listen in (EVERYWHERE, "::") else listen


def tls_spec(
    mode: str | None = None,
    source: str | os.PathLike[str] | Mapping[str, object] | None = None,
    *,
    strict: bool = False,
    warn: Warn = warn_user,
) -> TlsSpec:
    """Return the options that concern TLS.

    Raise ConfigError for an unknown mode, and a file or key that cannot be used.
    """
    settings, config = None, _source("tls_config", source)
    found = one_of("tls", mode or "permissive", TLS_MODES)
    if config is not None:
        from fakemq.config.tls import read_tls  # most clusters have none

        settings = read_tls(config, mode=found, strict=strict, warn=warn)
    return TlsSpec(
        mode=found,
        settings=settings,
        config_file=config if isinstance(config, str) else "",
        announced=mode is not None or config is not None,
    )


def _tls_keys(tls: TlsSpec) -> dict[str, Value]:
    """Return the config keys that follow from the mode.

    Source: broker/BrokerStartup.java#createBrokerController (4.9.7)
    """
    return {"use_tls": True} if tls.mode == "enforcing" else {}


def namesrv_spec(
    source: ConfigSource | None = None,
    *,
    reference: str | None = None,
    tls: TlsSpec = TlsSpec(),  # noqa: B008 - frozen
    strict: bool = False,
    warn: Warn = warn_user,
) -> ClusterSpec:
    """Return one name server and nothing else, as mqnamesrv is: reachable from everywhere."""
    found = _reference(reference, None)
    _, kind = config_classes(found)
    config = kind()
    controllers: tuple[ControllerSpec, ...] = ()
    embedded = _with_controller(source, found, strict=strict, warn=warn)
    if embedded is not None:
        config, controllers = embedded[0], embedded[1:]
    elif source is not None:
        settings = load(source, kind, strict=strict, warn=warn)
        config.assign(settings.values)
        config.texts = settings.texts
    return ClusterSpec(
        listen=EVERYWHERE,
        advertised_host=local_address(),
        namesrv_ports=(config.listen_port,),
        namesrv_config=config,
        broker_configs=(),
        reference=found,
        controllers=controllers,
        tls=tls,
    )


def _with_controller(
    source: ConfigSource | None, reference: Reference, *, strict: bool, warn: Warn
) -> tuple[NamesrvConfig, ControllerSpec] | None:
    """Return the configs in a file of a name server with a controller in it; None for another."""
    if source is None or reference is V4_9_7:
        return None
    said = load(source, config_classes(reference)[1], warn=lambda text: None).values
    if not said.get("enable_controller_in_namesrv"):
        return None
    if reference.name != NEWEST:
        raise NotYetSupported(
            f"enableControllerInNamesrv=true is not supported with reference {reference.name};"
            f" supported: reference {NEWEST}"
        )
    from fakemq.config.v5.controller.spec import namesrv_with_controller  # most have none

    return namesrv_with_controller(source, strict=strict, warn=warn)


def controller_spec(
    source: ConfigSource | None = None,
    *,
    reference: str | None = None,
    tls: TlsSpec = TlsSpec(),  # noqa: B008 - frozen
    strict: bool = False,
    warn: Warn = warn_user,
) -> ClusterSpec:
    """Return one controller and nothing else, as mqcontroller is: reachable from everywhere.

    Raise ConfigError for a file without the addresses of the group; NotYetSupported for a group
    with others.
    """
    from fakemq.config.v5.controller.spec import controller_of_file

    found = _reference(reference or NEWEST, None, controllers=1)
    return ClusterSpec(
        listen=EVERYWHERE,
        advertised_host=local_address(),
        namesrv_ports=(),
        namesrv_config=config_classes(found)[1](),
        broker_configs=(),
        reference=found,
        controllers=(controller_of_file(source, strict=strict, warn=warn),),
        tls=tls,
    )


def broker_spec(
    source: ConfigSource | None = None,
    *,
    reference: str | None = None,
    namesrv_addr: str | None = None,
    tls: TlsSpec = TlsSpec(),  # noqa: B008 - frozen
    strict: bool = False,
    warn: Warn = warn_user,
) -> ClusterSpec:
    """Return one broker and nothing else, as mqbroker is: reachable from everywhere.

    Its name is that of the host, and its address the host's. Its name servers come from, in this
    order: the argument, the file, the environment's NAMESRV_ADDR.
    """
    found = _reference(reference, None)
    kind, namesrv_kind = config_classes(found)
    config = lone_broker(
        source,
        kind=kind,
        namesrv_addr=namesrv_addr,
        defaults=_tls_keys(tls),
        strict=strict,
        warn=warn,
    )
    return ClusterSpec(
        listen=EVERYWHERE,
        advertised_host=config.broker_ip1,
        namesrv_ports=(),
        namesrv_config=namesrv_kind(),
        broker_configs=(config,),
        reference=found,
        strict=strict,
        tls=tls,
    )


def require_supported(brokers: Iterable[BrokerConfig]) -> None:
    """Raise NotYetSupported if one of the brokers needs a feature that fakemq does not have."""
    for broker in brokers:
        require_broker(broker)


def _source(
    name: str, given: str | os.PathLike[str] | Mapping[str, object] | None
) -> str | dict[str, object] | None:
    return dict(given) if isinstance(given, Mapping) else path_text(name, given)


def _for_groups(brokers: Iterable[BrokerConfig]) -> dict[str, Value]:
    """Return the keys that name servers need where slaves act as masters.

    Java has them false, and in a file of its own.
    """
    if not any(broker.has_acting_master for broker in brokers):
        return {}
    return {"support_acting_master": True, "notify_min_broker_id_changed": True}


def _flags(
    advertise: str | None, flush: str | None, acl: Mapping[str, Value], *, controllers: bool
) -> dict[str, Value]:
    """Return the config keys that options set; ``acl`` are those of the option of that name."""
    flags: dict[str, Value] = dict(acl)
    if controllers:
        flags["enable_controller_mode"] = True
    if advertise:
        flags |= {"broker_ip1": advertise, "broker_ip2": advertise}
    if flush is not None:
        flags["flush_disk_type"] = one_of("flush", flush, get_args(FlushDiskType))
    return flags


def _acl_flags(reference: Reference) -> Mapping[str, Value]:
    """Return the keys that switch access control on: that of 4.9.7, or auth 2.0."""
    if reference.reads_acl_enable:
        return {"acl_enable": True}
    auth = "org.apache.rocketmq.auth"
    return {
        "authentication_enabled": True,
        "authentication_metadata_provider": (
            f"{auth}.authentication.provider.LocalAuthenticationMetadataProvider"
        ),
        "authorization_enabled": True,
        "authorization_metadata_provider": (
            f"{auth}.authorization.provider.LocalAuthorizationMetadataProvider"
        ),
    }


def _sources(
    config: ConfigSource | Iterable[ConfigSource],
    kind: type[BrokerConfig],
    complain: Warn,
    also: type[Config] | None,
) -> Sequence[Settings]:
    """Read all sources; raise one ConfigError with what is wrong in any of them."""
    named = (
        [("config", config)]
        if isinstance(config, str | os.PathLike | Mapping)
        else [(f"config[{index}]", source) for index, source in enumerate(config)]
    )
    loaded, wrong = list[Settings](), list[str]()
    for name, source in named:
        try:
            loaded.append(load(source, kind, name=name, also=also, warn=complain))
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError("\n".join(wrong))
    for settings in loaded:
        # A file from a real cluster must not register a fake broker there.
        addr = settings.values.pop("namesrv_addr", None)
        if addr is not None:
            complain(
                f"{settings.where['namesrv_addr']}: namesrvAddr={addr} has no effect here: brokers"
                " register with this cluster's own name servers"
                " (one broker for others: python -m fakemq broker -n ADDR)"
            )
    return loaded


def _namesrv_ports(first: int | None, count: int, free_ports: bool) -> tuple[int, ...]:
    port = _port("namesrv_port", first, 0 if free_ports else NAMESRV_PORT)
    count = whole("namesrvs", count, 1, MOST_NODES)
    return tuple(port and port + number for number in range(count))


def _port(name: str, port: int | None, default: int) -> int:
    return default if port is None else whole(name, port, 0, 65535)
