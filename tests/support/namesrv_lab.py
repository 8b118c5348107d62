"""A name server on a memory network with a frozen clock, and brokers made of bare requests."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.model import NamesrvConfig
from fakemq.config.spec import config_classes
from fakemq.files.texts import TextFile
from fakemq.journal.journal import Journal
from fakemq.namesrv.namesrv import NameServer, name_server_class
from fakemq.net.memory import MemoryNetwork
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import VERSION_4_9_7, RemotingCommand
from fakemq.reference import V4_9_7, Reference
from tests.support.peer import Peer
from tests.support.time import ManualTime


class NamesrvLab:
    """Name servers sharing a clock, a journal and a network, and nothing else."""

    def __init__(self) -> None:
        self.time = ManualTime()
        self.clock = Clock(frozen=True, source=self.time)
        self.journal = Journal(self.clock)
        self.network = MemoryNetwork()
        self.clock.settle = self.network.settle
        self.servers: list[NameServer] = []

    def name_server(
        self,
        config: NamesrvConfig | None = None,
        kv_file: TextFile | None = None,
        reference: Reference = V4_9_7,
    ) -> NameServer:
        """Start one more; it listens at its ``addr``."""
        name = f"namesrv-{len(self.servers)}"
        server = name_server_class(reference)(
            name,
            config or config_classes(reference)[1](),
            NodeClock(self.clock, name),
            self.journal,
            kv_file=kv_file,
            reference=reference,
        )
        server.start(f"127.0.0.1:{9876 + len(self.servers)}")
        self.network.listen(server.addr, server.accept)
        self.servers.append(server)
        return server

    def peer(self, server: NameServer | None = None, *, outside: bool = False) -> Peer:
        """A connection to ``server``, or to the first there is."""
        server = server or (self.servers[0] if self.servers else self.name_server())
        accept = server.accept if outside else None
        return Peer(self.network, self.clock, self.journal, server.addr, accept_outside=accept)

    def real_time_passes(self, ms: int) -> None:
        """Outside peers grow older; a frozen cluster does not."""
        self.time.passed_ms += ms
        self.clock.fire_due()


def topic(name: str, *, queues: int = 4, perm: int = 6, sys_flag: int = 0) -> dict[str, object]:
    """A TopicConfig as a broker writes it."""
    return {
        "order": False,
        "perm": perm,
        "readQueueNums": queues,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": sys_flag,
        "writeQueueNums": queues,
    }


def wrapper(
    *topics: Mapping[str, object], counter: int = 1, at_ms: int = 7, state: int | None = None
) -> dict[str, Any]:
    """A TopicConfigSerializeWrapper; one of a broker under a controller has a state."""
    version = {"counter": counter, "timestamp": at_ms}
    return {
        "dataVersion": version if state is None else version | {"stateVersion": state},
        "topicConfigTable": {str(config["topicName"]): config for config in topics},
    }


def register(
    peer: Peer,
    *topics: Mapping[str, object],
    name: str = "broker-a",
    broker_id: int = 0,
    addr: str = "10.0.0.1:10911",
    cluster: str = "DefaultCluster",
    counter: int = 1,
    filter_servers: list[str] | None = None,
    version: int = VERSION_4_9_7,
    state: int | None = None,
    further: Mapping[str, str] | None = None,
) -> RemotingCommand:
    """Register a broker as Java's does, checksum included. Return the answer."""
    content: dict[str, Any] = {
        "filterServerList": filter_servers or [],
        "topicConfigSerializeWrapper": wrapper(*topics, counter=counter, state=state),
    }
    body = json.dumps(content).encode()
    fields = broker_fields(name=name, broker_id=broker_id, addr=addr, cluster=cluster)
    fields |= {
        "haServerAddr": f"{addr.rpartition(':')[0]}:10912",
        "compressed": "false",
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF),
        **(further or {}),
    }
    return peer.ask(RequestCode.REGISTER_BROKER, body=body, ext_fields=fields, version=version)


def broker_fields(
    *,
    name: str = "broker-a",
    broker_id: int = 0,
    addr: str = "10.0.0.1:10911",
    cluster: str = "DefaultCluster",
) -> dict[str, str]:
    """The header fields that identify a broker."""
    return {
        "brokerName": name,
        "brokerAddr": addr,
        "clusterName": cluster,
        "brokerId": str(broker_id),
    }


def route(peer: Peer, name: str) -> dict[str, Any] | None:
    """A topic's route as parsed JSON; None where the name server has none."""
    response = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": name})
    if response.code == 17:
        return None
    assert response.code == 0
    content: dict[str, Any] = json.loads(response.body)
    return content


def put_kv(peer: Peer, namespace: str, key: str, value: str) -> RemotingCommand:
    fields = {"namespace": namespace, "key": key, "value": value}
    return peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields)


def get_kv(peer: Peer, namespace: str, key: str) -> RemotingCommand:
    return peer.ask(RequestCode.GET_KV_CONFIG, ext_fields={"namespace": namespace, "key": key})


def list_kv(peer: Peer, namespace: str) -> RemotingCommand:
    fields = {"namespace": namespace}
    return peer.ask(RequestCode.GET_KVLIST_BY_NAMESPACE, ext_fields=fields)


def perms(peer: Peer, name: str) -> dict[str, int]:
    """Broker name → permission of a routed topic."""
    found = route(peer, name)
    assert found is not None
    return {data["brokerName"]: data["perm"] for data in found["queueDatas"]}


def namesrv_config(peer: Peer) -> dict[str, str]:
    """The name server's config as it returns it."""
    response = peer.ask(RequestCode.GET_NAMESRV_CONFIG)
    assert response.code == 0
    text = response.body.decode()
    assert text.endswith("\n")
    return dict(line.split("=", 1) for line in text[:-1].split("\n"))
