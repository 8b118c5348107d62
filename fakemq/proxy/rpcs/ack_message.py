"""AckMessage: messages were consumed.

Behaviour: each entry has a result of its own. Of a message that the front renews, the newest handle
counts: one that a renewal under way brings is waited for.
Refused: a handle that is none, or whose time is over.

Source: proxy/grpc/v2/consumer/AckMessageActivity.java (5.5.0)
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from fakemq.dispatch.answers import Reply
from fakemq.later import drive
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.grpc.messages import AckMessageResponse
from fakemq.proxy.checks import check_count, checked_group, checked_topic
from fakemq.proxy.consuming import acknowledge
from fakemq.proxy.receipts import decode
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, Code, RpcError, status, status_of_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.clock.slices import Steps
    from fakemq.later import Later, Waits
    from fakemq.protocol.grpc.messages import AckMessageEntry, AckMessageRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


_ABNORMAL: Final = status(Code.INTERNAL_SERVER_ERROR, "ack failed: status is abnormal")


@handles("AckMessage")
def ack_message(
    proxy: Proxy, context: Context, request: AckMessageRequest
) -> Waits[AckMessageResponse]:
    topic, group = checked_topic(request.topic), checked_group(request.group)
    # All are asked before the first answer is waited for.
    count = len(request.entries)
    check_count(count, "handles")
    steps = _ask_each(proxy, context, group, topic, request.entries)
    asked: list[Later[Reply[Any]]] = yield context.sliced(proxy.clock, steps, count)
    for pending in asked:
        with suppress(RpcError):
            yield pending
    steps_after = _results(request.entries, asked)
    response: AckMessageResponse = yield context.sliced(proxy.clock, steps_after, count)
    return response


def _results(
    entries: Iterable[AckMessageEntry], answered: Iterable[Later[Reply[Any]]]
) -> Steps[AckMessageResponse]:
    response, codes = AckMessageResponse(), set[int]()
    for entry, pending in zip(entries, answered, strict=True):
        reply = pending.value
        if isinstance(reply, RpcError):
            result = reply.status
        elif isinstance(reply, Reply):
            result = OK if reply.code == ResponseCode.SUCCESS else _ABNORMAL
        else:
            assert reply is not None
            raise reply
        codes.add(result.code)
        response.entries.add(
            status=result, message_id=entry.message_id, receipt_handle=entry.receipt_handle
        )
        yield
    response.status.CopyFrom(status_of_all(codes, "ack message result is empty"))
    return response


def _ask_each(
    proxy: Proxy, context: Context, group: str, topic: str, entries: Iterable[AckMessageEntry]
) -> Steps[list[Later[Reply[Any]]]]:
    asked = []
    for entry in entries:
        asked.append(_ask(proxy, context, group, topic, entry))
        yield
    return asked


def _ask(
    proxy: Proxy, context: Context, group: str, topic: str, entry: AckMessageEntry
) -> Later[Reply[Any]]:
    return drive(_answer(proxy, context, group, topic, entry))


def _answer(
    proxy: Proxy, context: Context, group: str, topic: str, entry: AckMessageEntry
) -> Waits[Reply[Any]]:
    handle = decode(entry.receipt_handle)
    handle = yield from proxy.renewals.take(context.client_id, group, entry.message_id, handle)
    lite_topic = entry.lite_topic if entry.HasField("lite_topic") else None
    reply: Reply[Any] = yield acknowledge(proxy, context.session, handle, group, topic, lite_topic)
    return reply
