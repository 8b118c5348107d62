"""Locks of queues, with what only 5.5.0 asks."""

from __future__ import annotations

from fakemq.protocol.bodies.queue import LockBatchRequestBody, UnlockBatchRequestBody


class LockBatchRequestBody5(LockBatchRequestBody):
    """With ``only_this_broker``, which a member of its group asks with.

    Source: remoting/protocol/body/LockBatchRequestBody.java (5.5.0)
    """

    only_this_broker: bool = False


class UnlockBatchRequestBody5(UnlockBatchRequestBody):
    """Source: remoting/protocol/body/UnlockBatchRequestBody.java (5.5.0)"""

    only_this_broker: bool = False
