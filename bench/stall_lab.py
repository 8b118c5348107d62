"""A cluster whose longest turn is measured, and what several attacks on it have in common."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from time import thread_time
from typing import Any

import fakemq
from conformance.wire import requests
from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.carriers.pipeline import Pipeline
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.serving.garbage import ShortCollections
from fakemq.store.inner_message import inner_message

AT_MOST_MS = 100
TIMEOUT_MS = 120_000
TOPIC, GROUP = "attacked", "attackers"
SUSPEND = 2
SUBSCRIPTION = 4
QUEUES_MOST = 1 << 15
OPEN, DENIED, SECRET = "may-read", "may-nothing", "12345678"
_RULES = {
    "accounts": [
        {
            "accessKey": OPEN,
            "secretKey": SECRET,
            "defaultTopicPerm": "PUB|SUB",
            "defaultGroupPerm": "SUB",
        },
        {"accessKey": DENIED, "secretKey": SECRET},
    ]
}
LOG_FILE_BYTES = 16 << 20
"""Of a store in a directory, so that a file can be full, and be deleted."""


class Turns:
    """Measures the turns of a loop, in milliseconds."""

    def __init__(self, loop: Any) -> None:
        self.longest_ms = 0.0
        run_once = loop._run_once

        def timed() -> None:
            began_s = thread_time()
            run_once()
            self.longest_ms = max(self.longest_ms, (thread_time() - began_s) * 1000)

        loop._run_once = timed


class Lab:
    """A cluster, and the connections of the peers that attack it."""

    def __init__(
        self,
        size: float,
        *,
        folder: str | None = None,
        reference: str = "4.9.7",
        grpc: bool = False,
        accounts: bool = False,
        light_queues: bool = False,
    ) -> None:
        self.size = size
        """How large the attacks are: 1 for the bench, less for tests."""
        self._stack = ExitStack()
        self.mq = self._stack.enter_context(
            fakemq.Cluster(
                control_port=0,
                reference=reference,
                grpc=grpc,
                acl=_RULES if accounts else None,
                store=folder,
                config={"enablePropertyFilter": "true"}
                | ({"enableLmq": "true", "enableMultiDispatch": "true"} if light_queues else {})
                | ({"mappedFileSizeCommitLog": str(LOG_FILE_BYTES)} if folder else {}),
            )
        )
        loop = self.mq._life.running()._loop  # type: ignore[attr-defined]
        self.turns = Turns(loop)
        # As `python -m fakemq serve` does: this process is a cluster alone, too.
        collections = ShortCollections(loop.call_soon_threadsafe, lambda: True)
        collections.begin()
        self._stack.callback(collections.end)
        route = self.mq.inspect(lambda core: next(iter(core.brokers.values())).addr)
        self.broker = self.connect(route)
        self.namesrv = self.connect(self.mq.namesrv_addr)
        self.other = self.namesrv
        """A connection that an attack gathers on or leaves."""
        self.peer: Any = None
        """As ``other``, of a client of the gRPC front."""
        self._stack.callback(self._leave_front)
        self.entries: list[tuple[str, str]] = []
        """Id and handle of each message that it has received."""

    def connect(self, addr: str) -> Pipeline:
        """Return a new connection."""
        carrier = CallerCarrier()
        self._stack.callback(carrier.close)
        return Pipeline(carrier, addr)

    def many(self, number: int) -> int:
        """Return a number of things, smaller in tests."""
        return max(1, int(number * self.size))

    def ask(
        self,
        code: int,
        fields: Mapping[str, object] = {},
        body: bytes = b"",
        to: Pipeline | None = None,
    ) -> RemotingCommand:
        """Send a request, and return its answer."""
        to = self.broker if to is None else to
        command = RemotingCommand(code, ext_fields=requests.texts(fields), body=body)
        return to.receive(to.send(command, timeout_ms=TIMEOUT_MS), TIMEOUT_MS)

    def control(self, method: str, path: str, body: object = None) -> bytes:
        """Call the control port, and return the body of its answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.mq.control_url}{path}",
            data,
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_MS / 1000) as answer:
            found: bytes = answer.read()
            return found

    def fill(
        self, number: int, *, topic: str = TOPIC, body: bytes = b"x" * 20, sys_flag: int = 0
    ) -> None:
        """Store messages in queue 0 of a topic, without the way of a request."""

        def put(core: ClusterCore) -> None:
            broker = next(iter(core.brokers.values()))
            for one in range(number):
                properties = {
                    "KEYS": f"key{one}",
                    "TAGS": "t",
                    "UNIQ_KEY": f"7F0000010000{one:020}",
                }
                text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
                message = inner_message(
                    topic, 0, body, properties, text, sys_flag=sys_flag, born_timestamp_ms=1
                )
                broker.put(message)

        self.mq.inspect(put)

    def measured(self, attack: Callable[[Lab], object]) -> float:
        """Return the longest turn of an attack and of what follows from it, in milliseconds."""
        self.mq.inspect(lambda core: None)
        self.turns.longest_ms = 0.0
        attack(self)
        self.mq.inspect(lambda core: None)
        return self.turns.longest_ms

    def _leave_front(self) -> None:
        if self.peer is not None:
            self.peer.leave()

    def close(self) -> None:
        self._stack.close()


Attack = Callable[["Lab"], object]


def heartbeat(lab: Lab, groups: list[str], topics: list[str], expression: str = "*") -> None:
    kind = "TAG" if expression == "*" else "SQL92"
    beats = [
        requests.heartbeat("attacker", group, *topics, expression=expression, expression_type=kind)
        for group in groups
    ]
    beats[0]["consumerDataSet"] = [one["consumerDataSet"][0] for one in beats]  # type: ignore[index]
    lab.ask(RequestCode.HEART_BEAT, body=json.dumps(beats[0]).encode())


def create_topic(lab: Lab, topic: str = TOPIC, queues: int = 8) -> None:
    lab.ask(
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": queues,
            "writeQueueNums": queues,
            "perm": 6,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0,
            "order": False,
        },
    )


def many_topics(lab: Lab) -> None:
    number = lab.many(10_000)

    def create(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        with broker.persistence.at_once():
            for one in range(number):
                broker.topics.create(f"topic-{one}", 4)
        broker.register_all()

    lab.mq.inspect(create)


def held_pulls(lab: Lab, number: int, tags: str = "*", suspend_ms: int = 60_000) -> None:
    """Hold pulls on one queue, over one connection."""
    create_topic(lab)
    fields = requests.pull_fields(
        TOPIC,
        consumerGroup=GROUP,
        sysFlag=SUSPEND | SUBSCRIPTION,
        suspendTimeoutMillis=suspend_ms,
        subscription=tags,
    )
    command = RemotingCommand(RequestCode.PULL_MESSAGE, ext_fields=requests.texts(fields))
    for _ in range(-(-number // 500)):
        opaques = lab.broker.send_all([command] * min(500, number), timeout_ms=TIMEOUT_MS)
        for opaque in opaques:
            lab.broker.forget(opaque)
    lab.mq.wait_for(
        lambda: lab.mq.inspect(
            lambda core: len(next(iter(core.brokers.values())).holds.snapshot()) >= number
        ),
        timeout="60s",
    )


def send(lab: Lab, to: Pipeline | None = None) -> None:
    lab.ask(RequestCode.SEND_MESSAGE, requests.send_fields(TOPIC), b"x", to)


def half_messages(lab: Lab, number: int, **more: str) -> None:
    text = "".join(
        f"{name}\x01{value}\x02"
        for name, value in {
            "TRAN_MSG": "true",
            "PGROUP": "producers",
            "REAL_TOPIC": TOPIC,
            "REAL_QID": "0",
            "UNIQ_KEY": "7F00000100000000",
            **more,
        }.items()
    )
    properties = dict(pair.split("\x01") for pair in text.split("\x02") if pair)

    def put(core: ClusterCore) -> None:
        broker = next(iter(core.brokers.values()))
        now_ms = core.clock.now_ms()
        for _ in range(number):
            broker.put(
                inner_message(
                    "RMQ_SYS_TRANS_HALF_TOPIC",
                    0,
                    b"x",
                    dict(properties),
                    text,
                    born_timestamp_ms=now_ms,
                )
            )

    lab.mq.inspect(put)


def check_transactions(lab: Lab) -> None:
    """Let the clock run at a rate at which the check is due soon."""
    before = lab.mq.clock.now_ms()
    lab.mq.clock.rate = 1_000
    lab.mq.wait_for(lambda: lab.mq.clock.now_ms() > before + 70_000, timeout="60s")
    lab.mq.clock.rate = 1


def pipelined(
    lab: Lab, code: int, number: int, fields: Mapping[str, object] = {}, body: bytes = b""
) -> None:
    command = RemotingCommand(code, ext_fields=requests.texts(fields), body=body)
    for opaque in lab.broker.send_all([command] * number, timeout_ms=TIMEOUT_MS):
        lab.broker.receive(opaque, TIMEOUT_MS)


def leave(lab: Lab) -> None:
    lab.broker.close()
    lab.mq.wait_for(
        lambda: lab.mq.inspect(lambda core: not next(iter(core.brokers.values())).sessions),
        timeout="30s",
    )


def pass_time(lab: Lab, duration: str) -> None:
    """Let time pass, of the cluster and of its peers."""
    lab.mq.clock.advance(duration, outside_peers=True)
    until_idle(lab)


def until_idle(lab: Lab) -> None:
    lab.mq.wait_for(
        lambda: lab.mq.inspect(lambda core: not core.clock.slices.waiting), timeout="60s"
    )


def nothing(lab: Lab) -> None:
    pass


def grouped(lab: Lab) -> list[str]:
    return [f"group-{one}" for one in range(lab.many(20_000))]
