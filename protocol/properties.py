"""The properties of a message, as one string: ``name 0x01 value`` joined by ``0x02``.

4.9.7 writes no separator behind the last entry; older clients and 5.5.0 do. Both are read.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from fakemq.protocol.java import java_hash_map_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NAME_VALUE_SEPARATOR: Final = "\x01"
PROPERTY_SEPARATOR: Final = "\x02"
KEY_SEPARATOR: Final = " "
"""Between the words of KEYS; each is indexed by itself."""

PROPERTIES_MAX_BYTES: Final = 32_767
"""As UTF-8; the length is an int16. Source: store/DefaultMessageStore.java#checkMessage (4.9.7)"""

# Source: common/message/MessageConst.java (4.9.7); names there begin with PROPERTY_.
KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
WAIT_STORE_MSG_OK: Final = "WAIT"
DELAY_TIME_LEVEL: Final = "DELAY"
RETRY_TOPIC: Final = "RETRY_TOPIC"
REAL_TOPIC: Final = "REAL_TOPIC"
REAL_QUEUE_ID: Final = "REAL_QID"
TRANSACTION_PREPARED: Final = "TRAN_MSG"
PRODUCER_GROUP: Final = "PGROUP"
MIN_OFFSET: Final = "MIN_OFFSET"
MAX_OFFSET: Final = "MAX_OFFSET"
BUYER_ID: Final = "BUYER_ID"
ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
TRANSFER_FLAG: Final = "TRANSFER_FLAG"
CORRECTION_FLAG: Final = "CORRECTION_FLAG"
MQ2_FLAG: Final = "MQ2_FLAG"
RECONSUME_TIME: Final = "RECONSUME_TIME"
MSG_REGION: Final = "MSG_REGION"
TRACE_SWITCH: Final = "TRACE_ON"
UNIQ_CLIENT_MESSAGE_ID_KEYIDX: Final = "UNIQ_KEY"
MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
CONSUME_START_TIMESTAMP: Final = "CONSUME_START_TIME"
TRANSACTION_PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
TRANSACTION_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
INSTANCE_ID: Final = "INSTANCE_ID"
SHARDING_KEY: Final = "__SHARDINGKEY"
CORRELATION_ID: Final = "CORRELATION_ID"
MESSAGE_REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
MESSAGE_TTL: Final = "TTL"
REPLY_MESSAGE_ARRIVE_TIME: Final = "ARRIVE_TIME"
PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
CLUSTER: Final = "CLUSTER"
MESSAGE_TYPE: Final = "MSG_TYPE"
INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
INNER_MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"

# Of 5.5.0. Source: common/message/MessageConst.java (5.5.0)
PRIORITY: Final = "_SYS_MSG_PRIORITY_"
INNER_NUM: Final = "INNER_NUM"
POP_CK: Final = "POP_CK"
LITE_TOPIC: Final = "__LITE_TOPIC"
# When a producer wants a message to be delivered; of several the first counts.
TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
TIMES: Final = frozenset({TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS})
TIMER_DEL_UNIQKEY: Final = "TIMER_DEL_UNIQKEY"
"""The unique key of another timer message, which this one deletes."""
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
"""When a broker delivers it."""


def decode_properties(text: str) -> dict[str, str]:
    """Return the properties in ``text``, in order.

    A repeated name has its first place and its last value.

    An entry without a name or without a value is skipped.

    Source: common/message/MessageDecoder.java#string2messageProperties (4.9.7)
    """
    properties: dict[str, str] = {}
    for entry in text.split(PROPERTY_SEPARATOR):
        name, _, value = entry.partition(NAME_VALUE_SEPARATOR)
        if name and value:
            properties[name] = value
    return properties


def property_value(text: str, name: str) -> str:
    """Return the value of one property in ``text``; "" if it is not there.

    As `decode_properties` finds it, but without looking at the others.
    """
    before, found, rest = text.rpartition(f"{name}{NAME_VALUE_SEPARATOR}")
    if not found:
        return ""
    value = rest.partition(PROPERTY_SEPARATOR)[0]
    if value and (not before or before.endswith(PROPERTY_SEPARATOR)):
        return value
    return decode_properties(text).get(name, "")


class MadeProperties(dict[str, str]):
    """Properties of a message that a broker makes itself, in Java in a map of its own.

    ``buckets`` is how many that map begins with, rounded up to a power of two. In 4.9.7, those that
    were read are in such a map, too.
    """

    def __init__(self, properties: Mapping[str, str], buckets: int = 16) -> None:
        super().__init__(properties)
        self.buckets = buckets


class PropertiesEncoder(Protocol):
    """How a release of RocketMQ writes properties that it read, or put into a map itself."""

    def __call__(self, properties: Mapping[str, str], without: str | None = None) -> str:
        """Return the string; ``without`` is a name whose entry is left out of it."""


def encode_properties_as_java(properties: Mapping[str, str], without: str | None = None) -> str:
    """``properties`` as a string, in the order of a HashMap they were put into one by one.

    That is what a Java broker stores, since it reads a request's properties into a HashMap.
    ``without`` is a name whose entry is left out of the string, in the order with it.

    Source: common/message/MessageDecoder.java#messageProperties2String (4.9.7)
    """
    names = tuple(properties)
    form = _forms.get((without, names))
    if form is None:
        entries = [name for name in java_hash_map_order(names) if name != without]
        form = TextForm(PROPERTY_SEPARATOR.join(map(form_entry, entries)), values_of(entries))
        keep_form(_forms, (without, names), form, names)
    text, values = form
    return text % values(properties)


class TextForm(NamedTuple):
    """The text with ``%s`` for each value, and what returns the values."""

    text: str
    values: Callable[[Mapping[str, str]], object]


_FormKey = TypeVar("_FormKey")

_forms: Final[dict[tuple[str | None, tuple[str, ...]], TextForm]] = {}
"""By the name that is left out, and the names that came together: mostly the same few."""
_FORMS_MAX: Final = 1024
_FORM_MAX_CHARS: Final = 500


def form_entry(name: str) -> str:
    """Return the entry of one property in a `TextForm`."""
    return f"{name.replace('%', '%%')}{NAME_VALUE_SEPARATOR}%s"


def values_of(names: Sequence[str]) -> Callable[[Mapping[str, str]], object]:
    """Return the function that returns the values of these names, for a `TextForm`."""
    return itemgetter(*names) if names else _no_values


def keep_form(
    forms: dict[_FormKey, TextForm], key: _FormKey, form: TextForm, names: tuple[str, ...]
) -> None:
    """Keep the form of ``names`` for the next time; a peer may send any names, of any length."""
    if sum(map(len, names)) <= _FORM_MAX_CHARS:
        if len(forms) >= _FORMS_MAX:
            forms.clear()
        forms[key] = form


def _no_values(properties: Mapping[str, str]) -> tuple[()]:
    return ()
