"""Which requests are not drawn, and why; and which values are not."""

from __future__ import annotations

from collections.abc import Mapping

from fakemq.protocol.codes import RequestCode

_OF_THE_WHOLE = "its answer is about the whole broker, with the traces of earlier sequences"
_CHANGES_ALL = "it changes or cleans the whole broker, for later sequences too"
_TO_CLIENTS = "a broker sends it to clients, and answers code 3; scenario unhandled_codes"
_NOT_HANDLED = "no node of 4.9.7 handles it; scenario unhandled_codes"
_ASKS_CLIENT = (
    "the broker asks a client and waits for its answer; the scenarios of relaying have it"
)
_ACL = "without access control it does nothing, and with it changes rules for all; docs/acl.md"

LEFT_OUT: Mapping[RequestCode, str] = {
    RequestCode.QUERY_BROKER_OFFSET: _NOT_HANDLED,
    RequestCode.GET_TOPIC_CONFIG_LIST: _NOT_HANDLED,
    RequestCode.GET_TOPIC_NAME_LIST: _NOT_HANDLED,
    RequestCode.TRIGGER_DELETE_FILES: _NOT_HANDLED,
    RequestCode.SUSPEND_CONSUMER: _NOT_HANDLED,
    RequestCode.RESUME_CONSUMER: _NOT_HANDLED,
    RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER: _NOT_HANDLED,
    RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER: _NOT_HANDLED,
    RequestCode.ADJUST_CONSUMER_THREAD_POOL: _NOT_HANDLED,
    RequestCode.WHO_CONSUME_THE_MESSAGE: _NOT_HANDLED,
    RequestCode.REGISTER_FILTER_SERVER: _NOT_HANDLED,
    RequestCode.REGISTER_MESSAGE_FILTER_CLASS: _NOT_HANDLED,
    RequestCode.CHECK_TRANSACTION_STATE: _TO_CLIENTS,
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: _TO_CLIENTS,
    RequestCode.RESET_CONSUMER_CLIENT_OFFSET: _TO_CLIENTS,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: _TO_CLIENTS,
    RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: _TO_CLIENTS,
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _ASKS_CLIENT,
    RequestCode.GET_CONSUMER_RUNNING_INFO: _ASKS_CLIENT,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: _ASKS_CLIENT,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: "the check that it resumes comes by a timer",
    RequestCode.GET_ALL_TOPIC_CONFIG: "compared at the end of each sequence",
    RequestCode.GET_ALL_CONSUMER_OFFSET: "compared at the end of each sequence",
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: "compared at the end of each sequence",
    RequestCode.GET_ALL_DELAY_OFFSET: _OF_THE_WHOLE,
    RequestCode.GET_BROKER_CONFIG: "ports, paths, the machine; scenario broker_config",
    RequestCode.GET_BROKER_RUNTIME_INFO: _OF_THE_WHOLE,
    RequestCode.GET_ALL_PRODUCER_INFO: _OF_THE_WHOLE,
    RequestCode.GET_BROKER_CONSUME_STATS: _OF_THE_WHOLE,
    RequestCode.VIEW_BROKER_STATS_DATA: "samples that a real broker takes by its own clock",
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _OF_THE_WHOLE,
    RequestCode.GET_TOPICS_BY_CLUSTER: _OF_THE_WHOLE,
    RequestCode.GET_UNIT_TOPIC_LIST: _OF_THE_WHOLE,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: _OF_THE_WHOLE,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _OF_THE_WHOLE,
    RequestCode.UPDATE_BROKER_CONFIG: _CHANGES_ALL,
    RequestCode.UPDATE_NAMESRV_CONFIG: _CHANGES_ALL,
    RequestCode.GET_NAMESRV_CONFIG: "paths, the machine; scenario kv_config",
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: _CHANGES_ALL,
    RequestCode.CLEAN_UNUSED_TOPIC: _CHANGES_ALL,
    RequestCode.DELETE_EXPIRED_COMMITLOG: _CHANGES_ALL,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: _CHANGES_ALL,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: _CHANGES_ALL,
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: _ACL,
    RequestCode.DELETE_ACL_CONFIG: _ACL,
    RequestCode.GET_BROKER_CLUSTER_ACL_INFO: _ACL,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: _ACL,
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: _ACL,
    RequestCode.LITE_PULL_MESSAGE: "4.9.7 has no such code",
    RequestCode.REGISTER_BROKER: "a broker that is none stays in routes; scenarios of registration",
    RequestCode.UNREGISTER_BROKER: "it may name the broker of all sequences",
}
"""Request code → why no sequence has it."""

VALUES_LEFT_OUT = (
    "pulls that may be held: a real broker ends them by its own clock",
    "one-way requests: a real broker handles them in no order with others",
    "times near now: the two clusters do not store at the same millisecond",
    "names of topics that sequences share, where they would read from these",
    "numbers of queues and messages beyond 64, where Java would reserve memory for each",
    "topics of light message queues (%LMQ%): their messages outlive a sequence",
    "messages sent back by a group with a slash: those in its DLQ outlive a sequence",
    "a group without a name, as a destination too: a real broker never forgets its offsets",
    "heartbeats without a client id: 4.9.7 registers a consumer that no list shows",
    "sends to a queue below 0, and several retry queues: a real broker chooses any queue",
    "IPv6 bits of a system flag: docs/differences.md",
)
"""What no request has; docs/differ.md lists it."""
