"""What one broker holds, as a value that outlives the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.config.model import Value
    from fakemq.store.image import StoreImage


class NodeImage(NamedTuple):
    """The store, the config files and the changed settings of one broker at one moment."""

    store: StoreImage
    texts: Mapping[str, str]
    """The texts of its config files (``topics.json``, ...), by file name."""
    config: Mapping[str, Value]
    """The settings that were changed at run time, by attribute of `BrokerConfig`."""
    rules: Mapping[str, object] | None = None
    """The rules of access control; None if there are none, or files keep them."""
