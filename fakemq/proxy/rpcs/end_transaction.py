"""EndTransaction: commit or roll back a half message, or say that it is not known yet.

Behaviour: the answer does not wait for the broker.
Refused: an id that the front does not know: it was used before, or 30 s ago.

Source: proxy/grpc/v2/transaction/EndTransactionActivity.java,
proxy/processor/TransactionProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.grpc.messages import EndTransactionResponse
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.proxy.checks import checked_topic, is_blank
from fakemq.proxy.registry import handles
from fakemq.proxy.status import OK, Code, RpcError, proxy_error
from fakemq.proxy.transactions import end_command

if TYPE_CHECKING:
    from fakemq.protocol.grpc.messages import EndTransactionRequest
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy

_ENDS: Final = {
    1: MessageSysFlag.TRANSACTION_COMMIT_TYPE,
    2: MessageSysFlag.TRANSACTION_ROLLBACK_TYPE,
}
"""The resolutions COMMIT and ROLLBACK."""
_SERVER_CHECK: Final = 2


@handles("EndTransaction")
def end_transaction(
    proxy: Proxy, context: Context, request: EndTransactionRequest
) -> EndTransactionResponse:
    topic = checked_topic(request.topic)
    if is_blank(request.transaction_id):
        raise RpcError(Code.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
    data = proxy.transactions.take(topic, request.transaction_id)
    if data is None:
        raise proxy_error(Code.INTERNAL_SERVER_ERROR, "cannot found transaction data")
    addr = proxy.routes.master_addr(data.broker_name)
    if addr is None:
        raise proxy_error(Code.BAD_REQUEST, f"cannot find broker {data.broker_name}")
    command = end_command(
        data,
        topic,
        topic,
        _ENDS.get(request.resolution, MessageSysFlag.TRANSACTION_NOT_TYPE),
        from_check=request.source == _SERVER_CHECK,
        message_id=request.message_id,
        transaction_id=request.transaction_id,
    )
    proxy.calls.tell(context.session, addr, command)
    return EndTransactionResponse(status=OK)
