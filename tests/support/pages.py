"""The pages of docs/, and the code in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: Path, language: str = "python") -> list[str]:
    """Every code block of a page in one language, in the page's order; none that is a file."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def files(page: Path) -> dict[str, str]:
    """The code blocks of a page that are files of a project: path, which is the title → text."""
    titled = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
    return dict(titled.findall(page.read_text()))


def run_block(
    page: str, number: int, given: Mapping[str, object], replaced: Mapping[str, str]
) -> dict[str, Any]:
    """Run one Python block of a page, and return its variables.

    ``given`` has the variables that the page takes for granted. ``replaced`` has the texts that are
    for a reader, such as the name of a folder, and what a test has for them.
    """
    source = blocks(DOCS / page)[number]
    for text, replacement in replaced.items():
        assert text in source, f"{page} has no {text}"
        source = source.replace(text, replacement)
    names: dict[str, Any] = {**given}
    exec(compile(source, page, "exec"), names)
    return names
