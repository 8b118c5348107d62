"""Topics as users declare them: by name, with a number of queues and, at 5.5.0, a message type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fakemq.config.checked import MAX_QUEUES, whole
from fakemq.errors import ConfigError, did_you_mean
from fakemq.protocol.topics import topic_name_error

if TYPE_CHECKING:
    from fakemq.config.option_types import TopicSettings
    from fakemq.reference import Reference

DEFAULT_QUEUES = 8


class TopicSpec(NamedTuple):
    """A topic at each master."""

    queues: int = DEFAULT_QUEUES
    message_type: str | None = None
    """The attribute ``message.type``; None leaves it as it is, which is ``NORMAL`` at first."""

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that it changes."""
        return {} if self.message_type is None else {"message.type": self.message_type}


def declared_topics(
    topics: Mapping[str, int | TopicSettings] | Iterable[str], reference: Reference | None = None
) -> dict[str, TopicSpec]:
    """Return the topics of an option or an argument.

    It is a mapping of names to queues, or to ``{"queues": 4, "message_type": "FIFO"}``, or lists
    texts NAME:QUEUES and NAME:QUEUES:TYPE. Raise ConfigError, also for types that topics of
    ``reference`` cannot have; None stands for a release that is not known.
    """
    if not isinstance(topics, Iterable):
        raise ConfigError(f'topics={topics!r}: expected {{"orders": 8}}, or NAME:QUEUES texts')
    if not isinstance(topics, Mapping):
        topics = _read_texts([topics] if isinstance(topics, str) else topics)
    return {name: checked_topic(name, _spec(name, of), reference) for name, of in topics.items()}


def _read_texts(texts: Iterable[str]) -> dict[str, TopicSettings]:
    found: dict[str, TopicSettings] = {}
    for text in texts:
        name, *others = str(text).split(":")
        number = others[0] if name and len(others) in (1, 2) else ""
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise ConfigError(
                f"topic {text!r}: expected NAME:QUEUES, such as orders:8, or NAME:QUEUES:TYPE"
            )
        if name in found:
            raise ConfigError(f"topic {name} is given twice; once is enough")
        found[name] = {"queues": int(number)}
        if len(others) == 2:
            found[name]["message_type"] = others[1]
    return found


def _spec(name: str, of: int | TopicSettings) -> TopicSpec:
    if not isinstance(of, Mapping):
        return TopicSpec(of)
    for key in of:
        if key not in TopicSpec._fields:
            raise ConfigError(
                f"topic {name!r} has no {key}{did_you_mean(str(key), TopicSpec._fields)}"
            )
    return TopicSpec(of.get("queues", DEFAULT_QUEUES), of.get("message_type"))


def checked_topic(name: str, spec: TopicSpec, reference: Reference | None = None) -> TopicSpec:
    """Return the topic; raise ConfigError for one that cannot be, as `declared_topics`."""
    error = topic_name_error(name)
    if error is not None:
        raise ConfigError(f"topic {name!r}: {error}")
    whole(f"queues of topic {name}", spec.queues, 1, MAX_QUEUES)
    if spec.message_type is not None:
        try:
            check_message_type(spec.message_type, reference)
        except ConfigError as wrong:
            raise ConfigError(f"topic {name}: {wrong}") from None
    return spec


def check_message_type(value: str, reference: Reference | None) -> None:
    """Raise ConfigError for a type that does not exist, or that ``reference`` does not know."""
    from fakemq.protocol.message_types import MESSAGE_TYPES  # few topics have one

    if value not in MESSAGE_TYPES:
        near = did_you_mean(str(value), MESSAGE_TYPES)
        raise ConfigError(f"no message type is called {value!r}{near}")
    if reference is not None and "attributes" not in reference.topic_settings:
        raise ConfigError(
            f"topics of {reference.name} have no message types: use reference='5.5.0'"
        )
