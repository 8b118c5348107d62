"""The README's examples that stand by themselves do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def example(heading: str) -> str:
    """The first Python block below a heading."""
    section = README.read_text().partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    return section.partition("```python\n")[2].partition("```")[0]


@pytest.mark.parametrize("heading", ["## Slaves"])
def test_an_example_runs(heading: str) -> None:
    source = example(heading)
    assert source
    exec(compile(source, str(README), "exec"), {})
