"""The table of rights: each request code and RPC, and what it asks an account for.

docs/rights.md is made from it. `tests/broker/acl/test_rights.py` compares it with the registries of
handlers: a code or an RPC without a row fails there.

Of 4.9.7 a row says what 4.9.7 asks, its holes included: an account that a real broker lets in is
let in here (`conformance/recordings/4.9.7/acl_*.txt`). The code 361, which 4.9.7 does not have,
asks for what PULL_MESSAGE does. A broker of 5.5.0 reads no ``aclEnable``: what it asks for is in
`fakemq.broker.v5.auth.asks`. Of 5.3.2 a row asks for the same in the words of ``plain_acl.yml``,
and for more where that asks for nothing: its GET is PUB or SUB for a topic and SUB for a group; its
CREATE, UPDATE, DELETE, and all about the cluster, is an admin.

Source: acl/plain/PlainAccessValidator.java#parse, acl/common/Permission.java (4.9.7),
auth/authorization/builder/DefaultAuthorizationContextBuilder.java,
remoting/protocol/header/, the annotations RocketMQAction and RocketMQResource (5.5.0)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.broker.acl import needs
from fakemq.broker.acl.needs import ADMIN, RpcRule, Rule, nothing, popped, read, send, send_4_9_7
from fakemq.broker.acl.permissions import Perm
from fakemq.clock.slices import A_STEP
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from fakemq.broker.acl.needs import Needs, Stored
    from fakemq.clock.slices import Steps
    from fakemq.protocol.command import RemotingCommand


class RightsRow(NamedTuple):
    """What a code asks for in each release; None: the release has no such code.

    Nor has one that calls the code gone.
    """

    in_4_9_7: Rule | None
    in_v5: Rule | None


def _both(rule: Rule) -> RightsRow:
    return RightsRow(rule, rule)


def _open(rule: Rule) -> RightsRow:
    """Return the row of a code for which 4.9.7 asks nothing."""
    return RightsRow(_HOLE, rule)


def _later(rule: Rule) -> RightsRow:
    """Return the row of a code that 4.9.7 does not have."""
    return RightsRow(None, rule)


_HOLE = nothing("4.9.7 asks for none")
_GROUP = read(group="consumerGroup")
_OFFSET = read(topic="topic", group="consumerGroup")
_OF_TOPIC = read(topic="topic", perm=Perm.ANY)
_POPPED = popped("topic", "consumerGroup")
_SEND_BACK = read(group="group")
_LOCKS = Rule("SUB for the group and the topics of its queues", needs.locks, of_body=True)
_BEATS = "SUB for each consumer group and its topics"

BROKER: Final[Mapping[int, RightsRow]] = {
    # messages
    RequestCode.SEND_MESSAGE: RightsRow(send_4_9_7("topic", "group"), send("topic")),
    RequestCode.SEND_MESSAGE_V2: RightsRow(send_4_9_7("b", "a"), send("b")),
    RequestCode.SEND_BATCH_MESSAGE: _open(send("b")),
    RequestCode.SEND_REPLY_MESSAGE: _open(send("topic", replies=True)),
    RequestCode.SEND_REPLY_MESSAGE_V2: _open(send("b", replies=True)),
    RequestCode.END_TRANSACTION: _open(
        needs.of_stored(
            needs.offset_in("commitLogOffset"), Perm.PUB, read(topic="topic", perm=Perm.PUB)
        )
    ),
    RequestCode5.RECALL_MESSAGE: _later(read(topic="topic", perm=Perm.PUB)),
    RequestCode.PULL_MESSAGE: _both(_OFFSET),
    RequestCode.LITE_PULL_MESSAGE: _both(_OFFSET),
    RequestCode.CONSUMER_SEND_MSG_BACK: RightsRow(
        _SEND_BACK, needs.of_stored(needs.offset_in("offset"), Perm.SUB, _SEND_BACK)
    ),
    RequestCode.QUERY_MESSAGE: _both(read(topic="topic")),
    RequestCode.VIEW_MESSAGE_BY_ID: _open(
        needs.of_stored(needs.offset_in("offset"), Perm.SUB, read(topic="topic"))
    ),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: _open(
        needs.of_stored(needs.offset_in_id, Perm.SUB, _GROUP)
    ),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: _open(ADMIN),
    # pops
    RequestCode5.POP_MESSAGE: _later(_OFFSET),
    RequestCode5.PEEK_MESSAGE: _later(_OFFSET),
    RequestCode5.ACK_MESSAGE: _later(_POPPED),
    RequestCode5.BATCH_ACK_MESSAGE: _later(
        Rule("SUB for the topic and the group of each pop", needs.acknowledgements, of_body=True)
    ),
    RequestCode5.CHANGE_MESSAGE_INVISIBLETIME: _later(_POPPED),
    RequestCode5.NOTIFICATION: _later(_OFFSET),
    RequestCode5.POLLING_INFO: _later(_OFFSET),
    # No release asks: 5.5.0's brokers have users, see `fakemq.broker.v5.auth.asks`.
    RequestCode5.POP_LITE_MESSAGE: _later(_OFFSET),
    RequestCode5.LITE_SUBSCRIPTION_CTL: _later(ADMIN),
    RequestCode5.GET_BROKER_LITE_INFO: _later(ADMIN),
    RequestCode5.GET_PARENT_TOPIC_INFO: _later(ADMIN),
    RequestCode5.GET_LITE_TOPIC_INFO: _later(ADMIN),
    RequestCode5.GET_LITE_CLIENT_INFO: _later(ADMIN),
    RequestCode5.GET_LITE_GROUP_INFO: _later(ADMIN),
    RequestCode5.TRIGGER_LITE_DISPATCH: _later(ADMIN),
    RequestCode5.QUERY_ASSIGNMENT: _later(
        Rule("SUB for the topic and the group", needs.assignment, of_body=True)
    ),
    RequestCode5.SET_MESSAGE_REQUEST_MODE: _later(ADMIN),
    RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE: _later(ADMIN),
    # clients
    RequestCode.HEART_BEAT: RightsRow(
        Rule(_BEATS, needs.heartbeat, of_body=True),
        Rule(_BEATS, needs.heartbeat_v5, of_body=True),
    ),
    RequestCode.UNREGISTER_CLIENT: _both(
        read(group="consumerGroup", say="SUB for the consumer group")
    ),
    RequestCode.CHECK_CLIENT_CONFIG: RightsRow(
        _HOLE, nothing("it reads only the expression that it is sent")
    ),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _both(_GROUP),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: _open(_GROUP),
    RequestCode.GET_PRODUCER_CONNECTION_LIST: _open(ADMIN),
    RequestCode.GET_ALL_PRODUCER_INFO: _open(ADMIN),
    RequestCode.GET_CONSUMER_RUNNING_INFO: _open(_GROUP),
    RequestCode.LOCK_BATCH_MQ: _open(_LOCKS),
    RequestCode.UNLOCK_BATCH_MQ: _open(_LOCKS),
    # offsets
    RequestCode.QUERY_CONSUMER_OFFSET: _open(_OFFSET),
    RequestCode.UPDATE_CONSUMER_OFFSET: _both(_OFFSET),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: _open(_OF_TOPIC),
    RequestCode.GET_MAX_OFFSET: _open(_OF_TOPIC),
    RequestCode.GET_MIN_OFFSET: _open(_OF_TOPIC),
    RequestCode.GET_EARLIEST_MSG_STORETIME: _open(_OF_TOPIC),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: _open(ADMIN),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _open(read(topic="topic", group="group")),
    RequestCode.CLONE_GROUP_OFFSET: _open(ADMIN),
    RequestCode.QUERY_CORRECTION_OFFSET: _open(ADMIN),
    RequestCode.QUERY_CONSUME_QUEUE: _open(_OFFSET),
    RequestCode.QUERY_CONSUME_TIME_SPAN: _open(read(topic="topic", group="group")),
    RequestCode.GET_CONSUME_STATS: _open(
        Rule("SUB for the group, PUB or SUB for the topics that are named", needs.statistics)
    ),
    RequestCode5.QUERY_TOPICS_BY_CONSUMER: _later(read(group="group")),
    RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER: _later(
        read(topic="topic", group="group", perm=Perm.ANY)
    ),
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: _open(_OF_TOPIC),
    # topics and groups
    RequestCode.GET_TOPIC_STATS_INFO: _open(_OF_TOPIC),
    RequestCode5.GET_TOPIC_CONFIG: _later(_OF_TOPIC),
    RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG: _later(read(group="group")),
    RequestCode.UPDATE_AND_CREATE_TOPIC: _both(ADMIN),
    RequestCode5.UPDATE_AND_CREATE_TOPIC_LIST: _later(ADMIN),
    RequestCode.DELETE_TOPIC_IN_BROKER: _both(ADMIN),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _both(ADMIN),
    RequestCode5.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _later(ADMIN),
    RequestCode.DELETE_SUBSCRIPTIONGROUP: _both(ADMIN),
    RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN: _later(ADMIN),
    # the broker; slaves ask for the tables, and need an address that the rules name
    RequestCode.UPDATE_BROKER_CONFIG: _both(ADMIN),
    RequestCode.GET_BROKER_CONFIG: _open(ADMIN),
    RequestCode.GET_BROKER_RUNTIME_INFO: _open(ADMIN),
    RequestCode.GET_ALL_TOPIC_CONFIG: _open(ADMIN),
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: _open(ADMIN),
    RequestCode.GET_ALL_CONSUMER_OFFSET: _open(ADMIN),
    RequestCode.GET_ALL_DELAY_OFFSET: _open(ADMIN),
    RequestCode5.GET_TIMER_CHECK_POINT: _later(ADMIN),
    RequestCode5.GET_TIMER_METRICS: _later(ADMIN),
    RequestCode5.GET_BROKER_HA_STATUS: _later(ADMIN),
    RequestCode5.GET_BROKER_EPOCH_CACHE: _later(ADMIN),
    RequestCode5.NOTIFY_BROKER_ROLE_CHANGED: _later(ADMIN),
    RequestCode5.NOTIFY_MIN_BROKER_ID_CHANGE: _later(ADMIN),
    RequestCode5.EXCHANGE_BROKER_HA_INFO: _later(ADMIN),
    RequestCode5.RESET_MASTER_FLUSH_OFFSET: _later(ADMIN),
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: _open(ADMIN),
    RequestCode.VIEW_BROKER_STATS_DATA: _open(ADMIN),
    RequestCode.GET_BROKER_CONSUME_STATS: _open(ADMIN),
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: _open(ADMIN),
    RequestCode.CLEAN_UNUSED_TOPIC: _open(ADMIN),
    RequestCode.DELETE_EXPIRED_COMMITLOG: _open(ADMIN),
    RequestCode5.AUTH_CREATE_USER: _later(ADMIN),
    RequestCode5.AUTH_UPDATE_USER: _later(ADMIN),
    RequestCode5.AUTH_DELETE_USER: _later(ADMIN),
    RequestCode5.AUTH_GET_USER: _later(ADMIN),
    RequestCode5.AUTH_LIST_USER: _later(ADMIN),
    RequestCode5.AUTH_CREATE_ACL: _later(ADMIN),
    RequestCode5.AUTH_UPDATE_ACL: _later(ADMIN),
    RequestCode5.AUTH_DELETE_ACL: _later(ADMIN),
    RequestCode5.AUTH_GET_ACL: _later(ADMIN),
    RequestCode5.AUTH_LIST_ACL: _later(ADMIN),
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: _open(ADMIN),
    RequestCode.DELETE_ACL_CONFIG: _open(ADMIN),
    RequestCode.GET_BROKER_CLUSTER_ACL_INFO: _open(ADMIN),
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: _open(ADMIN),
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: RightsRow(_HOLE, None),
}

_FREE: Final = _both(nothing("a name server asks for no key"))

NAMESRV: Final[Mapping[int, RightsRow]] = {
    RequestCode.PUT_KV_CONFIG: _FREE,
    RequestCode.GET_KV_CONFIG: _FREE,
    RequestCode.DELETE_KV_CONFIG: _FREE,
    RequestCode.REGISTER_BROKER: _FREE,
    RequestCode.UNREGISTER_BROKER: _FREE,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: _FREE,
    RequestCode.GET_BROKER_CLUSTER_INFO: _FREE,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: _FREE,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _FREE,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: _FREE,
    RequestCode5.REGISTER_TOPIC_IN_NAMESRV: RightsRow(None, _FREE.in_v5),
    RequestCode.GET_KVLIST_BY_NAMESPACE: _FREE,
    RequestCode.GET_TOPICS_BY_CLUSTER: _FREE,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: _FREE,
    RequestCode.GET_UNIT_TOPIC_LIST: _FREE,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: _FREE,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _FREE,
    RequestCode.UPDATE_NAMESRV_CONFIG: _FREE,
    RequestCode.GET_NAMESRV_CONFIG: _FREE,
    RequestCode.QUERY_DATA_VERSION: _FREE,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: _FREE,
    RequestCode5.GET_BROKER_MEMBER_GROUP: RightsRow(None, _FREE.in_v5),
    RequestCode5.BROKER_HEARTBEAT: RightsRow(None, _FREE.in_v5),
}

_CONSUME: Final = RpcRule("SUB for the topic and the group", needs.rpc_consume)
_PUBLISH: Final = RpcRule("PUB for the topic", needs.rpc_publish)
_OF_GROUP: Final = RpcRule("SUB for the group, if one is named", needs.rpc_group)
_PULLS: Final = RpcRule("nothing: UNIMPLEMENTED, as at the proxy of 5.5.0")

RPCS: Final[Mapping[str, RpcRule]] = {
    "QueryRoute": RpcRule("PUB or SUB for the topic", needs.rpc_find),
    "Heartbeat": _OF_GROUP,
    "SendMessage": RpcRule("PUB for the topic of each message", needs.rpc_send),
    "QueryAssignment": _CONSUME,
    "ReceiveMessage": RpcRule("SUB for the topic and the group", needs.rpc_receive),
    "AckMessage": _CONSUME,
    "ForwardMessageToDeadLetterQueue": _CONSUME,
    "PullMessage": _PULLS,
    "UpdateOffset": _PULLS,
    "GetOffset": _PULLS,
    "QueryOffset": _PULLS,
    "EndTransaction": _PUBLISH,
    "Telemetry": RpcRule(
        "of settings PUB for each published topic, SUB for the group and each subscribed topic",
        needs.rpc_telemetry,
    ),
    "NotifyClientTermination": _OF_GROUP,
    "ChangeInvisibleDuration": _CONSUME,
    "RecallMessage": _PUBLISH,
    "SyncLiteSubscription": _CONSUME,
}


def _no_record(_: int) -> str | None:
    return None


class Rights:
    """What requests to a broker of one release ask for.

    ``v5`` is whether the release is 5.5.0.
    """

    def __init__(self, *, v5: bool = False, stored: Stored = _no_record) -> None:
        self.v5 = v5
        self._rules = {
            int(code): rule
            for code, row in BROKER.items()
            if (rule := row.in_v5 if v5 else row.in_4_9_7) is not None
        }
        self._stored = stored

    def needs(self, command: RemotingCommand) -> Needs:
        """Return what a request needs; raise AclError if that cannot be read.

        4.9.7 reads a request before it asks for the key, unless it has no fields, as one in its
        usual form. 5.5.0 asks for the key first; then the body is read with the first need.

        Source: acl/plain/PlainAccessValidator.java#parse (4.9.7),
        broker/BrokerController.java#initialRequestPipeline (5.5.0)
        """
        rule = self._rules.get(command.code)
        if rule is None or rule.needs is None:
            return ()
        needs = iter(rule.needs(command, self._stored))
        if self.v5 or not command.ext_fields:
            return needs
        return chain(list(islice(needs, 1)), needs)

    def in_body(self, code: int) -> bool:
        """Return whether the body of requests of a code names what they need."""
        rule = self._rules.get(code)
        return rule is not None and rule.of_body

    def needs_admin(self, code: int) -> bool:
        """Return whether requests of a code need an admin."""
        rule = self._rules.get(code)
        return rule is not None and rule.admin


def merged(found: Needs) -> dict[str, Perm]:
    """Return the permissions that are needed, by resource.

    What denies, or is needed in two ways, stays so: a request may name a topic twice.
    """
    by_name: dict[str, Perm] = {}
    _merge(by_name, found)
    return by_name


def merged_in_steps(found: Needs) -> Steps[dict[str, Perm]]:
    """As `merged`, of very many permissions."""
    by_name: dict[str, Perm] = {}
    rest = iter(found)
    while some := list(islice(rest, A_STEP)):
        _merge(by_name, some)
        yield
    return by_name


def _merge(by_name: dict[str, Perm], found: Needs) -> None:
    for name, perm in found:
        if name is not None:
            before = by_name.get(name, perm)
            by_name[name] = perm if before is perm else before | perm
