"""The options of a data source: names in any case, each name known, each value checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from fakemq.errors import ConfigError, did_you_mean
from fakemq.protocol.java import LONG_MAX

T = TypeVar("T")

PASS_THROUGH = "rocketmq."
"""The prefix of client settings; `fakemq.spark.connection` knows their names."""


class Options:
    """The options given by ``.option(…)``; ``source`` is the format's name for error messages.

    Names are compared without case, as everywhere in Spark.
    """

    def __init__(self, source: str, given: Mapping[str, str]) -> None:
        self.source = source
        self._given = {name.lower(): value for name, value in given.items()}

    def require_known(self, known: Iterable[str]) -> None:
        """Raise ConfigError for an option that is not in ``known``, with a hint."""
        spelt = {name.lower(): name for name in known}
        for name in self._given:
            if name in spelt or name.startswith(PASS_THROUGH):
                continue
            hint = did_you_mean(name, spelt.values())
            raise ConfigError(f"{self.source}: there is no option {name}{hint}")

    def text(self, name: str) -> str | None:
        """Return the value of an option, stripped; None if it was not given."""
        value = self._given.get(name.lower())
        return None if value is None else str(value).strip()

    def flag(self, name: str, default: bool) -> bool:
        """Return a flag. Raise ConfigError unless it is written ``true`` or ``false``."""
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise self.bad(name, "true or false")
        return text.lower() == "true"

    def number(self, name: str, default: T, *, least: int = 0, most: int = LONG_MAX) -> int | T:
        """Return an integer from ``least`` to ``most``; ``default`` if it was not given.

        Raise ConfigError for another value.
        """
        text = self.text(name)
        if text is None:
            return default
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            limit = "on" if value < least else f"to {most}"
            raise self.bad(name, f"a whole number from {least} {limit}")
        return value

    def bad(self, name: str, wanted: str) -> ConfigError:
        """Return the error for an option whose value is invalid."""
        return ConfigError(
            f"{self.source}: option {name} is {self.text(name)!r}, expected {wanted}"
        )

    def under(self, prefix: str) -> dict[str, str]:
        """Return the options that begin with ``prefix``; keys are the rest, in lower case."""
        return {
            name.removeprefix(prefix): str(value).strip()
            for name, value in self._given.items()
            if name.startswith(prefix)
        }
