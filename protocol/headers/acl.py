"""Access control."""

from __future__ import annotations

from fakemq.protocol.header import Header


class CreateAccessConfigRequestHeader(Header):
    """Source: common/protocol/header/CreateAccessConfigRequestHeader.java (4.9.7)"""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None

    _secrets = frozenset({"secret_key"})


class DeleteAccessConfigRequestHeader(Header):
    """Source: common/protocol/header/DeleteAccessConfigRequestHeader.java (4.9.7)"""

    access_key: str


class UpdateGlobalWhiteAddrsConfigRequestHeader(Header):
    """Source: common/protocol/header/UpdateGlobalWhiteAddrsConfigRequestHeader.java (4.9.7)"""

    global_white_addrs: str
    acl_file_full_path: str


class GetBrokerAclConfigResponseHeader(Header):
    """Source: common/protocol/header/GetBrokerAclConfigResponseHeader.java (4.9.7)"""

    version: str
    all_acl_file_version: str | None = None
    broker_name: str
    broker_addr: str
    cluster_name: str


class GetBrokerClusterAclConfigResponseHeader(Header):
    """Source: common/protocol/header/GetBrokerClusterAclConfigResponseHeader.java (4.9.7)"""

    # plainAccessConfigs: a list, which the remoting layer never wrote; the body carries it.
