"""The properties of a message as 5.5.0 writes them: a separator stands behind the last entry, too.

Source: common/message/MessageDecoder.java#messageProperties2String (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.properties import (
    PROPERTY_SEPARATOR,
    MadeProperties,
    TextForm,
    form_entry,
    keep_form,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

READ_BUCKETS: Final = 128
"""Of the map into which 5.5.0 reads properties. Source: #string2messageProperties (5.5.0)"""


_forms: Final[dict[tuple[str | None, int, tuple[str, ...]], TextForm]] = {}
"""As in `fakemq.protocol.properties`, also by the number of buckets."""


def as_read(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties in the order of the map into which 5.5.0 reads them."""
    return {name: properties[name] for name in java_hash_map_order(properties, READ_BUCKETS)}


def encode_properties(properties: Mapping[str, str], without: str | None = None) -> str:
    """``properties`` as a string, in the order of the HashMap that 5.5.0 has them in.

    That is the one of properties that were read, unless they are `MadeProperties`.
    """
    names = tuple(properties)
    buckets = properties.buckets if isinstance(properties, MadeProperties) else READ_BUCKETS
    form = _forms.get((without, buckets, names))
    if form is None:
        entries = [name for name in java_hash_map_order(names, buckets) if name != without]
        text = "".join(form_entry(name) + PROPERTY_SEPARATOR for name in entries)
        form = TextForm(text, values_of(entries))
        keep_form(_forms, (without, buckets, names), form, names)
    text, values = form
    return text % values(properties)
