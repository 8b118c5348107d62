"""REGISTER_BROKER (103): a broker, new or known, says where it is and what it has.

Behaviour: the body is a RegisterBrokerBody, plain or compressed as the header says, or none; from
senders before 3.0.11 a TopicConfigSerializeWrapper, and then the filter servers stay as they are.
A slave learns its master's address and HA address, if that lives. Everyone gets the order topics.
Refused: a checksum that is not that of the body, or a body that cannot be read: SYSTEM_ERROR.
Differs: a missing name, address or cluster is SYSTEM_ERROR; Java registers the broker null. Routes
repeat what a broker says by ``enableActingMaster``, which only those of 5.x have.

Source: namesrv/processor/DefaultRequestProcessor.java#registerBrokerWithFilterServer,
#registerBroker (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.namesrv.kv import NAMESPACE_ORDER_TOPIC_CONFIG
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.namesrv.route_tables import BROKER_CHANNEL_EXPIRED_TIME_MS
from fakemq.protocol import table
from fakemq.protocol.bodies.topic import (
    DataVersion,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigSerializeWrapper,
)
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import NullBodyError, ProtocolError
from fakemq.protocol.header import parse_bool
from fakemq.protocol.headers.namesrv import (
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
)
from fakemq.protocol.java import crc32
from fakemq.protocol.limits import REGISTER_BODY_MAX_BYTES

VERSION_3_0_11 = 37
UNREADABLE = (
    "org.apache.rocketmq.remoting.exception.RemotingCommandException:"
    " Failed to decode RegisterBrokerBody, org.apache.rocketmq.namesrv.processor"
    ".DefaultRequestProcessor.registerBrokerWithFilterServer(DefaultRequestProcessor.java:226)"
)

Registration: TypeAlias = "tuple[DataVersion, Iterable[TopicConfig], list[str] | None]"
"""Data version, topics and filter servers; None if the filter servers stay as they are."""


@handles(table.REGISTER_BROKER)
def register_broker(
    node: NameServer, request: Request[RegisterBrokerRequestHeader]
) -> Reply[RegisterBrokerResponseHeader]:
    return register(node, request, read_registration(node, request))


def read_registration(
    node: NameServer,
    request: Request[RegisterBrokerRequestHeader],
    *,
    mappings_since: int | None = None,
) -> Registration:
    """Return what a broker says of itself in the body of its request.

    From the version ``mappings_since`` on, the compressed form has mappings of static topics.
    """
    header, body = request.header, request.body
    if header.body_crc32 != 0 and header.body_crc32 != crc32(body):
        raise Refused(ResponseCode.SYSTEM_ERROR, "crc32 not match")
    has_mappings = mappings_since is not None and request.command.version >= mappings_since
    return _read(node, request, body, has_mappings=has_mappings)


def register(
    node: NameServer,
    request: Request[RegisterBrokerRequestHeader],
    registration: Registration,
    *,
    is_prime_allowed: bool = False,
    checks_state: bool = False,
    timeout_ms: int = BROKER_CHANNEL_EXPIRED_TIME_MS,
) -> Reply[RegisterBrokerResponseHeader]:
    """Enter a broker into the tables, and return the answer to it."""
    header = request.header
    data_version, topic_configs, filter_server_list = registration
    result = node.registration.register_broker(
        cluster_name=header.cluster_name,
        broker_addr=header.broker_addr,
        broker_name=header.broker_name,
        broker_id=header.broker_id,
        ha_server_addr=header.ha_server_addr,
        topic_configs=topic_configs,
        data_version=data_version,
        filter_server_list=filter_server_list,
        channel=request.session,
        enable_acting_master=enable_acting_master(request),
        is_prime_allowed=is_prime_allowed,
        checks_state=checks_state,
        timeout_ms=timeout_ms,
    )
    order_topics = node.kv.kv_table(NAMESPACE_ORDER_TOPIC_CONFIG)
    return Reply(
        RegisterBrokerResponseHeader(
            ha_server_addr=result.ha_server_addr, master_addr=result.master_addr
        ),
        body=b"" if order_topics is None else order_topics.encode(),
    )


def enable_acting_master(request: Request[RegisterBrokerRequestHeader]) -> bool | None:
    """Return what a broker of 5.x says by this field; None for one of 4.9.7."""
    text = request.command.ext_fields.get("enableActingMaster")  # in no header of 4.9.7
    return None if text is None else parse_bool(text)


def _read(
    node: NameServer,
    request: Request[RegisterBrokerRequestHeader],
    body: bytes,
    *,
    has_mappings: bool,
) -> Registration:
    header, standing = request.header, node.registration.standing
    broker_name = header.get("broker_name", "")
    if not request.session.outside and not header.compressed:
        read = standing.read(broker_name, body)
        if read is not None:
            content, topic_configs = read
            data_version = content.topic_config_serialize_wrapper.data_version
            return data_version, topic_configs, content.filter_server_list
    if request.session.outside and len(body) > REGISTER_BODY_MAX_BYTES:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"{len(body)} bytes of topics; fakemq reads {REGISTER_BODY_MAX_BYTES} at most",
        )
    standing.forget(broker_name)
    wrapper, filter_server_list = _read_all(request, body, has_mappings=has_mappings)
    return wrapper.data_version, wrapper.topic_config_table.values(), filter_server_list


def _read_all(
    request: Request[RegisterBrokerRequestHeader], body: bytes, *, has_mappings: bool
) -> tuple[TopicConfigSerializeWrapper, list[str] | None]:
    # Without a body Java makes a data version of (0, 0), which is our default too.
    if request.command.version < VERSION_3_0_11:
        if not body:
            return TopicConfigSerializeWrapper(), None
        return TopicConfigSerializeWrapper.decode(body), None
    if not body:
        return TopicConfigSerializeWrapper(), []
    try:
        content = RegisterBrokerBody.decode(
            body, compressed=request.header.compressed, has_mappings=has_mappings
        )
    except NullBodyError:
        raise
    except (ProtocolError, ValueError):
        raise Refused(ResponseCode.SYSTEM_ERROR, UNREADABLE) from None
    return content.topic_config_serialize_wrapper, content.filter_server_list
