"""The answer of a broker to a pop: its messages, each with the handle that a client returns.

Source: client/impl/MQClientAPIImpl.java#processPopResponse,
proxy/processor/ConsumerProcessor.java#filterPopResult (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.protocol.headers.pop import PopMessageResponseHeader
from fakemq.protocol.message import decode_records
from fakemq.protocol.pop import POP_CK, extra_info
from fakemq.proxy.consuming import answer_header
from fakemq.proxy.receipts import decode
from fakemq.proxy.status import RpcError

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Reply
    from fakemq.protocol.message import MessageExt
    from fakemq.proxy.receipts import ReceiptHandle
    from fakemq.proxy.routes import Queue


def popped_messages(
    reply: Reply[Any], queue: Queue, topic: str, in_order: bool
) -> list[MessageExt]:
    """Return the messages of an answer, each with its handle as property POP_CK."""
    body = reply.body
    messages = decode_records(body if isinstance(body, bytes) else b"".join(body))
    header: PopMessageResponseHeader = answer_header(reply, PopMessageResponseHeader)
    starts = _numbers(header.start_offset_info)
    counts = _counts(header.order_count_info) if in_order else {}
    for message in messages:
        properties, queue_id = message.properties, message.queue_id
        handle = properties.get(POP_CK)
        if handle is None:
            handle = extra_info(
                start_offset=starts.get(queue_id, message.queue_offset),
                pop_time_ms=header.pop_time,
                invisible_time_ms=header.invisible_time,
                revive_queue_id=header.revive_qid,
                topic=topic,
                broker_name=queue.broker_name,
                queue_id=queue_id,
                queue_offset=message.queue_offset,
            )
            if counts:
                count = counts.get(f"qo{queue_id}%{message.queue_offset}")
                if count is None:
                    count = counts.get(str(queue_id), 0)
                if count > 0:
                    message.reconsume_times = count
        properties[POP_CK] = f"{handle} {message.commit_log_offset}"
    return messages


def handle_of(message: MessageExt) -> ReceiptHandle | None:
    """Return the handle of a message, None if it cannot be read: a producer may have set it."""
    try:
        return decode(message.properties[POP_CK])
    except RpcError:
        return None


def _numbers(info: str | None) -> dict[int, int]:
    """Return queue id → number of the entries for the topic itself, in ``mark id number;…``."""
    found = {}
    for entry in (info or "").split(";"):
        mark, _, rest = entry.partition(" ")
        if mark == "0":
            queue_id, _, number = rest.partition(" ")
            found[int(queue_id)] = int(number)
    return found


def _counts(info: str | None) -> dict[str, int]:
    """Return key → count of the entries for the topic itself."""
    found = {}
    for entry in (info or "").split(";"):
        mark, _, rest = entry.partition(" ")
        if mark == "0":
            key, _, count = rest.partition(" ")
            found[key] = int(count)
    return found
