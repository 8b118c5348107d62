"""END_TRANSACTION (37): end a half message that the front knows.

Behaviour: the answer is a success in any case. The front knows a half message only after it has
asked the producer about it: it does not read the answer to a send. So the end at which a producer
tries first has no effect.

Source: proxy/remoting/activity/TransactionActivity.java (5.5.0)
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.proxy.door import RemotingDoor, handles, null_pointer
from fakemq.proxy.status import RpcError
from fakemq.proxy.transactions import end_command

if TYPE_CHECKING:
    from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
    from fakemq.protocol.table import NoHeader


@handles(table.END_TRANSACTION)
def end_transaction(
    door: RemotingDoor, request: Request[EndTransactionRequestHeader]
) -> Reply[NoHeader]:
    header, proxy = request.header, door.proxy
    if header.get("commit_or_rollback", None) is None:
        raise null_pointer("java.lang.Integer.intValue()", '"this.commitOrRollback"')
    group, transaction_id = header.producer_group, header.get("transaction_id", "")
    data = proxy.transactions.take(group, transaction_id)
    addr = None if data is None else proxy.routes.master_addr(data.broker_name)
    if data is not None and addr is not None:
        command = end_command(
            data,
            request.command.ext_fields.get("topic", ""),
            group,
            header.commit_or_rollback,
            from_check=header.from_transaction_check,
            message_id=header.get("msg_id", ""),
            transaction_id=transaction_id,
        )
        with suppress(RpcError):  # the broker is down, and asks again later
            proxy.calls.tell(request.session, addr, command)
    return Reply()
