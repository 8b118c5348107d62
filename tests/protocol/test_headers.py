"""Headers against Java's own classes, and through their two forms."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.errors import NullFieldError, NumberFormatError
from fakemq.protocol.header import Header, parse_bool, parse_int, parse_long
from fakemq.protocol.headers.offset import GetMaxOffsetRequestHeader
from fakemq.protocol.headers.send import SendMessageRequestHeader, SendMessageRequestHeaderV2
from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
from tests.support.headers import CLASSES

JAVA_HEADERS = {
    name: fields
    for line in (Path(__file__).parent / "data/java_headers.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
    for name, *fields in [line.split()]
}
CONVERTERS = {
    "String": str,
    "Integer": parse_int,
    "int": parse_int,
    "Long": parse_long,
    "long": parse_long,
    "Boolean": parse_bool,
    "boolean": parse_bool,
}
PRIMITIVES = {"int": 0, "long": 0, "boolean": False}
INITIAL = {"true": True, "false": False, "0": 0}


def test_every_java_header_exists_and_no_other() -> None:
    assert CLASSES.keys() - {"RpcRequestHeader"} == JAVA_HEADERS.keys()


@pytest.mark.parametrize("name", JAVA_HEADERS)
def test_fields_equal_javas(name: str) -> None:
    cls, java = CLASSES[name], JAVA_HEADERS[name]
    assert cls.fast is ("FAST" in java)
    specs = {wire: (attr, converter) for wire, attr, converter in cls.field_specs()}
    java_names = {field.partition(":")[0] for field in java if field != "FAST"}
    if name == "SendMessageRequestHeaderV2":
        java_names.discard("bname")  # travels as n
    assert specs.keys() == java_names
    for field in java:
        wire, _, rest = field.partition(":")
        if wire not in specs:
            continue
        attr, converter = specs[wire]
        type_name, _, initial = rest.partition("=")
        assert converter is CONVERTERS[type_name.rstrip("!")], wire
        if type_name.endswith("!"):
            assert not hasattr(cls, attr), f"{attr} must arrive"
        elif initial:
            assert getattr(cls, attr) == INITIAL[initial], wire
        else:
            assert getattr(cls, attr) == PRIMITIVES.get(type_name), wire


@pytest.mark.parametrize("cls", CLASSES.values())
@given(data=st.data())
@settings(deadline=None, max_examples=5)
def test_encoded_header_is_decoded(cls: type[Header], data: st.DataObject) -> None:
    values: dict[object, st.SearchStrategy[str | int | bool]] = {
        str: st.text(),
        parse_int: st.integers(-(2**31), 2**31 - 1),
        parse_long: st.integers(-(2**63), 2**63 - 1),
        parse_bool: st.booleans(),
    }
    specs = cls.field_specs()
    header = cls(**{attr: data.draw(values[converter]) for _, attr, converter in specs})
    assert cls.decode(header.encode()) == header


def test_v2_header_becomes_v1_and_back() -> None:
    values = ("g", "t", "d", "4", "1", "0", "99", "5", "p", "2", "true", "16", "true", "b")
    fields = dict(zip("abcdefghijklmn", values, strict=True))
    short = SendMessageRequestHeaderV2.decode(fields)
    long = short.to_v1()
    assert type(long) is SendMessageRequestHeader
    assert long.encode() == {
        "producerGroup": "g",
        "topic": "t",
        "defaultTopic": "d",
        "defaultTopicQueueNums": "4",
        "queueId": "1",
        "sysFlag": "0",
        "bornTimestamp": "99",
        "flag": "5",
        "properties": "p",
        "reconsumeTimes": "2",
        "unitMode": "true",
        "maxReconsumeTimes": "16",
        "batch": "true",
        "bname": "b",
    }
    assert SendMessageRequestHeaderV2.from_v1(long).encode() == fields


def test_v1_header_keeps_absent_fields_absent() -> None:
    long = SendMessageRequestHeaderV2.decode({"a": "g"}).to_v1()
    assert long.producer_group == "g"
    assert long.properties is None
    with pytest.raises(NullFieldError, match=r"SendMessageRequestHeader\.topic is null"):
        _ = long.topic


def test_invalid_number_escapes_from_a_fast_header_only() -> None:
    assert GetMaxOffsetRequestHeader.decode({"topic": "t", "queueId": "x"}).topic == "t"
    with pytest.raises(NumberFormatError, match='For input string: "x"'):
        SendMessageRequestHeaderV2.decode({"e": "x"})


def test_boxed_boolean_has_its_initial_value() -> None:
    assert EndTransactionRequestHeader.decode({}).from_transaction_check is False
