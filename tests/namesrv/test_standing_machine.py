"""A name server that skips unchanged topics has the same tables as one that skips none."""

from __future__ import annotations

import zlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fakemq.protocol.bodies.topic import (
    DataVersion,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigSerializeWrapper,
    register_broker_json,
    topic_json,
    topics_json,
)
from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import NamesrvLab, broker_fields

TOPICS = st.sampled_from(["a", "b", 'c"}}}', "d,"])
BROKERS = st.sampled_from(["broker-a", "broker-a", "broker-b"])
IDS = st.sampled_from([0, 0, 0, 1])
CHANGES = {
    "delete": (RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": "a"}),
    "wipe": (RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"}),
    "add": (RequestCode.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"}),
    "unregister": (RequestCode.UNREGISTER_BROKER, broker_fields(addr="broker-a:0")),
}
"""What changes the table between two registrations."""


class Standing(RuleBasedStateMachine):
    """The same requests to two name servers: one has the brokers inside, one outside."""

    def __init__(self) -> None:
        super().__init__()
        lab = NamesrvLab()
        self.servers = [lab.name_server(), lab.name_server()]
        self.peers = [lab.peer(self.servers[0]), lab.peer(self.servers[1], outside=True)]
        self.topics: dict[str, dict[str, TopicConfig]] = {"broker-a": {}, "broker-b": {}}
        self.counter = 0

    def ask(self, code: int, fields: dict[str, str], body: bytes = b"") -> None:
        first, second = (peer.ask(code, ext_fields=dict(fields), body=body) for peer in self.peers)
        assert (first.code, first.body) == (second.code, second.body)

    @rule(broker=BROKERS, topic=TOPICS, queues=st.integers(1, 3), perm=st.sampled_from([2, 6]))
    def change(self, broker: str, topic: str, queues: int, perm: int) -> None:
        self.topics[broker][topic] = TopicConfig(
            topic_name=topic, write_queue_nums=queues, perm=perm
        )

    @rule(broker=BROKERS, topic=TOPICS)
    def delete(self, broker: str, topic: str) -> None:
        self.counter += self.topics[broker].pop(topic, None) is not None

    @rule(broker=BROKERS, broker_id=IDS, new_version=st.sampled_from([True, True, False]))
    def register(self, broker: str, broker_id: int, new_version: bool) -> None:
        self.counter += new_version
        self.say(broker, broker_id, self.topics[broker])

    @rule(broker=BROKERS, topic=TOPICS)
    def register_one(self, broker: str, topic: str) -> None:
        self.counter += 1
        config = self.topics[broker].get(topic)
        if config is not None:
            self.say(broker, 0, {topic: config})

    def say(self, broker: str, broker_id: int, topics: dict[str, TopicConfig]) -> None:
        version = DataVersion(timestamp=7, counter=self.counter)
        body = register_broker_json(topics_json(version, map(topic_json, topics.values())))
        wrapper = TopicConfigSerializeWrapper(topic_config_table=topics, data_version=version)
        assert body == RegisterBrokerBody(topic_config_serialize_wrapper=wrapper).encode()
        fields = broker_fields(name=broker, broker_id=broker_id, addr=f"{broker}:{broker_id}")
        fields |= {"haServerAddr": "", "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF)}
        self.ask(RequestCode.REGISTER_BROKER, fields | {"compressed": "false"}, body)

    @rule(how=st.sampled_from(sorted(CHANGES)))
    def change_in_namesrv(self, how: str) -> None:
        self.ask(*CHANGES[how])

    @rule(topic=TOPICS, how=st.sampled_from(sorted(CHANGES)))
    def change_between_two_registrations(self, topic: str, how: str) -> None:
        self.topics["broker-a"].pop(topic, None)
        self.register("broker-a", 0, True)
        self.change_in_namesrv(how)
        self.change("broker-a", topic, 1, 6)
        self.register("broker-a", 0, True)

    @rule()
    def reset(self) -> None:
        for server in self.servers:
            server.reset()

    @invariant()
    def they_know_the_same(self) -> None:
        inside, outside = (server.tables for server in self.servers)
        assert inside.topic_queue_table == outside.topic_queue_table
        assert inside.broker_addr_table == outside.broker_addr_table


TestStanding = Standing.TestCase
TestStanding.settings = settings(deadline=None, max_examples=40, stateful_step_count=25)
