"""Sentences of README and docs are short: a reader of a second language reads each one once.

A sentence ends with a full stop, a question mark or an exclamation mark. Code in backticks is one
word, the address of a link none. Tables, headings and blocks of code are not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.support.imports import ROOT

LONGEST = 25
"""Words."""

MOST_PERCENT = 8
"""Of all sentences may be longer."""

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and the items of lists."""
    lines: list[str] = []
    for line in [
        *re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines(),
        "",
    ]:
        ends = not line.strip() or line.startswith(("#", "|", "<"))
        if lines and (ends or _ITEM.match(line)):
            yield " ".join(lines)
            lines = []
        if not ends:
            lines.append(line.strip())


def sentences(text: str) -> list[str]:
    """Return the sentences of a page."""
    found = []
    for paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", paragraph))
        found += re.split(r"(?<=[.!?])[)\"]?\s+", plain)
    return found


def is_long(sentence: str) -> bool:
    """Return whether a sentence has too many words."""
    return len(sentence.split()) > LONGEST


def shares(pages: dict[str, list[str]]) -> str:
    """Return the pages with the most long sentences, and the first of each."""
    long = {name: [*filter(is_long, found)] for name, found in pages.items()}
    worst = sorted((len(found), name) for name, found in long.items() if found)[-10:]
    return "\n".join(
        f"{name}: {count}, such as: {long[name][0]}" for count, name in reversed(worst)
    )


def test_sentence_is_found_in_prose_and_lists_only() -> None:
    text = "# No\n\nOne `a. b` two.\nThree?\n- Four [five. six](x. y).\n\n| no. no |\n\n"
    text += "```sh\nno. no\n```\n"
    assert sentences(text) == ["One code two.", "Three?", "- Four [five.", "six]."]


def test_few_sentences_are_long() -> None:
    pages = {path.relative_to(ROOT).as_posix(): sentences(path.read_text()) for path in PAGES}
    every = [one for found in pages.values() for one in found]
    long = sum(map(is_long, every))
    assert len(every) > 1500
    assert long * 100 < MOST_PERCENT * len(every), f"{long} of {len(every)}\n{shares(pages)}"
