"""What all producers have in common: their settings, and their requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.messages import SendOptions, as_message, choice_of, request_limit_ms
from fakemq.client.faces.settings import settled
from fakemq.client.producing.settings import ProducerSettings
from fakemq.errors import ConfigError

if TYPE_CHECKING:
    from fakemq.client.messages import Message
    from fakemq.client.producing.producer import ProducerCore
    from fakemq.client.tasks import Task
    from fakemq.protocol.message import MessageExt


def producer_settings(
    face: str, options: Mapping[str, object], group: str, kind: Kind
) -> ProducerSettings:
    """Return the checked settings; ``kind`` is which functions may be its ``check``."""
    check = options.get("check")
    if check is not None:
        require_function("check", check, ("message",), kind, face)
    settings = settled(face, ProducerSettings, options, group=group)
    steps, durations = settings.latency_max_ms, settings.not_available_duration_ms
    if len(steps) != len(durations):
        raise ConfigError(
            f"latency_max_ms={steps!r} and not_available_duration_ms={durations!r}: expected as"
            " many times of each"
        )
    return settings


def requesting(
    core: ProducerCore, message: Message | str, body: bytes | str | None, options: SendOptions
) -> Task[MessageExt]:
    """Return the task of a request with these arguments of the user."""
    limit_ms = request_limit_ms(options)
    message = as_message(message, body, options, "request")
    return core.request(message, limit_ms, **choice_of(options))
