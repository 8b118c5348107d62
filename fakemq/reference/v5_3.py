"""RocketMQ 5.3.2: what its name servers and brokers say and begin with, where 5.5.0 differs.

Source: common/MQVersion.java, common/TopicAttributes.java, remoting/protocol/RequestCode.java,
broker/topic/TopicConfigManager.java#init, broker/processor/*.java (5.3.2)
"""

from __future__ import annotations

from msgspec.structs import replace

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference import V4_9_7, v5

REFERENCE = replace(
    v5.REFERENCE,
    name="5.3.2",
    version=477,
    folder="v5_3",
    configs="fakemq.config.v5_3.model",
    gone_codes=frozenset({RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG, *v5.LITE_CODES}),
    out_of_scope={
        code: feature
        for code, feature in v5.REFERENCE.out_of_scope.items()
        if code != RequestCode5.SWITCH_TIMER_ENGINE
    },
    json_exception=V4_9_7.json_exception,
    call_timed_out=v5.REFERENCE.call_timed_out.replace("java:592", "java:507"),
    immunity_lag_ms=0,
    acl_is_off="The broker does not enable acl.",
    reads_acl_enable=True,
    has_priorities=False,
    has_lite_topics=False,
    suspends_pops=False,
    marks_revived=False,
    checks_request_modes=False,
    counts_tables=False,
    indexes_tags=False,
    message_types=tuple(
        one for one in v5.REFERENCE.message_types if one not in ("PRIORITY", "LITE")
    ),
    first_topics=tuple(one for one in v5.REFERENCE.first_topics if "ROCKSDB" not in one.name),
    system_topics=("CHECKPOINT_TOPIC",),
)
