"""What is drawn, how a sequence is kept, and which differences are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from conformance.differ import drawing, searching
from conformance.differ.accepted import Accepted, accepted, fake_says
from conformance.differ.drawing import CODES, sequences, values
from conformance.differ.left_out import LEFT_OUT
from conformance.differ.pair import Difference, Pair
from conformance.differ.playing import Block
from conformance.differ.searching import kind_of, search
from conformance.differ.sequences import KEPT, Sequence, Step, load, replaced, save
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode

STEP = Step(10, {"topic": "<A>"}, "b\x01\x02é", binary=True, batch=(("one", "a\x01b"),))


def test_every_code_is_drawn_or_left_out_with_a_reason() -> None:
    known = {row.code for row in table.rows()}
    assert set(CODES) | set(LEFT_OUT) == known
    assert not set(CODES) & set(LEFT_OUT)
    assert set(RequestCode) == known


def test_every_field_of_a_drawn_code_has_values() -> None:
    for row in table.rows():
        if row.code in CODES:
            for wire, _, _ in row.request_header.field_specs():
                likely, odd = values(row.code, wire)
                assert likely, (row, wire)
                assert odd, (row, wire)
    used = {w for row in table.rows() for w, _, _ in row.request_header.field_specs()}
    assert set(drawing.VALUES) <= used


def test_no_pull_is_held() -> None:
    likely, odd = values(RequestCode.PULL_MESSAGE, "sysFlag")
    assert not any(int(one) & 2 for one in (*likely, *odd) if one.isdigit() and int(one) < 2**31)


@settings(max_examples=30)
@given(sequences())
def test_drawn_sequence_survives_its_file(
    tmp_path_factory: pytest.TempPathFactory, sequence: tuple[Step, ...]
) -> None:
    path = tmp_path_factory.mktemp("kept") / "one.json"
    save(sequence, path)
    assert load(path) == sequence


def test_names_of_a_run_replace_those_in_brackets() -> None:
    stored = {"place": ["70", "90"], "id": [], "offset": ["3"]}
    text = "%RETRY%<G> <place 0> <place 3> <id 1> <offset 0> <Z> <absent>"
    assert replaced(text, "007", stored) == "%RETRY%DifferG007 70 90 0 3 <Z> <absent>"


def test_batch_of_a_step_is_the_body() -> None:
    assert STEP.body_bytes(str.upper).endswith(b"ONE\0\3A\1B")
    assert Step(10, body="x").body_bytes(str.upper) == b"X"


def test_accepted_difference_is_about_its_code_and_its_words() -> None:
    java = Block("1. GET_MAX_OFFSET", 30, ("    remark: null pointer, no ext fields",))
    ours = Block("1. GET_MAX_OFFSET", 30, ("    remark: no topic",))
    row = Accepted("w", "y", ("GET_MAX_OFFSET",), "null pointer", "no topic", ends=True)
    assert fake_says(java, ours, []) == (("    remark: null pointer",), False)
    assert fake_says(java, ours, [row]) == (ours.lines, True)
    other = Accepted("w", "y", ("GET_MIN_OFFSET",), "null pointer", "no topic")
    assert fake_says(java, ours, [other])[0] != ours.lines
    at_end = Accepted("w", "y", ("offsetTable",), "", "")
    tables = Block("offsetTable", 0, ("a",)), Block("offsetTable", 0, ())
    assert fake_says(*tables, [at_end]) == ((), False)


def test_rows_of_accepted_differences_name_codes_and_have_reasons() -> None:
    for row in accepted():
        assert row.what
        assert row.why
        assert row.about
        codes = [RequestCode[name] for name in row.about if name.isupper()]
        assert not set(codes) & set(LEFT_OUT)


def test_kind_of_a_difference_does_not_depend_on_numbers() -> None:
    one = Difference("1. GET_MAX_OFFSET", 30, ("  offset: 1", "  same"), ("  offset: 2", "  same"))
    two = Difference("7. GET_MAX_OFFSET", 30, ("  offset: 33",), ("  offset: 4",))
    assert kind_of(one) == kind_of(two)
    assert kind_of(one) != kind_of(two._replace(title="7. GET_MIN_OFFSET"))


class SlowPair(Pair):
    """Two clusters that always differ; each sequence takes a second of a time of their own."""

    def __init__(self) -> None:
        super().__init__([])
        self.now_ms = 0

    def difference(self, sequence: Sequence) -> Difference:
        self.now_ms += 1_000
        return Difference(f"1. {sequence[0].code}", 1, (), ("one",))


def test_search_has_one_budget_for_all_its_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowPair()
    monkeypatch.setattr(searching, "real_elapsed_ms", lambda: slow.now_ms)
    found = list(search(slow, 1_000, 1, most_found=10, at_most_ms=20_000))
    assert found
    assert slow.now_ms <= 25_000, "the last finding is played a few times more"


def test_kept_sequences_are_sequences() -> None:
    for path in sorted(KEPT.glob("*.json")):
        assert load(Path(path)), path
