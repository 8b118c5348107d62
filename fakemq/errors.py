"""The exceptions and warnings that reach users of fakemq, and the hint that ends many of them.

FakemqError
 ├─ ConfigError          also a ValueError: an option or a config key has a value that cannot be
 ├─ StoreError           a store directory cannot be opened, read or written
 ├─ WaitTimeout          also a TimeoutError: what was waited for did not come
 └─ NotYetSupported      also a NotImplementedError: RocketMQ has it, fakemq not yet
ConfigWarning            a UserWarning: something in the config has no effect
"""

from __future__ import annotations

from collections.abc import Iterable

_MOST_LISTED = 60
"""A longer list of known words is not printed; the most similar one is."""


class FakemqError(Exception):
    """Something a user can put right; the text says what was wrong, where, and what would do."""


class ConfigError(FakemqError, ValueError):
    """An option, or a key of a config, has a value that cannot be."""


class StoreError(FakemqError):
    """A store directory cannot be opened, read or written; the text names file and offset."""


class NotYetSupported(FakemqError, NotImplementedError):  # noqa: N818 - a state, not a mishap
    """RocketMQ 4.9.7 has this and fakemq does not have it yet."""


class WaitTimeout(FakemqError, TimeoutError):  # noqa: N818 - named like the wait it ends
    """What was waited for did not come; the text ends with the journal's tail."""


class ConfigWarning(UserWarning):
    """Something in a config has no effect; said once."""


def did_you_mean(
    word: str, known: Iterable[str], *, cutoff: float = 0.6, lists: bool = True
) -> str:
    """Return the end of an error message about a word that is none of ``known``.

    There are three cases, and case does not matter:
    1. A known word is similar, by ``cutoff`` (0 to 1): ``"; did you mean masters?"``.
    2. None is, and ``lists`` is set: ``"; there are: masters, slaves"``; of a very long list only
       the most similar word is printed.
    3. Otherwise "".
    """
    from difflib import get_close_matches  # only an error needs it

    names = list(known)
    folded = {name.casefold(): name for name in reversed(names)}
    if lists and len(names) > _MOST_LISTED:
        cutoff = 0.0
    near = get_close_matches(word.casefold(), folded, 1, cutoff)
    if near:
        return f"; did you mean {folded[near[0]]}?"
    return f"; there are: {', '.join(names) or 'none'}" if lists else ""
