"""Locks that the brokers of a group grant together: which of them vote, and how often."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.queue import LockBatchResponseBody
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from tests.support.broker_lab import broker5
from tests.support.queue_locks import QUEUES
from tests.support.replication import Replicated

QUEUE = QUEUES[0]
SYNCED_MS = 1_000
"""After this each broker knows which are in its group."""


def strict(slaves: int, total: int) -> Replicated:
    config = {
        "enableSlaveActingMaster": "true",
        "lockInStrictMode": "true",
        "totalReplicas": str(total),
    }
    made = Replicated(reference="5.5.0", slaves=slaves, config=config)
    made.core.advance(SYNCED_MS)
    return made


def ask(made: Replicated, broker: Broker, code: RequestCode, client: str, **more: Any) -> bytes:
    said = {"clientId": client, "consumerGroup": "g", "mqSet": [QUEUE], **more}
    answer = made.peer(broker).ask(code, body=json.dumps(said).encode())
    assert answer.code == 0
    return answer.body


def lock(made: Replicated, broker: Broker, client: str = "one", **more: Any) -> bool:
    body = ask(made, broker, RequestCode.LOCK_BATCH_MQ, client, **more)
    return bool(LockBatchResponseBody.decode(body).lock_ok_mq_set)


def play_the_others(
    monkeypatch: pytest.MonkeyPatch, broker: Broker, body: bytes
) -> list[RemotingCommand]:
    """Answer what a broker asks the others by ``body``; return what it asked."""
    asked: list[RemotingCommand] = []

    def invoke(
        addr: str,
        command: RemotingCommand,
        timeout_ms: int,
        done: Callable[[RemotingCommand | None], None],
    ) -> None:
        asked.append(command)
        done(RemotingCommand(0, flag=FLAG_RESPONSE, body=body))

    monkeypatch.setattr(broker5(broker).outbound, "invoke", invoke)
    return asked


def test_queue_is_locked_that_most_brokers_grant() -> None:
    made = strict(slaves=2, total=3)
    assert lock(made, made.slaves[0], "two", onlyThisBroker=True)
    assert lock(made, made.master)
    assert not lock(made, made.slaves[1], "two")
    made.kill(made.slaves[1])
    made.core.advance(SYNCED_MS)
    assert not lock(made, made.master)


def test_queue_is_unlocked_at_all_brokers() -> None:
    made = strict(slaves=2, total=3)
    assert lock(made, made.master)
    brokers = (made.master, *made.slaves)
    assert not any(lock(made, one, "two", onlyThisBroker=True) for one in brokers)
    ask(made, made.master, RequestCode.UNLOCK_BATCH_MQ, "one")
    made.core.network.settle()
    assert all(lock(made, one, "two", onlyThisBroker=True) for one in brokers)


@pytest.mark.parametrize(("slaves", "is_locked"), [(1, False), (2, True)])
def test_broker_that_names_a_queue_twice_has_one_vote(
    monkeypatch: pytest.MonkeyPatch, slaves: int, is_locked: bool
) -> None:
    made = strict(slaves, total=5)
    body = json.dumps({"lockOKMQSet": [QUEUE, QUEUE]}).encode()
    asked = play_the_others(monkeypatch, made.master, body)
    assert lock(made, made.master) is is_locked
    assert len(asked) == slaves


@pytest.mark.parametrize("body", [b"", b"[", json.dumps({"lockOKMQSet": [QUEUES[1]]}).encode()])
def test_answer_without_the_queue_is_no_vote(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    made = strict(slaves=1, total=2)
    assert play_the_others(monkeypatch, made.master, body) == []
    assert not lock(made, made.master)
