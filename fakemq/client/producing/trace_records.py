"""The text of traces, as Java's clients write it and its tools read it.

A record is fields joined by 0x01, with 0x02 behind the last one. A property that a message does not
have is the word ``null``.

Source: client/trace/TraceDataEncoder.java#encoderFromContextBean (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from fakemq.client.messages import LocalTransactionState
from fakemq.protocol.properties import KEY_SEPARATOR

CONTENT_SPLITTER = "\x01"
FIELD_SPLITTER = "\x02"


class TracedType(IntEnum):
    """The kind of a message. Source: common/message/MessageType.java (4.9.7)"""

    NORMAL = 0
    TRANSACTION_HALF = 1
    TRANSACTION_COMMIT = 2
    DELAY = 3


class ConsumeReturnType(IntEnum):
    """How a listener ended. Source: client/consumer/listener/ConsumeReturnType.java (4.9.7)"""

    SUCCESS = 0
    TIME_OUT = 1
    EXCEPTION = 2
    RETURNNULL = 3
    FAILED = 4


class TraceRecord(NamedTuple):
    """The text of one trace, and the keys to find it by."""

    text: str
    keys: tuple[str, ...]


class Published(NamedTuple):
    """A message that a broker has stored; names are without their namespace."""

    timestamp_ms: int
    region_id: str
    group: str
    topic: str
    msg_id: str
    tags: str | None
    keys: str | None
    store_host: str
    body_bytes: int
    cost_ms: int
    type: TracedType
    offset_msg_id: str
    success: bool

    def record(self) -> TraceRecord:
        return TraceRecord(_line("Pub", *self), _keys(self.msg_id, self.keys))


class ConsumedMessage(NamedTuple):
    """One message of a call of a listener."""

    msg_id: str
    keys: str | None
    reconsume_times: int


class Consuming(NamedTuple):
    """Messages that a listener is called with."""

    timestamp_ms: int
    region_id: str | None
    group: str
    request_id: str
    messages: tuple[ConsumedMessage, ...]
    call_size: int
    """How many messages the call has, those included that have no trace."""

    def record(self) -> TraceRecord:
        head = ("SubBefore", self.timestamp_ms, self.region_id, self.group, self.request_id)
        text = "".join(
            _line(*head, one.msg_id, one.reconsume_times, one.keys) for one in self.messages
        )
        return TraceRecord(text, _all_keys(self.messages))

    def ended(
        self, now_ms: int, *, success: bool, return_type: ConsumeReturnType | None
    ) -> TraceRecord:
        """Return the record of the listener's end.

        Source: client/trace/hook/ConsumeMessageTraceHookImpl.java#consumeMessageAfter (4.9.7)
        """
        cost_ms = int((now_ms - self.timestamp_ms) / self.call_size)
        code = int(return_type or 0)
        text = "".join(
            _line(
                *("SubAfter", self.request_id, one.msg_id, cost_ms, success),
                *(one.keys, code, now_ms, self.group),
            )
            for one in self.messages
        )
        return TraceRecord(text, _all_keys(self.messages))


class EndedTransaction(NamedTuple):
    """The end of a transaction that a producer sends to a broker."""

    timestamp_ms: int
    region_id: str
    group: str
    topic: str
    msg_id: str
    tags: str | None
    keys: str | None
    store_host: str
    transaction_id: str | None
    state: LocalTransactionState
    from_check: bool

    def record(self) -> TraceRecord:
        *head, transaction_id, state, from_check = self
        tail = (TracedType.TRANSACTION_COMMIT, transaction_id, state.name, from_check)
        return TraceRecord(_line("EndTransaction", *head, *tail), _keys(self.msg_id, self.keys))


def joined_keys(words: Iterable[str]) -> str:
    """Return the KEYS of a message of records.

    Source: common/message/Message.java#setKeys (4.9.7)
    """
    return KEY_SEPARATOR.join(words).strip()


def _line(*fields: object) -> str:
    return CONTENT_SPLITTER.join(map(_text, fields)) + FIELD_SPLITTER


def _text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, IntEnum) else str(value)


def _keys(msg_id: str, keys: str | None) -> tuple[str, ...]:
    """Return an id and the words of KEYS, with those empty ones that Java's split leaves."""
    words = keys.split(KEY_SEPARATOR) if keys else []
    while words and not words[-1]:
        words.pop()
    return (msg_id, *words)


def _all_keys(messages: Sequence[ConsumedMessage]) -> tuple[str, ...]:
    return tuple(key for one in messages for key in _keys(one.msg_id, one.keys))


# Reads traces, as Java's clients and ours write them into the trace topic.
#
# Source: client/trace/TraceDataEncoder.java#decoderFromTraceDataString (4.9.7)
class Traced(NamedTuple):
    """One step of a message, as its client reported it; "" and 0 for what it does not say."""

    step: str
    """``Pub``, ``SubBefore``, ``SubAfter`` or ``EndTransaction``."""
    message_id: str
    at_ms: int = 0
    group: str = ""
    cost_ms: int = 0
    success: bool | None = None
    request_id: str = ""
    """Joins the begin and the end of one call of a listener."""
    retries: int = 0
    detail: str = ""


def read_traces(text: str) -> Iterator[Traced]:
    """Return the steps in the body of a trace message; a record that cannot be read is left out."""
    for record in text.split(FIELD_SPLITTER):
        fields = record.split(CONTENT_SPLITTER)
        reader = _READERS.get(fields[0])
        if reader is None:
            continue
        try:
            yield reader(fields)
        except (IndexError, ValueError):
            continue


def _published(fields: list[str]) -> Traced:
    _, at_ms, _, group, _, message_id, _, _, host, _, cost_ms, *_ = fields
    return Traced(
        "Pub",
        message_id,
        int(at_ms),
        group,
        int(cost_ms),
        fields[-1] == "true",
        detail=f"to {host}",
    )


def _begun(fields: list[str]) -> Traced:
    _, at_ms, _, group, request_id, message_id, retries, *_ = fields
    return Traced(
        "SubBefore", message_id, int(at_ms), group, request_id=request_id, retries=int(retries)
    )


def _ended(fields: list[str]) -> Traced:
    _, request_id, message_id, cost_ms, success, *_ = fields
    at_ms, group = (int(fields[7]), fields[8]) if len(fields) > 8 else (0, "")
    return Traced(
        "SubAfter", message_id, at_ms, group, int(cost_ms), success == "true", request_id=request_id
    )


def _ended_transaction(fields: list[str]) -> Traced:
    _, at_ms, _, group, _, message_id, _, _, _, _, _, state, from_check, *_ = fields
    detail = f"{state}{', after a check' if from_check == 'true' else ''}"
    return Traced("EndTransaction", message_id, int(at_ms), group, detail=detail)


_READERS = {
    "Pub": _published,
    "SubBefore": _begun,
    "SubAfter": _ended,
    "EndTransaction": _ended_transaction,
}
