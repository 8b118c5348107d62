"""END_TRANSACTION (37): a producer commits its half message, rolls it back, or does not know yet.

Behaviour: the request names the half message by its offset in the commit log and in its queue, and
both must be right. There are three cases:
1. Commit: the message is stored anew, with every commit request. Once it is as safe as the broker's
   roles ask, an op records that the half message is finished.
2. Rollback: only the op is stored.
3. Unknown: nothing happens, and the producer gets no answer.

Source: broker/processor/EndTransactionProcessor.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.durable import when_durable
from fakemq.dispatch.answers import NOTHING_SAID, Parked, Refused, Reply, Request, Thrown
from fakemq.dispatch.outcomes import required
from fakemq.events.core import TransactionEnded
from fakemq.later import Later
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
from fakemq.protocol.properties import (
    PRODUCER_GROUP,
    REAL_TOPIC,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.table import NoHeader
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt
    from fakemq.store.puts import PutMessageResult

_COMMIT = MessageSysFlag.TRANSACTION_COMMIT_TYPE
_ROLLBACK = MessageSysFlag.TRANSACTION_ROLLBACK_TYPE
_NOT_TYPE = MessageSysFlag.TRANSACTION_NOT_TYPE


@handles(table.END_TRANSACTION)
def end_transaction(
    broker: Broker, request: Request[EndTransactionRequestHeader]
) -> Reply[NoHeader] | Parked[NoHeader] | None:
    header = request.header
    if request.command.ext_fields and header.commit_or_rollback not in (
        _NOT_TYPE,
        _COMMIT,
        _ROLLBACK,
    ):
        raise Thrown(
            "org.apache.rocketmq.remoting.exception.RemotingCommandException:"
            " commitOrRollback field wrong, org.apache.rocketmq.common.protocol.header"
            ".EndTransactionRequestHeader.checkFields(EndTransactionRequestHeader.java:60)",
        )
    if broker.role.is_slave:
        raise Refused(ResponseCode.SLAVE_NOT_AVAILABLE, NOTHING_SAID)
    if header.commit_or_rollback == _NOT_TYPE:
        return None
    half = broker.store.look_message_by_offset(header.commit_log_offset)
    if half is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
    broker.transactions.check_end(half, header)
    _check_prepare_message(half, header)
    topic = half.properties.get(REAL_TOPIC, "")
    if header.commit_or_rollback == _ROLLBACK:
        _through(broker, header, half, topic)
        return Reply(remark=NOTHING_SAID)
    result = broker.transactions.commit_message(half)
    appended = result.append_result
    if appended is None:
        raise _refusal(broker, result)
    parked: Parked[NoHeader] = Later()

    def durable(status: PutMessageStatus) -> None:
        _through(broker, header, half, topic, appended.wrote_offset)
        parked.resolve(Reply())

    when_durable(broker, result, durable)
    return parked


def _through(
    broker: Broker,
    header: EndTransactionRequestHeader,
    half: MessageExt,
    topic: str,
    phy_offset: int | None = None,
) -> None:
    """Record in the op topic and the journal that a half message is finished."""
    broker.transactions.delete_prepare_message(half)
    broker.journal.add(
        TransactionEnded(
            node=broker.name,
            how="commit" if header.commit_or_rollback == _COMMIT else "rollback",
            topic=topic,
            half_offset=half.queue_offset,
            phy_offset=phy_offset,
            from_check=header.from_transaction_check,
            msg_id=half.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
        )
    )


def _check_prepare_message(half: MessageExt, header: EndTransactionRequestHeader) -> None:
    """Raise Refused if the stored message is not the half message that the producer means."""
    group = required(half.properties.get(PRODUCER_GROUP), "MessageExt", PRODUCER_GROUP)
    claimed: str | None = header.get("producer_group", None)
    if group != claimed:
        raise Refused(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
    if half.queue_offset != header.tran_state_table_offset:
        raise Refused(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
    if half.commit_log_offset != header.commit_log_offset:
        raise Refused(ResponseCode.SYSTEM_ERROR, "The commit log offset wrong")


def _refusal(broker: Broker, result: PutMessageResult) -> Refused:
    """Source: EndTransactionProcessor.java#sendFinalMessage (4.9.7)"""
    status = result.status
    if status is PutMessageStatus.CREATE_MAPEDFILE_FAILED:
        return Refused(ResponseCode.SYSTEM_ERROR, "Create mapped file failed.")
    if status in (PutMessageStatus.MESSAGE_ILLEGAL, PutMessageStatus.PROPERTIES_SIZE_EXCEEDED):
        return Refused(
            ResponseCode.MESSAGE_ILLEGAL,
            "The message is illegal, maybe msg body or properties length not matched."
            f" msg body length limit {broker.config.max_message_size}B,"
            f" msg properties length limit 32KB.{result.here}",
        )
    if status is PutMessageStatus.SERVICE_NOT_AVAILABLE:
        remark = f"Service not available now.{result.here}"
        return Refused(ResponseCode.SERVICE_NOT_AVAILABLE, remark)
    if status is PutMessageStatus.OS_PAGECACHE_BUSY:
        return Refused(ResponseCode.SYSTEM_ERROR, "OS page cache busy, please try another machine")
    if status is PutMessageStatus.UNKNOWN_ERROR:
        return Refused(ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR")
    return broker.refusal(status)
