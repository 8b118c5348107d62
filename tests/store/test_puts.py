"""The results of puts, whole and in parts."""

from __future__ import annotations

from fakemq.store.puts import appended


def test_part_of_an_empty_put_is_empty() -> None:
    result = appended(512, 0, 1, 7, "", "orders", 0, 0, [], b"")
    part = result.part(0, 5)
    assert (part.wrote_offset, part.wrote_bytes, part.msg_num) == (512, 0, 0)
