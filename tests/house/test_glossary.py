"""Plain technical English: words that a reader has to translate do not come back.

The list counts whole words in sources, tests and docs, parts of identifiers included:
``stand_still`` and ``told_by`` count, ``untold`` does not. A word with its usual technical
replacement is one line of `GLOSSARY`.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.imports import ROOT

GLOSSARY = {
    "nobody": "no caller, no peer, no client",
    "whoever": "the caller, the peer, the owner",
    "who": "the caller, the peer, the client, the broker",
    "befall|befalls|befell|befalling": "affect, apply",
    "owed": "caused by",
    "owes": "is caused by",
    "told": "notified, replied, given",
    "tells": "notifies, returns, says",
    "heard": "received, acknowledged",
    "hears": "receives, is notified",
    "gives": "returns",
    "offence|offences": "violation, warning",
    "hasten|hastens": "sync now, bring forward",
    "so many": "this number of",
    "so far as": "as far as",
    "is so": "is true, holds",
    "go on|goes on|going on": "continue, resume",
    "let go|lets go": "release, drop",
    "stand still|stands still|stood still": "hold, stop",
    "keep house|keeps house": "housekeeping",
    "fellow|fellows": "neighbour, the others",
    "for all that|all the same": "nevertheless, still",
}
"""Words and phrases that are not used, and what is written instead."""

WORD = re.compile(
    r"(?<![A-Za-z])(?<!CONSUME_BY_)(?:"
    + "|".join(one.replace(" ", "[ _]") for words in GLOSSARY for one in words.split("|"))
    + r")(?![a-z])",
    re.IGNORECASE,
)

PUBLISHED = re.compile(
    'QUERY_TOPIC_CONSUME_BY_WHO|WHO_CONSUME_THE_MESSAGE|"offences"', re.IGNORECASE
)
"""Names with such a word that cannot change: two are RocketMQ's, one a kind of timer."""

PLACES = ("fakemq", "protocol", "fixtures", "tests", "conformance", "bench", "docs", "README.md")
TEXTS = (".py", ".md")
EXEMPT = ("tests/house/test_glossary.py",)


def texts(place: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", place], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return [name for name in listed if name.endswith(TEXTS) and name not in EXEMPT]


def findings(place: str) -> list[str]:
    """``file:line: word`` for each word of the glossary in a folder or file."""
    found = []
    for name in texts(place):
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            line = PUBLISHED.sub("", line)
            found += [f"{name}:{number}: {match[0]}" for match in WORD.finditer(line)]
    return found


@pytest.mark.parametrize("place", PLACES)
def test_text_uses_no_word_of_the_glossary(place: str) -> None:
    assert not findings(place)


if __name__ == "__main__":
    import sys

    print(*(line for place in sys.argv[1:] or PLACES for line in findings(place)), sep="\n")
