"""10,000 lite topics of one parent: what each costs, and the longest turn of the loop meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from time import thread_time

from bench.family import resident_bytes
from bench.measure import Figure, Plan
from bench.stall_front import end_of_time
from bench.stall_lab import TIMEOUT_MS, Lab
from bench.stall_lite import CLIENT, GROUP, LITE_TOPICS, PARENT, parent, subscribe
from conformance.wire import requests
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import decode_records
from fakemq.protocol.v5.codes import RequestCode5

AT_ONCE = 200
REHEARSAL = 0.01
AT_MOST_MS = 30
_POP = {"clientId": CLIENT, "consumerGroup": GROUP, "topic": PARENT, "maxMsgNum": 32}
_POP |= {"invisibleTime": 600_000, "pollTime": 0, "bornTime": 0}


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure one run: the costs are processor time of the cluster's thread."""
    list(_figures(REHEARSAL))  # the first request of a kind imports what it needs
    yield from _figures(1)


def _figures(size: float) -> Iterator[Figure]:
    lab = Lab(size, reference="5.5.0", light_queues=True)
    try:
        parent(lab)
        number = lab.many(LITE_TOPICS)
        before = resident_bytes(os.getpid())
        yield from _each(lab, "first message of a lite topic", lambda: _send(lab, number))
        added = resident_bytes(os.getpid()) - before
        name, value = "memory of a lite topic with a message", added / number / 1024
        yield Figure(group="lite", name=name, value=value, unit="KiB")
        yield from _each(lab, "subscription to a lite topic", lambda: subscribe(lab))
        yield from _each(lab, "message for a subscriber", lambda: _send(lab, number))
        yield from _each(lab, "receive and acknowledge a message", lambda: _consume(lab))
        yield from _each(lab, "end of an idle lite topic", lambda: end_of_time("30m")(lab))
        left = lab.mq.inspect(_count)
        assert not left, f"{left} lite topics are left"
    finally:
        lab.close()


def _each(lab: Lab, name: str, act: Callable[[], object]) -> Iterator[Figure]:
    """Do something for each lite topic; yield what one costs, and the longest turn."""
    began_s = lab.mq.inspect(lambda core: thread_time())
    lab.turns.longest_ms = 0.0
    done = act()
    number = done if isinstance(done, int) else lab.many(LITE_TOPICS)
    cost_s = lab.mq.inspect(lambda core: thread_time()) - began_s
    longest_ms = lab.turns.longest_ms
    yield Figure(group="lite", name=name, value=cost_s / number * 1e6, unit="µs")
    turn = f"longest turn: {name}"
    yield Figure(group="lite", name=turn, value=longest_ms, unit="ms", at_most=AT_MOST_MS)


def _ask_all(lab: Lab, commands: Sequence[RemotingCommand]) -> list[RemotingCommand]:
    answers = []
    for at in range(0, len(commands), AT_ONCE):
        opaques = lab.broker.send_all(commands[at : at + AT_ONCE], timeout_ms=TIMEOUT_MS)
        answers += [lab.broker.receive(opaque, TIMEOUT_MS) for opaque in opaques]
    assert all(answer.code == 0 for answer in answers), answers[-1].remark
    return answers


def _send(lab: Lab, number: int) -> int:
    commands = []
    for one in range(number):
        text = requests.properties(UNIQ_KEY=f"7F{one:030}", __LITE_TOPIC=f"session-{one}")
        fields = requests.texts(requests.send_v2_fields(PARENT, i=text))
        command = RemotingCommand(RequestCode.SEND_MESSAGE_V2, ext_fields=fields, body=b"x" * 128)
        commands.append(command)
    _ask_all(lab, commands)
    return number


def _consume(lab: Lab) -> int:
    """Receive all that there is for the client, and acknowledge each message."""
    number = 0
    while True:
        popped = lab.ask(RequestCode5.POP_LITE_MESSAGE, _POP)
        if popped.code:
            return number
        said = popped.ext_fields
        commands = []
        for message in decode_records(bytes(popped.body)):
            offset = message.properties["INNER_MULTI_QUEUE_OFFSET"]
            handle = f"0 {said['popTime']} {said['invisibleTime']} 999 0 broker-a 0 {offset}"
            fields = {"consumerGroup": GROUP, "topic": PARENT, "queueId": "0", "offset": offset}
            fields |= {"extraInfo": handle, "liteTopic": message.properties["__LITE_TOPIC"]}
            commands.append(RemotingCommand(RequestCode5.ACK_MESSAGE, ext_fields=fields))
        _ask_all(lab, commands)
        number += len(commands)


def _count(core: ClusterCore) -> int:
    return sum(broker.store.queues.light_count for broker in core.brokers.values())
