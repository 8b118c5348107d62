"""The control port: its address, and the token that its users need."""

from __future__ import annotations

import msgspec

from fakemq.config.checked import whole
from fakemq.errors import ConfigError


class ControlSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The address and port of the control port, and the token that its users need."""

    port: int
    listen: str
    token: str | None

    def __repr__(self) -> str:  # without the token: reports of tests show arguments
        return f"ControlSpec(port={self.port}, listen={self.listen!r})"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the port."""
        return self.listen in ("localhost", "::1") or self.listen.startswith("127.")


def control_spec(port: int | None, listen: str, token: str | None) -> ControlSpec | None:
    """Return the control port of the options, None without one; raise ConfigError."""
    if port is None:
        if token:
            raise ConfigError("control_token needs a control_port")
        return None
    whole("control_port", port, 0, 65535)
    if token == "":
        raise ConfigError("control_token is empty: expected some text, or no token at all")
    if token and not (token.isprintable() and token == token.strip()):
        raise ConfigError(
            "control_token has blanks at an end, or characters that no HTTP header carries:"
            " expected printable text"
        )
    spec = ControlSpec(port=port, listen=listen, token=token)
    if not (token or spec.on_loopback):
        raise ConfigError(
            f"control_listen={listen}: any peer that reaches the control port controls the"
            " cluster; away from loopback it needs a control_token"
        )
    from importlib.util import find_spec

    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise ConfigError(
            f"control_port={port} needs an extra that is not installed:"
            " pip install 'fakemq[control]'"
        )
    return spec
