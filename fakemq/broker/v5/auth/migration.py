"""Users and rights from a file or a test: those of auth 2.0, or accounts of 4.9.7.

An account of a ``plain_acl.yml`` becomes what a broker of 5.5.0 with migrateAuthFromV1Enabled makes
of it. Addresses that need no key do not exist in auth 2.0.

Source: auth/migration/AuthMigrator.java, auth/migration/v1/PlainPermissionManager.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fakemq.broker.acl.accounts import PlainAccessConfig
from fakemq.broker.acl.errors import AclError
from fakemq.broker.v5.auth.model import (
    ALL,
    ALLOW,
    CUSTOM,
    DEFAULT,
    DENY,
    GROUP,
    NORMAL,
    PUB,
    SUB,
    SUPER,
    TOPIC,
    Acl,
    Policy,
    PolicyEntry,
    Resource,
    is_blank,
    user_key,
)
from fakemq.broker.v5.auth.users import acl_of
from fakemq.protocol.v5.bodies.auth import AclInfo, UserInfo

if TYPE_CHECKING:
    from fakemq.broker.acl.homes import AclHome

_ACTIONS = {"PUB": [PUB], "SUB": [SUB], "PUB|SUB": [PUB, SUB], "SUB|PUB": [PUB, SUB]}


class FirstUser(NamedTuple):
    """A user that a broker begins with, and its rights, if it has some."""

    user: UserInfo
    acl: Acl | None = None


def users_in(home: AclHome) -> Iterator[FirstUser]:
    """Yield what all files of a home say; raise AclError if one is wrong."""
    home.prepare()
    for path in home.files():
        content = home.read(path) or {}
        acls = {acl.subject: acl for acl in _acls(_list(content, "acls"))}
        for entry in _list(content, "users"):
            user = _converted(entry, UserInfo)
            yield FirstUser(user, acls.pop(user_key(user.username or ""), None))
        if acls:
            raise AclError(f"acls: {next(iter(acls))} is none of the users")
        for entry in _list(content, "accounts"):
            yield migrated(PlainAccessConfig.of(entry))


def migrated(account: PlainAccessConfig) -> FirstUser:
    """Return the user that an account of 4.9.7 becomes."""
    name = account.access_key or ""
    user = UserInfo(
        username=name,
        password=account.secret_key,
        user_type=SUPER if account.admin else NORMAL,
    )
    custom = [
        *_entries(account.topic_perms, lambda topic: Resource(TOPIC, topic)),
        *_entries(account.group_perms, Resource.of_group),
    ]
    default = [
        _entry(Resource(kind, None, "ANY"), perm.strip())
        for kind, perm in (
            (TOPIC, account.default_topic_perm or ""),
            (GROUP, account.default_group_perm or ""),
        )
        if not is_blank(perm)
    ]
    policies = [
        Policy(kind, entries) for kind, entries in ((CUSTOM, custom), (DEFAULT, default)) if entries
    ]
    return FirstUser(user, Acl(user_key(name), policies) if policies else None)


def _entries(perms: Iterable[str] | None, resource: Any) -> Iterator[PolicyEntry]:
    for text in perms or ():
        items = [item for item in text.split("=") if item]
        if len(items) == 2:  # others are passed over
            yield _entry(resource(items[0].strip()), items[1].strip())


def _entry(resource: Resource, perm: str) -> PolicyEntry:
    """Return an entry; a word that is no permission allows all, as in Java."""
    return PolicyEntry(
        resource, list(_ACTIONS.get(perm, [ALL])), None, DENY if perm in ("DENY", "") else ALLOW
    )


def _acls(entries: Iterable[object]) -> Iterator[Acl]:
    return (acl_of(_converted(entry, AclInfo), None) for entry in entries)


def _converted(entry: object, kind: Any) -> Any:
    """Return an entry as administrators send it, with Java's names."""
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        raise AclError(str(error)) from None


def _list(content: Mapping[str, Any], name: str) -> list[Any]:
    value = content.get(name) or []
    if not isinstance(value, list):
        raise AclError(f"{name}: expected a list")
    return value
