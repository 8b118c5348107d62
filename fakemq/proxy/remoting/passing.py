"""The requests that the door passes on to the broker which they name.

Behaviour: the type of a message is compared with that of its topic before. A pull without a
subscription gets that of its group's heartbeats. Java takes a pop for a pull, and never answers an
acknowledgement or a change of an invisible time.
Refused: a request without the name of a broker, as some clients send it.

Source: proxy/remoting/activity/SendMessageActivity.java, PullMessageActivity.java,
RecallMessageActivity.java, ConsumerManagerActivity.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from fakemq.dispatch.answers import Parked, Refused, Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.pull import PullMessageRequestHeader
from fakemq.protocol.properties import TRANSFER_FLAG, decode_properties
from fakemq.protocol.sysflag import PullSysFlag
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from fakemq.protocol.v5 import table as v5_table
from fakemq.protocol.v5.bodies.queue import LockBatchRequestBody5, UnlockBatchRequestBody5
from fakemq.proxy.door import RemotingDoor, handles, null_pointer
from fakemq.proxy.messages import check_type, message_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.slices import Steps
    from fakemq.protocol.table import NoHeader, Row

TIMEOUT_MS: Final = 3_000
RECALL_TIMEOUT_MS: Final = 2_000
PULL_TIMEOUT_MS: Final = 10_000
"""In addition to the time that a pull may be held."""
_SHORT_NAMES: Final = frozenset({RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE})
_SYS_FLAG: Final = (
    'the return value of "org.apache.rocketmq.remoting.protocol.header.PullMessageRequestHeader'
    '.getSysFlag()"'
)
_BODIES: Final = "org.apache.rocketmq.remoting.protocol.body."


def broker_name(request: Request[Any]) -> str | None:
    """Return the name of the broker that a request is for; None if it does not say it."""
    command = request.command
    if command.usual is not None:
        name: str | None = request.header.get("bname", None)
        return name
    return command.ext_fields.get("n" if command.code in _SHORT_NAMES else "bname")


def _pass_on(door: RemotingDoor, request: Request[Any]) -> Parked[Any] | None:
    return door.ask(request, broker_name(request), TIMEOUT_MS)


def _send(door: RemotingDoor, request: Request[Any]) -> Steps[Parked[Any] | None]:
    header = request.header
    topic: str = header.get("topic", "")
    properties = decode_properties(header.get("properties", "") or "")
    sent_type = message_type(properties)
    if not topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        if TRANSFER_FLAG not in properties:
            check_type(door.proxy.routes.message_type(topic), sent_type)
        if sent_type == "TRANSACTION":
            yield from door.proxy.transactions.answer_for([header.producer_group])
    return _pass_on(door, request)


def _recall(door: RemotingDoor, request: Request[Any]) -> Parked[Any] | None:
    check_type(door.proxy.routes.message_type(request.header.get("topic", "")), "DELAY")
    return door.ask(request, broker_name(request), RECALL_TIMEOUT_MS)


def _pull(door: RemotingDoor, request: Request[Any]) -> Parked[Any] | None:
    header = request.header
    sys_flag: int | None = header.get("sys_flag", None)
    if sys_flag is None:
        raise null_pointer("java.lang.Integer.intValue()", _SYS_FLAG)
    if not sys_flag & PullSysFlag.SUBSCRIPTION:
        _add_subscription(door, request, sys_flag)
    return door.ask(request, broker_name(request), header.suspend_timeout_millis + PULL_TIMEOUT_MS)


def _pop(door: RemotingDoor, request: Request[Any]) -> Parked[Any] | None:
    header = PullMessageRequestHeader.decode(request.command.ext_fields)
    return _pull(door, Request(request.command, header, request.session))


def _never_answered(door: RemotingDoor, request: Request[Any]) -> None:
    """Java's activity for these codes does not know them, and says nothing."""


def _add_subscription(
    door: RemotingDoor, request: Request[PullMessageRequestHeader], sys_flag: int
) -> None:
    info = door.consumers.group(request.header.consumer_group)
    if info is None:
        raise Refused(
            ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest"
        )
    found = info.subscriptions.get(request.header.topic)
    if found is None:
        raise Refused(ResponseCode.SUBSCRIPTION_NOT_EXIST, "the consumer's subscription not exist")
    command = request.command
    if command.usual is not None:
        fields = msgspec.to_builtins(command.usual)
        command.ext_fields = {key: str(value) for key, value in fields.items() if value is not None}
        command.usual = None
    command.ext_fields |= {
        "sysFlag": str(sys_flag | PullSysFlag.SUBSCRIPTION),
        "subscription": found.sub_string or "",
        "expressionType": found.expression_type or "",
    }


# -- locks: their queues name the broker ----------------------------------------------------------


def _lock(door: RemotingDoor, request: Request[NoHeader]) -> Parked[Any] | Reply[NoHeader] | None:
    return _of_queues(door, request, LockBatchRequestBody5)


def _unlock(door: RemotingDoor, request: Request[NoHeader]) -> Parked[Any] | Reply[NoHeader] | None:
    return _of_queues(door, request, UnlockBatchRequestBody5)


def _of_queues(
    door: RemotingDoor,
    request: Request[NoHeader],
    kind: type[LockBatchRequestBody5] | type[UnlockBatchRequestBody5],
) -> Parked[Any] | Reply[NoHeader] | None:
    if not request.body:
        name = kind.__name__.removesuffix("5")
        raise null_pointer(f"{_BODIES}{name}.getMqSet()", '"requestBody"')
    body = kind.decode(body_of(request))
    if not body.mq_set:
        return Reply(
            body=body.encode(),
            code=ResponseCode.SYSTEM_ERROR,
            remark="MessageQueue set is empty",
        )
    return door.ask(request, body.mq_set[0].broker_name or "", TIMEOUT_MS)


_Handler: TypeAlias = "Callable[[RemotingDoor, Request[Any]], Any]"
_HANDLERS: Final[tuple[tuple[_Handler, tuple[Row[Any, Any], ...]], ...]] = (
    (_send, (table.SEND_MESSAGE, table.SEND_MESSAGE_V2, table.SEND_BATCH_MESSAGE)),
    (_recall, (v5_table.RECALL_MESSAGE,)),
    (_pull, (table.PULL_MESSAGE, table.LITE_PULL_MESSAGE)),
    (_pop, (v5_table.POP_MESSAGE,)),
    (_never_answered, (v5_table.ACK_MESSAGE, v5_table.CHANGE_MESSAGE_INVISIBLETIME)),
    (_lock, (table.LOCK_BATCH_MQ,)),
    (_unlock, (table.UNLOCK_BATCH_MQ,)),
    (
        _pass_on,
        (
            *(table.CONSUMER_SEND_MSG_BACK, table.SEARCH_OFFSET_BY_TIMESTAMP),
            *(table.QUERY_CONSUMER_OFFSET, table.UPDATE_CONSUMER_OFFSET),
            *(table.GET_MIN_OFFSET, table.GET_MAX_OFFSET),
        ),
    ),
)
for _handler, _rows in _HANDLERS:
    for _row in _rows:
        handles(_row)(_handler)
