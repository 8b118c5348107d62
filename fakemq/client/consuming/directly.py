"""Consumes one message because an admin tool asks for it.

Source: client/impl/consumer/ConsumeMessageConcurrentlyService.java#consumeMessageDirectly,
ConsumeMessageOrderlyService.java#consumeMessageDirectly (4.9.7)
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from fakemq.client.consuming.received import ConsumeResult, ConsumeStatus, ReceivedMessage
from fakemq.client.tasks import Perform, Task
from fakemq.protocol.bodies.consumer import CMResult, ConsumeMessageDirectlyResult

if TYPE_CHECKING:
    from fakemq.client.consuming.context import ConsumerContext

_RESULTS = {
    ConsumeStatus.SUCCESS: CMResult.CR_SUCCESS,
    ConsumeStatus.RECONSUME_LATER: CMResult.CR_LATER,
    ConsumeStatus.COMMIT: CMResult.CR_COMMIT,
    ConsumeStatus.ROLLBACK: CMResult.CR_ROLLBACK,
}


def consume_directly(
    context: ConsumerContext, message: ReceivedMessage
) -> Task[ConsumeMessageDirectlyResult]:
    """Call the listener with a message; nothing is committed or sent back."""
    elapsed_ms = context.services.carrier.elapsed_ms
    began_ms = elapsed_ms()
    result = ConsumeMessageDirectlyResult(order=context.settings.ordered)
    try:
        returned = yield Perform(context.listener, ([message],))
    except GeneratorExit:  # the task is cancelled
        raise
    except BaseException as error:
        result.consume_result = CMResult.CR_THROW_EXCEPTION.value
        result.remark = described(error)
    else:
        status = ConsumeStatus.SUCCESS
        if isinstance(returned, ConsumeResult):
            status = returned.status
            result.auto_commit = returned.auto_commit
        if message.retry_level is not None:
            status = ConsumeStatus.RECONSUME_LATER
        result.consume_result = _RESULTS[status].value
    result.spent_time_mills = elapsed_ms() - began_ms
    return result


def described(error: BaseException) -> str:
    """Return an error in one line, with the place that raised it.

    Source: remoting/common/RemotingHelper.java#exceptionSimpleDesc (4.9.7)
    """
    text = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text}, {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}"
