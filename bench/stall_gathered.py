"""Attacks in two steps: a peer gathers much, by requests that are short, and then triggers a walk.

The trigger is one more request, the end of a connection, or time.
"""

# Over 400 lines: the table of attacks, and what each does.

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from bench.stall_lab import (
    GROUP,
    TIMEOUT_MS,
    TOPIC,
    Attack,
    Lab,
    check_transactions,
    create_topic,
    half_messages,
    heartbeat,
    held_pulls,
    leave,
    nothing,
    send,
    until_idle,
)
from conformance.wire import requests
from fakemq.broker.v5.broker import Broker5
from fakemq.client.carriers.pipeline import Pipeline
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.topic import (
    DataVersion,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigSerializeWrapper,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5

PRODUCERS = [f"producers-{number}" for number in range(20_000)]
CONSUMERS = [f"consumers-{number}" for number in range(10_000)]
TOPICS = [f"topic-{number}" for number in range(30_000)]


def producers(lab: Lab) -> None:
    """Be in many groups of producers."""
    body = requests.producer_heartbeat("attacker", *PRODUCERS[: lab.many(len(PRODUCERS))])
    lab.ask(RequestCode.HEART_BEAT, body=json.dumps(body).encode())


def consumers(lab: Lab) -> None:
    """Be in many groups of consumers."""
    names = CONSUMERS[: lab.many(len(CONSUMERS))]
    for first in range(0, len(names), 2_000):  # more would be refused
        heartbeat(lab, names[first : first + 2_000], [TOPIC])


def producers_one_by_one(lab: Lab) -> None:
    """Be in many groups, by a heartbeat for each."""
    for first in range(0, lab.many(len(PRODUCERS)), 500):
        beats = [
            RemotingCommand(
                RequestCode.HEART_BEAT,
                body=json.dumps(requests.producer_heartbeat("attacker", group)).encode(),
            )
            for group in PRODUCERS[first : first + 500]
        ]
        for opaque in lab.broker.send_all(beats, timeout_ms=TIMEOUT_MS):
            lab.broker.receive(opaque, TIMEOUT_MS)


def members_of_the_same_groups(lab: Lab) -> None:
    """Be two members of many groups: one is notified when the other leaves."""
    consumers(lab)
    first, lab.broker = lab.broker, lab.connect(lab.broker.addr)
    consumers(lab)
    lab.other = first


def leave_the_other(lab: Lab) -> None:
    lab.broker.close()
    lab.mq.wait_for(
        lambda: lab.mq.inspect(lambda core: len(next(iter(core.brokers.values())).sessions) == 1),
        timeout="30s",
    )
    until_idle(lab)


def many_members(lab: Lab) -> None:
    """Be many members of one group, over a connection for each."""
    body = json.dumps(requests.heartbeat("member", GROUP, TOPIC)).encode()
    for _ in range(lab.many(2_000)):
        member = lab.connect(lab.broker.addr)
        lab.ask(RequestCode.HEART_BEAT, body=body, to=member)


def join(lab: Lab) -> None:
    heartbeat(lab, [GROUP], [TOPIC])


def unregister_each(lab: Lab) -> None:
    commands = [
        RemotingCommand(
            RequestCode.UNREGISTER_CLIENT,
            ext_fields={"clientID": "attacker", "producerGroup": group},
        )
        for group in PRODUCERS[: lab.many(len(PRODUCERS))]
    ]
    for opaque in lab.broker.send_all(commands, timeout_ms=TIMEOUT_MS):
        lab.broker.receive(opaque, TIMEOUT_MS)


def differing(lab: Lab) -> None:
    """Subscribe to thousands of topics, each time others, as two members in turn."""
    other = lab.connect(lab.broker.addr)
    for round_ in range(4):
        for client, to in (("one", lab.broker), ("two", other)):
            topics = [f"{client}-{round_}-{topic}" for topic in range(lab.many(5_000))]
            body = json.dumps(requests.heartbeat(client, GROUP, *topics)).encode()
            lab.ask(RequestCode.HEART_BEAT, body=body, to=to)


def expire(lab: Lab) -> None:
    """Let the client be silent for too long."""

    def act(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        for session in list(broker.sessions):
            broker.client_expiry.expire(session)

    lab.mq.inspect(act)
    until_idle(lab)


def until_answered(lab: Lab) -> None:
    """Wait until no pull is held; time runs, as to move it does all that is due at once."""
    lab.mq.wait_for(
        lambda: lab.mq.inspect(lambda core: not next(iter(core.brokers.values())).holds.by_queue),
        timeout="60s",
    )


def until_popped(lab: Lab) -> None:
    """Wait until no pop is held."""
    lab.mq.wait_for(lambda: lab.mq.inspect(_held_pops) == 0, timeout="60s")


def _held_pops(core: ClusterCore) -> int:
    broker = next(iter(core.brokers.values()))
    assert isinstance(broker, Broker5)
    return len(broker.pop.polling)


def pops(lab: Lab, groups: int, each: int, poll_ms: int = 60_000) -> None:
    """Hold pops of one topic, by many groups, over one connection."""
    create_topic(lab, queues=64)
    fields = {
        "topic": TOPIC,
        "maxMsgNums": 1,
        "invisibleTime": 60_000,
        "pollTime": poll_ms,
        "bornTime": 4_000_000_000_000,
        "initMode": 0,
        "order": False,
    }
    commands = [
        RemotingCommand(
            RequestCode5.POP_MESSAGE,
            ext_fields=requests.texts(
                fields | {"consumerGroup": CONSUMERS[group], "queueId": number % 64}
            ),
        )
        for group in range(groups)
        for number in range(each)
    ]
    for first in range(0, len(commands), 500):
        part = commands[first : first + 500]
        for opaque in lab.broker.send_all(part, timeout_ms=TIMEOUT_MS):
            lab.broker.forget(opaque)

    lab.mq.wait_for(lambda: lab.mq.inspect(_held_pops) >= len(commands), timeout="60s")


def send_from_another(lab: Lab) -> None:
    send(lab, to=lab.connect(lab.broker.addr))
    until_idle(lab)


def topics(lab: Lab) -> None:
    """Have topics that any client may create by a send."""
    number = lab.many(len(TOPICS))

    def create(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        with broker.persistence.at_once():
            for topic in TOPICS[:number]:
                broker.topics.create(topic, 4)
        broker.register_all()

    lab.mq.inspect(create)


def written_topics(lab: Lab) -> None:
    topics(lab)
    number = lab.many(10_000)

    def fill(core: ClusterCore) -> None:
        from fakemq.store.inner_message import inner_message

        broker = next(iter(core.brokers.values()))
        for topic in TOPICS[:number]:
            broker.put(inner_message(topic, 0, b"x"))
            broker.offsets.commit(GROUP, topic, 0, 1)

    lab.mq.inspect(fill)


def offsets(lab: Lab) -> None:
    """Have committed offsets of many groups in many topics."""
    number = lab.many(10_000)

    def commit(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        for group in CONSUMERS[:number]:
            broker.groups.find(group)
            for topic in TOPICS[:20]:
                broker.offsets.commit(group, topic, 0, 0)
        for topic in TOPICS[:20]:
            broker.topics.create(topic, 4)

    lab.mq.inspect(commit)


def kv_values(lab: Lab) -> None:
    values = dict.fromkeys(TOPICS[: lab.many(len(TOPICS))], "value")
    lab.mq.inspect(lambda core: core.name_servers[0].kv.restore({"names": values}))


def put_kv_value(lab: Lab) -> None:
    fields = {"namespace": "names", "key": "one", "value": "more"}
    lab.ask(RequestCode.PUT_KV_CONFIG, fields, to=lab.namesrv)


def groups(lab: Lab) -> None:
    number = lab.many(30_000)

    def create(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        with broker.persistence.at_once():
            for one in range(number):
                broker.groups.find(f"group-{one}")

    lab.mq.inspect(create)


def create_group(lab: Lab) -> None:
    body = SubscriptionGroupConfig(group_name="one").encode()
    lab.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)


def asked(code: int, **fields: object) -> Attack:
    def ask(lab: Lab) -> None:
        lab.ask(code, fields)
        until_idle(lab)

    return ask


def got(path: str, method: str = "GET") -> Attack:
    def ask(lab: Lab) -> None:
        lab.control(method, path, None if method == "GET" else {})

    return ask


# -- a name server --------------------------------------------------------------------------------


def register(
    lab: Lab, to: Pipeline, *, name: str = "broker-z", addr: str = "127.0.0.1:1", **more: int
) -> RemotingCommand:
    body = RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
            topic_config_table={
                topic: TopicConfig(topic_name=topic, read_queue_nums=8, write_queue_nums=8)
                for topic in TOPICS[: more.get("topics", 0)]
            },
            data_version=DataVersion(timestamp=1, counter=1),
        ),
    ).encode(compressed=False)
    fields: Mapping[str, object] = {
        "brokerName": name,
        "brokerAddr": addr,
        "clusterName": "DefaultCluster",
        "haServerAddr": "127.0.0.1:2",
        "brokerId": more.get("broker_id", 0),
        "compressed": False,
        "bodyCrc32": 0,
    }
    command = RemotingCommand(
        RequestCode.REGISTER_BROKER, ext_fields=requests.texts(fields), body=body
    )
    command.version = 401
    return command


def registered_topics(lab: Lab) -> None:
    """Register a broker with many topics, in parts, over a connection of its own."""
    number = lab.many(26_000)
    lab.other = lab.connect(lab.mq.namesrv_addr)
    command = register(lab, lab.other, topics=number)
    lab.other.receive(lab.other.send(command, timeout_ms=TIMEOUT_MS), TIMEOUT_MS)

    def more(core: ClusterCore) -> None:
        from fakemq.protocol.bodies.route import QueueData

        tables = core.name_servers[0].tables
        for part in range(1, 10):
            for topic in TOPICS[:number]:
                tables.enter_queues(f"{topic}-{part}", QueueData(broker_name="broker-z"))

    lab.mq.inspect(more)  # as further registrations with other topics would


def registered_brokers(lab: Lab) -> None:
    """Register many brokers over one connection."""
    lab.other = lab.connect(lab.mq.namesrv_addr)
    commands = [
        register(lab, lab.other, name=f"broker-{number}", addr=f"127.0.0.1:{number}", topics=1)
        for number in range(lab.many(10_000))
    ]
    for first in range(0, len(commands), 500):
        for opaque in lab.other.send_all(commands[first : first + 500], timeout_ms=TIMEOUT_MS):
            lab.other.receive(opaque, TIMEOUT_MS)


def expire_broker(lab: Lab) -> None:
    """Let the broker be silent for too long."""
    lab.mq.inspect(lambda core: core.name_servers[0].registration.expire("127.0.0.1:1"))
    until_idle(lab)


def leave_name_server(lab: Lab) -> None:
    lab.other.close()
    lab.mq.wait_for(
        lambda: lab.mq.inspect(
            lambda core: (
                "broker-z" not in core.name_servers[0].tables.broker_addr_table
                and len(core.name_servers[0].sessions) < 3
            )
        ),
        timeout="30s",
    )
    until_idle(lab)


def ask_name_server(code: int, times: int = 1, **fields: object) -> Attack:
    def ask(lab: Lab) -> None:
        command = RemotingCommand(code, ext_fields=requests.texts(fields))
        for opaque in lab.namesrv.send_all([command] * times, timeout_ms=TIMEOUT_MS):
            lab.namesrv.receive(opaque, TIMEOUT_MS)

    return ask


def register_100(lab: Lab) -> None:
    commands = [
        register(lab, lab.namesrv, name=f"broker-{number}", addr=f"127.0.0.1:{number}", topics=1)
        for number in range(100)
    ]
    for opaque in lab.namesrv.send_all(commands, timeout_ms=TIMEOUT_MS):
        lab.namesrv.receive(opaque, TIMEOUT_MS)


def many(gather: Callable[[Lab, int], object], number: int) -> Attack:
    return lambda lab: gather(lab, lab.many(number))


GATHERED: dict[str, tuple[Attack, Attack]] = {
    "end of a connection with 20,000 groups of producers": (producers, leave),
    "end of a connection with 10,000 groups that it shares": (
        members_of_the_same_groups,
        leave_the_other,
    ),
    "expiry of a client of 20,000 groups of producers": (producers, expire),
    "expiry of a client of 10,000 groups of consumers": (consumers, expire),
    "heartbeats of a client of 20,000 groups": (nothing, producers_one_by_one),
    "20,000 unregistrations of a client": (producers, unregister_each),
    "one more member of 2,000": (many_members, join),
    "heartbeats of members that differ in 5,000 topics": (nothing, differing),
    "end of the time of 20,000 held pulls": (
        lambda lab: held_pulls(lab, lab.many(20_000), suspend_ms=1_000 + lab.many(9_000)),
        until_answered,
    ),
    "end of a connection with 20,000 held pops of 5.5.0": (
        lambda lab: pops(lab, lab.many(400), 50),
        leave,
    ),
    "end of the time of 20,000 held pops of 5.5.0": (
        lambda lab: pops(lab, lab.many(400), 50, poll_ms=1_000 + lab.many(14_000)),
        until_popped,
    ),
    "a send to a topic that 10,000 groups pop of 5.5.0": (
        lambda lab: pops(lab, lab.many(10_000), 1),
        send_from_another,
    ),
    "discard of 30,000 half messages": (
        lambda lab: half_messages(lab, lab.many(30_000), TRANSACTION_CHECK_TIMES="15"),
        check_transactions,
    ),
    "page of 30,000 topics": (written_topics, got("/v1/overview")),
    "page of one of 30,000 topics": (written_topics, got("/v1/overview?topic=topic-29999")),
    "list of 30,000 topics over HTTP": (written_topics, got("/v1/topics")),
    "list of 10,000 groups over HTTP": (offsets, got("/v1/groups")),
    "page of 10,000 clients": (consumers, got("/v1/overview")),
    "state beside 30,000 topics over HTTP": (written_topics, got("/v1/state")),
    "snapshot of 30,000 topics": (written_topics, got("/v1/snapshots", "POST")),
    "search beside 30,000 topics": (written_topics, got("/v1/messages?word=nothing")),
    "diagnosis beside 30,000 topics": (written_topics, got("/v1/diagnosis?topic=topic-1")),
    "timers beside 20,000 held pops of 5.5.0": (
        lambda lab: pops(lab, lab.many(400), 50),
        got("/v1/clock/timers"),
    ),
    "groups beside 20,000 held pops of 5.5.0": (
        lambda lab: pops(lab, lab.many(400), 50),
        got("/v1/clock"),
    ),
    "one more topic beside 30,000 that is registered": (topics, create_topic),
    "one more topic beside 30,000 in a directory": (topics, create_topic),
    "one more group beside 30,000 in a directory": (groups, create_group),
    "one more KV value beside 30,000 in a directory": (kv_values, put_kv_value),
    "deletion of a topic beside 200,000 offsets": (
        offsets,
        asked(RequestCode.DELETE_TOPIC_IN_BROKER, topic="topic-1"),
    ),
    "deletion of a group beside 200,000 offsets": (
        offsets,
        asked(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="consumers-1", removeOffset=True),
    ),
    "topics of a group beside 200,000 offsets of 5.5.0": (
        offsets,
        asked(RequestCode5.QUERY_TOPICS_BY_CONSUMER, group="consumers-1"),
    ),
    "groups of a topic beside 200,000 offsets": (
        offsets,
        asked(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic="topic-1"),
    ),
    "consume stats of a group beside 200,000 offsets": (
        offsets,
        asked(RequestCode.GET_CONSUME_STATS, consumerGroup="consumers-1"),
    ),
    "groups of a topic beside 10,000 groups": (
        consumers,
        asked(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic=TOPIC),
    ),
    "all producers of 20,000 groups": (producers, asked(RequestCode.GET_ALL_PRODUCER_INFO)),
    "end of a broker of 260,000 topics at a name server": (registered_topics, leave_name_server),
    "expiry of a broker of 260,000 topics at a name server": (
        registered_topics,
        expire_broker,
    ),
    "end of write permission of 260,000 topics": (
        registered_topics,
        ask_name_server(RequestCode.WIPE_WRITE_PERM_OF_BROKER, brokerName="broker-z"),
    ),
    "end of a connection with 10,000 brokers": (registered_brokers, leave_name_server),
    "10,000 brokers register": (nothing, registered_brokers),
    "100 registrations beside 10,000 brokers": (registered_brokers, register_100),
    "cluster info of 10,000 brokers": (
        registered_brokers,
        ask_name_server(RequestCode.GET_BROKER_CLUSTER_INFO, 4),
    ),
    "route to 10,000 brokers": (
        registered_brokers,
        ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, 4, topic="topic-0"),
    ),
    "route to 10,000 brokers over and over": (
        registered_brokers,
        ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, 50, topic="topic-0"),
    ),
}
