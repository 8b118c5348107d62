"""The exceptions and warnings that reach users of fakemq, and the words that many of them share.

FakemqError
 ├─ ConfigError          also a ValueError: an option or a config key has an invalid value
 │   └─ ArgumentError    also a TypeError: an argument is unknown, or of another type
 ├─ StoreError           a store directory cannot be opened, read or written
 ├─ WaitTimeout          also a TimeoutError: the awaited condition did not come true in time
 └─ NotYetSupported      also a NotImplementedError: RocketMQ has it, fakemq does not have it yet
ConfigWarning            a UserWarning: a setting in the config has no effect
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LONGEST_WORD = 200
"""The rest of a longer word is not compared: a peer may send one of megabytes."""
_MOST_LISTED, _MOST_CHARACTERS = 60, 1_000
"""From a list of more or longer known words only the most similar word is printed."""

NO_MEMORY_FOR_COMMAND = (
    "the system refuses memory to fakemq: a higher limit (ulimit -v) or less data would do"
)
"""The text of a MemoryError, which is no bug, where a command ends by it."""
NO_MEMORY = f"{NO_MEMORY_FOR_COMMAND}, and a reset of the cluster frees memory"
"""The same of a cluster that continues, and can be reset."""


class FakemqError(Exception):
    """An error that the user can correct; the text says what is wrong, where, and what is valid."""


class ConfigError(FakemqError, ValueError):
    """An option, or a key of a config, has an invalid value."""


class ArgumentError(ConfigError, TypeError):
    """An argument of a call is unknown, or of a type that it cannot have."""


class StoreError(FakemqError):
    """A store directory cannot be opened, read or written; the text names file and offset."""

    passing = False
    """Whether the same call may succeed later: the disk is full, or the process has no descriptor
    left."""

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))


class NotYetSupported(FakemqError, NotImplementedError):  # noqa: N818 - a state, not a mishap
    """RocketMQ 4.9.7 has this feature; fakemq does not have it yet."""


class WaitTimeout(FakemqError, TimeoutError):  # noqa: N818 - named like the wait it ends
    """The awaited condition did not come true in time.

    The text has the first lines of the cluster's diagnosis, and ends with the journal's tail.
    """

    diagnosis: Sequence[str] = ()
    """All lines of the diagnosis at the end of the wait; a consumer may be closed since."""
    namesrv_addr: str = ""
    """The name server address of the cluster that was waited for."""
    last_seq: int = 0
    """The number of the last journal entry in the text; 0 if there is none."""


class ConfigWarning(UserWarning):
    """A setting in a config has no effect; issued once for each setting."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 message``, ``2 messages``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Return a text with escapes for its control characters and bytes: one line, for any stream."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def printable_lines(text: str) -> str:
    """Return a text with such escapes whose lines stay lines."""
    return "\n".join(map(printable, text.split("\n")))


def _escaped(char: str) -> str:
    # A byte of a file name that is not UTF-8 is half a surrogate pair in Python.
    is_byte = "\udc80" <= char <= "\udcff"
    return f"\\x{ord(char) - 0xDC00:02x}" if is_byte else repr(char)[1:-1]


def did_you_mean(
    word: str, known: Iterable[str], *, cutoff: float = 0.6, lists: bool = True
) -> str:
    """Return the end of an error message about a word that is none of ``known``.

    There are three cases, and case does not matter:
    1. A known word is similar, by ``cutoff`` (0 to 1): ``"; did you mean masters?"``.
    2. None is, and ``lists`` is set: ``"; there are: masters, slaves"``, or for a very long list
       ``"; the nearest is masters"``.
    3. Otherwise "".
    """
    from difflib import get_close_matches  # only an error needs it

    names = list(known)
    word = word[:_LONGEST_WORD]
    folded = {name.casefold(): name for name in reversed(names)}
    near = get_close_matches(word.casefold(), folded, 1, cutoff)
    if near:
        return f"; did you mean {folded[near[0]]}?"
    if lists and (len(names) > _MOST_LISTED or sum(map(len, names)) > _MOST_CHARACTERS):
        (nearest,) = get_close_matches(word.casefold(), folded, 1, cutoff=0.0)
        return f"; the nearest is {folded[nearest]}"
    return f"; there are: {', '.join(names) or 'none'}" if lists else ""
