"""A config as admins see it, and its changes at run time by the properties text of a request.

Source: common/Configuration.java, common/MixAll.java#properties2Object (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config.model import Config, declared_in, keys_of, text_of
from fakemq.errors import ConfigError
from fakemq.protocol.header import parse_bool
from fakemq.protocol.java import java_concurrent_map_order
from fakemq.protocol.limits import CONFIG_BODY_MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping


_PROPERTIES_CAPACITY = 8
"""The capacity of the map in java.util.Properties, which decides its order."""
UNREADABLE = "string2Properties error"
"""Java's remark for a body that `properties_of` cannot read."""


def properties_text(config: Config) -> str:
    """Return ``key=value`` lines, nothing escaped, in the order of Java's map; 5.5.0 sorts them.

    Java merges the map of each config object into one of all.
    Source: common/Configuration.java#registerConfig, #getAllConfigsFormatString (4.9.7)
    """
    properties, further = config.java_properties(), config.further_properties()
    if config.answers_are_sorted:
        return "".join(f"{name}={text}\n" for name, text in sorted((properties | further).items()))
    names = {key.attribute: key.field_name for key in keys_of(type(config)).values()}
    merged: list[str] = []
    for table in config.tables:
        of_object = [names.get(attribute) for attribute in declared_in(table)]
        found = [name for name in of_object if name in properties]
        merged += java_concurrent_map_order(found, _PROPERTIES_CAPACITY)
    if further:
        in_file = java_concurrent_map_order(list(config.texts), _PROPERTIES_CAPACITY)
        merged += [name for name in in_file if name in further]
        properties |= further
    order = java_concurrent_map_order(merged, _PROPERTIES_CAPACITY)
    return "".join(f"{name}={properties[name]}\n" for name in order)


def properties_of(body: bytes) -> dict[str, str] | None:
    """Return the properties in a request's body; None if it is malformed or too large."""
    from fakemq.config.properties_text import entries  # seldom needed

    try:
        if len(body) > CONFIG_BODY_MAX_BYTES:
            raise ValueError
        # Java decodes UTF-8, encodes it again and then reads it as Latin-1.
        text = body.decode("utf-8", "replace").encode().decode("latin-1")
        return {key: value for _, key, value in entries(text)}
    except ValueError:
        return None


def update(config: Config, properties: Mapping[str, str]) -> list[str]:
    """Set the keys that can be set; return a warning for each key or value without effect.

    Every word but "true" is false, as in Java. A key of auth 2.0 needs a place in the file of the
    start: Java has no other table of them that a request can change, and reads the file again at
    the next start. Source: common/Configuration.java#mergeIfExist, and BrokerController's
    constructor, which does not register AuthConfig (5.5.0)
    """
    from fakemq.config.rows import Flag  # seldom needed

    keys, further = keys_of(type(config)), config.further_properties()
    warnings = []
    for name, text in properties.items():
        key = keys.get(name)
        if name in further:
            config.texts = {**config.texts, name: text}
            if key is None:
                continue
        elif key is not None and key.table in config.of_start:
            warnings.append(f"{name} has no effect: the file of the start does not set it")
            continue
        if key is not None and isinstance(key.row.kind, Flag):
            text = text_of(parse_bool(text))
        try:
            config.set_property(name, text)
        except ConfigError as error:
            warnings.append(str(error))
    return warnings
