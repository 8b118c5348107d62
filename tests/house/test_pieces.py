"""The pieces in which workers of xdist take tests."""

from __future__ import annotations

from tests.support.pieces import SIZE, pieces


def test_pieces_are_groups_and_parts_of_files() -> None:
    many = [f"tests/test_a.py::test_one[{number}]" for number in range(SIZE + 1)]
    found = pieces(["tests/test_b.py::test_two", *many, "tests/test_b.py::test_three[a]@crowded"])
    assert found == {
        "tests/test_b.py::test_two": "tests/test_b.py 0",
        **dict.fromkeys(many[:SIZE], "tests/test_a.py 0"),
        many[SIZE]: "tests/test_a.py 1",
        "tests/test_b.py::test_three[a]@crowded": "crowded",
    }
