"""Users and rights from a file or a test: those of auth 2.0, or accounts of 4.9.7.

An account of a ``plain_acl.yml`` becomes what a broker of 5.5.0 with migrateAuthFromV1Enabled makes
of it. Addresses that need no key do not exist in auth 2.0.

Source: auth/migration/AuthMigrator.java, auth/migration/v1/PlainPermissionManager.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from fakemq.broker.acl.accounts import PlainAccessConfig
from fakemq.broker.acl.errors import AclError
from fakemq.broker.v5.auth.model import (
    ACTIONS,
    ALL,
    ALLOW,
    CUSTOM,
    DEFAULT,
    DENY,
    GROUP,
    NORMAL,
    POLICIES,
    PUB,
    STATES,
    SUB,
    SUPER,
    TOPIC,
    TYPES,
    Acl,
    Policy,
    PolicyEntry,
    Resource,
    Words,
    is_blank,
    is_ip_or_range,
    user_in,
    user_key,
    word_of,
)
from fakemq.broker.v5.auth.users import acl_of
from fakemq.dispatch.answers import Thrown
from fakemq.errors import did_you_mean
from fakemq.protocol.bodies.body import Body
from fakemq.protocol.v5.bodies.auth import AclInfo, UserInfo

if TYPE_CHECKING:
    from fakemq.broker.acl.homes import AclHome

B = TypeVar("B", bound=Body)
T = TypeVar("T")
_OF_FILES = ("users", "acls", "accounts", "globalWhiteRemoteAddresses", "dataVersion")
"""Names of files; the last two are those of 4.9.7, and do nothing here."""
_ACTIONS = {"PUB": [PUB], "SUB": [SUB], "PUB|SUB": [PUB, SUB], "SUB|PUB": [PUB, SUB]}


class FirstUser(NamedTuple):
    """A user that a broker begins with, and its rights, if it has some."""

    user: UserInfo
    acl: Acl | None = None


def users_in(home: AclHome) -> Iterator[FirstUser]:
    """Yield what all files of a home say; raise AclError if one is wrong.

    Java has no such file of users. So names and words that mean nothing are errors, too, where an
    administrator's are passed over.
    """
    home.prepare()
    for path in home.files():
        content = home.read(path) or {}
        try:
            yield from _users_of(content)
        except AclError as error:
            if home.image() is not None:  # a value in memory has no path
                raise
            raise AclError(f"{path}: {error}") from None


def _users_of(content: Mapping[str, Any]) -> Iterator[FirstUser]:
    _require_known(content, _OF_FILES)
    users = _all(content, "users", _user)
    acls = _all(content, "acls", _acl)
    for name, user in users.items():
        yield FirstUser(user, acls.pop(user_key(name), None))
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


def _all(
    content: Mapping[str, Any], name: str, read: Callable[[object], tuple[str, T]]
) -> dict[str, T]:
    """Return what each entry of a list is, by the name that it has."""
    found: dict[str, T] = {}
    for number, entry in enumerate(_list(content, name)):
        try:
            key, value = read(entry)
            if key in found:
                raise AclError(f"{key} is there twice")
        except (AclError, Thrown) as error:
            raise AclError(f"{name}[{number}]: {error}") from None
        found[key] = value
    return found


def _user(entry: object) -> tuple[str, UserInfo]:
    user = _converted(entry, UserInfo)
    _require_word(TYPES, user.user_type)
    _require_word(STATES, user.user_status)
    return user.username or "", user


def _acl(entry: object) -> tuple[str, Acl]:
    info = _converted(entry, AclInfo)
    if user_in(info.subject) is None:
        raise AclError(f"subject: {info.subject}: expected User:NAME")
    for policy in filter(None, info.policies or ()):
        _require_word(POLICIES, policy.policy_type)
        for one in filter(None, policy.entries or ()):
            for action in one.actions or ():
                _require_word(ACTIONS, action)
            if not one.actions:
                raise AclError(f"{one.resource}: an entry needs actions, such as [Pub, Sub]")
            for source_ip in one.source_ips or ():
                if not is_ip_or_range(source_ip or ""):
                    raise AclError(
                        f"sourceIps: {source_ip}: expected an address or a range such as 10.0.0.0/8"
                    )
    acl = acl_of(info, None)
    return acl.subject, acl


def _converted(entry: object, kind: type[B]) -> B:
    """Return an entry as administrators send it, with Java's names."""
    try:
        found = msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        quotes = "; YAML needs quotes around a text of digits" if "got `int`" in str(error) else ""
        raise AclError(f"{error}{quotes}") from None
    _require_names(entry, msgspec.to_builtins(found))
    return found


def _require_names(given: Any, known: Any) -> None:
    """Raise AclError for a name, at any depth, that ``known`` does not have in the same place."""
    if isinstance(given, Mapping):
        _require_known(given, known)
        for name, value in given.items():
            _require_names(value, known[name])
    elif isinstance(given, list):
        for value, other in zip(given, known, strict=True):
            _require_names(value, other)


def _require_known(given: Mapping[str, Any], names: Collection[str]) -> None:
    for name in given:
        if name not in names:
            raise AclError(f"{name} has no effect{did_you_mean(str(name), names)}")


def _require_word(words: Words, text: str | None) -> None:
    if text is not None and word_of(words, text) is None:
        raise AclError(f"{text} is no word for it; there are: {', '.join(words.values())}")


def _list(content: Mapping[str, Any], name: str) -> list[Any]:
    value = content.get(name) or []
    if not isinstance(value, list):
        raise AclError(f"{name}: expected a list")
    return value
