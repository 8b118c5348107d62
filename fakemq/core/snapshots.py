"""What a cluster holds at one moment, as a value, and how it comes to hold that again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fakemq.broker.image import NodeImage
from fakemq.broker.persistence import FOLDER, NAMES
from fakemq.errors import ConfigError
from fakemq.store import image as images
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.text_files import DiskTextFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fakemq.broker.broker import Broker
    from fakemq.config.model import BrokerConfig
    from fakemq.namesrv.namesrv import NameServer


class Snapshot:
    """Messages, topics, groups, offsets and settings of a cluster's nodes; nothing changes it.

    The clock, connections and the journal are not in it. Keep it as long as you like: it needs no
    cluster, and another one of the same nodes may have it as well.
    """

    def __init__(
        self,
        brokers: Mapping[str, NodeImage],
        name_servers: Mapping[str, Mapping[str, Mapping[str, str]]],
    ) -> None:
        self._brokers = dict(brokers)
        self._name_servers = name_servers

    @classmethod
    def of(cls, brokers: Mapping[str, Broker], name_servers: Sequence[NameServer]) -> Snapshot:
        """What the nodes of a cluster hold now; brokers by node name."""
        return cls(
            {name: node_image(broker) for name, broker in brokers.items()},
            {server.name: server.kv.tables() for server in name_servers},
        )

    @property
    def nodes(self) -> list[str]:
        """The names of the brokers that it is of."""
        return list(self._brokers)

    @property
    def size_bytes(self) -> int:
        """How much it keeps of what the brokers had stored."""
        return sum(
            len(piece)
            for image in self._brokers.values()
            for file in image.store.files.values()
            for _, piece in file.pieces
        )

    def require_fit(self, brokers: Mapping[str, Broker]) -> None:
        """Raise ValueError if a cluster has other brokers."""
        if self._brokers.keys() != brokers.keys():
            raise ValueError(
                f"the snapshot is of {', '.join(self._brokers)};"
                f" the cluster has {', '.join(brokers)}"
            )

    def put_into(self, brokers: Mapping[str, Broker], name_servers: Sequence[NameServer]) -> None:
        """Put this into the nodes, which all run; the caller registers the brokers afterwards."""
        for server in name_servers:
            server.reset()
            server.kv.restore(self._name_servers.get(server.name, {}))
        for name, image in self._brokers.items():
            brokers[name].restore(image)

    def __repr__(self) -> str:
        return f"<snapshot of {', '.join(self._brokers)}, {self.size_bytes} bytes>"


def node_image(broker: Broker) -> NodeImage:
    """What a broker holds, be it running or not."""
    disk = broker.store.disk
    if disk is not None and not broker.running:
        root = disk.files.root
        store = images.read(root, broker.config, disk.files.path_of(LOG))
        return NodeImage(store, texts_in(root), broker.changed_config())
    texts = {file.name: file.text() for file in broker.persistence.files}
    return NodeImage(images.take(broker.store), texts, broker.changed_config())


def texts_in(root: str) -> dict[str, str]:
    """The config files of a directory, or what stands in for them."""
    texts = {}
    for name in NAMES:
        file = DiskTextFile(os.path.join(root, FOLDER, name))
        text = file.read() or file.read_backup()
        if text:
            texts[name] = text
    return texts


def images_in(path: str, configs: tuple[BrokerConfig, ...]) -> dict[str, NodeImage]:
    """What the brokers of these configs find in a directory: each its own, one of them in it alone.

    ConfigError where it is not clear whose a store is, or there is none.
    """
    from fakemq.store.stored_node import find_nodes, is_node, require_logs  # few clusters need it

    for config in configs:
        root = config.store_path_root_dir
        if root is not None and is_node(root):
            raise ConfigError(
                f"store_from={path}: {root} has a store already; begin with an empty folder,"
                " or without store_from"
            )
    nodes = find_nodes(path)
    require_logs(nodes)
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
            images.read(roots[config.node_name], config), texts_in(roots[config.node_name]), {}
        )
        for config in configs
    }
