"""Two clusters with the same two name servers: what these say, on both sides."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

import fakemq
from conformance.live.groups import WAITING
from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import JavaBroker, JavaNode, wait_until
from conformance.wire.raw import call, create_topic, frame, json_header, split
from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode

# It starts four JVMs.
pytestmark = [pytest.mark.slow, WAITING]

CLUSTERS = {"broker-a": "First", "broker-b": "Second"}
TOPICS = {"orders": ("broker-a",), "bills": ("broker-b",), "both": ("broker-a", "broker-b")}
JVM = ("-Xms64m", "-Xmx256m", "-Xmn32m")
ASKED: tuple[tuple[RequestCode, Mapping[str, str]], ...] = (
    (RequestCode.GET_BROKER_CLUSTER_INFO, {}),
    *((RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}) for topic in (*TOPICS, "First")),
    *(
        (RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": cluster})
        for cluster in ("First", "Second", "DefaultCluster")
    ),
    (RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, {}),
)


class Clusters:
    """Two name servers, and the masters of two clusters."""

    def __init__(
        self, name_servers: list[str], brokers: dict[str, str], end_first: Callable[[], None]
    ) -> None:
        self.name_servers = name_servers
        self.brokers = brokers
        self.end_first = end_first
        """End the first name server."""
        for topic, names in TOPICS.items():
            for name in names:
                create_topic(brokers[name], topic, 2)

    def say(self, name_server: int) -> list[object]:
        """Return what one of the name servers answers; addresses are named as their brokers."""
        found: list[object] = []
        for code, fields in ASKED:
            answer = call(self.name_servers[name_server], frame(code, fields))
            header = json_header(answer)
            _, _, body = split(answer)
            text = body.decode()
            for name, addr in self.brokers.items():
                text = text.replace(addr, f"<{name}>")
            found.append((code.name, fields, header["code"], _sorted(text)))
        return found

    def send_to_all(self) -> dict[str, set[str]]:
        """Send to each topic, by a client that knows both name servers; return the brokers."""
        found = {}
        with Client(";".join(self.name_servers)) as client:
            for topic in TOPICS:
                results = [client.send(Message(topic, b"x")) for _ in range(4)]
                found[topic] = {result.queue.broker_name or "" for result in results}
        return found


def _sorted(text: str) -> object:
    """Return a JSON body; the order of its lists is one of hash maps."""
    value = fastjson.loads(text) if text else None
    if isinstance(value, dict) and isinstance(value.get("topicList"), list):
        value["topicList"] = sorted(value["topicList"])
    return value


@pytest.fixture
def real(java: None) -> Iterator[Clusters]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketmq-")))
        servers = []
        for number in range(2):
            main = "org.apache.rocketmq.namesrv.NamesrvStartup"
            node = JavaNode(f"namesrv-{number}", home / f"n{number}", main, free_port(), JVM)
            node.config = {
                "listenPort": str(node.port),
                "kvConfigPath": str(node.home / "kvConfig.json"),
            }
            stack.callback(node.kill)
            node.start()
            servers.append(node)
        brokers = []
        for name, cluster in CLUSTERS.items():
            broker = JavaBroker(name, home / name, servers[0], JVM)
            addrs = ";".join(server.addr for server in servers)
            broker.config |= {"brokerClusterName": cluster, "namesrvAddr": addrs}
            stack.callback(broker.kill)
            broker.launch()
            brokers.append(broker)
        for broker in brokers:
            broker.wait_ready()
        addrs_of = [server.addr for server in servers]
        found = Clusters(addrs_of, {one.name: one.addr for one in brokers}, servers[0].kill)
        wait_until(lambda: found.say(0) == found.say(1), 60)
        yield found


@pytest.fixture
def fake() -> Iterator[Clusters]:
    config = [{"brokerClusterName": cluster} for cluster in CLUSTERS.values()]
    with fakemq.Cluster(masters=2, namesrvs=2, config=config) as mq:
        yield Clusters(
            mq.namesrv_addr.split(";"),
            {name: mq.broker(name).addr for name in CLUSTERS},
            lambda: mq.name_server(0).kill(),
        )


def test_name_servers_of_two_clusters_say_the_same(real: Clusters, fake: Clusters) -> None:
    for number in range(2):
        assert fake.say(number) == real.say(number)
    for clusters in (real, fake):
        assert clusters.send_to_all() == {topic: set(names) for topic, names in TOPICS.items()}
        clusters.end_first()
        assert clusters.send_to_all() == {topic: set(names) for topic, names in TOPICS.items()}
    assert fake.say(1) == real.say(1)
