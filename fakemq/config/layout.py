"""The configs of a cluster's brokers: their names, ids, roles, ports and folders."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from fakemq.config.files import ConfigSource, Settings, Warn, complaining, load, warn_user
from fakemq.config.model import WHY_NO_OTHER, BrokerConfig, Value, keys_of, text_of
from fakemq.errors import ConfigError
from fakemq.files.folder_names import FolderName, FolderNameError, folder_name

BROKER_PORT = 10911
PORTS_BETWEEN_BROKERS = 20
MEMORY = "memory"
"""The name of the store that keeps everything in memory; any other name is a folder."""

_OWN_FILES = {
    "store_path_epoch_file": "storePathEpochFile",
    "store_path_broker_identity": "storePathBrokerIdentity",
}
"""The files of a broker under a controller that may be elsewhere than in its folder."""
_ONLY_ONE_CAN_HAVE = (
    *("listen_port", "broker_name", "broker_id", "store_path_root_dir"),
    *_OWN_FILES,
)
_JAVA_NAMES = ("listenPort", "brokerName", "brokerId", "storePathRootDir", *_OWN_FILES.values())


_OPTIONS_OF = {
    "broker_ip1": "advertise",
    "broker_ip2": "advertise",
    "listen_port": "broker_port",
    "broker_role": "role",
    "flush_disk_type": "flush",
    "store_path_root_dir": "store",
    "store_path_commit_log": "store",
    "read_only_commit_log_store_paths": "store",
    "acl_enable": "acl",
    "rocketmq_home": "acl",
}
"""Which option replaces which key of a config."""

_FOLLOWS = {
    "ha_listen_port": "it is listenPort + 1",
    "broker_id": "a master has brokerId 0",
    "metrics_exporter_type": WHY_NO_OTHER,
}
"""Why a key of a config does not have the value that the config says, where no option sets it."""


def broker_name(number: int) -> str:
    """Return ``broker-a`` for 0, ``broker-z`` for 25, ``broker-aa`` for 26."""
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return f"broker-{letters}"


MOST_BROKERS = 65_535 // 3
"""More have no ports. How many descriptors the rest needs is checked before they start."""


def lay_out(
    *,
    masters: int = 1,
    slaves: int = 0,
    kind: type[BrokerConfig] = BrokerConfig,
    sources: Sequence[Settings] = (),
    advertise: str = "127.0.0.1",
    base_port: int = BROKER_PORT,
    keep_ports: bool = False,
    defaults: Mapping[str, Value] | None = None,
    flags: Mapping[str, Value] | None = None,
    role: str | None = None,
    store: str | None = None,
    options: Collection[str] = (),
    complain: Warn = warn_user,
) -> tuple[BrokerConfig, ...]:
    """Return the configs of all brokers: broker-a-0, broker-a-1 …, broker-b-0 ….

    ``slaves`` is per master; ``kind`` is the class of the configs. ``flags``, ``role`` (of
    masters), ``store`` and, with ``keep_ports``, ``base_port`` replace the settings of ``sources``,
    and these replace ``defaults``. A single
    source is for all brokers; of several, each is for one. ``options`` are the names of those that
    were given: ``complain`` is called with each key of a source that one of them replaces. Raise
    ConfigError if two brokers have the same identity.
    """
    count = masters * (1 + slaves)
    if count > MOST_BROKERS:  # said at once: to make a million configs takes 20 s
        raise ConfigError(
            f"masters={masters}: with {slaves} slaves each there are {count} brokers: expected"
            f" at most {MOST_BROKERS}, because each needs three ports, and an address has 65,535"
        )
    if len(sources) > count:
        raise ConfigError(
            f"{sources[count].name}: {len(sources)} configs for {_brokers(count)};"
            " give one for all, or one for each at most"
        )
    shared = len(sources) == 1 and count > 1
    if shared:
        _refuse_what_only_one_can_have(sources[0], count)
    configs = []
    for index in range(count):
        master, number = divmod(index, 1 + slaves)
        port = base_port and base_port + PORTS_BETWEEN_BROKERS * index
        source = sources[0] if shared else sources[index] if index < len(sources) else Settings()
        values: dict[str, Value] = {
            "broker_name": broker_name(master),
            "broker_id": number,
            "broker_role": "SLAVE" if number else "ASYNC_MASTER",
            "listen_port": port,
            "broker_ip1": advertise,
            "broker_ip2": advertise,
        }
        values |= defaults or {}
        values |= source.values
        values |= flags or {}
        if keep_ports:
            values["listen_port"] = port
        if shared and number:
            values["broker_role"] = "SLAVE"  # a file for all: its role is the masters'
        if role is not None and values["broker_role"] != "SLAVE":
            values["broker_role"] = role
        config = settled(kind(**values), source)
        if store is not None:
            _put_into(config, store)
        if not (shared and index):
            _say_what_has_no_effect(config, source, _replaced_by(options), complain)
        configs.append(config)
    _require_master(configs, role, sources)
    _refuse_twins(configs)
    return tuple(configs)


def _put_into(config: BrokerConfig, store: str) -> None:
    folder = None if store == MEMORY else os.path.join(store, _folder_of(config))
    config.store_path_root_dir = folder
    config.store_path_commit_log = None  # the flag replaces them
    config.read_only_commit_log_store_paths = None


def _require_master(
    configs: Sequence[BrokerConfig], role: str | None, sources: Sequence[Settings]
) -> None:
    if role is not None and all(config.is_slave for config in configs):
        raise ConfigError(
            f"role={role} is for masters, and there is none:"
            f" {sources[0].where['broker_role']}: brokerRole=SLAVE; leave out one of the two"
        )


def _replaced_by(options: Collection[str]) -> dict[str, str]:
    """Return the attributes that options replace, each with the reason."""
    return {
        attribute: f"the option {option} (--{option.replace('_', '-')}) replaces it"
        for attribute, option in _OPTIONS_OF.items()
        if option in options
    }


def _say_what_has_no_effect(
    config: BrokerConfig, source: Settings, replaced: Mapping[str, str], complain: Warn
) -> None:
    """Call ``complain`` with each key of a source whose value the config does not have.

    ``replaced`` has the reasons by attribute: the options that replace keys.
    """
    if not source.values:
        return
    names = {key.attribute: name for name, key in keys_of(type(config)).items()}
    for attribute, was in source.values.items():
        # Accounts of an option replace those in the folder, which the config still names.
        unused = attribute == "rocketmq_home" and attribute in replaced and was is not None
        now = getattr(config, attribute)
        if unused or was != now:
            set_here = f"it is {text_of(now)} here"
            why = replaced.get(attribute) or _FOLLOWS.get(attribute, set_here)
            said = f"{names[attribute]}={text_of(was)}"
            complain(f"{source.where[attribute]}: {said} has no effect: {why}")


def _folder_of(config: BrokerConfig) -> FolderName:
    try:
        return folder_name(config.node_name)
    except FolderNameError as error:
        raise ConfigError(
            f"brokerName={config.broker_name}: {error}; with a store in a directory each broker has"
            " a folder that is called like its node"
        ) from None


def settled(config: BrokerConfig, source: Settings | None = None) -> BrokerConfig:
    """Set the keys that follow from others: ids from roles, the HA port from the port.

    Source: broker/BrokerStartup.java#createBrokerController (4.9.7)
    """
    if config.has_controller:
        pass  # the controller says both
    elif not config.is_slave:
        config.broker_id = 0
    elif config.broker_id <= 0:
        where = (source and (source.where.get("broker_id") or source.name)) or config.node_name
        raise ConfigError(f"{where}: Slave's brokerId must be > 0")
    config.ha_listen_port = config.listen_port and config.listen_port + 1
    config.keep_known_exporter()
    if source is not None:
        config.texts = source.texts
    return config


def lone_broker(
    source: ConfigSource | None = None,
    *,
    kind: type[BrokerConfig] = BrokerConfig,
    namesrv_addr: str | None = None,
    defaults: Mapping[str, Value] | None = None,
    strict: bool = False,
    warn: Warn = warn_user,
) -> BrokerConfig:
    """Return the config of one broker on its own: see ``cluster_spec.broker_spec``."""
    host = local_address()
    config = kind(broker_name=_host_name(), broker_ip1=host, broker_ip2=host)
    config.assign(defaults or {})
    environment = os.environ.get("NAMESRV_ADDR")
    if environment:
        named = {"namesrvAddr": environment}
        config.assign(load(named, kind, name="environment variable NAMESRV_ADDR").values)
    settings = Settings()
    with complaining(warn, strict=strict) as complain:
        if source is not None:
            settings = load(source, kind, warn=complain)
            config.assign(settings.values)
        if namesrv_addr is not None:
            config.assign(load({"namesrvAddr": namesrv_addr}, kind, name="-n").values)
        settled(config, settings)
        if config.has_controller and not config.controller_addr.strip(";"):
            where = settings.where.get("enable_controller_mode", settings.name)
            raise ConfigError(f"{where}: enableControllerMode=true needs controllerAddr=HOST:PORT")
        replaced = {"namesrv_addr": "the option -n replaces it"}
        _say_what_has_no_effect(config, settings, replaced, complain)
    _refuse_twins([config])
    refuse_shared_ports([config])
    return config


def local_address() -> str:
    """Return the address from which this machine reaches others; 127.0.0.1 without a network."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))  # UDP: looks up the route, sends nothing
        except OSError:
            return "127.0.0.1"
        return str(sock.getsockname()[0])


def _host_name() -> str:
    import socket

    return socket.gethostname() or "DEFAULT_BROKER"


def refuse_shared_ports(
    configs: Sequence[BrokerConfig],
    namesrv_ports: Sequence[int] = (),
    grpc_port: int | None = None,
    control_port: int | None = None,
    others: Iterable[tuple[int, str]] = (),
) -> None:
    """Raise ConfigError if two nodes want one port, or a port is invalid; 0 means a free port."""
    owners: dict[int, str] = {}
    wanted = [(port, f"name server {number}") for number, port in enumerate(namesrv_ports)]
    if grpc_port:
        wanted.append((grpc_port, "gRPC clients (grpc)"))
    if control_port:
        wanted.append((control_port, "the control port (control_port)"))
    wanted += [(port, owner) for port, owner in others if port]
    for config in configs:
        port, node = config.listen_port, config.node_name
        if port:
            wanted.append((port, f"{node} (listenPort)"))
            wanted.append((port - 2, f"{node} (VIP port, listenPort - 2)"))
            wanted.append((port + 1, f"{node} (HA port, listenPort + 1)"))
        if config.metrics_port:
            wanted.append((config.metrics_port, f"{node} (metricsPromExporterPort)"))
    for port, owner in wanted:
        if port == 0 and owner.startswith("name server"):
            continue
        if not 0 < port < 65536:
            raise ConfigError(f"port {port} for {owner}: expected a port from 1 to 65535")
        if port in owners:
            raise ConfigError(f"port {port} is wanted by {owners[port]} and {owner}")
        owners[port] = owner


def _refuse_what_only_one_can_have(source: Settings, count: int) -> None:
    for attribute, name in zip(_ONLY_ONE_CAN_HAVE, _JAVA_NAMES, strict=True):
        if attribute in source.where and source.values[attribute] is not None:
            raise ConfigError(
                f"{source.where[attribute]}: {name}={source.values[attribute]} is for one broker"
                f" and there are {count}; give one config for each"
            )


def _refuse_twins(configs: Sequence[BrokerConfig]) -> None:
    names: set[str] = set()
    folders: dict[str, tuple[str, str]] = {}  # owner and key
    for config in configs:
        node = config.node_name
        if node in names:
            raise ConfigError(
                f"two brokers are called {node}; brokers of one brokerName need one master"
                " (brokerRole) and slaves with brokerIds of their own"
            )
        names.add(node)
        of_node = [("storePathRootDir", config.store_path_root_dir)]
        if config.store_path_commit_log:
            from fakemq.config.log_folders import log_paths  # most brokers have one folder

            paths = log_paths(config)
            of_node += [("storePathCommitLog", path) for path in (paths.all if paths else ())]
        if config.has_controller:
            of_node += [(key, getattr(config, name) or None) for name, key in _OWN_FILES.items()]
        for key, folder in of_node:
            if folder is None:
                continue
            owner, other_key = folders.setdefault(folder, (node, key))
            if owner != node:
                raise ConfigError(f"{key}={folder} is of both {owner} and {node}")
            if other_key != key:
                raise ConfigError(f"{node}: {key}={folder}: {other_key} is this one, too")


def _brokers(count: int) -> str:
    return "1 broker" if count == 1 else f"{count} brokers"
