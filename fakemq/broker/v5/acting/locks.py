"""Locks of queues that the brokers of a group grant together, with lockInStrictMode.

Source: broker/processor/AdminBrokerProcessor.java#lockBatchMQ, #unlockBatchMQ (5.5.0)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fakemq.broker.handlers.unlock_batch_mq import unlock_here
from fakemq.dispatch.answers import Reply
from fakemq.later import Later, drive
from fakemq.protocol.bodies.queue import LockBatchResponseBody
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.v5.bodies.queue import LockBatchRequestBody5, UnlockBatchRequestBody5

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.broker.v5.broker import Broker5
    from fakemq.dispatch.answers import Parked
    from fakemq.later import Waits
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.protocol.table import NoHeader

TIMEOUT_MS = 1_000


def lock_at_most(
    broker: Broker5, body: LockBatchRequestBody5, locked: list[MessageQueue], quorum: int
) -> Parked[NoHeader]:
    """Ask the others for the queues that are locked here; answer with those of a ``quorum``."""
    asked = LockBatchRequestBody5(
        consumer_group=body.consumer_group,
        client_id=body.client_id,
        mq_set=locked,
        only_this_broker=True,
    ).encode()
    answers = []
    for broker_id, addr in _members(broker).items():
        if broker_id != broker.config.broker_id:
            command = RemotingCommand(RequestCode.LOCK_BATCH_MQ, body=asked)
            answers.append(broker.outbound.ask(addr, command, TIMEOUT_MS))
    parked: Parked[NoHeader] = Later()
    parked.follow(drive(_counted(answers, locked, quorum)))
    return parked


def _counted(
    answers: Iterable[Later[RemotingCommand | None]], locked: list[MessageQueue], quorum: int
) -> Waits[Reply[NoHeader] | None]:
    asked = frozenset(locked)
    votes = Counter(asked)
    for later in answers:
        answer = yield later
        if answer is None or answer.code != ResponseCode.SUCCESS:
            continue
        try:
            granted = LockBatchResponseBody.decode(answer.body).lock_ok_mq_set
        except ProtocolError:
            continue  # no vote
        votes.update(asked.intersection(granted))  # one of each broker
    held = [queue for queue in locked if votes[queue] >= quorum]
    return Reply(body=LockBatchResponseBody(lock_ok_mq_set=held).encode())


def unlock_at_all(broker: Broker5, body: UnlockBatchRequestBody5) -> None:
    """Unlock queues at each broker of the group that is known; none has to answer."""
    asked = UnlockBatchRequestBody5(
        consumer_group=body.consumer_group,
        client_id=body.client_id,
        mq_set=body.mq_set,
        only_this_broker=True,
    ).encode()
    for broker_id, addr in _members(broker).items():
        if broker_id == broker.config.broker_id:
            unlock_here(broker, body)
        else:
            command = RemotingCommand(RequestCode.UNLOCK_BATCH_MQ, body=asked)
            broker.outbound.invoke(addr, command, TIMEOUT_MS, lambda answer: None)


def _members(broker: Broker5) -> dict[int, str]:
    return {} if broker.acting is None else broker.acting.members
