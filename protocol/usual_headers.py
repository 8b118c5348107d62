"""The headers of the commonest requests in their usual form, decoded in one step with the command.

A `UsualHeader` has the attributes of the header that it stands for. It exists only where both
decoders agree on each field; otherwise, and for all other requests, there is the `Header`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, TypeAlias, TypeVar

import msgspec

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.properties import (
    CLUSTER,
    DELAY_TIME_LEVEL,
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    INNER_NUM,
    LITE_TOPIC,
    MSG_REGION,
    POP_CK,
    PRIORITY,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_OUT_MS,
    TIMES,
    TRACE_SWITCH,
    TRANSACTION_PREPARED,
)

T = TypeVar("T")

if TYPE_CHECKING:
    Int: TypeAlias = int
    Long: TypeAlias = int
else:
    # A text such as "1.0" is no number in Java, but msgspec would make the integer 1 of it. With a
    # float beside the integer it becomes a float, and there is none that is allowed.
    _NO_FLOAT = Annotated[float, msgspec.Meta(gt=1, lt=0)]
    Int = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] | _NO_FLOAT
    Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | _NO_FLOAT


class UsualHeader(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """Base of usual headers."""

    def get(self, attribute: str, default: T) -> T:
        """As `Header.get`: a usual header has every field."""
        value: T = getattr(self, attribute, default)
        return value


class UsualSendHeader(
    UsualHeader,
    gc=False,
    rename={
        "producer_group": "a",
        "topic": "b",
        "default_topic": "c",
        "default_topic_queue_nums": "d",
        "queue_id": "e",
        "sys_flag": "f",
        "born_timestamp": "g",
        "flag": "h",
        "properties": "i",
        "reconsume_times": "j",
        "in_units": "k",
        "in_batch": "m",
        "bname": "n",
    },
):
    """SEND_MESSAGE_V2 of one message."""

    batch: ClassVar[bool] = False
    unit_mode: ClassVar[bool] = False
    max_reconsume_times: ClassVar[int | None] = None

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    properties: str = ""
    reconsume_times: Int = 0
    in_units: Literal["false"] = "false"
    in_batch: Literal["false"] = "false"
    bname: str | None = None


class UsualBatchHeader(UsualSendHeader, gc=False, kw_only=True):
    """SEND_BATCH_MESSAGE."""

    batch: ClassVar[bool] = True

    in_batch: Literal["true"]  # type: ignore[assignment]  # another value, on purpose


class UsualPullHeader(UsualHeader, gc=False, rename="camel"):
    """PULL_MESSAGE."""

    consumer_group: str
    topic: str
    queue_id: Int
    queue_offset: Long
    max_msg_nums: Int
    sys_flag: Int
    commit_offset: Long
    suspend_timeout_millis: Long
    sub_version: Long
    subscription: str | None = None
    expression_type: str | None = None
    max_msg_bytes: str = ""
    """Sent by clients of 5.x; not read."""
    bname: str | None = None


ACTED_ON: Final = frozenset(
    {
        *(CLUSTER, MSG_REGION, TRACE_SWITCH),  # a broker sets these
        *(DELAY_TIME_LEVEL, TRANSACTION_PREPARED, INNER_MULTI_DISPATCH, INNER_MULTI_QUEUE_OFFSET),
        *(POP_CK, PRIORITY, INNER_NUM, REAL_TOPIC, TIMER_OUT_MS, TIMER_DEL_UNIQKEY, *TIMES),
        LITE_TOPIC,
    }
)
"""The properties of a sent message on which a broker of some release acts; usual sends have none.
"""

USUAL: dict[int, type[UsualHeader]] = {
    RequestCode.SEND_MESSAGE_V2: UsualSendHeader,
    RequestCode.SEND_BATCH_MESSAGE: UsualBatchHeader,
    RequestCode.PULL_MESSAGE: UsualPullHeader,
}


_Never: TypeAlias = Annotated[int, msgspec.Meta(gt=1, lt=0)]
"""Of the fields of a command that are not in its header: nothing that a peer writes sets them."""


def _decoder_of(start: bytes, code: int) -> Callable[[bytes], RemotingCommand]:
    """Return what makes the decoder of a code when the first header comes, and decodes it.

    The header as JSON becomes a command at once, whose language is still a name.
    """

    def decode(header: bytes) -> RemotingCommand:
        kind = msgspec.defstruct(
            "_UsualCommand",
            [
                ("code", Literal[int(code)]),
                ("usual", USUAL[code]),
                ("flag", Int, 0),
                ("language", str, "JAVA"),
                ("opaque", Int, 0),
                ("remark", str | None, None),
                ("version", Int, 0),
                ("ext_fields", _Never, {}),
                ("body", _Never, b""),
                ("serialize_type", _Never, SerializeType.JSON),
            ],
            bases=(RemotingCommand,),
            rename={"usual": "extFields"},
            gc=False,
            kw_only=True,
        )
        decoder: msgspec.json.Decoder[RemotingCommand] = msgspec.json.Decoder(kind, strict=False)
        USUAL_DECODERS[start] = decoder.decode
        return decoder.decode(header)

    return decode


START_BYTES: Final = 12  # of {"code":310,
_starts = {f'{{"code":{int(code)},"'.encode()[:START_BYTES]: code for code in USUAL}
USUAL_DECODERS = {start: _decoder_of(start, code) for start, code in _starts.items()}
"""By the first `START_BYTES` of a JSON header, as clients write the code first."""


def add_usual(code: int, kind: type[UsualHeader]) -> None:
    """Let requests of another code be decoded so from now on, too; it has at least three digits."""
    USUAL[code] = kind
    start = f'{{"code":{int(code)},'.encode()
    USUAL_DECODERS[start] = _decoder_of(start, code)


def take_usual_header(command: RemotingCommand) -> None:
    """Move the ext fields of a command to ``usual``, if it is a request of the usual form."""
    kind = USUAL.get(command.code)
    if kind is None:
        return
    try:
        command.usual = msgspec.convert(command.ext_fields, kind, strict=False)
    except msgspec.ValidationError:
        return
    command.ext_fields = {}
