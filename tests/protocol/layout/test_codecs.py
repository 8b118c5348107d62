"""Codec and declaration agree both ways, on what is well formed and on what is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from construct import (  # type: ignore[import-untyped]
    Bytes,
    BytesInteger,
    Construct,
    ConstructError,
    FormatField,
    IfThenElse,
    Prefixed,
    SizeofError,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.errors import (
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    TruncatedError,
)
from fakemq.protocol.layout import autoswitch_codecs, codecs, derive, timer_codecs

LAYOUTS = derive.LAYOUTS | derive.TIMER_LAYOUTS | derive.AUTOSWITCH_LAYOUTS
EVERY_LAYOUT = pytest.mark.parametrize("name", LAYOUTS)


def codec(kind: str, name: str) -> Callable[..., Any]:
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    modules = dict.fromkeys(derive.TIMER_LAYOUTS, timer_codecs)
    modules |= dict.fromkeys(derive.AUTOSWITCH_LAYOUTS, autoswitch_codecs)
    module = modules.get(name, codecs)
    function: Callable[..., Any] = getattr(module, f"{kind}_{snake}")
    return function


def has_fixed_size(layout: Construct) -> bool:
    try:
        layout.sizeof()
    except SizeofError:
        return False
    return True


def integers(con: Construct) -> st.SearchStrategy[int]:
    bits = con.length * 8
    signed = con.signed if isinstance(con, BytesInteger) else con.fmtstr[1:].islower()
    if signed:
        return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    return st.integers(0, (1 << bits) - 1)


@st.composite
def fields(draw: st.DrawFn, layout: Construct) -> dict[str, Any]:
    """Values for every field that is not computed."""
    made: dict[str, Any] = {}
    for renamed in layout.subcons:
        con = renamed.subcon
        if isinstance(con, FormatField | BytesInteger):
            made[renamed.name] = draw(integers(con))
        elif isinstance(con, Prefixed | Bytes):
            made[renamed.name] = draw(st.binary(max_size=40))
        elif isinstance(con, IfThenElse):
            chosen = con.thensubcon if con.condfunc(made) else con.elsesubcon
            made[renamed.name] = draw(st.binary(min_size=chosen.length, max_size=chosen.length))
    return made


def parsed(name: str, data: bytes) -> tuple[Any, ...]:
    """What the declaration reads, in the form of the codec."""
    layout = LAYOUTS[name]
    container = layout.parse(data)
    values = [container[renamed.name] for renamed in layout.subcons]
    if not has_fixed_size(layout):
        values.append(len(layout.build(container)))
    return tuple(values)


@EVERY_LAYOUT
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_codec_and_declaration_agree_on_well_formed_bytes(name: str, data: st.DataObject) -> None:
    made = data.draw(fields(LAYOUTS[name]))
    expected = LAYOUTS[name].build(made)
    built = codec("build", name)(*made.values())
    assert built == expected
    read = codec("parse", name)(built)
    assert read == parsed(name, expected)
    assert codec("parse", name)(memoryview(b"??" + built + b"!"), 2) == (
        read if has_fixed_size(LAYOUTS[name]) else (*read[:-1], read[-1] + 2)
    )


@EVERY_LAYOUT
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_codec_and_declaration_agree_on_truncated_bytes(name: str, data: st.DataObject) -> None:
    whole = LAYOUTS[name].build(data.draw(fields(LAYOUTS[name])))
    for end in range(len(whole)):
        with pytest.raises(ConstructError):
            LAYOUTS[name].parse(whole[:end])
        with pytest.raises(TruncatedError, match=name):
            codec("parse", name)(whole[:end])


@EVERY_LAYOUT
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_codec_and_declaration_agree_on_damaged_bytes(name: str, data: st.DataObject) -> None:
    made = bytearray(LAYOUTS[name].build(data.draw(fields(LAYOUTS[name]))))
    # Small numbers make lengths that are wrong but possible.
    for at in data.draw(st.lists(st.integers(0, len(made) - 1), min_size=1, max_size=4)):
        made[at] = data.draw(st.sampled_from([0, 1, 2, 0x10, 0x20, 0x30, 0x7F, 0x80, 0xFF]))
    damaged = bytes(made) + data.draw(st.binary(max_size=40))
    try:
        expected: tuple[Any, ...] | None = tuple(
            LAYOUTS[name].parse(damaged)[renamed.name] for renamed in LAYOUTS[name].subcons
        )
    except ConstructError:
        expected = None
    if expected is None:
        with pytest.raises(RemoteProtocolError):
            codec("parse", name)(damaged)
    else:
        assert codec("parse", name)(damaged)[: len(expected)] == expected


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "Blank"])
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_codec_and_declaration_refuse_the_same_values(name: str, data: st.DataObject) -> None:
    made = data.draw(fields(LAYOUTS[name]))
    for field, value in made.items():
        if isinstance(value, int):
            with pytest.raises(LocalProtocolError, match=name):
                codec("build", name)(*(made | {field: 1 << 64}).values())


def test_record_rejects_hosts_that_contradict_its_flags() -> None:
    arguments = (0, 0, 0, 0, 0, 0x10, 0, bytes(8), 0, bytes(8), 0, 0, b"", b"", b"")
    with pytest.raises(LocalProtocolError, match=r"Record\.born_host of 8 bytes"):
        codecs.build_record(*arguments)
    with pytest.raises(LocalProtocolError, match=r"Record: "):
        codec("build", "Record")(*arguments[:5], 0, *arguments[6:-2], b"t" * 128, b"")


def test_negative_length_is_an_error_of_its_own() -> None:
    with pytest.raises(RemoteProtocolError, match=r"ExtField\.key of -1 bytes") as caught:
        codecs.parse_ext_field(b"\xff\xff\0\0\0\0")
    assert not isinstance(caught.value, TruncatedError)


def test_record_without_its_magic_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"Record\.magic_code is 0, not -626843481"):
        codecs.parse_record(bytes(100))


def test_known_bytes_are_written() -> None:
    assert codecs.build_consume_queue_unit(0, 0x7FFFFFFF, 0).hex() == (
        "00000000000000007fffffff0000000000000000"
    )
    assert codecs.build_blank(16).hex() == "00000010cbd43194"
    assert codecs.build_frame(0, b"{}", b"b").hex() == "00000007000000027b7d62"
    assert codecs.CONSUME_QUEUE_UNIT.size == 20
    assert codecs.INDEX_HEADER.size == 40
    assert codecs.INDEX_ENTRY.size == 20
