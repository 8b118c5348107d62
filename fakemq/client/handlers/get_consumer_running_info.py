"""GET_CONSUMER_RUNNING_INFO (307): what a consumer reports about itself.

Behaviour: answered with its settings, queues, subscriptions and counters; with ``jstackEnable``
also with the stack of each thread of this process.
Refused: a group that has no such consumer in this client: SYSTEM_ERROR.

Source: client/impl/ClientRemotingProcessor.java#getConsumerRunningInfo (4.9.7)
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from fakemq.client.consuming.asked import ReportsItself, consumer_of
from fakemq.client.tasks import Task
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.client import GetConsumerRunningInfoRequestHeader

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices


def get_consumer_running_info(
    services: ClientServices, addr: str, request: RemotingCommand
) -> Task[RemotingCommand]:
    """Return a consumer's report."""
    header = GetConsumerRunningInfoRequestHeader.decode(request.ext_fields)
    consumer = consumer_of(services, header.consumer_group)
    if not isinstance(consumer, ReportsItself):
        return not_here(header.consumer_group)
    info = yield from consumer.running_info()
    if header.jstack_enable:
        info.jstack = _stacks()
    return RemotingCommand(ResponseCode.SUCCESS, body=info.encode())


def not_here(group: str) -> RemotingCommand:
    """Return the refusal of a request for a group that has no consumer in this client."""
    remark = f"The Consumer Group <{group}> not exist in this consumer"
    return RemotingCommand(ResponseCode.SYSTEM_ERROR, remark=remark)


def _stacks() -> str:
    """Source: common/UtilAll.java#jstack (4.9.7)"""
    lines = []
    for thread, frame in sys._current_frames().items():  # documented, for debugging
        name = f"thread-{thread}"
        lines.append(f"{name:<40}TID: {thread} STATE: RUNNABLE")
        for one in reversed(traceback.extract_stack(frame)):
            lines.append(f"{name:<40}{one.name}({one.filename}:{one.lineno})")
        lines.append("")
    return "\n".join(lines)
