"""Users and their rights."""

from __future__ import annotations

from fakemq.protocol.header import Header


class UserRequestHeader(Header):
    """Source: remoting/protocol/header/CreateUserRequestHeader.java, UpdateUserRequestHeader.java,
    DeleteUserRequestHeader.java, GetUserRequestHeader.java (5.5.0)
    """

    username: str | None = None


class ListUsersRequestHeader(Header):
    """Source: remoting/protocol/header/ListUsersRequestHeader.java (5.5.0)"""

    filter: str | None = None


class AclRequestHeader(Header):
    """Source: remoting/protocol/header/CreateAclRequestHeader.java, UpdateAclRequestHeader.java,
    GetAclRequestHeader.java (5.5.0)
    """

    subject: str | None = None


class DeleteAclRequestHeader(Header):
    """Source: remoting/protocol/header/DeleteAclRequestHeader.java (5.5.0)"""

    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


class ListAclsRequestHeader(Header):
    """Source: remoting/protocol/header/ListAclsRequestHeader.java (5.5.0)"""

    subject_filter: str | None = None
    resource_filter: str | None = None
