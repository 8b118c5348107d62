"""The longest turn of the server's loop that a single peer can cause.

No other peer is answered during a turn. Turns are measured in processor time of the loop's own
thread, so that other load of the machine does not matter.
"""

# Over 400 lines: the table of attacks, and what each sends.

from __future__ import annotations

import gc
import json
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from bench.measure import Figure, Plan
from bench.stall_accounts import ACCOUNTS
from bench.stall_front import FRONT
from bench.stall_gathered import GATHERED
from bench.stall_lab import (
    AT_MOST_MS,
    GROUP,
    LOG_FILE_BYTES,
    QUEUES_MOST,
    TIMEOUT_MS,
    TOPIC,
    Attack,
    Lab,
    check_transactions,
    create_topic,
    grouped,
    half_messages,
    heartbeat,
    held_pulls,
    leave,
    many_topics,
    nothing,
    pipelined,
    send,
)
from bench.stall_lite import LITE
from conformance.wire import requests
from fakemq.clock.machine_time import real_wait_ms
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.route import QueueData
from fakemq.protocol.bodies.topic import (
    DataVersion,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigSerializeWrapper,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.store.inner_message import inner_message

# -- attacks: what is prepared first, and what is measured ----------------------------------------


def query(lab: Lab) -> None:
    lab.ask(
        RequestCode.QUERY_MESSAGE,
        {
            "topic": TOPIC,
            "key": "key7",
            "maxNum": 32,
            "beginTimestamp": 0,
            "endTimestamp": 2**62,
        },
    )


def pull(lab: Lab, expression: str, kind: str = "SQL92", most: int = 32, *, times: int = 1) -> None:
    fields = requests.pull_fields(
        TOPIC,
        consumerGroup=GROUP,
        subscription=expression,
        expressionType=kind,
        maxMsgNums=most,
    )
    pipelined(lab, RequestCode.PULL_MESSAGE, times, fields)


def check_expression(lab: Lab, expression: str) -> None:
    data = requests.heartbeat("a", GROUP, TOPIC, expression=expression, expression_type="SQL92")
    subscription = data["consumerDataSet"][0]["subscriptionDataSet"][0]  # type: ignore[index]
    body = {"clientId": "a", "group": GROUP, "subscriptionData": subscription}
    lab.ask(RequestCode.CHECK_CLIENT_CONFIG, body=json.dumps(body).encode())


def terms(number: int) -> str:
    return " OR ".join(f"a{one} = {one}" for one in range(number))


def pluses(number: int) -> str:
    return "+(" * 45 + " OR ".join(["a = 1"] * number) + ")" * 45


def register(lab: Lab, topics: int, *, compressed: bool, padding: int = 0) -> None:
    configs = [
        TopicConfig(topic_name=f"topic-{one}", read_queue_nums=8, write_queue_nums=8)
        for one in range(topics)
    ]
    body = RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
            topic_config_table={str(one.topic_name): one for one in configs},
            data_version=DataVersion(timestamp=1, counter=1),
        ),
        filter_server_list=["x" * padding],
    ).encode(compressed=compressed)
    fields = {
        "brokerName": "broker-z",
        "brokerAddr": "127.0.0.1:1",
        "clusterName": "DefaultCluster",
        "haServerAddr": "127.0.0.1:2",
        "brokerId": 0,
        "compressed": compressed,
        "bodyCrc32": 0,
    }
    command = RemotingCommand(
        RequestCode.REGISTER_BROKER, ext_fields=requests.texts(fields), body=body
    )
    command.version = 401
    lab.namesrv.receive(lab.namesrv.send(command, timeout_ms=TIMEOUT_MS), TIMEOUT_MS)


def create_group(lab: Lab) -> None:
    config = SubscriptionGroupConfig(group_name="one-more")
    lab.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=config.encode())


def many_names(lab: Lab) -> None:
    """Let the name server have topics and KV values, as many requests would."""
    names = [f"name-{one}" for one in range(lab.many(100_000))]

    def enter(core: ClusterCore) -> None:
        (name_server,) = core.name_servers
        name_server.kv.restore({"names": dict.fromkeys(names, "value")})
        queues = {"broker-z": QueueData(broker_name="broker-z")}
        name_server.tables.topic_queue_table.update(dict.fromkeys(names, queues))

    lab.mq.inspect(enter)


def many_groups(lab: Lab) -> None:
    number = lab.many(10_000)

    def create(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        with broker.persistence.at_once():
            for one in range(number):
                broker.groups.find(f"group-{one}")

    lab.mq.inspect(create)


def many_offsets(lab: Lab) -> None:
    number = lab.many(QUEUES_MOST)
    create_topic(lab, queues=number)

    def commit(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        broker.groups.find(GROUP)
        for one in range(number):
            broker.offsets.commit(GROUP, TOPIC, one, 0)

    lab.mq.inspect(commit)


def many_tables_of_offsets(lab: Lab) -> None:
    number = lab.many(10_000)

    def commit(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        for one in range(number):
            for group in range(10):
                broker.offsets.commit(f"group-{group}", f"topic-{one}", 0, 0)

    lab.mq.inspect(commit)


def many_queues(lab: Lab) -> None:
    number = lab.many(4_000)
    create_topic(lab, queues=number)

    def put(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        for one in range(number):
            broker.put(inner_message(TOPIC, one, b"x"))

    lab.mq.inspect(put)


def many_expired_queues(lab: Lab) -> None:
    """Make queues, and delete the log file that has their messages."""
    many_queues(lab)

    def expire(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        while not broker.store.delete_expired_files(LOG_FILE_BYTES):
            broker.put(inner_message("other", 0, bytes(1 << 20)))

    lab.mq.inspect(expire)


def many_unused_queues(lab: Lab) -> None:
    many_queues(lab)
    lab.mq.inspect(lambda core: next(iter(core.brokers.values())).topics.delete(TOPIC))


def send_to_held(lab: Lab) -> None:
    other = lab.connect(lab.broker.addr)
    send(lab, to=other)
    lab.mq.wait_for(
        lambda: lab.mq.inspect(lambda core: not next(iter(core.brokers.values())).holds.snapshot()),
        timeout="60s",
    )


def send_batch_to_held(lab: Lab, number: int) -> None:
    """Send a batch to pulls that want none of it, and wait until each has looked at it."""
    send_batch(lab, number)
    lab.mq.wait_for(
        lambda: lab.mq.inspect(lambda core: not core.clock.slices.waiting), timeout="60s"
    )


def send_batch(lab: Lab, number: int, *, times: int = 1) -> None:
    body = requests.batch_item(b"") * number
    fields = requests.send_v2_fields(TOPIC, m=True)
    pipelined(lab, RequestCode.SEND_BATCH_MESSAGE, times, fields, body)


def wide_json(lab: Lab, text: str, number: int) -> None:
    lab.ask(RequestCode.HEART_BEAT, body=("{" + text % ",".join(["1"] * number) + "}").encode())


def wide_header(lab: Lab, number: int) -> None:
    lab.ask(RequestCode.GET_BROKER_CONFIG, {f"field{one}": "" for one in range(number)})


def lock_queues(lab: Lab, number: int) -> None:
    body = {
        "consumerGroup": GROUP,
        "clientId": "attacker",
        "mqSet": [requests.message_queue(TOPIC, one) for one in range(number)],
    }
    lab.ask(RequestCode.LOCK_BATCH_MQ, body=json.dumps(body).encode())


def packed_bodies(lab: Lab) -> None:
    create_topic(lab)
    lab.fill(lab.many(10), body=zlib.compress(bytes(60 << 20)), sys_flag=1)


def waits(lab: Lab) -> None:
    """Wait for what does not happen, 300 times, and send."""
    number = lab.many(300)
    body = {"messages": {"topic": "never", "at_least": 1}, "timeout": "20s"}
    for _ in range(number):
        Thread(target=_quietly, args=(lab, body), daemon=True).start()
    while lab.mq.inspect(lambda core: len(core.wakes)) < number:  # no event for a wait
        real_wait_ms(5)


def _quietly(lab: Lab, body: object) -> None:
    with suppress(OSError):
        lab.control("POST", "/v1/wait-for", body)


def sends(lab: Lab, number: int) -> None:
    for _ in range(number):
        send(lab)


def ask_of(
    code: int, least_bytes: int = 0, answer_code: int = ResponseCode.SUCCESS, **fields: Any
) -> Attack:
    """Return an attack by one request, which has to be answered with this code and a large body."""

    def attack(lab: Lab) -> None:
        answer = lab.ask(code, fields)
        assert answer.code == answer_code, f"{answer.code}: {answer.remark}"
        assert len(answer.body) >= least_bytes * lab.size, f"{len(answer.body)} bytes are no attack"

    return attack


def delete_queues(lab: Lab, code: int, **fields: Any) -> None:
    ask_of(code, **fields)(lab)
    left = lab.mq.inspect(lambda core: next(iter(core.brokers.values())).store.queue_ids(TOPIC))
    assert not left, f"{len(left)} queues are left"


def filled(number: int) -> Attack:
    def prepare(lab: Lab) -> None:
        create_topic(lab)
        lab.fill(lab.many(number))

    return prepare


_OF_GROUP: dict[str, Any] = {"consumerGroup": GROUP, "topic": TOPIC}
ATTACKS: dict[str, tuple[Attack, Attack]] = (
    {
        "query by key, 100,000 messages": (filled(100_000), query),
        "pull by SQL92 of 60,000 terms": (
            filled(1_000),
            lambda lab: pull(lab, terms(lab.many(60_000))),
        ),
        "8 pulls by SQL92 of 6,000 terms in one piece": (
            filled(1_000),
            lambda lab: pull(lab, terms(lab.many(6_000)), times=8),
        ),
        "pull by SQL92 of 140 KB in 45 pluses": (
            filled(1_000),
            lambda lab: pull(lab, pluses(lab.many(15_000))),
        ),
        "pull by SQL92 over 300,000 messages": (
            filled(300_000),
            lambda lab: pull(lab, "a = 1 OR b = 2 OR c > 3", most=2**31 // 20),
        ),
        "pull by a tag over 300,000 messages": (
            filled(300_000),
            lambda lab: pull(lab, "none", "TAG", most=2**31 // 20),
        ),
        "check of SQL92 of 60,000 terms": (
            nothing,
            lambda lab: check_expression(lab, terms(lab.many(60_000))),
        ),
        "heartbeat with SQL92 of 60,000 terms": (
            nothing,
            lambda lab: heartbeat(lab, [GROUP], [TOPIC], terms(lab.many(60_000))),
        ),
        "heartbeat of 20,000 groups": (
            nothing,
            lambda lab: heartbeat(lab, grouped(lab), [TOPIC]),
        ),
        "heartbeat of 20,000 topics by SQL92": (
            nothing,
            lambda lab: heartbeat(lab, [GROUP], grouped(lab), "a = 1 OR b = 2"),
        ),
        "end of a connection with 20,000 groups": (
            lambda lab: heartbeat(lab, grouped(lab), [TOPIC]),
            leave,
        ),
        "pull by 150,000 tags": (
            filled(1_000),
            lambda lab: pull(
                lab, "||".join(f"tag{one}" for one in range(lab.many(150_000))), "TAG"
            ),
        ),
        "heartbeat of 15 MB, empty groups": (
            nothing,
            lambda lab: lab.ask(
                RequestCode.HEART_BEAT,
                body=b'{"clientID":"a","consumerDataSet":['
                + b",".join([b"{}"] * lab.many(5_000_000))
                + b"]}",
            ),
        ),
        "heartbeat of 15 MB, an unknown list": (
            nothing,
            lambda lab: wide_json(lab, '"clientID":"a","x":[%s]', lab.many(7_500_000)),
        ),
        "heartbeat of 15 MB that no standard allows": (
            nothing,
            lambda lab: wide_json(lab, "clientID:'a',x:[%s]", lab.many(7_500_000)),
        ),
        "header of 100,000 fields": (nothing, lambda lab: wide_header(lab, lab.many(100_000))),
        "registration of 26,000 topics": (
            nothing,
            lambda lab: register(lab, lab.many(26_000), compressed=False),
        ),
        "registration of 100,000 topics": (
            nothing,
            lambda lab: register(lab, lab.many(100_000), compressed=False),
        ),
        "registration of 140,000 topics, packed": (
            nothing,
            lambda lab: register(lab, lab.many(140_000), compressed=True),
        ),
        "registration that unpacks to 60 MB": (
            nothing,
            lambda lab: register(lab, 1, compressed=True, padding=lab.many(60 << 20)),
        ),
        "batch of 5,000 messages": (create_topic, lambda lab: send_batch(lab, lab.many(5_000))),
        "8 batches of 5,000 messages in one piece": (
            create_topic,
            lambda lab: send_batch(lab, lab.many(5_000), times=8),
        ),
        "batch of 13,000 messages": (create_topic, lambda lab: send_batch(lab, lab.many(13_000))),
        "batch of 50,000 messages": (create_topic, lambda lab: send_batch(lab, lab.many(50_000))),
        "batch of 190,000 messages": (create_topic, lambda lab: send_batch(lab, lab.many(190_000))),
        "stats of a topic of 32,768 queues": (
            many_offsets,
            ask_of(RequestCode.GET_TOPIC_STATS_INFO, 1_000_000, topic=TOPIC),
        ),
        "consume stats of 32,768 queues": (
            many_offsets,
            ask_of(RequestCode.GET_CONSUME_STATS, 1_000_000, **_OF_GROUP),
        ),
        "consume stats of a broker": (
            many_offsets,
            ask_of(RequestCode.GET_BROKER_CONSUME_STATS, 1_000_000, isOrder=False),
        ),
        "time span of 32,768 queues": (
            many_offsets,
            ask_of(RequestCode.QUERY_CONSUME_TIME_SPAN, topic=TOPIC, group=GROUP),
        ),
        "offset reset of 32,768 queues": (
            many_offsets,
            ask_of(
                RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
                answer_code=ResponseCode.CONSUMER_NOT_ONLINE,
                topic=TOPIC,
                group=GROUP,
                timestamp=0,
                isForce=True,
            ),
        ),
        "all offsets of 32,768 queues": (
            many_offsets,
            ask_of(RequestCode.GET_ALL_CONSUMER_OFFSET, 180_000),
        ),
        "all offsets of 10,000 topics by 10 groups": (
            many_tables_of_offsets,
            ask_of(RequestCode.GET_ALL_CONSUMER_OFFSET, 2_000_000),
        ),
        "lowest offsets of 32,768 queues": (
            many_offsets,
            ask_of(
                RequestCode.QUERY_CORRECTION_OFFSET, topic=TOPIC, filterGroups="", compareGroup="x"
            ),
        ),
        "copy of the offsets of 32,768 queues": (
            many_offsets,
            ask_of(
                RequestCode.CLONE_GROUP_OFFSET,
                srcGroup=GROUP,
                destGroup="other",
                topic=TOPIC,
                offline=True,
            ),
        ),
        "all of 10,000 topics": (many_topics, ask_of(RequestCode.GET_ALL_TOPIC_CONFIG, 1_000_000)),
        "one more topic beside 10,000": (many_topics, lambda lab: create_topic(lab, "one-more")),
        "one more topic beside 10,000 in a directory": (
            many_topics,
            lambda lab: create_topic(lab, "one-more"),
        ),
        "one more group beside 10,000 in a directory": (many_groups, create_group),
        "list of 10,000 topics of a name server": (
            many_topics,
            lambda lab: lab.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, to=lab.namesrv),
        ),
        "list of 100,000 topics of a name server": (
            many_names,
            lambda lab: lab.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, to=lab.namesrv),
        ),
        "list of 100,000 KV values of a name server": (
            many_names,
            lambda lab: lab.ask(
                RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "names"}, to=lab.namesrv
            ),
        ),
        "state of a broker with 10,000 topics": (
            many_topics,
            ask_of(RequestCode.GET_BROKER_RUNTIME_INFO),
        ),
        "all of 10,000 groups": (
            many_groups,
            ask_of(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, 1_000_000),
        ),
        "consume stats of 10,000 groups": (
            many_groups,
            ask_of(RequestCode.GET_BROKER_CONSUME_STATS, isOrder=False),
        ),
        "deletion of a topic of 4,000 queues": (
            many_queues,
            lambda lab: delete_queues(lab, RequestCode.DELETE_TOPIC_IN_BROKER, topic=TOPIC),
        ),
        "deletion of a topic of 4,000 queues in a directory": (
            many_queues,
            lambda lab: delete_queues(lab, RequestCode.DELETE_TOPIC_IN_BROKER, topic=TOPIC),
        ),
        "deletion of 4,000 expired queues in a directory": (
            many_expired_queues,
            lambda lab: delete_queues(lab, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE),
        ),
        "deletion of unused topics, 4,000 queues": (
            many_unused_queues,
            lambda lab: delete_queues(lab, RequestCode.CLEAN_UNUSED_TOPIC),
        ),
        "200,000 entries of a consume queue": (
            filled(200_000),
            ask_of(
                RequestCode.QUERY_CONSUME_QUEUE, topic=TOPIC, queueId=0, index=0, count=50_000_000
            ),
        ),
        "a send to a queue with 20,000 held pulls": (
            lambda lab: held_pulls(lab, lab.many(20_000)),
            send_to_held,
        ),
        "a batch of 5,000 to a queue with 50 held pulls": (
            lambda lab: held_pulls(lab, 50, "none"),
            lambda lab: send_batch_to_held(lab, lab.many(5_000)),
        ),
        "a batch of 5,000 to a queue with 200 held pulls": (
            lambda lab: held_pulls(lab, 200, "none"),
            lambda lab: send_batch_to_held(lab, lab.many(5_000)),
        ),
        "end of a connection with 20,000 held pulls": (
            lambda lab: held_pulls(lab, lab.many(20_000)),
            leave,
        ),
        "check of 50,000 half messages": (
            lambda lab: half_messages(lab, lab.many(50_000)),
            check_transactions,
        ),
        "locks of 20,000 queues": (nothing, lambda lab: lock_queues(lab, lab.many(20_000))),
        "20,000 requests in one piece": (
            nothing,
            lambda lab: pipelined(lab, RequestCode.GET_BROKER_CONFIG, lab.many(20_000)),
        ),
        "messages() of packed bodies of 60 MB": (
            packed_bodies,
            lambda lab: lab.control("GET", f"/v1/topics/{TOPIC}/messages"),
        ),
        "messages() of 100,000 messages": (
            filled(100_000),
            lambda lab: lab.control("GET", f"/v1/topics/{TOPIC}/messages?limit=10"),
        ),
        "150,000 messages stored over HTTP": (
            nothing,
            lambda lab: lab.control(
                "POST", f"/v1/topics/{TOPIC}/messages", {"bodies": ["x"] * lab.many(150_000)}
            ),
        ),
        "seed() of 150,000 messages": (
            nothing,
            lambda lab: lab.mq.seed(TOPIC, ["x"] * lab.many(150_000)),
        ),
        "advance by 30 days over HTTP": (
            nothing,
            lambda lab: lab.control("POST", "/v1/clock/advance", {"duration": f"{lab.many(720)}h"}),
        ),
        "300 waits over HTTP and 20 sends": (waits, lambda lab: sends(lab, 20)),
    }
    | GATHERED
    | FRONT
    | ACCOUNTS
    | LITE
)
"""What an attacker does: how it is prepared, and the part that is measured."""


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure the longest turn, in milliseconds, for each attack."""
    for name in ATTACKS:
        if plan.wants(name):
            yield Figure(
                group="stall",
                name=name,
                value=longest_turn_ms(name),
                unit="ms",
                at_most=AT_MOST_MS,
            )


def longest_turn_ms(name: str, size: float = 1) -> float:
    """Return the longest turn that an attack causes in a new cluster."""
    prepare, attack = ATTACKS[name]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        lab = Lab(
            size,
            folder=folder if name.endswith(" in a directory") else None,
            reference="5.5.0" if name.endswith((" of 5.5.0", " at the front")) else "4.9.7",
            grpc=name.endswith(" at the front"),
            accounts="with accounts" in name,
            light_queues=name in LITE,
        )
        stack.callback(lab.close)
        gc.collect()  # the cluster before: its garbage is not of this attack
        prepare(lab)
        return lab.measured(attack)
