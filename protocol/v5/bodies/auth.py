"""Users and their rights, as administrators send and see them.

Source: remoting/protocol/body/UserInfo.java, AclInfo.java (5.5.0)
"""

from __future__ import annotations

from fakemq.protocol.bodies.body import Body


class UserInfo(Body):
    """A user. Java answers the password, too."""

    username: str | None = None
    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None

    def __repr__(self) -> str:  # without the password: reports of tests show arguments
        return f"UserInfo({self.username!r})"


class PolicyEntryInfo(Body):
    """What is allowed or denied for a resource. A null in a list counts, as in Java."""

    resource: str | None = None
    actions: list[str | None] | None = None
    source_ips: list[str | None] | None = None
    decision: str | None = None


class PolicyInfo(Body):
    """The entries of one kind of policy."""

    policy_type: str | None = None
    entries: list[PolicyEntryInfo | None] | None = None


class AclInfo(Body):
    """The rights of a subject."""

    subject: str | None = None
    policies: list[PolicyInfo | None] | None = None


class AuthTables(Body):
    """The users and rights of a broker, as its file has them. Java has them in RocksDB."""

    users: list[UserInfo]
    acls: list[AclInfo]
    has_rules: bool = False
    """Whether the rules of a test were taken over: that is done once, also if users go later."""
