"""Writes to the journal what access control refused."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from fakemq.broker.acl.errors import AclError
from fakemq.events.core import AccessRefused
from fakemq.journal.journal import shortened
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.journal.journal import Journal

NAMED_AT_MOST = 8
"""How many groups, and topics, an entry names: a request may name very many."""
LOOKS_AT_MOST = 200
"""How many needs of a request are read for that."""


def note_refusal(
    journal: Journal,
    *,
    node: str,
    peer: str,
    host: str,
    needs: Iterable[tuple[str | None, object]],
    why: str,
) -> None:
    """Write that a request was refused, with the groups and topics that it is about.

    ``needs`` is what it asks for. Only the first are read, as the caller may have no right to
    anything; if that raises AclError, the request cannot be read.
    """
    groups, topics = dict[str, None](), dict[str, None]()
    with suppress(AclError):
        for name, _ in islice(needs, LOOKS_AT_MOST):
            if name is not None:
                is_group = name.startswith(RETRY_PREFIX)
                found = groups if is_group else topics
                if len(found) < NAMED_AT_MOST:
                    found[shortened(name.removeprefix(RETRY_PREFIX) if is_group else name)] = None
            if len(groups) == len(topics) == NAMED_AT_MOST:
                break
    journal.add(
        AccessRefused(
            node=node,
            peer=peer,
            host=host,
            groups=tuple(groups),
            topics=tuple(topics),
            why=shortened(why),
        )
    )
