"""The tests of docs/spark_testing.md, as they stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/spark_testing.md"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]  # streams: a second a batch


def python_of(page: str) -> str:
    """The Python of a page, each line where it is there, so that tracebacks point at the page."""
    is_code = False
    lines = []
    for line in page.splitlines():
        fence = line.startswith("```")
        lines.append(line if is_code and not fence else "")
        is_code = line == "```python" if fence else is_code
    return "\n".join(lines)


exec(compile(python_of(PAGE.read_text()), str(PAGE), "exec"))
