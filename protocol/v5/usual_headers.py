"""The headers of pops and acknowledgements in their usual form: `fakemq.protocol.usual_headers`.

The modules of their handlers add them, so a node that gets no such request imports nothing of this.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import field

from fakemq.protocol.usual_headers import Int, Long, UsualHeader


class UsualRpcHeader(UsualHeader, gc=False, rename="camel", kw_only=True):
    """Base of these headers. All but ``bname`` is sent by clients of 5.x, and not read.

    Source: remoting/rpc/RpcRequestHeader.java, TopicRequestHeader.java (5.5.0)
    """

    bname: str | None = None
    ns: str | None = None
    nsd: str | None = None
    oway: str | None = None
    lo: str | None = None


class UsualPopHeader(UsualRpcHeader, gc=False, rename="camel", kw_only=True):
    """POP_MESSAGE of messages in any order."""

    order: ClassVar[bool] = False

    consumer_group: str
    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    born_time: Long = 0
    init_mode: Int = 0
    exp_type: str | None = None
    exp: str | None = None
    in_order: Literal["false"] = field(default="false", name="order")
    attempt_id: str | None = None


class UsualAckHeader(UsualRpcHeader, gc=False, rename="camel", kw_only=True):
    """ACK_MESSAGE."""

    consumer_group: str | None = None
    topic: str
    queue_id: Int
    extra_info: str | None = None
    offset: Long
    lite_topic: str | None = None
