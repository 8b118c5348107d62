"""Fields of a JSON file that no bean has: kept beside what was read, and written with it again."""

from __future__ import annotations

from typing import Any

import msgspec

from fakemq.protocol.fastjson import bean_items


def unknown_fields(bean: object, raw: object) -> dict[Any, Any]:
    """Return what ``raw``, the JSON value that ``bean`` was read from, has more; empty if nothing.

    It is nested like ``bean``: beans and maps hold what was found below them.
    """
    if not isinstance(raw, dict) or not isinstance(bean, (msgspec.Struct, dict)):
        return {}
    found = {}
    known: dict[Any, object]
    if isinstance(bean, msgspec.Struct):
        known = dict(bean_items(bean))
        fields = type(bean).__struct_encode_fields__
        found = {key: value for key, value in raw.items() if key not in fields}
    else:
        known = bean
    for key, value in known.items():
        if isinstance(value, (msgspec.Struct, dict)):
            below = unknown_fields(value, raw.get(key))
            if below:
                found[key] = below
    return found


def with_unknown(bean: object, unknown: dict[Any, Any]) -> object:
    """``bean`` for a JSON writer, with the fields that `unknown_fields` found for what it holds."""
    if not unknown or not isinstance(bean, (msgspec.Struct, dict)):
        return bean
    if isinstance(bean, dict):
        return {key: with_unknown(value, unknown.get(key, {})) for key, value in bean.items()}
    fields = type(bean).__struct_encode_fields__
    both = {key: value for key, value in unknown.items() if key not in fields}
    both |= {name: with_unknown(value, unknown.get(name, {})) for name, value in bean_items(bean)}
    return {name: both[name] for name in sorted(both, key=str)}
