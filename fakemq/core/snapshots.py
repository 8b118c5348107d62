"""The data of a cluster at one moment, as a value, and how to restore it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fakemq.broker.image import NodeImage
from fakemq.broker.tables.persistence import FOLDER, NAMES, V5_NAMES
from fakemq.clock.slices import finished
from fakemq.errors import ConfigError
from fakemq.files.texts import DiskTextFile
from fakemq.store import image as images

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.controller.making import Controllers
    from fakemq.core.replica_images import ReplicasImage
    from fakemq.namesrv.namesrv import NameServer


class Snapshot:
    """Messages, topics, groups, offsets and settings of a cluster's nodes; immutable.

    It contains the rules of access control, too, unless they are in files of the user, and of a
    cluster with controllers what these know of the brokers. It does not
    contain the clock, connections and the journal. It is independent of its cluster: it
    stays valid after the stop, and can be restored into another cluster with the same nodes.
    """

    def __init__(
        self,
        brokers: Mapping[str, NodeImage],
        name_servers: Mapping[str, Mapping[str, Mapping[str, str]]],
        replicas: ReplicasImage | None = None,
    ) -> None:
        self._brokers = dict(brokers)
        self._name_servers = name_servers
        self._replicas = replicas

    @classmethod
    def of(cls, brokers: Mapping[str, Broker], name_servers: Sequence[NameServer]) -> Snapshot:
        """Return the present data of a cluster's nodes; ``brokers`` is keyed by node name."""
        return finished(cls.in_steps(brokers, name_servers))

    @classmethod
    def in_steps(
        cls,
        brokers: Mapping[str, Broker],
        name_servers: Sequence[NameServer],
        controllers: Controllers | None = None,
    ) -> Steps[Snapshot]:
        """As `of`, with all data of one moment; it begins by bringing the stores up to date."""
        for broker in list(brokers.values()):
            if broker.running:
                yield from broker.store.settle()
        tables = {server.name: server.kv.tables() for server in name_servers}
        captures: dict[str, NodeCapture] = {}
        images = {}
        try:
            for name, broker in brokers.items():
                captures[name] = NodeCapture(broker)
            replicas = None
            if controllers is not None:
                from fakemq.core.replica_images import image_of  # few clusters have controllers

                replicas = image_of(brokers, controllers)
            for name, capture in captures.items():
                yield
                images[name] = yield from capture.image()
        finally:
            for capture in captures.values():
                capture.end()
        return cls(images, tables, replicas)

    @property
    def nodes(self) -> list[str]:
        """The names of its brokers."""
        return list(self._brokers)

    @property
    def size_bytes(self) -> int:
        """The size of the stored data that it keeps, in bytes."""
        return sum(
            len(piece)
            for image in self._brokers.values()
            for file in image.store.files.values()
            for _, piece in file.pieces
        )

    def require_fit(self, brokers: Mapping[str, Broker], controllers: Controllers | None) -> None:
        """Raise ConfigError for a cluster with other brokers, or that alone has controllers."""
        if self._brokers.keys() != brokers.keys():
            raise ConfigError(
                f"the snapshot is of {', '.join(self._brokers)};"
                f" the cluster has {', '.join(brokers)}"
            )
        if (self._replicas is None) is not (controllers is None):
            one, other = "with", "without"
            if self._replicas is None:
                one, other = other, one
            raise ConfigError(
                f"the snapshot is of a cluster {one} controllers; this is one {other}"
            )

    def put_into(
        self,
        brokers: Mapping[str, Broker],
        name_servers: Sequence[NameServer],
        controllers: Controllers | None,
        settle: Callable[[], None],
    ) -> None:
        """Load this into the nodes, which all run; the caller registers the brokers afterwards.

        ``settle`` does what is left to do at this moment.
        """
        if self._replicas is not None and controllers is not None:
            from fakemq.core.replica_images import prepare, take_up  # few have controllers

            prepare(brokers, controllers, self._replicas)
        for server in name_servers:
            server.reset()
            server.kv.restore(self._name_servers.get(server.name, {}))
        for name, image in self._brokers.items():
            brokers[name].restore(image)
        if self._replicas is not None and controllers is not None:
            take_up(brokers, controllers, self._replicas, settle)

    def __repr__(self) -> str:
        return f"<snapshot of {', '.join(self._brokers)}, {self.size_bytes} bytes>"


def node_image(broker: Broker) -> NodeImage:
    """Return the data of a broker, running or not."""
    capture = NodeCapture(broker)
    try:
        return finished(capture.image())
    finally:
        capture.end()


class NodeCapture:
    """The data of a broker, running or not, as it is now; `image` reads it in steps.

    Call `end` if `image` is not called up to its end.
    """

    def __init__(self, broker: Broker) -> None:
        self._config = broker.changed_config()
        self._rules = broker.rules()
        disk = broker.store.disk
        self._found: NodeImage | None = None
        """The data of a broker that is down, in its directory."""
        if disk is not None and not broker.running:
            root = disk.files.root
            store = images.read(root, broker.config, disk.files.log_paths)
            self._found = NodeImage(store, texts_in(root), self._config, self._rules)
            return
        broker.settle()
        self._texts = {file.name: file.captured_text() for file in broker.persistence.files}
        self._store = images.Capture(broker.store)

    def image(self) -> Steps[NodeImage]:
        """Return work for the data."""
        if self._found is not None:
            return self._found
        texts = {}
        for name, text in self._texts.items():
            texts[name] = yield from text
        store = yield from self._store.image()
        return NodeImage(store, texts, self._config, self._rules)

    def end(self) -> None:
        """Read no more; the second call does nothing."""
        if self._found is None:
            self._store.end()


def texts_in(root: str) -> dict[str, str]:
    """Return the config files of a directory; of a missing file its backup."""
    texts = {}
    for name in (*NAMES, *V5_NAMES):
        file = DiskTextFile(os.path.join(root, FOLDER, name))
        text = file.read() or file.read_backup()
        if text:
            texts[name] = text
    return texts


def images_in(path: str, configs: tuple[BrokerConfig, ...]) -> dict[str, NodeImage]:
    """Return the data that the brokers of these configs find in a directory, by node name.

    There are two layouts: 1. each broker has a folder of its own; 2. the directory is the store of
    a single broker. The folders of that broker's commit log may follow, separated by commas. Raise
    ConfigError if there is no store, or it is unclear to which broker one belongs.
    """
    from fakemq.config.log_folders import SEPARATOR, LogPaths
    from fakemq.store.stored_node import find_nodes, is_node, require_logs  # few clusters need it

    for config in configs:
        root = config.store_path_root_dir
        if root is not None and is_node(root):
            raise ConfigError(
                f"store_from={path}: {root} has a store already; begin with an empty folder,"
                " or without store_from"
            )
    directory, *folders = [path] if os.path.exists(path) else path.split(SEPARATOR)
    nodes = find_nodes(directory, folders)
    require_logs(nodes)
    log_paths = LogPaths(tuple(folders)) if folders else None
    if len(nodes) == 1 and len(configs) == 1:
        roots = {configs[0].node_name: nodes[0].root}
    else:
        roots = {node.name: node.root for node in nodes}
    names = [config.node_name for config in configs]
    if sorted(roots) != sorted(names):
        raise ConfigError(
            f"store_from={path}: it has stores of {', '.join(roots)};"
            f" the brokers are {', '.join(names)}"
        )
    return {
        config.node_name: NodeImage(
            images.read(roots[config.node_name], config, log_paths),
            texts_in(roots[config.node_name]),
            {},
        )
        for config in configs
    }
