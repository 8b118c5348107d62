"""Accounts: what a file says of one, and what the broker makes of it.

Source: common/PlainAccessConfig.java, acl/plain/PlainAccessResource.java,
acl/plain/PlainPermissionManager.java#buildPlainAccessResource (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from fakemq.broker.acl.addresses import AddressPattern, address_pattern
from fakemq.broker.acl.errors import AclError, brief
from fakemq.broker.acl.permissions import (
    Perm,
    allows,
    perm_of,
    perms_of,
    shown,
    wrong_entry,
    wrong_word,
)
from fakemq.clock.slices import A_STEP
from fakemq.errors import did_you_mean
from fakemq.protocol.bodies.body import Body
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.acl.needs import Needs
    from fakemq.clock.slices import Steps

KEY_MIN_LENGTH = 6
"""Keys must be longer than this."""
REFUSED_AT_MOST = 1_000
"""An error names one of this number of refused names, the first ones of a request."""

_CHECK_PERM = "PlainPermissionManager.checkPerm"


class PlainAccessConfig(Body):
    """One account of a file, and of GET_BROKER_CLUSTER_ACL_CONFIG."""

    access_key: str | None = None
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: list[str] | None = None
    group_perms: list[str] | None = None

    def __repr__(self) -> str:  # without the secret key: reports of tests show arguments
        return f"PlainAccessConfig({self.access_key!r})"

    @classmethod
    def of(cls, entry: object) -> PlainAccessConfig:
        """Return the account that an entry of a file describes; raise AclError for no mapping.

        Unknown names are ignored. Names may differ in case and in "_" and "-".
        Source: fastjson 1.2.69, TypeUtils.castToJavaBean
        """
        if not isinstance(entry, Mapping):
            raise AclError(f"{brief(entry)} is no account: expected a mapping with an accessKey")
        values: dict[str, Any] = {}
        for name, value in entry.items():
            field = _FIELDS.get(_plain(str(name)))
            if field is not None and value is not None:
                values[field] = _cast(field, value)
        return cls(**values)

    def require_keys(self) -> None:
        """Raise AclError if a key is missing or too short."""
        keys = (self.access_key, self.secret_key)
        if any(key is None or len(key) <= KEY_MIN_LENGTH for key in keys):
            raise AclError(
                f"The accessKey={text_of(self.access_key)} and secretKey={text_of(self.secret_key)}"
                " cannot be null and length should longer than 6"
            )


@lru_cache(256)  # a file has few names, and each of them many times
def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


class AclConfig(Body):
    """The body of GET_BROKER_CLUSTER_ACL_CONFIG.

    Source: common/protocol/header/GetBrokerClusterAclConfigResponseBody.java (4.9.7)
    """

    global_white_addrs: list[str]
    plain_access_configs: list[PlainAccessConfig]


_FIELDS = {_plain(field): field for field in PlainAccessConfig.__struct_fields__}
ACCOUNT_NAMES = PlainAccessConfig.__struct_encode_fields__
"""What an entry of a file may say, as Java spells it."""


MOST_NAMED = 5
"""A warning names this number of accounts or names; a file may have hundreds of thousands."""


def without_effect(
    entries: Iterable[Mapping[object, object]], configs: Iterable[PlainAccessConfig]
) -> Iterator[str]:
    """Yield a text for each of the first names in the entries of a file that no account has."""
    unknown: dict[str, list[str]] = {}
    for entry, config in zip(entries, configs, strict=True):
        for name in map(str, entry):
            if _plain(name) not in _FIELDS:
                unknown.setdefault(name, []).append(config.access_key or "")
    for name, access_keys in islice(unknown.items(), MOST_NAMED):
        where = f"it has no effect in {named(access_keys)}"
        yield (f"no account has {name}: {where}{did_you_mean(name, ACCOUNT_NAMES, lists=False)}")


def named(access_keys: Sequence[str]) -> str:
    """Return a text that names accounts, not all of many."""
    more = len(access_keys) - MOST_NAMED
    first = ", ".join(access_keys[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"account{'s' * (len(access_keys) > 1)} {first}"


def mistyped(configs: Iterable[PlainAccessConfig]) -> Iterator[str]:
    """Yield a text for each of the first permissions that RocketMQ cannot read, and denies."""
    wrong = (
        f"account {config.access_key}: {text}" for config in configs for text in _mistyped(config)
    )
    yield from islice(wrong, MOST_NAMED)
    if more := sum(1 for _ in wrong):
        yield f"{more} more mistyped permissions"


def _mistyped(config: PlainAccessConfig) -> Iterator[str]:
    for resource, default, entries in (
        ("topic", config.default_topic_perm, config.topic_perms),
        ("group", config.default_group_perm, config.group_perms),
    ):
        if default is not None and (right := wrong_word(default)):
            yield f"default{resource.capitalize()}Perm: {brief(default)}: {right}"
        for entry in entries or ():
            if right := wrong_entry(entry, resource):
                yield f"{resource}Perms: {brief(entry)}: {right}"


def _cast(field: str, value: object) -> object:
    if field in ("topic_perms", "group_perms"):
        if not isinstance(value, list):
            raise AclError(f"{field}: {brief(value)}: expected a list such as [topicA=PUB]")
        return [text_of(one) for one in value]
    if field == "admin":
        return value is True or text_of(value).lower() in ("true", "1")
    return text_of(value)


def text_of(value: object) -> str:
    """Return a scalar of YAML as Java's toString shows it; raise AclError if it is none.

    A collection is not written out: a few aliases make one of gigabytes.
    """
    if value is None:
        return "null"
    if isinstance(value, list | Mapping):
        raise AclError(f"{brief(value)}: expected a text")
    try:
        return str(value).lower() if isinstance(value, bool) else str(value)
    except ValueError as error:  # a number of more digits than Python writes
        raise AclError(str(error)) from None


class Account(msgspec.Struct, frozen=True):
    """An account as requests are checked against it."""

    access_key: str
    secret_key: str
    admin: bool
    white: AddressPattern
    """Addresses from which its requests need no signature, and no permission."""
    default_topic_perm: Perm
    default_group_perm: Perm
    perms: dict[str, Perm]
    """By topic, or retry topic of a group."""

    def __repr__(self) -> str:  # without the secret key
        return f"Account({self.access_key!r})"

    @classmethod
    def of(cls, config: PlainAccessConfig) -> Account:
        """Return the account of a description; raise AclError if that is wrong."""
        config.require_keys()
        group_perms = perms_of(config.group_perms, of_topics=False)
        return cls(
            access_key=config.access_key or "",
            secret_key=config.secret_key or "",
            admin=config.admin,
            white=address_pattern(config.white_remote_address),
            default_topic_perm=perm_of(config.default_topic_perm),
            default_group_perm=perm_of(config.default_group_perm),
            perms=group_perms | perms_of(config.topic_perms, of_topics=True),
        )

    def require(self, needs: Mapping[str, Perm], *, admin_for: int | None = None) -> None:
        """Raise AclError unless the account has what a request needs.

        ``admin_for`` is its code if it needs an admin. Of `REFUSED_AT_MOST` refused names the error
        has the one that a Java map of all ``needs`` has first, as Java stops there.
        Source: acl/plain/PlainPermissionManager.java#checkPerm (4.9.7)
        """
        if admin_for is not None and not self.admin:
            error = AclError(
                f"Need admin permission for request code={admin_for},"
                f" but accessKey={self.access_key} is not",
                *(_CHECK_PERM, 580),
            )
            error.needs = needs.items()
            raise error
        if self.admin and not self.perms:
            return
        self._refuse(list(islice(self._refused(needs), REFUSED_AT_MOST)), needs)

    def require_in_steps(self, needs: Mapping[str, Perm]) -> Steps[None]:
        """As `require`, of very many needs without that of an admin."""
        if self.admin and not self.perms:
            return
        names: list[str] = []
        rest = iter(needs.items())
        while len(names) < REFUSED_AT_MOST and (some := dict(islice(rest, A_STEP))):
            names += self._refused(some)
            yield
        self._refuse(names[:REFUSED_AT_MOST], needs)

    def _refused(self, needs: Mapping[str, Perm]) -> Iterator[str]:
        return (name for name, perm in needs.items() if not allows(self._owned(name), perm))

    def _refuse(self, names: Sequence[str], needs: Mapping[str, Perm]) -> None:
        """Raise AclError if ``names`` of ``needs`` are refused."""
        if names:
            # The order depends on the size that the map of all has: it is full at three quarters.
            capacity = max(16, -(-len(needs) * 4 // 3))
            first = java_hash_map_order(names, capacity)[0]
            line = 610 if first in self.perms else 605
            error = AclError(f"No default permission for {shown(first)}", _CHECK_PERM, line)
            error.needs = needs.items()
            raise error

    def require_each(self, needs: Needs) -> None:
        """As `require`, in the order of ``needs``; what follows a refused one is not read."""
        if self.admin and not self.perms:
            return
        for name, perm in needs:
            if name is not None and not allows(self._owned(name), perm):
                self.require({name: perm})

    def _owned(self, resource: str) -> Perm:
        owned = self.perms.get(resource)
        if owned is None:
            is_group = resource.startswith(RETRY_PREFIX)
            return self.default_group_perm if is_group else self.default_topic_perm
        return owned


# -- accounts as files have them ---------------------------------------------------------------


def entry_of(accounts: Iterable[Any], access_key: str) -> dict[str, Any] | None:
    """Return the first entry of a file with this key; None if there is none."""
    for entry in accounts:
        if isinstance(entry, dict) and entry.get("accessKey") == access_key:
            return entry
    return None


def new_entry(entry: dict[str, Any], config: PlainAccessConfig) -> dict[str, Any]:
    """Return an account for a file: what it was, with all that is set now.

    Source: acl/plain/PlainPermissionManager.java#createAclAccessConfigMap (4.9.7)
    """
    entry["accessKey"] = config.access_key
    entry["secretKey"] = config.secret_key
    if config.white_remote_address is not None:
        entry["whiteRemoteAddress"] = config.white_remote_address
    entry["admin"] = config.admin
    if config.default_topic_perm:
        entry["defaultTopicPerm"] = config.default_topic_perm
    if config.default_group_perm:
        entry["defaultGroupPerm"] = config.default_group_perm
    if config.topic_perms is not None:
        entry["topicPerms"] = config.topic_perms
    if config.group_perms is not None:
        entry["groupPerms"] = config.group_perms
    return entry
