"""What all producers have in common: their settings."""

from __future__ import annotations

from collections.abc import Mapping

from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.settings import settled
from fakemq.client.producing.settings import ProducerSettings
from fakemq.errors import ConfigError


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
