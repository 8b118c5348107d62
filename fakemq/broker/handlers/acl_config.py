"""Five requests about access control: UPDATE_AND_CREATE_ACL_CONFIG (50),
DELETE_ACL_CONFIG (51), GET_BROKER_CLUSTER_ACL_INFO (52), UPDATE_GLOBAL_WHITE_ADDRS_CONFIG (53),
GET_BROKER_CLUSTER_ACL_CONFIG (54).

Behaviour: there is no access control. With aclEnable=false Java has no validator, and answers a
change with the NullPointerException of its JVM. A query gets no answer at all.

Source: broker/processor/AdminBrokerProcessor.java#updateAndCreateAccessConfig, #deleteAccessConfig,
#getBrokerAclConfigVersion, #updateGlobalWhiteAddrsConfig, #getBrokerClusterAclConfig (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.acl import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    GetBrokerClusterAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from fakemq.protocol.table import NoHeader


@handles(table.UPDATE_AND_CREATE_ACL_CONFIG)
def update_and_create_acl_config(
    broker: Broker, request: Request[CreateAccessConfigRequestHeader]
) -> Reply[NoHeader]:
    raise _no_validator(
        ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED,
        "updateAccessConfig(org.apache.rocketmq.common.PlainAccessConfig)",
    )


@handles(table.DELETE_ACL_CONFIG)
def delete_acl_config(
    broker: Broker, request: Request[DeleteAccessConfigRequestHeader]
) -> Reply[NoHeader]:
    raise _no_validator(ResponseCode.DELETE_ACL_CONFIG_FAILED, "deleteAccessConfig(String)")


@handles(table.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG)
def update_global_white_addrs_config(
    broker: Broker, request: Request[UpdateGlobalWhiteAddrsConfigRequestHeader]
) -> Reply[NoHeader]:
    raise _no_validator(
        ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
        "updateGlobalWhiteAddrsConfig(java.util.List, String)",
    )


@handles(table.GET_BROKER_CLUSTER_ACL_INFO)
def get_broker_cluster_acl_info(
    broker: Broker, request: Request[NoHeader]
) -> Reply[GetBrokerAclConfigResponseHeader] | None:
    return None


@handles(table.GET_BROKER_CLUSTER_ACL_CONFIG)
def get_broker_cluster_acl_config(
    broker: Broker, request: Request[NoHeader]
) -> Reply[GetBrokerClusterAclConfigResponseHeader] | None:
    return None


def _no_validator(code: ResponseCode, method: str) -> Refused:
    return Refused(
        code,
        f'Cannot invoke "org.apache.rocketmq.acl.AccessValidator.{method}" because'
        ' "accessValidator" is null',
    )
