"""The pages of docs/, and the code in them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: Path, language: str = "python") -> list[str]:
    """Every code block of a page in one language, in the page's order; none that is a file."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def files(page: Path) -> dict[str, str]:
    """The code blocks of a page that are files of a project: path, which is the title → text."""
    titled = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
    return dict(titled.findall(page.read_text()))
