"""The attributes of topics and groups of 5.5.0: how a request changes them, and what it may say.

Source: common/attribute/AttributeParser.java, AttributeUtil.java, EnumAttribute.java,
LongRangeAttribute.java, BooleanAttribute.java, common/TopicAttributes.java,
common/SubscriptionGroupAttributes.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.message_types import MESSAGE_TYPE, MESSAGE_TYPES
from fakemq.protocol.v5 import lite

PRIORITY_FACTOR = "priority.factor"
_LONG_MAX = (1 << 63) - 1
LITE_MAX_MINUTES = 30 * 24 * 60


class WrongAttributeError(Exception):
    """A change of attributes that Java refuses; the text is Java's, and where it is thrown."""

    def __init__(self, text: str, place: str = "") -> None:
        super().__init__(text)
        self.place = "org.apache.rocketmq.common.attribute.AttributeUtil" + place


class Attribute(NamedTuple):
    """The rules of one attribute."""

    verify: Callable[[str], None]
    """Raise WrongAttributeError for a wrong value."""
    changeable: bool = True


def one_of(*values: str) -> Callable[[str], None]:
    def verify(value: str) -> None:
        if value not in values:
            # Guava makes the set with room for all values; few need more than one for each.
            room = len(values) + 1 if len(values) < 3 else ceil(len(values) / 0.75)
            order = ", ".join(java_hash_map_order(values, room))
            raise WrongAttributeError(f"value is not in set: [{order}]")

    return verify


def _range(low: int, high: int) -> Callable[[str], None]:
    def verify(value: str) -> None:
        try:
            number = parse_long(value)
        except NumberFormatError as error:
            raise WrongAttributeError(str(error)) from None
        if not low <= number <= high:
            raise WrongAttributeError(f"value is not in range({low}, {high})")

    return verify


def _flag(value: str) -> None:
    if value.lower() not in ("true", "false"):
        raise WrongAttributeError("boolean attribute format is wrong.")


def _text(value: str) -> None:
    """Accept any text."""


TOPIC_ATTRIBUTES: Mapping[str, Attribute] = {
    "queue.type": Attribute(one_of("BatchCQ", "SimpleCQ"), changeable=False),
    "cleanup.policy": Attribute(one_of("DELETE", "COMPACTION"), changeable=False),
    MESSAGE_TYPE: Attribute(one_of(*MESSAGE_TYPES)),
    "reserve.time": Attribute(_range(-1, _LONG_MAX)),
    lite.EXPIRATION: Attribute(_range(-1, LITE_MAX_MINUTES)),
}
GROUP_ATTRIBUTES: Mapping[str, Attribute] = {
    PRIORITY_FACTOR: Attribute(_range(0, 100)),
    lite.BIND_TOPIC: Attribute(_text),
    lite.SUB_MODEL: Attribute(one_of(lite.SHARED, lite.EXCLUSIVE)),
    lite.RESET_EXCLUSIVE: Attribute(_flag),
    lite.RESET_UNSUBSCRIBE: Attribute(_flag),
    lite.CLIENT_QUOTA: Attribute(_range(-1, _LONG_MAX)),
    lite.MAX_EVENT_COUNT: Attribute(_range(10, _LONG_MAX)),
    lite.WILDCARD: Attribute(_text),
}


def parsed_attributes(text: str | None) -> dict[str, str]:
    """Return the changes in ``+key1=value1,+key2=value2,-key3``, each key with its sign.

    Raise WrongAttributeError for another form.
    """
    changes: dict[str, str] = {}
    text = (text or "").rstrip(",")
    for part in text.split(",") if text else ():
        key, equals, rest = part.partition("=")
        value = rest.split("=")[0]
        if equals:
            if not value and not rest.strip("="):
                length = 1 if key else 0
                raise WrongAttributeError(f"Index {length} out of bounds for length {length}")
            if "+" not in key:
                raise WrongAttributeError(f"add/alter attribute format is wrong: {key}")
        elif "-" not in key:
            raise WrongAttributeError(f"delete attribute format is wrong: {key}")
        if key in changes:
            raise WrongAttributeError(f"key duplication: {key}")
        changes[key] = value
    return changes


def altered(
    known: Mapping[str, Attribute],
    present: Mapping[str, str] | None,
    changes: Mapping[str, str],
) -> dict[str, str]:
    """Return the attributes after some changes; ``present`` is None for what is created now.

    Raise WrongAttributeError for a change that may not be.
    """
    before = present or {}
    seen: set[str] = set()
    kinds: dict[str, dict[str, str]] = {"init": {}, "add": {}, "update": {}, "delete": {}}
    for key in java_hash_map_order(changes):
        sign, name = key[:1], key[1:]
        if not name or "+" in name or "-" in name:
            raise WrongAttributeError("kv string format wrong.")
        if name in seen:
            raise WrongAttributeError(f"alter duplication key. key: {name}")
        seen.add(name)
        kinds[_kind(sign, name, present)][name] = changes[key]
    for kind, named in kinds.items():
        for name in java_hash_map_order(named):
            attribute = known.get(name)
            if attribute is None:
                raise WrongAttributeError(
                    f"unsupported key: {name}", ".validateAlter(AttributeUtil.java:117)"
                )
            if kind != "init" and not attribute.changeable:
                raise WrongAttributeError(
                    f"attempt to update an unchangeable attribute. key: {name}"
                )
            if kind != "delete":
                attribute.verify(named[name])
    after = {**before, **kinds["init"], **kinds["add"], **kinds["update"]}
    return {name: value for name, value in after.items() if name not in kinds["delete"]}


def _kind(sign: str, name: str, present: Mapping[str, str] | None) -> str:
    if present is None:
        if sign != "+":
            raise WrongAttributeError(
                f"only add attribute is supported while creating topic. key: {name}"
            )
        return "init"
    if sign == "+":
        return "update" if name in present else "add"
    if sign != "-":
        raise WrongAttributeError(f"wrong format key: {name}")
    if name not in present:
        raise WrongAttributeError(f"attempt to delete a nonexistent key: {name}")
    return "delete"
