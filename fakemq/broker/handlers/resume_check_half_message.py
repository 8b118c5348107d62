"""RESUME_CHECK_HALF_MESSAGE (323): check a message again, as if it had never been checked.

Behaviour: the stored message that ``msgId`` names, of any topic, is stored once more as a half
message; the existing one stays. A compressed body is stored decompressed, but its flags still say
that it is compressed.

Source: broker/processor/AdminBrokerProcessor.java#resumeCheckHalfMessage (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError
from fakemq.protocol.headers.transaction import ResumeCheckHalfMessageRequestHeader
from fakemq.protocol.message import decompressed_body
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt


@handles(table.RESUME_CHECK_HALF_MESSAGE)
def resume_check_half_message(
    broker: Broker, request: Request[ResumeCheckHalfMessageRequestHeader]
) -> Reply[NoHeader]:
    message = _message(broker, request.header.msg_id or "")
    if not broker.transactions.resume_check(message).ok:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed.",
        )
    return Reply()


def _message(broker: Broker, msg_id: str) -> MessageExt:
    reason = ""
    try:
        message = broker.store.look_message_by_offset(decode_offset_id(msg_id).physical_offset)
        if message is not None:
            # No put takes more; the factor leaves the refusal to the put, as in Java.
            message.body = decompressed_body(message, 4 * broker.config.max_message_size)
            return message
    except RemoteProtocolError:
        pass  # an invalid id, or a body that cannot be decompressed
    except LocalProtocolError as error:
        reason = f" Here {error}."
    raise Refused(
        ResponseCode.SYSTEM_ERROR,
        f"Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC.{reason}",
    )
