"""What a slave refuses while it acts as master: of 80 requests to a real 5.5.0, these were."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fakemq.protocol.codes import RequestCode as Code
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5 as Code5
from tests.support.broker_lab import send_header
from tests.support.clients import pull_header
from tests.support.replication import Replicated

TOPIC, GROUP = "orders", "TOOLS_CONSUMER"
SEND = send_header(TOPIC).encode()
PULL = pull_header().encode()
HALF = {
    "producerGroup": GROUP,
    "tranStateTableOffset": "0",
    "commitLogOffset": "0",
    "commitOrRollback": "8",
    "fromTransactionCheck": "false",
    "msgId": "K",
}
BACK = {"offset": "0", "group": GROUP, "delayLevel": "0", "unitMode": "false"}
RESET = {"topic": TOPIC, "group": GROUP, "timestamp": "0", "isForce": "true"}


@pytest.fixture(scope="module")
def pair() -> Iterator[Replicated]:
    made = Replicated(reference="5.5.0", config={"enableSlaveActingMaster": True})
    made.core.advance(75_000)
    made.send(b"first")
    made.core.advance(1_000)
    made.kill(made.master)
    assert made.slave.role.acts_as_master
    yield made
    made.core.stop()


@pytest.mark.parametrize(
    ("code", "fields", "answer", "remark"),
    [
        (Code.SEND_MESSAGE_V2, SEND, ResponseCode.SERVICE_NOT_AVAILABLE, "service not available"),
        (Code.PULL_MESSAGE, PULL, ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]system busy"),
        (Code.LITE_PULL_MESSAGE, PULL, ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]system busy"),
        (Code.CONSUMER_SEND_MSG_BACK, BACK, ResponseCode.SYSTEM_ERROR, "no master available along"),
        (Code.END_TRANSACTION, HALF, ResponseCode.SLAVE_NOT_AVAILABLE, "not set any response code"),
        (
            Code.INVOKE_BROKER_TO_RESET_OFFSET,
            RESET,
            ResponseCode.SYSTEM_ERROR,
            "Can not reset offset in slave broker",
        ),
        (
            Code5.RECALL_MESSAGE,
            {"producerGroup": GROUP, "topic": TOPIC, "recallHandle": "djEgYSBiIDEgYw=="},
            ResponseCode.NO_PERMISSION,
            "recall failed, operation is forbidden",
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_acting_master_refuses_what_a_slave_does_not_do(
    pair: Replicated, code: int, fields: dict[str, str], answer: int, remark: str
) -> None:
    command = RemotingCommand(code, ext_fields=fields, body=b"body")
    response = pair.peer(pair.slave).send_command(command).response
    assert response is not None
    assert response.code == answer
    assert (response.remark or "").startswith(remark)


def test_acting_master_puts_no_half_message_back(pair: Replicated) -> None:
    stored = next(iter(pair.slave.store.messages_in_queue(TOPIC, 0)))
    fields = {"msgId": f"7F00000100002AB3{stored.commit_log_offset:016X}"}
    command = RemotingCommand(Code.RESUME_CHECK_HALF_MESSAGE, ext_fields=fields)
    response = pair.peer(pair.slave).send_command(command).response
    assert response is not None
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark == "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed."


def test_acting_master_locks_queues_and_takes_commits(pair: Replicated) -> None:
    body = {
        "consumerGroup": GROUP,
        "clientId": "one",
        "mqSet": [{"topic": TOPIC, "brokerName": "broker-a", "queueId": 0}],
    }
    peer = pair.peer(pair.slave)
    locked = peer.ask(Code.LOCK_BATCH_MQ, body=json.dumps(body).encode())
    assert b'"queueId":0' in bytes(locked.body)
    fields = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0", "commitOffset": "1"}
    command = RemotingCommand(Code.UPDATE_CONSUMER_OFFSET, ext_fields=fields)
    response = peer.send_command(command).response
    assert response is not None
    assert response.code == ResponseCode.SUCCESS
    assert pair.slave.offsets.query(GROUP, TOPIC, 0) == 1
