"""The pages of docs/, and the code in them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: Path, language: str = "python") -> list[str]:
    """Every code block of a page in one language, in the page's order."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)
