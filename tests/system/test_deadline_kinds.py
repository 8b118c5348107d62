"""`advance_to_next` reaches every kind of deadline: each is made to pend here, and jumped to."""

# Over 400 lines: one table has every kind, and each kind has its scene beside it.

from __future__ import annotations

import json
import socket
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Literal, NamedTuple, Self, TypeVar

import pytest

import fakemq
from fakemq.client import Client, LocalTransactionState, Message
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.clock.timers import DOMAINS
from fakemq.config.option_types import ClusterOptions
from fakemq.core.cluster import ClusterCore
from fakemq.errors import StoreError
from fakemq.events import (
    LinkOpened,
    OrphanAsked,
    PullHeld,
    RequestReceived,
    TimerSet,
    TransactionChecked,
    TransactionEnded,
    Warned,
)
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.table import BY_NAME
from fakemq.protocol.headers.client import (
    GetConsumerRunningInfoRequestHeader,
    UnregisterClientRequestHeader,
)
from fakemq.protocol.headers.namesrv import RegisterBrokerRequestHeader
from fakemq.protocol.sysflag import PullSysFlag
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.controller import (
    ApplyBrokerIdRequestHeader,
    ElectMasterRequestHeader,
)
from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader
from fakemq.proxy.proxy import Proxy
from tests.support.broker_lab import send_header
from tests.support.clients import GROUP, consumer_data, pull_header, subscription
from tests.support.grpc_client import grpc_client
from tests.support.lites import GROUP as LITE_GROUP
from tests.support.lites import LITE_KEYS, PARENT
from tests.support.lites import subscription as lite_subscription
from tests.support.namesrv_lab import wrapper
from tests.support.pops import pop_header
from tests.support.proxy_lab import FrontClient, message
from tests.support.tcp import TcpPeer

EnteredT = TypeVar("EnteredT")

SLOW_READERS = {"disableConsumeIfConsumerReadSlowly": True, "consumerFallbehindThreshold": 100}
SMALL = {"mappedFileSizeCommitLog": 4096, "fileReservedTime": 0}


class Scene:
    """A frozen cluster, and what takes part in a scene until its end."""

    def __init__(self, mq: fakemq.Cluster, stack: ExitStack) -> None:
        self.mq = mq
        self._stack = stack

    def peer(self, addr: str = "") -> TcpPeer:
        """A client outside, connected to a node; to the broker, unless another is named."""
        return self.enter(TcpPeer(addr or self.mq.broker("broker-a-0").addr))

    def enter(self, context: AbstractContextManager[EnteredT]) -> EnteredT:
        """Enter something until the end of the scene."""
        return self._stack.enter_context(context)

    def at_end(self, act: Callable[[], object]) -> None:
        """Call a function at the end of the scene."""
        self._stack.callback(act)

    def consumer(self, **fields: str) -> TcpPeer:
        """One that has sent a heartbeat as a consumer."""
        peer = self.peer()
        data = consumer_data(GROUP, [subscription() | fields])
        body = {"clientID": "c", "consumerDataSet": [data], "producerDataSet": []}
        assert peer.ask(RequestCode.HEART_BEAT, body=json.dumps(body).encode()).code == 0
        return peer

    def send(self, **properties: str) -> Self:
        """A producer sends a message, and is gone."""
        with Client(self.mq.namesrv_addr, producer_group="producers") as client:
            client.send(Message("orders", b"one", properties=properties))
        return self

    def send_without_waiting(self) -> None:
        before = len(self.mq.journal.find(RequestReceived))
        self.peer().send(RequestCode.SEND_MESSAGE_V2, send_header(), b"one")
        self.mq.wait_for(lambda: len(self.mq.journal.find(RequestReceived)) > before)


def nothing(scene: Scene) -> None:
    """Such a deadline pends as soon as there is a cluster of this kind."""


def connect(scene: Scene) -> None:
    scene.peer()
    scene.mq.wait_for(lambda: scene.mq.journal.find(LinkOpened, outside=True))


def talk_of_other_things(scene: Scene, peer: TcpPeer) -> None:
    """Its connection is not idle, and yet it has not said that it lives."""
    scene.mq.clock.advance("60s", outside_peers=True)
    assert peer.ask(RequestCode.GET_KV_CONFIG).code != 0


def register_once(scene: Scene) -> None:
    peer = scene.peer(scene.mq.namesrv_addr)
    body = json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper()}).encode()
    header = RegisterBrokerRequestHeader(
        broker_name="broker-x",
        broker_addr="10.0.0.1:10911",
        cluster_name="DefaultCluster",
        ha_server_addr="10.0.0.1:10912",
        broker_id=0,
        body_crc32=zlib.crc32(body) & 0x7FFFFFFF,
    )
    assert peer.ask(RequestCode.REGISTER_BROKER, header, body).code == 0
    talk_of_other_things(scene, peer)


def elect_a_silent_master(scene: Scene, *, beats: bool = True) -> TcpPeer:
    """A replica asks to be the master of its group."""
    peer = scene.peer(scene.mq.controllers.addr.partition(";")[0])
    applied = ApplyBrokerIdRequestHeader(
        cluster_name="c", broker_name="b", applied_broker_id=1, register_check_code="h:1;7"
    )
    assert peer.ask(RequestCode5.CONTROLLER_APPLY_BROKER_ID, applied).code == 0
    if beats:
        beat = BrokerHeartbeatRequestHeader(
            cluster_name="c", broker_addr="h:1", broker_name="b", broker_id=1
        )
        assert peer.ask(RequestCode5.BROKER_HEARTBEAT, beat).code == 0
    elected = ElectMasterRequestHeader(broker_name="b", broker_id=1)
    assert peer.ask(RequestCode5.CONTROLLER_ELECT_MASTER, elected).code == 0
    return peer


def kill_the_leader(scene: Scene) -> None:
    scene.mq.controllers[0].kill()


def change_without_majority(scene: Scene) -> None:
    peer = scene.peer(scene.mq.controllers[0].addr)
    for one in (1, 2):
        scene.mq.controllers[one].kill()
    header = ApplyBrokerIdRequestHeader(
        broker_name="b", applied_broker_id=1, register_check_code="h:1;7"
    )
    peer.send(RequestCode5.CONTROLLER_APPLY_BROKER_ID, header)
    scene.mq.wait_for(lambda: waits_for(scene.mq, "controller_append"))


def beat_once(scene: Scene) -> None:
    talk_of_other_things(scene, scene.consumer())


def offend(scene: Scene) -> None:
    host, _, port = scene.mq.broker("broker-a").addr.rpartition(":")
    for _ in range(11):
        with socket.create_connection((host, int(port)), 5) as sock:
            sock.sendall(b"\xff" * 8)
            assert sock.recv(1) == b""
    assert len(scene.mq.journal.find(Warned)) == 10


def ask_a_client(scene: Scene) -> None:
    consumer = scene.consumer()
    header = GetConsumerRunningInfoRequestHeader(consumer_group=GROUP, client_id="c")
    scene.peer().send(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
    assert consumer.sock.recv(4), "the broker asks it, and gets no answer"


def hold_a_pull(scene: Scene) -> None:
    flags = PullSysFlag.SUBSCRIPTION | PullSysFlag.SUSPEND
    scene.peer().send(RequestCode.PULL_MESSAGE, pull_header(sys_flag=flags))
    scene.mq.wait_for(lambda: scene.mq.journal.find(PullHeld))


def pop(scene: Scene) -> None:
    scene.send()
    assert scene.peer().ask(RequestCode5.POP_MESSAGE, pop_header()).code == 0


def pop_in_order(scene: Scene) -> None:
    scene.send()
    assert scene.peer().ask(RequestCode5.POP_MESSAGE, pop_header(order=True)).code == 0


def hold_a_pop(scene: Scene) -> None:
    scene.peer().send(RequestCode5.POP_MESSAGE, pop_header(poll_time=15_000))
    scene.mq.wait_for(lambda: waits_for(scene.mq, "pop_hold"))


def let_a_lite_topic_expire(scene: Scene) -> None:
    scene.mq.topic(PARENT).lite().expire_after(30)
    scene.mq.seed(PARENT, [b"one"], properties={"__LITE_TOPIC": "a"})


def subscribe_to_a_lite_topic(scene: Scene) -> None:
    scene.mq.topic(PARENT).lite().bind(LITE_GROUP)
    body = lite_subscription("PARTIAL_ADD", "a")
    assert scene.peer().ask(RequestCode5.LITE_SUBSCRIPTION_CTL, body=body).code == 0


def leave_a_lite_message(scene: Scene) -> None:
    subscribe_to_a_lite_topic(scene)
    scene.mq.seed(PARENT, [b"one"], properties={"__LITE_TOPIC": "a"})


def time_a_message(scene: Scene) -> None:
    scene.send(TIMER_DELAY_SEC="10")
    scene.mq.run_until(lambda: scene.mq.journal.find(TimerSet), at_most="2s")


def end_a_transaction(scene: Scene) -> None:
    with scene.mq.producer(group="shop") as producer:
        commit = LocalTransactionState.COMMIT_MESSAGE
        producer.send_in_transaction(Message("orders", b"one"), lambda message: commit)
    scene.mq.run_until(lambda: scene.mq.journal.find(TransactionEnded), at_most="2s")


def deliver_a_delayed_one(scene: Scene) -> None:
    scene.send(DELAY="1").mq.clock.advance("1s")


def filter_and_leave(scene: Scene) -> None:
    peer = scene.consumer(expressionType="SQL92", subString="a > 5")
    header = UnregisterClientRequestHeader(client_id="c", consumer_group=GROUP)
    assert peer.ask(RequestCode.UNREGISTER_CLIENT, header).code == 0


def fill_files(scene: Scene) -> None:
    scene.mq.seed("orders", [b"x" * 100] * 80)


def fill_the_disk(scene: Scene) -> None:
    fill_files(scene)
    scene.mq.broker("broker-a").set_disk_size("24KiB")  # no hour is to be waited for


def follow_a_name_server(scene: Scene) -> None:
    body = f"namesrvAddr={scene.mq.namesrv_addr};127.0.0.1:1"
    assert scene.peer().ask(RequestCode.UPDATE_BROKER_CONFIG, body=body.encode()).code == 0


def read_slowly(scene: Scene) -> None:
    fill_files(scene)
    scene.consumer()
    scene.peer().ask(RequestCode.PULL_MESSAGE, pull_header())


def clean(scene: Scene) -> None:
    fill_the_disk(scene)
    scene.mq.clock.advance_to_next("clean_files")


def lose_the_master(scene: Scene) -> None:
    scene.mq.broker("broker-a").kill()


def connect_into_a_partition(scene: Scene) -> None:
    scene.mq.partition("broker-a", "broker-a-1")
    scene.mq.broker("broker-a-1").restart()
    scene.mq.clock.advance("5s")


def be_late(scene: Scene) -> None:
    scene.mq.faults.latency("broker-a", "namesrv-0", "50ms")
    scene.mq.create_topic("bills")


def silence_the_slave(scene: Scene) -> None:
    scene.mq.broker("broker-a-1").pause()


def wait_for_the_slave(scene: Scene) -> None:
    silence_the_slave(scene)
    scene.send_without_waiting()


def store_much(scene: Scene) -> None:
    scene.mq.seed("orders", [b"x"] * 300, keys="k")
    scene.mq.run_until(lambda: waits_for(scene.mq, "index_build"), at_most="2s")


def stall_the_disk(scene: Scene) -> None:
    disk = scene.mq.inspect(lambda core: core.broker("broker-a")).store.disk
    assert disk is not None
    disk.flush.stalled = True
    scene.send_without_waiting()


def refuse_a_write(scene: Scene) -> None:
    error = StoreError("the disk is full")
    error.passing = True
    space = scene.mq.inspect(lambda core: core.broker("broker-a").store.disk_space)
    scene.mq.inspect(lambda _: space.failed(error, bool))


def slow_the_disk(scene: Scene) -> None:
    scene.mq.faults.slow_flush("broker-a", "2s")
    scene.send_without_waiting()


def delay_a_send(scene: Scene) -> None:
    scene.mq.faults.delay("SEND_MESSAGE_V2", "2s")
    scene.send_without_waiting()


def keep_threads_busy(scene: Scene) -> None:
    scene.mq.faults.busy("broker-a")
    scene.send_without_waiting()


def consume(scene: Scene) -> None:
    scene.mq.consumer(group=GROUP, subscribe={"orders": "*"})


def consume_in_order(scene: Scene) -> None:
    scene.mq.consumer(group=GROUP, subscribe={"orders": "*"}, ordered=True)


def suspend_a_consumer(scene: Scene) -> None:
    consumer = scene.mq.consumer(group=GROUP, subscribe={"orders": "*"})
    consumer.suspend()
    scene.mq.clock.advance("15s")  # the pull under way ends


def fail_in_order(scene: Scene) -> None:
    def refuse(message: ReceivedMessage) -> None:
        raise ValueError(message)

    scene.mq.consumer(group=GROUP, subscribe={"orders": "*"}, on_message=refuse, ordered=True)
    scene.send()
    scene.mq.settle()


def trace_a_send(scene: Scene) -> None:
    scene.mq.producer(group="traced", trace=True).send("orders", b"one")


class FrontOf(NamedTuple):
    """A cluster whose front is called without sockets, on its own thread."""

    core: ClusterCore

    @property
    def proxy(self) -> Proxy:
        assert self.core.proxy is not None
        return self.core.proxy


def call_the_front(scene: Scene, calls: Callable[[FrontClient], object]) -> None:
    """A gRPC client of the cluster calls RPCs."""
    scene.mq.inspect(
        lambda core: calls(FrontClient(FrontOf(core), "c1", outside=False, metadata={}))
    )


def wait_for_an_answer(scene: Scene) -> None:
    scene.mq.faults.grpc_drop("SendMessage")
    client = scene.enter(grpc_client(scene.mq.grpc_addr))
    request = m.SendMessageRequest(messages=[message("orders")])
    call = client.begin(BY_NAME["SendMessage"].path, request.SerializeToString())
    scene.at_end(call.cancel)  # a call that nothing refers to is given up
    scene.mq.wait_for(lambda: waits_for(scene.mq, "grpc_deadline"))


def be_a_member(scene: Scene) -> None:
    call_the_front(scene, lambda client: client.consume("g", "orders"))


def be_a_consumer_in_no_group(scene: Scene) -> None:
    push = m.Settings(client_type=m.ClientType.PUSH_CONSUMER, publishing=m.Publishing())
    call_the_front(scene, lambda client: client.settings(m.TelemetryCommand(settings=push)))


def receive_with_renewals(scene: Scene) -> None:
    def receive(client: FrontClient) -> None:
        client.consume("g", "orders", push=True)
        client.send(message("orders"))
        client.receive("orders", auto_renew=True)

    call_the_front(scene, receive)


def let_ends_be_ahead(scene: Scene) -> None:
    """Leave a half message open, and end one behind it."""
    with scene.mq.producer(group="shop") as producer:
        unknown = LocalTransactionState.UNKNOW
        producer.send_in_transaction(Message("orders", b"open"), lambda message: unknown)
    end_a_transaction(scene)


def let_a_check_sleep(scene: Scene) -> None:
    let_ends_be_ahead(scene)
    scene.mq.run_until(lambda: waits_for(scene.mq, "txn_check_sleep"), at_most="3m")


def leave_a_half_message(scene: Scene) -> None:
    scene.mq.inspect(
        lambda core: core.broker("broker-a").put_topic(
            TopicConfig("tx", 1, 1, 6, attributes={"message.type": "TRANSACTION"})
        )
    )

    def send(client: FrontClient) -> None:
        client.produce("tx")
        client.send(message("tx", message_type=m.MessageType.TRANSACTION))

    call_the_front(scene, send)
    scene.mq.run_until(lambda: scene.mq.journal.find(OrphanAsked), at_most="2m")


def call_a_task_later(scene: Scene) -> None:
    """What a client does later without a kind of its own, and what only a pull consumer does."""
    clock = scene.mq.inspect(lambda core: core.clock)
    for kind in ("client_task", "client_poll", "client_queues", "client_request"):
        clock.call_later(5_000, lambda: None, kind=kind, owner="client")


def lose_the_leader_and_start(scene: Scene) -> None:
    """A broker starts while its controller is down, and tries again."""
    scene.mq.controllers[0].kill()
    scene.mq.broker("broker-a@2").restart()


def isolate_a_master(scene: Scene) -> None:
    """Start a master whose slave is silent."""
    scene.mq.broker("broker-a-0").kill()
    scene.mq.broker("broker-a-1").pause()
    scene.mq.broker("broker-a-0").restart()
    scene.mq.clock.advance("3s")


class Kind(NamedTuple):
    prepare: Callable[[Scene], object]
    options: ClusterOptions = {}  # noqa: RUF012 - never changed
    outside: bool = False
    """It is made to watch a peer outside the cluster."""


REPLICAS: ClusterOptions = {"slaves": 1, "controllers": 1}
SLAVE: ClusterOptions = {"slaves": 1}
ACTING: ClusterOptions = {
    "reference": "5.5.0",
    "slaves": 1,
    "config": {"enableSlaveActingMaster": True, "totalReplicas": 2},
}
DISK: ClusterOptions = {"store": "DIR"}
V5: ClusterOptions = {"reference": "5.5.0"}
LITE: ClusterOptions = {
    **V5,
    "topics": {PARENT: {"queues": 1, "message_type": "LITE"}},
    "config": LITE_KEYS,
}

KINDS: dict[str, Kind] = {
    "broker_expiry": Kind(register_once, outside=True),
    "kv_config_print": Kind(nothing),
    "channel_idle": Kind(connect, outside=True),
    "rpc_timeout": Kind(ask_a_client, outside=True),
    "offences": Kind(offend, outside=True),
    "register_broker": Kind(nothing),
    "update_namesrv_addr": Kind(follow_a_name_server),
    "client_expiry": Kind(beat_once, outside=True),
    "pull_hold": Kind(hold_a_pull, outside=True),
    "pop_hold": Kind(hold_a_pop, V5, outside=True),
    "pop_revive": Kind(pop, V5),
    "lite_expiry": Kind(let_a_lite_topic_expire, LITE),
    "lite_subscriptions": Kind(subscribe_to_a_lite_topic, LITE, outside=True),
    "lite_events": Kind(leave_a_lite_message, LITE, outside=True),
    "invisible": Kind(pop_in_order, V5),
    "timer": Kind(time_a_message, V5),
    "transaction_ops": Kind(end_a_transaction, V5),
    "txn_check_sleep": Kind(let_a_check_sleep, V5),
    "timer_flush": Kind(time_a_message, {**V5, **DISK}),
    "grpc_deadline": Kind(wait_for_an_answer, {"grpc": True}, outside=True),
    "grpc_heartbeat": Kind(leave_a_half_message, {"grpc": True}),
    "grpc_cache": Kind(be_a_member, {"grpc": True}),
    "grpc_client_expiry": Kind(be_a_member, {"grpc": True}),
    "grpc_renew": Kind(receive_with_renewals, {"grpc": True}),
    "grpc_settings": Kind(be_a_consumer_in_no_group, {"grpc": True}),
    "grpc_transaction_data": Kind(leave_a_half_message, {"grpc": True}),
    "controller_append": Kind(change_without_majority, {"controllers": 3}),
    "controller_election": Kind(kill_the_leader, {"controllers": 3}),
    "controller_expiry": Kind(elect_a_silent_master, {"controllers": 1}, outside=True),
    "controller_scan": Kind(
        lambda scene: elect_a_silent_master(scene, beats=False), {"controllers": 1}
    ),
    "controller_addresses": Kind(nothing, REPLICAS),
    "controller_heartbeat": Kind(nothing, REPLICAS),
    "controller_leader": Kind(nothing, REPLICAS),
    "controller_reach": Kind(nothing, REPLICAS),
    "replica_metadata": Kind(nothing, REPLICAS),
    "replica_start": Kind(lose_the_leader_and_start, REPLICAS),
    "sync_set_check": Kind(nothing, REPLICAS),
    "broker_heartbeat": Kind(nothing, ACTING),
    "member_group": Kind(nothing, ACTING),
    "pre_online": Kind(isolate_a_master, ACTING),
    "acl_watch": Kind(nothing, {"acl": {"accounts": []}}),
    "protect_broker": Kind(read_slowly, {"config": SLOW_READERS}),
    "delay_level": Kind(lambda scene: scene.send(DELAY="3")),
    "delay_level_3": Kind(lambda scene: scene.send(DELAY="3")),
    "delay_offset_persist": Kind(deliver_a_delayed_one),
    "config_persist": Kind(nothing, DISK),
    "txn_check": Kind(nothing),
    "filter_data_clean": Kind(filter_and_leave, {"config": {"enablePropertyFilter": True}}),
    "clean_files": Kind(fill_the_disk, {"config": SMALL}),
    "delete_files": Kind(clean, {"config": SMALL}),
    "slave_sync": Kind(nothing, SLAVE),
    "ha_connect": Kind(lose_the_master, SLAVE),
    "ha_transfer": Kind(fill_files, SLAVE),
    "ha_heartbeat": Kind(nothing, SLAVE),
    "ha_housekeeping": Kind(silence_the_slave, SLAVE),
    "ha_ack_wait": Kind(wait_for_the_slave, {**SLAVE, "role": "SYNC_MASTER"}),
    "connect_timeout": Kind(connect_into_a_partition, SLAVE),
    "link_delivery": Kind(be_late),
    "flush_commit_log": Kind(fill_files, DISK),
    "flush_consume_queue": Kind(fill_files, DISK),
    "disk_retry": Kind(refuse_a_write, DISK),
    "index_build": Kind(store_much, DISK),
    "slow_flush": Kind(slow_the_disk, {**DISK, "flush": "SYNC_FLUSH"}),
    "late_by_fault": Kind(delay_a_send),
    "fast_failure": Kind(keep_threads_busy),
    "sync_flush_timeout": Kind(stall_the_disk, {**DISK, "flush": "SYNC_FLUSH"}),
    "heartbeat": Kind(consume),
    "client_routes": Kind(consume),
    "client_persist": Kind(consume),
    "client_rebalance": Kind(consume),
    "client_pull": Kind(suspend_a_consumer),
    "client_consume": Kind(fail_in_order),
    "client_lock": Kind(consume_in_order),
    "client_trace": Kind(trace_a_send),
    "client_task": Kind(call_a_task_later),
    "client_poll": Kind(call_a_task_later),
    "client_queues": Kind(call_a_task_later),
    "client_request": Kind(call_a_task_later),
}


def waits_for(mq: fakemq.Cluster, kind: str) -> bool:
    return any(one.kind == kind for one in mq.clock.timers())


def test_every_kind_of_deadline_is_covered() -> None:
    simulated = {kind for kind in DOMAINS if kind.startswith("sim_")}  # of no cluster of a test
    assert DOMAINS.keys() - simulated == KINDS.keys() - {"delay_level_3"}


SLOW = {"filter_data_clean": pytest.mark.slow}  # a day of heartbeats passes


@pytest.mark.parametrize("kind", [pytest.param(one, marks=SLOW.get(one, ())) for one in KINDS])
def test_kind_of_deadline_is_reached(kind: str, tmp_path: Path) -> None:
    prepare, asked, outside = KINDS[kind]
    options: ClusterOptions = {"clock": "frozen", "topics": {"orders": 1}, **asked}
    if "store" in options:
        options["store"] = tmp_path
    with ExitStack() as stack:
        mq = stack.enter_context(fakemq.Cluster(**options))
        prepare(Scene(mq, stack))
        fired = mq.clock.advance_to_next(kind, outside_peers=outside)
        reached = [one for one in fired if one.kind.startswith(kind)]
        assert reached, f"fired: {[one.kind for one in fired]}"
        assert outside in {one.outside for one in reached}
        if kind == "sync_flush_timeout":
            stall = mq.inspect(lambda core: core.broker("broker-a")).store.disk
            assert stall is not None
            stall.flush.stalled = False


@pytest.mark.parametrize("reference", ["4.9.7", "5.5.0"])
def test_advance_to_the_next_check_asks_although_the_check_sleeps(
    reference: Literal["4.9.7", "5.5.0"],
) -> None:
    with ExitStack() as stack:
        mq = stack.enter_context(
            fakemq.Cluster(clock="frozen", topics={"orders": 1}, reference=reference)
        )
        let_ends_be_ahead(Scene(mq, stack))
        mq.clock.advance_to_next("txn_check")
        assert mq.journal.find(TransactionChecked)
