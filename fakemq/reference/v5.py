"""RocketMQ 5.5.0: what its name servers and brokers say and begin with, where 4.9.7 differs.

Source: common/MQVersion.java, remoting/protocol/RequestCode.java,
broker/topic/TopicConfigManager.java#init, common/topic/TopicValidator.java (5.5.0)
"""

from __future__ import annotations

from fakemq.protocol.bodies.group import GroupRetryPolicy
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message_types import MESSAGE_TYPES
from fakemq.protocol.topics import SYNC_BROKER_MEMBER_PREFIX
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from fakemq.protocol.v5.properties import encode_properties
from fakemq.reference import FirstTopic, Reference

_STATIC_TOPICS = "static topics"
_CONTAINERS = "broker containers"
_CONTROLLER = "controllers"
_COLD_DATA = "cold data flow control"
_ROCKSDB = "RocksDB stores"

LITE_CODES = frozenset(
    {
        *(RequestCode5.POP_LITE_MESSAGE, RequestCode5.LITE_SUBSCRIPTION_CTL),
        *(RequestCode5.GET_BROKER_LITE_INFO, RequestCode5.GET_PARENT_TOPIC_INFO),
        *(RequestCode5.GET_LITE_TOPIC_INFO, RequestCode5.GET_LITE_CLIENT_INFO),
        *(RequestCode5.GET_LITE_GROUP_INFO, RequestCode5.TRIGGER_LITE_DISPATCH),
    }
)
"""What brokers are asked about lite topics."""

REFERENCE = Reference(
    name="5.5.0",
    version=513,
    folder="v5",
    configs="fakemq.config.v5.model",
    gone_codes=frozenset(
        {
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
            RequestCode.DELETE_ACL_CONFIG,
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
        }
    ),
    out_of_scope={
        RequestCode5.UPDATE_AND_CREATE_STATIC_TOPIC: _STATIC_TOPICS,
        RequestCode5.ADD_BROKER: _CONTAINERS,
        RequestCode5.REMOVE_BROKER: _CONTAINERS,
        RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET: _CONTROLLER,
        RequestCode5.CONTROLLER_ELECT_MASTER: _CONTROLLER,
        RequestCode5.CONTROLLER_REGISTER_BROKER: _CONTROLLER,
        RequestCode5.CONTROLLER_GET_REPLICA_INFO: _CONTROLLER,
        RequestCode5.CONTROLLER_GET_METADATA_INFO: _CONTROLLER,
        RequestCode5.CONTROLLER_GET_SYNC_STATE_DATA: _CONTROLLER,
        RequestCode5.UPDATE_CONTROLLER_CONFIG: _CONTROLLER,
        RequestCode5.GET_CONTROLLER_CONFIG: _CONTROLLER,
        RequestCode5.CLEAN_BROKER_DATA: _CONTROLLER,
        RequestCode5.CONTROLLER_GET_NEXT_BROKER_ID: _CONTROLLER,
        RequestCode5.CONTROLLER_APPLY_BROKER_ID: _CONTROLLER,
        RequestCode5.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: _COLD_DATA,
        RequestCode5.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: _COLD_DATA,
        RequestCode5.GET_COLD_DATA_FLOW_CTR_INFO: _COLD_DATA,
        RequestCode5.SET_COMMITLOG_READ_MODE: _COLD_DATA,
        RequestCode5.CHECK_ROCKSDB_CQ_WRITE_PROGRESS: _ROCKSDB,
        RequestCode5.EXPORT_ROCKSDB_CONFIG_TO_JSON: _ROCKSDB,
        RequestCode5.POP_ROLLBACK: _ROCKSDB,
        RequestCode5.SWITCH_TIMER_ENGINE: _ROCKSDB,
    },
    refuses_unknown_codes=True,
    answers_in_json=True,
    json_exception="com.alibaba.fastjson2.JSONException",
    forbidden_type_field="forbiddenType",
    invalid_parameter_code=ResponseCode5.INVALID_PARAMETER,
    call_timed_out=(
        "wait response on the channel </{addr}> timeout, {timeout_ms}(ms),"
        " org.apache.rocketmq.remoting.netty.NettyRemotingAbstract"
        ".invokeSyncImpl(NettyRemotingAbstract.java:592)"
    ),
    reads_acl_enable=False,
    text_conditions=True,
    refuses_negative_pulls=False,
    v5_dead_letters=True,
    immunity_lag_ms=1,
    check_sleep_ms=1_000,
    checks_name_topic=True,
    waits_for_slaves=False,
    stores_moved_offsets=False,
    notifies_broadcasting=False,
    faq="\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
    has_priorities=True,
    has_lite_topics=True,
    suspends_pops=True,
    marks_revived=True,
    checks_request_modes=True,
    counts_tables=True,
    indexes_tags=True,
    encode_properties=encode_properties,
    message_types=MESSAGE_TYPES,
    topic_settings={"attributes": {}},
    group_settings={
        "consume_message_orderly": False,
        "group_retry_policy": GroupRetryPolicy(),
        "group_sys_flag": 0,
        "consume_timeout_minute": 15,
        "attributes": {},
    },
    built_in_groups=("CID_RMQ_SYS_TRANS",),
    first_topics=(
        FirstTopic("rmq_sys_REVIVE_LOG_{cluster}", "revive_queue_num"),
        FirstTopic(f"{SYNC_BROKER_MEMBER_PREFIX}{{broker}}", 1, perm=1),
        FirstTopic("RMQ_SYS_TRANS_HALF_TOPIC", 1),
        FirstTopic("RMQ_SYS_TRANS_OP_HALF_TOPIC", 1),
        FirstTopic("RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", 1),
        FirstTopic("RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC", 1),
        FirstTopic("rmq_sys_wheel_timer", 1, only_with="timer_wheel_enable"),
    ),
    system_topics=(
        "CHECKPOINT_TOPIC",
        "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    ),
)
