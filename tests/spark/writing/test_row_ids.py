"""Unique ids of rows: equal for equal rows in any order, different for each row of a write."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fakemq.spark.writing.row_ids import RowIds

CONTENTS = st.lists(st.lists(st.integers(0, 9), max_size=30), max_size=20)


def names(batches: list[list[int]], scope: str = "w", prefix: str = "0") -> list[tuple[int, str]]:
    ids = RowIds(scope, prefix)
    found = []
    for batch in batches:
        digests = [ids.digest(b"", b"%d" % content) for content in batch]
        again = ids.again(digests)
        found += [
            (content, ids.name(digest, again.get(index, 0)))
            for index, (content, digest) in enumerate(zip(batch, digests, strict=True))
        ]
    return found


@given(CONTENTS, st.randoms(use_true_random=False))
def test_equal_rows_have_equal_ids_in_any_order_and_grouping(
    batches: list[list[int]], chance: object
) -> None:
    rows = [content for batch in batches for content in batch]
    once = names(batches)
    assert len({name for _, name in once}) == len(rows)
    chance.shuffle(rows)  # type: ignore[attr-defined]
    assert Counter(names([rows[:7], rows[7:]])) == Counter(once)


def test_ids_differ_by_scope_prefix_and_content() -> None:
    found = {
        names([[1]], scope, prefix)[0][1] for scope in ("w", "v") for prefix in ("0", "1", "7-1")
    }
    assert len(found) == 6
    ids = RowIds("w", "7-1")
    assert ids.digest(b"a", b"b") != ids.digest(b"", b"ab") != ids.digest(b"ab", b"")
    assert ids.name(bytes(16), 2) == f"7-1-{'0' * 32}-2"
