"""Writes to the journal what access control refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from fakemq.broker.acl.errors import AclError
from fakemq.events.core import AccessRefused
from fakemq.journal.journal import shortened
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.acl.permissions import Perm
    from fakemq.journal.journal import Journal

NAMED_AT_MOST = 8
"""How many groups, and topics, an entry names: a request may name very many."""


def note_refusal(
    journal: Journal,
    *,
    node: str,
    peer: str,
    host: str,
    needed: Callable[[], Mapping[str, Perm]],
    why: str,
) -> None:
    """Write that a request was refused, with the groups and topics that it is about.

    ``needed`` returns what it asks for; if it raises AclError, the request cannot be read.
    """
    try:
        names = needed()
    except AclError:
        names = {}
    groups = (name.removeprefix(RETRY_PREFIX) for name in names if name.startswith(RETRY_PREFIX))
    topics = (name for name in names if not name.startswith(RETRY_PREFIX))
    journal.add(
        AccessRefused(
            node=node,
            peer=peer,
            host=host,
            groups=tuple(map(shortened, islice(groups, NAMED_AT_MOST))),
            topics=tuple(map(shortened, islice(topics, NAMED_AT_MOST))),
            why=shortened(why),
        )
    )
