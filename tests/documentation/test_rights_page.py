"""docs/rights.md is what the table of rights says."""

from __future__ import annotations

from tests.support.pages import DOCS
from tests.support.rights_page import rights_page


def test_page_says_what_the_table_says() -> None:
    text = (DOCS / "rights.md").read_text(encoding="utf-8")
    assert text == rights_page(), "run python -m tests.support.rights_page"
