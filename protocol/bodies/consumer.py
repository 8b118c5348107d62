"""What a consumer reports about itself, and what it says of a message that it was made consume."""

from __future__ import annotations

from enum import StrEnum

from msgspec import field

from fakemq.protocol.bodies.body import Body, Double, Int, Long
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.bodies.queue import MessageQueue


class ProcessQueueInfo(Body):
    """One queue as its consumer sees it.

    Source: common/protocol/body/ProcessQueueInfo.java (4.9.7)
    """

    commit_offset: Long = 0
    cached_msg_min_offset: Long = 0
    cached_msg_max_offset: Long = 0
    cached_msg_count: Int = 0
    cached_msg_size_in_mi_b: Int = field(default=0, name="cachedMsgSizeInMiB")
    transaction_msg_min_offset: Long = 0
    transaction_msg_max_offset: Long = 0
    transaction_msg_count: Int = 0
    locked: bool = False
    try_unlock_times: Long = 0
    last_lock_timestamp: Long = 0
    droped: bool = False
    last_pull_timestamp: Long = 0
    last_consume_timestamp: Long = 0


class ConsumeStatus(Body):
    """What a consumer has counted of one topic; rates are per second, times in milliseconds.

    Source: common/protocol/body/ConsumeStatus.java (4.9.7)
    """

    pull_rt: Double = field(default=0.0, name="pullRT")
    pull_tps: Double = field(default=0.0, name="pullTPS")
    consume_rt: Double = field(default=0.0, name="consumeRT")
    consume_ok_tps: Double = field(default=0.0, name="consumeOKTPS")
    consume_failed_tps: Double = field(default=0.0, name="consumeFailedTPS")
    consume_failed_msgs: Long = 0


class ConsumerRunningInfo(Body):
    """Source: common/protocol/body/ConsumerRunningInfo.java (4.9.7)"""

    properties: dict[str, str] = field(default_factory=dict)
    subscription_set: list[SubscriptionData] = field(default_factory=list)
    mq_table: dict[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = field(default_factory=dict)
    jstack: str | None = None


class CMResult(StrEnum):
    """Source: common/protocol/body/CMResult.java (4.9.7)"""

    CR_SUCCESS = "CR_SUCCESS"
    CR_LATER = "CR_LATER"
    CR_ROLLBACK = "CR_ROLLBACK"
    CR_COMMIT = "CR_COMMIT"
    CR_THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    CR_RETURN_NULL = "CR_RETURN_NULL"


class ConsumeMessageDirectlyResult(Body):
    """Source: common/protocol/body/ConsumeMessageDirectlyResult.java (4.9.7)"""

    order: bool = False
    auto_commit: bool = True
    consume_result: str | None = None
    """The name of a `CMResult`; any text from a hostile peer."""
    remark: str | None = None
    spent_time_mills: Long = 0
