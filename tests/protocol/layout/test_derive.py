"""The generated codecs of records are those that the declared layout yields."""

from __future__ import annotations

from pathlib import Path

import pytest
from construct import (  # type: ignore[import-untyped]
    CString,
    Int16ul,
    Int32sb,
    Struct,
    Switch,
    this,
)

from fakemq.protocol.layout import derive


def test_committed_codecs_equal_the_derived_ones() -> None:
    for name, text in derive.sources().items():
        committed = Path(derive.__file__).with_name(name).read_text(encoding="utf-8")
        assert committed == text, "run python -m fakemq.protocol.layout.derive"


@pytest.mark.parametrize(
    "layout",
    [
        Struct("text" / CString("utf8")),
        Struct("kind" / Int32sb, "body" / Switch(this.kind, {})),
    ],
)
def test_unknown_construct_stops_the_derivation(layout: Struct) -> None:
    with pytest.raises(NotImplementedError, match=r"Odd\.(text|body)"):
        derive.derive("Odd", layout)


def test_only_big_endian_is_derived() -> None:
    with pytest.raises(AssertionError, match="big endian"):
        derive.derive("Odd", Struct("little" / Int16ul))
