"""Five requests about access control: UPDATE_AND_CREATE_ACL_CONFIG (50),
DELETE_ACL_CONFIG (51), GET_BROKER_CLUSTER_ACL_INFO (52), UPDATE_GLOBAL_WHITE_ADDRS_CONFIG (53),
GET_BROKER_CLUSTER_ACL_CONFIG (54).

Behaviour: a change is written to the file that has the account. With aclEnable=false Java has no
validator, and answers a change with the NullPointerException of its JVM. A query gets no answer at
all, also where a file cannot be read.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateAccessConfig, #deleteAccessConfig,
#getBrokerAclConfigVersion, #updateGlobalWhiteAddrsConfig, #getBrokerClusterAclConfig (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import fastjson, table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.headers.acl import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    GetBrokerClusterAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.acl.permission_manager import PlainPermissionManager


@handles(table.UPDATE_AND_CREATE_ACL_CONFIG)
def update_and_create_acl_config(
    broker: Broker, request: Request[CreateAccessConfigRequestHeader]
) -> Reply[NoHeader]:
    header = request.header

    def update(rules: PlainPermissionManager) -> bool:
        from fakemq.broker.acl.accounts import PlainAccessConfig

        rules.update_access_config(
            PlainAccessConfig(
                access_key=header.get("access_key", None),
                secret_key=header.secret_key,
                white_remote_address=header.white_remote_address,
                admin=header.admin,
                default_topic_perm=header.default_topic_perm,
                default_group_perm=header.default_group_perm,
                topic_perms=_split(header.topic_perms),
                group_perms=_split(header.group_perms),
            )
        )
        return True

    return _change(
        broker,
        update,
        code=ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED,
        method="updateAccessConfig(org.apache.rocketmq.common.PlainAccessConfig)",
        failure="",
    )


@handles(table.DELETE_ACL_CONFIG)
def delete_acl_config(
    broker: Broker, request: Request[DeleteAccessConfigRequestHeader]
) -> Reply[NoHeader]:
    access_key = request.header.get("access_key", "")
    return _change(
        broker,
        lambda rules: rules.delete_access_config(access_key),
        code=ResponseCode.DELETE_ACL_CONFIG_FAILED,
        method="deleteAccessConfig(String)",
        failure=f"The accesskey[{access_key or 'null'}] corresponding to accessConfig has been"
        " deleted failed.",
    )


@handles(table.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG)
def update_global_white_addrs_config(
    broker: Broker, request: Request[UpdateGlobalWhiteAddrsConfigRequestHeader]
) -> Reply[NoHeader]:
    header = request.header
    addresses: str | None = header.get("global_white_addrs", None)

    def update(rules: PlainPermissionManager) -> bool:
        parts = _split(addresses)
        path = header.get("acl_file_full_path", "")
        return parts is not None and rules.update_global_white_addrs(parts, path)

    return _change(
        broker,
        update,
        code=ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
        method="updateGlobalWhiteAddrsConfig(java.util.List, String)",
        failure=f"The globalWhiteAddresses[{'null' if addresses is None else addresses}]"
        " has been updated failed.",
    )


@handles(table.GET_BROKER_CLUSTER_ACL_INFO)
def get_broker_cluster_acl_info(
    broker: Broker, request: Request[NoHeader]
) -> Reply[GetBrokerAclConfigResponseHeader] | None:
    if broker.acl is None:
        if broker.reference.acl_is_off:
            raise Refused(ResponseCode.SYSTEM_ERROR, broker.reference.acl_is_off)
        return None
    rules, config = broker.acl.manager, broker.config
    return Reply(
        GetBrokerAclConfigResponseHeader(
            version=fastjson.dumps(rules.version),
            all_acl_file_version=fastjson.dumps(rules.all_versions()),
            broker_name=config.broker_name,
            broker_addr=broker.addr,
            cluster_name=config.broker_cluster_name,
        )
    )


@handles(table.GET_BROKER_CLUSTER_ACL_CONFIG)
def get_broker_cluster_acl_config(
    broker: Broker, request: Request[NoHeader]
) -> Reply[GetBrokerClusterAclConfigResponseHeader] | None:
    if broker.acl is None:
        return None
    from fakemq.broker.acl.errors import AclError

    try:
        return Reply(body=broker.acl.manager.config().encode())
    except AclError:
        return None


def _change(
    broker: Broker,
    act: Callable[[PlainPermissionManager], bool],
    *,
    code: ResponseCode,
    method: str,
    failure: str,
) -> Reply[NoHeader]:
    """Return the answer to a change; raise Refused if ``act`` returns False or raises AclError."""
    if broker.acl is None:
        raise Refused(
            code,
            broker.reference.acl_is_off
            or f'Cannot invoke "org.apache.rocketmq.acl.AccessValidator.{method}" because'
            ' "accessValidator" is null',
        )
    from fakemq.broker.acl.errors import AclError

    try:
        done = act(broker.acl.manager)
    except AclError as error:
        raise Refused(code, error.message) from None
    if not done:
        raise Refused(code, failure)
    # Java's processor writes it itself, in the server's own serialisation.
    return Reply(serialize_type=SerializeType.JSON)


def _split(text: str | None) -> list[str] | None:
    """Return the parts of a list with commas, without empty ones at its end, as in Java.

    Source: common/UtilAll.java#split (4.9.7)
    """
    if text is None:
        return None
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
