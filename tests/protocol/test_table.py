"""The table says the same to the type checker as at run time, and leaves nothing out."""

from __future__ import annotations

import pytest

from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.header import Header
from fakemq.protocol.table import NoHeader, Row, rows

ROWS = {name: value for name, value in vars(table).items() if isinstance(value, Row)}


def test_every_code_has_one_row_under_its_own_name_and_in_order() -> None:
    assert {name: row.code for name, row in ROWS.items()} == dict(RequestCode.__members__)
    assert [row.code for row in rows()] == list(RequestCode)


@pytest.mark.parametrize("name", ROWS)
def test_annotations_name_the_loaded_classes(name: str) -> None:
    def called(header: type[Header]) -> str:
        module = header.__module__.removeprefix("fakemq.protocol.headers.")
        return "NoHeader" if header is NoHeader else f"{module}.{header.__name__}"

    row = ROWS[name]
    loaded = f"Row[{called(row.request_header)}, {called(row.response_header)}]"
    assert table.__annotations__[name] == loaded


def test_repr_of_a_row_shows_its_code() -> None:
    assert repr(table.HEART_BEAT) == "<HEART_BEAT (34) NoHeader NoHeader>"
    assert "send.SendMessageRequestHeaderV2" in repr(table.SEND_MESSAGE_V2)
