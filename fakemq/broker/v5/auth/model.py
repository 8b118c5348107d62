"""The words of auth 2.0, and its values: resources, and what is allowed or denied for them.

Source: common/resource/*.java, common/action/Action.java, auth/authorization/model/*.java,
auth/authorization/enums/*.java, auth/authentication/enums/*.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from fakemq.broker.acl.addresses import is_ipv4, is_ipv6
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.protocol.v5.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo

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

    def covers(self, other: Resource) -> bool:
        """Return whether another one, a literal, is one of these."""
        if self.kind == ANY:
            return True
        if self.kind != other.kind:
            return False
        if self.pattern == "PREFIXED":
            return other.name is not None and other.name.startswith(self.name or "")
        return self.pattern == "ANY" or self.name == other.name

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
    source_ips: list[str] | None
    """From which addresses; None from every one."""
    decision: str

    def matches(self, resource: Resource, actions: Iterable[str], source_ip: str) -> bool:
        """Return whether it is about a request that needs one of the actions for a resource."""
        return (
            self.resource.covers(resource)
            and (ALL in self.actions or any(action in self.actions for action in actions))
            and (not self.source_ips or any(is_in_range(source_ip, one) for one in self.source_ips))
        )

    def info(self) -> PolicyEntryInfo:
        """Return it as administrators see it."""
        return PolicyEntryInfo(
            resource=self.resource.key,
            actions=self.actions,
            source_ips=self.source_ips,
            decision=self.decision,
        )


class Policy(msgspec.Struct):
    """The entries of one kind: Custom, or Default, which counts where no other one does."""

    kind: str
    entries: list[PolicyEntry]

    def find(self, resource: Resource) -> PolicyEntry | None:
        """Return the entry for exactly this resource."""
        return next((one for one in self.entries if one.resource == resource), None)

    def update(self, entries: Iterable[PolicyEntry]) -> None:
        """Add entries; those of resources that it has are replaced."""
        for entry in entries:
            old = self.find(entry.resource)
            if old is None:
                self.entries.append(entry)
            else:
                self.entries[self.entries.index(old)] = entry


class Acl(msgspec.Struct):
    """The rights of a subject."""

    subject: str
    policies: list[Policy]

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
        entry = policy.find(resource)
        if entry is not None:
            policy.entries.remove(entry)
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
                for one in (policy.entries if policy is not None else ())
                if one.matches(resource, actions, source_ip)
            ]
            if found:
                return min(found, key=lambda one: (one.resource.rank(), one.decision != DENY))
        return None

    def info(self) -> AclInfo:
        """Return it as administrators see it."""
        return AclInfo(
            subject=self.subject,
            policies=[
                PolicyInfo(
                    policy_type=policy.kind, entries=[entry.info() for entry in policy.entries]
                )
                for policy in self.policies
            ],
        )

    def about(self, resource_filter: str) -> AclInfo | None:
        """Return what it says of resources whose texts contain one; None for nothing."""
        policies = []
        for policy in self.policies:
            entries = [one.info() for one in policy.entries if resource_filter in one.resource.key]
            if entries:
                policies.append(PolicyInfo(policy_type=policy.kind, entries=entries))
        return AclInfo(subject=self.subject, policies=policies) if policies else None


# -- addresses ------------------------------------------------------------------------------------


def is_ip_or_range(text: str) -> bool:
    """Return whether a text is an address, or a range of some such as ``10.0.0.0/8``.

    Differs: Java looks names up, too.
    Source: common/utils/IPAddressUtils.java#isValidIPOrCidr (5.5.0)
    """
    if is_ipv4(text) or is_ipv6(text):
        return True
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdigit()):
        return False
    return (is_ipv4(address) and int(length) <= 32) or (is_ipv6(address) and int(length) <= 128)


def is_in_range(ip: str, text: str) -> bool:
    """Return whether an address is one of those that a text allows.

    Java compares numbers, so that a range of IPv6 has addresses of IPv4.
    Source: common/utils/IPAddressUtils.java#isIPInRange (5.5.0)
    """
    address, slash, length = text.partition("/")
    if not slash:
        return ip == text
    from ipaddress import ip_address, ip_interface  # few rights name ranges

    network = ip_interface(f"{address}/{length}").network
    first, last = int(network.network_address), int(network.broadcast_address)
    return first <= int(ip_address(ip.partition("%")[0])) <= last
