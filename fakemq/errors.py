"""The exceptions and warnings that reach users of fakemq.

FakemqError
 ├─ ConfigError          also a ValueError: an option or a config key has a value that cannot be
 ├─ StoreError           a store directory cannot be opened, read or written
 ├─ WaitTimeout          also a TimeoutError: what was waited for did not come
 └─ NotYetSupported      also a NotImplementedError: RocketMQ has it, fakemq not yet
ConfigWarning            a UserWarning: something in the config has no effect
"""

from __future__ import annotations


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
