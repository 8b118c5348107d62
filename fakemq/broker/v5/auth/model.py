"""The words of auth 2.0, and its values: resources, and what is allowed or denied for them.

Source: common/resource/*.java, common/action/Action.java, auth/authorization/model/*.java,
auth/authorization/enums/*.java, auth/authentication/enums/*.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from fakemq.broker.acl.addresses import is_ipv4, is_ipv6
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.protocol.v5.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo

MOST_PARTS = 10_000
"""How many entries, actions and addresses the rights of a subject may have together."""
Words: TypeAlias = Mapping[str, str]
"""Lower case → the word as Java writes it."""


def _words(*words: str) -> Words:
    return {word.lower(): word for word in words}


CLUSTER, TOPIC, GROUP, ANY = "Cluster", "Topic", "Group", "Any"
KINDS: Final = _words("Unknown", ANY, CLUSTER, "Namespace", TOPIC, GROUP)
ALL = "All"
PUB, SUB, CREATE, UPDATE, DELETE, GET, LIST = (
    *("Pub", "Sub", "Create", "Update", "Delete", "Get", "List"),
)
ACTIONS: Final = _words("Unknown", ALL, ANY, PUB, SUB, CREATE, UPDATE, DELETE, GET, LIST)
ALLOW, DENY = "Allow", "Deny"
DECISIONS: Final = _words(ALLOW, DENY)
CUSTOM, DEFAULT = "Custom", "Default"
POLICIES: Final = _words(CUSTOM, DEFAULT)
SUPER, NORMAL = "Super", "Normal"
TYPES: Final = _words(SUPER, NORMAL)
ENABLED, DISABLED = "enable", "disable"
STATES: Final = _words(ENABLED, DISABLED)
USER = "User"


def word_of(words: Words, text: str | None) -> str | None:
    """Return the word that a text means, in whatever case; None for none."""
    return None if text is None else words.get(text.lower())


def is_blank(text: str | None) -> bool:
    """Return whether there is nothing to read in a text."""
    return text is None or not text.strip()


def user_key(username: str) -> str:
    """Return how a user is named among the subjects of rights."""
    return f"{USER}:{username}"


def user_in(key: str | None) -> str | None:
    """Return the user that a subject is; None for what is no subject.

    Source: auth/authentication/model/Subject.java#of (5.5.0)
    """
    kind, _, name = (key or "").partition(":")
    return name if kind.lower() == USER.lower() else None


class Resource(msgspec.Struct, frozen=True):
    """A resource, or a pattern of some."""

    kind: str
    name: str | None
    pattern: str = "LITERAL"
    """LITERAL; PREFIXED for all whose names begin so; ANY for all of the kind."""

    @classmethod
    def of(cls, key: str | None) -> Resource | None:
        """Return the resource of a text such as ``Topic:orders*``; None for what is none."""
        if is_blank(key):
            return None
        assert key is not None
        if key == "*":
            return cls(ANY, None, "ANY")
        kind, _, name = key.partition(":")
        found = KINDS.get(kind.lower())
        if found is None:
            return None
        if name == "*":
            return cls(found, None, "ANY")
        if name.endswith("*"):
            return cls(found, name.partition("*")[0], "PREFIXED")
        return cls(found, name)

    @classmethod
    def of_group(cls, name: str | None) -> Resource:
        """Return the resource of a group, or of the group of a retry topic."""
        if name is not None and name.startswith(RETRY_PREFIX):
            name = name.removeprefix(RETRY_PREFIX)
        return cls(GROUP, name)

    @property
    def key(self) -> str:
        """The text of it. Java writes every resource of the kind Any as an asterisk."""
        if self.kind == ANY:
            return "*"
        name = "*" if self.pattern == "ANY" else "null" if self.name is None else self.name
        return f"{self.kind}:{name}{'*' * (self.pattern == 'PREFIXED')}"

    def rank(self) -> tuple[int, int, int]:
        """Return what sorts the narrower of two that cover the same before the other.

        Source: auth/authorization/chain/AclAuthorizationHandler.java#comparePolicyEntries (5.5.0)
        """
        length = len(self.name or "") if self.pattern == "PREFIXED" else 0
        return int(self.kind == ANY), _WIDTH[self.pattern], -length


_WIDTH = {"LITERAL": 0, "PREFIXED": 1, "ANY": 2}


class PolicyEntry(msgspec.Struct):
    """What is allowed or denied for a resource."""

    resource: Resource
    actions: list[str]
    sources: Sources | None
    """From which addresses; None from every one."""
    decision: str

    def matches(self, actions: Iterable[str], source_ip: str) -> bool:
        """Return whether it is about a request that needs one of the actions."""
        return (ALL in self.actions or any(action in self.actions for action in actions)) and (
            self.sources is None or source_ip in self.sources
        )

    @property
    def parts(self) -> int:
        """How much it has of what is limited, see `MOST_PARTS`."""
        return 1 + len(self.actions) + (0 if self.sources is None else len(self.sources.texts))

    def info(self) -> PolicyEntryInfo:
        """Return it as administrators see it."""
        return PolicyEntryInfo(
            resource=self.resource.key,
            actions=list(self.actions),
            source_ips=None if self.sources is None else list(self.sources.texts),
            decision=self.decision,
        )


class Policy:
    """The entries of one kind: Custom, or Default, which counts where no other one does."""

    def __init__(self, kind: str, entries: Iterable[PolicyEntry] = ()) -> None:
        self.kind = kind
        self.parts = 0
        """How much its entries have of what is limited, see `MOST_PARTS`."""
        self._entries: dict[int, PolicyEntry] = {}
        """In order, by a number; a first request may have several entries of one resource."""
        self._numbers: dict[Resource, list[int]] = {}
        self._lengths: dict[str, dict[int, int]] = {}
        """Kind → length of a prefix → how many resources there are of both."""
        self._wide: dict[int, None] = {}
        """The numbers of entries of the kind Any: these are about every request."""
        self._next = 0
        for entry in entries:
            self.add(entry)

    @property
    def entries(self) -> Collection[PolicyEntry]:
        """Its entries, in order."""
        return self._entries.values()

    @property
    def looks(self) -> int:
        """About how many entries one request is compared with."""
        return len(self._wide) + max(map(len, self._lengths.values()), default=0)

    def find(self, resource: Resource) -> PolicyEntry | None:
        """Return the first entry for exactly this resource."""
        numbers = self._numbers.get(resource)
        return None if numbers is None else self._entries[numbers[0]]

    def add(self, entry: PolicyEntry) -> None:
        """Add an entry, whether or not its resource has one."""
        number, resource = self._next, entry.resource
        self._next += 1
        self._entries[number] = entry
        self.parts += entry.parts
        if resource.kind == ANY:
            self._wide[number] = None
        if resource not in self._numbers and resource.pattern == "PREFIXED":
            self._count_prefix(resource, 1)
        self._numbers.setdefault(resource, []).append(number)

    def update(self, entries: Iterable[PolicyEntry]) -> None:
        """Add entries; those of resources that it has are replaced."""
        for entry in entries:
            numbers = self._numbers.get(entry.resource)
            if numbers is None:
                self.add(entry)
            else:
                self.parts += entry.parts - self._entries[numbers[0]].parts
                self._entries[numbers[0]] = entry

    def delete(self, resource: Resource) -> None:
        """Take away the first entry for exactly this resource."""
        numbers = self._numbers.get(resource)
        if numbers is None:
            return
        number = numbers.pop(0)
        self.parts -= self._entries.pop(number).parts
        self._wide.pop(number, None)
        if not numbers:
            del self._numbers[resource]
            if resource.pattern == "PREFIXED":
                self._count_prefix(resource, -1)

    def about(self, resource: Resource) -> Iterator[PolicyEntry]:
        """Yield the entries whose resources cover a literal one."""
        kind, name = resource.kind, resource.name
        keys = [resource, Resource(kind, None, "ANY")]
        if name is not None:
            lengths = self._lengths.get(kind, ())
            keys += [Resource(kind, name[:one], "PREFIXED") for one in lengths if one <= len(name)]
        for key in keys:
            for number in self._numbers.get(key, ()):
                yield self._entries[number]
        for number in self._wide:
            yield self._entries[number]

    def _count_prefix(self, resource: Resource, change: int) -> None:
        lengths, length = self._lengths.setdefault(resource.kind, {}), len(resource.name or "")
        lengths[length] = lengths.get(length, 0) + change
        if not lengths[length]:
            del lengths[length]


class Acl:
    """The rights of a subject."""

    def __init__(self, subject: str, policies: list[Policy]) -> None:
        self.subject = subject
        self.policies = policies

    @property
    def parts(self) -> int:
        """How much it has of what is limited, see `MOST_PARTS`."""
        return sum(policy.parts for policy in self.policies)

    @property
    def looks(self) -> int:
        """About how many entries one request is compared with."""
        return sum(policy.looks for policy in self.policies)

    def parts_with(self, policies: Iterable[Policy]) -> int:
        """Return how many parts it would have after an `update`."""
        added = 0
        for policy in policies:
            old = self.find(policy.kind)
            added += policy.parts
            for entry in () if old is None else policy.entries:
                replaced = old and old.find(entry.resource)
                added -= 0 if replaced is None else replaced.parts
        return self.parts + added

    def find(self, kind: str) -> Policy | None:
        """Return the first policy of a kind."""
        return next((one for one in self.policies if one.kind == kind), None)

    def update(self, policies: Iterable[Policy]) -> None:
        """Add policies to those that it has."""
        for policy in policies:
            old = self.find(policy.kind)
            if old is None:
                self.policies.append(policy)
            else:
                old.update(policy.entries)

    def delete(self, kind: str, resource: Resource) -> None:
        """Take away what a policy says of exactly this resource."""
        policy = self.find(kind)
        if policy is None:
            return
        policy.delete(resource)
        if not policy.entries:
            self.policies.remove(policy)

    def deciding(
        self, resource: Resource, actions: Sequence[str], source_ip: str
    ) -> PolicyEntry | None:
        """Return the entry that decides about a request; None if there is none.

        Source: auth/authorization/chain/AclAuthorizationHandler.java#matchPolicyEntries (5.5.0)
        """
        for kind in (CUSTOM, DEFAULT):
            policy = self.find(kind)
            found = [
                one
                for one in (policy.about(resource) if policy is not None else ())
                if one.matches(actions, source_ip)
            ]
            if found:
                return min(found, key=lambda one: (one.resource.rank(), one.decision != DENY))
        return None

    def info(self) -> AclInfo:
        """Return it as administrators see it."""
        return self._infos("")

    def about(self, resource_filter: str) -> AclInfo | None:
        """Return what it says of resources whose texts contain one; None for nothing."""
        info = self._infos(resource_filter)
        return info if info.policies else None

    def _infos(self, resource_filter: str) -> AclInfo:
        policies: list[PolicyInfo | None] = []
        for policy in self.policies:
            entries: list[PolicyEntryInfo | None] = [
                one.info() for one in policy.entries if resource_filter in one.resource.key
            ]
            if entries:
                policies.append(PolicyInfo(policy_type=policy.kind, entries=entries))
        return AclInfo(subject=self.subject, policies=policies)


# -- addresses ------------------------------------------------------------------------------------


class Sources:
    """Addresses, and ranges of some, that an entry names: what the ranges have is known once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = list(texts)
        self._exact = frozenset(one for one in self.texts if "/" not in one)
        ranges = (ends_of(one) for one in self.texts if "/" in one)
        self._ranges = [ends for ends in ranges if ends is not None]

    def __contains__(self, ip: str) -> bool:
        """Return whether an address is one of these.

        Java compares numbers, so that a range of IPv6 has addresses of IPv4. A name, such as a
        brokerIP1 may be, is in no range.
        Source: common/utils/IPAddressUtils.java#isIPInRange (5.5.0)
        """
        if ip in self._exact:
            return True
        found = _number_of(ip) if self._ranges else None
        return found is not None and any(low <= found[0] <= high for low, high in self._ranges)


def is_ip_or_range(text: str) -> bool:
    """Return whether a text is an address, or a range of some such as ``10.0.0.0/8``.

    Differs: Java looks names up, too.
    Source: common/utils/IPAddressUtils.java#isValidIPOrCidr (5.5.0)
    """
    return is_ipv4(text) or is_ipv6(text) or ends_of(text) is not None


def ends_of(text: str) -> tuple[int, int] | None:
    """Return the first and the last address of a range, as numbers; None for what is no range."""
    address, _, length = text.partition("/")
    found = _number_of(address)
    if found is None or not (length.isascii() and length.isdigit() and len(length) < 4):
        return None
    number, bits = found
    others = bits - int(length)
    if others < 0:
        return None
    first = number >> others << others
    return first, first + (1 << others) - 1


@lru_cache(maxsize=256)
def _number_of(address: str) -> tuple[int, int] | None:
    """Return an address as a number, and how many bits it has; None for what is none.

    One of IPv4 in the form of IPv6 is one of IPv4, as with Java's InetAddress.
    """
    if not (is_ipv4(address) or (is_ipv6(address) and "/" not in address)):
        return None
    from ipaddress import IPv6Address, ip_address  # few rights name ranges

    found = ip_address(address.partition("%")[0].replace("+", ""))
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    found = mapped or found
    return int(found), found.max_prefixlen
