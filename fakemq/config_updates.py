"""Changing a config at run time, from the properties text of an admin's request.

Source: common/Configuration.java#update, common/MixAll.java#properties2Object (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config import Config, keys_of, text_of
from fakemq.dispatch import Refused
from fakemq.errors import ConfigError
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.header import parse_bool

if TYPE_CHECKING:
    from collections.abc import Mapping


def properties_of(body: bytes) -> dict[str, str]:
    """The properties in a request's body; Refused if they cannot be read."""
    import javaproperties  # seldom needed, and the server starts without

    try:
        # Java decodes UTF-8, encodes it again and then reads it as Latin-1.
        return javaproperties.loads(body.decode("utf-8", "replace").encode().decode("latin-1"))
    except ValueError:
        raise Refused(ResponseCode.SYSTEM_ERROR, "string2Properties error") from None


def update(config: Config, properties: Mapping[str, str]) -> list[str]:
    """Set what can be set; gives a warning for each key or value that changed nothing.

    Every word but "true" is false, as Java reads them.
    """
    keys = keys_of(type(config))
    warnings = []
    for name, text in properties.items():
        key = keys.get(name)
        if key is not None and key.type == "bool":
            text = text_of(parse_bool(text))
        try:
            config.set_property(name, text)
        except ConfigError as error:
            warnings.append(str(error))
    return warnings
