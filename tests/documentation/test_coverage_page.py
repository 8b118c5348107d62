"""docs/coverage.md is what the tables of codes say."""

from __future__ import annotations

from tests.support.coverage_page import coverage_page
from tests.support.pages import DOCS


def test_page_is_that_of_the_tables() -> None:
    text = (DOCS / "coverage.md").read_text(encoding="utf-8")
    assert text == coverage_page(), "run python -m tests.support.coverage_page"
