"""Permissions: how rules write them, and whether an account has what a request needs.

What requests need is in `fakemq.broker.acl.rights`.

Source: acl/common/Permission.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag

from fakemq.broker.acl.errors import AclError
from fakemq.protocol.topics import RETRY_PREFIX, retry_topic


class Perm(IntFlag):
    """Permissions for one topic or group."""

    DENY = 1
    ANY = 1 << 1
    PUB = 1 << 2
    SUB = 1 << 3


_DENY, _ANY, _BOTH = int(Perm.DENY), int(Perm.ANY), int(Perm.PUB | Perm.SUB)
_BY_TEXT = {
    "PUB": Perm.PUB,
    "SUB": Perm.SUB,
    "PUB|SUB": Perm.PUB | Perm.SUB,
    "SUB|PUB": Perm.PUB | Perm.SUB,
}


def perm_of(text: str | None) -> Perm:
    """Return the permissions that a text names; any other text denies."""
    return Perm.DENY if text is None else _BY_TEXT.get(text.strip(), Perm.DENY)


def allows(owned: Perm, needed: Perm) -> bool:
    """Return whether an account with ``owned`` may do what needs all of ``needed``."""
    # Flags of an enum are slow, and a request may name 50,000 topics.
    has, wants = int(owned), int(needed)
    if has & _DENY:
        return False
    if wants & _ANY and not has & _BOTH:
        return False
    wants &= ~_ANY
    return has & wants == wants


def perms_of(entries: Iterable[str] | None, *, of_topics: bool) -> dict[str, Perm]:
    """Return the permissions of a list such as ``["orders=PUB"]``; raise AclError for others.

    Source: acl/common/Permission.java#parseResourcePerms (4.9.7)
    """
    perms: dict[str, Perm] = {}
    for entry in entries or ():
        items = _split(entry)
        if len(items) != 2:
            kind = "topic" if of_topics else "group"
            raise AclError(f"Parse resource permission failed for {kind}:{entry}")
        name = items[0].strip()
        perms[name if of_topics else retry_topic(name)] = perm_of(items[1])
    return perms


def wrong_entry(entry: str, resource: str) -> str:
    """Return what would be right instead of an entry such as ``"orders=PUBB"``; "" if it is right.

    Java takes each mistyped word as DENY. ``resource`` is "topic" or "group".
    """
    items = _split(entry)
    if len(items) == 2 and not wrong_word(items[1]):
        return ""
    example = "orders" if resource == "topic" else "billing"
    return f"expected {resource.upper()}=PUB|SUB, e.g. {example}=PUB|SUB"


def wrong_word(text: str) -> str:
    """Return what would be right instead of a permission that is mistyped; "" if it is right."""
    word = text.strip()
    return "" if word == "DENY" or word in _BY_TEXT else "expected DENY, PUB, SUB or PUB|SUB"


def check_entries(entries: Iterable[str] | None) -> None:
    """Raise AclError for a list of permissions that an operator may not set.

    Source: acl/common/Permission.java#checkResourcePerms (4.9.7)
    """
    for entry in entries or ():
        items = _split(entry)
        if len(items) != 2:
            raise AclError(
                f"Parse Resource format error for {entry}.\n"
                "The expected resource format is 'Res=Perm'. For example: topicA=SUB"
            )
        if items[1].strip() != "DENY" and perm_of(items[1]) is Perm.DENY:
            raise AclError(
                f"Parse resource permission error for {entry}.\n"
                "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."
            )


def _split(entry: str) -> list[str]:
    return [item for item in entry.split("=") if item]


def shown(resource: str) -> str:
    """Return a topic or group as Java's errors name it."""
    if resource.startswith(RETRY_PREFIX):
        return f"group:{resource.removeprefix(RETRY_PREFIX)}"
    return f"topic:{resource}"
