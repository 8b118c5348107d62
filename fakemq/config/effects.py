"""What each config key does here: it acts, it is accepted without effect, or it is refused.

`ACTS` and `WITHOUT_EFFECT` have one line for each key, by table and attribute; docs/config.md is
made from them. `unsupported` has the keys that are refused. Tests compare the keys with those of
the tables, and with what the code reads.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fakemq.config.keys import (
    BrokerKeys,
    BrokerStartupKeys,
    MessageStoreKeys,
    NamesrvKeys,
    NettyClientKeys,
    NettyServerKeys,
    NewerKeys,
)
from fakemq.config.model import keys_of
from fakemq.config.unsupported import REFUSED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.config.model import Config, Key, Value

_CAPACITY = "the most requests in its queue while `mq.faults.busy` keeps the threads busy"
_LONGEST_WAIT = "how long a request may wait for a busy thread, in ms"

ACTS: dict[type, dict[str, str]] = {
    BrokerKeys: {
        "rocketmq_home": "the folder of `conf/plain_acl.yml`, for `aclEnable`",
        "namesrv_addr": (
            "where the broker registers; a change is followed within 2 minutes. In a cluster of"
            " fakemq: its own name servers, whatever a file says"
        ),
        "fetch_namesrv_addr_by_address_server": (
            "without `namesrvAddr`: 10 s after the start, and every 2 minutes, asks"
            " `http://DOMAIN:8080/rocketmq/SUBGROUP` for it; read at the start. In a cluster of"
            " fakemq: nothing, because its brokers have name servers"
        ),
        "broker_ip1": "the address that clients get",
        "broker_ip2": "the address that slaves get",
        "broker_name": "its name in routes",
        "broker_cluster_name": "its cluster in routes and statistics",
        "broker_id": "0 for a master; of a slave its number",
        "broker_permission": "what clients may do; a change registers the broker again",
        "default_topic_queue_nums": "the most queues of a topic that a send creates",
        "auto_create_topic_enable": "whether a send creates its topic",
        "cluster_topic_enable": "whether the topic named like the cluster may be read and written",
        "broker_topic_enable": "whether the topic named like the broker may be read and written",
        "auto_create_subscription_group": "whether a pull or heartbeat creates its group",
        "msg_trace_topic_name": "the topic of `traceTopicEnable`",
        "trace_topic_enable": "whether the topic of traces is there from the start",
        "flush_consumer_offset_interval": "how often offsets are written, in ms",
        "reject_transaction_message": "refuses half messages",
        "send_message_thread_pool_nums": "how many sends wait for the lock of a busy page cache",
        "send_thread_pool_queue_capacity": f"{_CAPACITY}; shown in the runtime information",
        "pull_thread_pool_queue_capacity": (
            f"{_CAPACITY}, and the most pulls that are held; shown in the runtime information"
        ),
        "reply_thread_pool_queue_capacity": _CAPACITY,
        "query_thread_pool_queue_capacity": f"{_CAPACITY}; shown in the runtime information",
        "client_manager_thread_pool_queue_capacity": _CAPACITY,
        "heartbeat_thread_pool_queue_capacity": _CAPACITY,
        "end_transaction_pool_queue_capacity": f"{_CAPACITY}; shown in the runtime information",
        "broker_fast_failure_enable": (
            "whether requests that wait too long for a busy thread are refused"
        ),
        "wait_time_mills_in_send_queue": _LONGEST_WAIT,
        "wait_time_mills_in_pull_queue": _LONGEST_WAIT,
        "wait_time_mills_in_heartbeat_queue": _LONGEST_WAIT,
        "wait_time_mills_in_transaction_queue": _LONGEST_WAIT,
        "long_polling_enable": "whether pulls without messages are held",
        "short_polling_time_mills": "how long they are held without long polling, in ms",
        "notify_consumer_ids_changed_enable": "whether a group's members are notified of changes",
        "transfer_msg_by_heap": "without it GROUP_GET_LATENCY is not counted",
        "region_id": "MSG_REGION of messages and answers",
        "register_broker_timeout_mills": "how long a registration waits for its answer, in ms",
        "slave_read_enable": "whether pulls far behind are sent to a slave",
        "disable_consume_if_consumer_read_slowly": (
            "every 3 minutes, suspends groups that are too far behind"
        ),
        "consumer_fallbehind_threshold": "how far behind that is, in bytes",
        "start_accept_send_request_time_stamp": "sends before this time are refused, in ms",
        "trace_on": "TRACE_ON of messages and answers",
        "enable_calc_filter_bit_map": (
            "whether extensions of queues have the bits of the filters that a message matches"
        ),
        "expect_consumer_num_use_filter": "the length of the bits of filters",
        "max_error_rate_of_bloom_filter": "the same, in per cent",
        "filter_data_clean_time_span": "how long filters of absent groups are kept, in ms",
        "filter_support_retry": "whether SQL92 filters hold for retries",
        "enable_property_filter": "whether SQL92 filters are allowed",
        "compressed_register": "registrations are compressed",
        "force_register": "false: registers only after changes",
        "register_name_server_period": "how often it registers: 10 s to 60 s, in ms",
        "transaction_time_out": "the age at which a half message is checked, in ms",
        "transaction_check_max": "how often it is checked",
        "transaction_check_interval": "how often half messages are looked for, in ms",
        "acl_enable": "access control ([acl.md](acl.md)); read at each start",
        "store_reply_message_enable": "whether replies are stored",
        "enable_detail_stat": "statistics by queue",
        "auto_delete_unused_stats": "deleted topics and groups lose their statistics",
    },
    NettyServerKeys: {
        "listen_port": "the port; read at the start",
        "server_channel_max_idle_time_seconds": (
            "connections of clients without traffic are closed after this time, in s; read when"
            " they connect"
        ),
        "server_socket_snd_buf_size": "SO_SNDBUF of connections, in bytes; read at the start",
        "server_socket_rcv_buf_size": "SO_RCVBUF of connections, in bytes; read at the start",
        "server_socket_backlog": "connections that wait to be accepted; read at the start",
    },
    NettyClientKeys: {
        "use_tls": "its connections to other nodes use TLS ([tls.md](tls.md))",
        "client_channel_max_idle_time_seconds": (
            "its connections to other nodes are closed after this time without traffic, in s"
        ),
        "client_close_socket_if_timeout": (
            "closes the connection to a name server that does not answer in time; that name"
            " server then forgets the broker"
        ),
    },
    MessageStoreKeys: {
        "store_path_root_dir": "the folder; none: in memory; read at the start",
        "store_path_commit_log": (
            "the folder of the log, or several with commas between them; read at the start"
        ),
        "read_only_commit_log_store_paths": (
            "folders of the log that get no new files; only beside several folders; read at the"
            " start"
        ),
        "mapped_file_size_commit_log": "size of a file of the log, in bytes",
        "mapped_file_size_consume_queue": "size of a file of a queue, in bytes",
        "enable_consume_queue_ext": "whether new queues have an extension (consumequeue_ext)",
        "mapped_file_size_consume_queue_ext": "size of a file of an extension, in bytes",
        "bit_map_length_consume_queue_ext": (
            "set at the start, from the two keys about filters; shown to operators"
        ),
        "flush_interval_commit_log": "how often the log is flushed, in ms",
        "flush_commit_log_timed": "false: each message asks for a flush, too",
        "flush_interval_consume_queue": "how often queues are flushed, in ms",
        "clean_resource_interval": "how often old files are looked for, in ms",
        "delete_commit_log_files_interval": "the pause between two deleted files of the log, in ms",
        "delete_when": "the hours in which old files are deleted",
        "disk_max_used_space_ratio": "from here they are deleted at any hour, in per cent",
        "enable_lmq": (
            "light queues `%LMQ%…`: every such topic and group is there; read at the start, and for"
            " each message"
        ),
        "enable_multi_dispatch": (
            "a message is also in the queues that its property `INNER_MULTI_DISPATCH` names"
        ),
        "max_lmq_consume_queue_num": (
            "with more light queues, pulls of these are refused; messages are not, as in RocketMQ"
        ),
        "file_reserved_time": "the age at which files are deleted, in hours",
        "max_message_size": "the largest message, in bytes",
        "check_crc_on_recover": "whether checksums of bodies are checked after a crash",
        "flush_commit_log_least_pages": "the pages of 4 KiB for which a flush is worth it",
        "flush_consume_queue_least_pages": "the same, of queues",
        "flush_commit_log_thorough_interval": "how often all is flushed, in ms",
        "flush_consume_queue_thorough_interval": "the same, of queues",
        "max_transfer_bytes_on_message_in_memory": "the most that a pull gets, in bytes",
        "max_transfer_count_on_message_in_memory": "the most that a pull gets, in messages",
        "max_transfer_bytes_on_message_in_disk": "the same of old messages",
        "max_transfer_count_on_message_in_disk": "the same of old messages",
        "access_message_in_memory_max_ratio": (
            "which part of the RAM (`ram_size`) holds messages that are not old, in per cent"
        ),
        "message_index_enable": "whether messages are found by their keys",
        "max_hash_slot_num": "size of an index file",
        "max_index_num": "size of an index file",
        "max_msgs_num_batch": "the most messages of a query by key",
        "message_index_safe": "the index is checked after a crash",
        "ha_listen_port": "`listenPort` + 1, whatever a file says",
        "ha_send_heartbeat_interval": "how often masters and slaves report, in ms",
        "ha_housekeeping_interval": "when a silent connection of these is closed, in ms",
        "ha_transfer_batch_size": "the most bytes of one transfer",
        "ha_master_address": "a slave's master, if no name server is to say it",
        "ha_slave_fallbehind_max": "a slave further behind is not waited for, in bytes",
        "broker_role": "ASYNC_MASTER, SYNC_MASTER or SLAVE",
        "os_page_cache_busy_time_out_mills": (
            "how long a put holds the lock before `mq.faults.page_cache_busy` rejects sends, in ms"
        ),
        "flush_disk_type": "SYNC_FLUSH: sends wait for the disk",
        "sync_flush_timeout": "how long, in ms",
        "slave_timeout": "how long SYNC_MASTER waits for a slave, in ms",
        "message_delay_level": "the delays of levels 1, 2, …; read at the start",
        "flush_delay_offset_interval": "how often the progress of delay levels is written, in ms",
        "clean_file_forcibly_enable": "whether a full disk deletes files before their time",
        "offset_check_in_slave": "whether slaves correct offsets of pulls",
        "disk_fall_recorded": "without it no group is found too far behind",
        "default_query_max_num": "the most messages of a query by unique key",
        "transient_store_pool_enable": (
            "shown in the runtime information; a killed RocketMQ loses the last 200 ms of its log,"
            " and fakemq nothing"
        ),
        "transient_store_pool_size": "shown in the runtime information",
        "enable_schedule_message_stats": "whether deliveries of delayed messages are counted",
    },
    NewerKeys: {
        "lite_pull_message_enable": "whether LITE_PULL_MESSAGE (361) of 5.x is answered",
        "enable_acting_master": "the value of that field in routes of 5.x; nothing: no such field",
    },
    BrokerStartupKeys: {
        "rmq_address_server_domain": "DOMAIN of `fetchNamesrvAddrByAddressServer`, or `HOST:PORT`",
        "rmq_address_server_sub_group": "SUBGROUP of `fetchNamesrvAddrByAddressServer`",
    },
    NamesrvKeys: {
        "kv_config_path": "the file of the KV config; none: in memory; read at the start",
        "order_message_enable": "whether routes have the order of topics",
    },
}
"""Keys that do what they do in Java. "Read at the start": a later change waits for a restart."""

_NOT_READ = "4.9.7 does not read it"
_THREADS = "threads: requests are handled one after the other, each when it arrives"
_NO_QUEUE = "no put waits in a queue"
_POOL = "only `transientStorePoolEnable` reads it; all messages can be read at once"
_DLEDGER = "only DLedger reads it"
_WARM = "pages of files are not written in advance"
_MEMORY = "memory of the JVM"
_SLOW_PEER = "what a slow peer leaves unread is limited in any case"

WITHOUT_EFFECT: dict[type, dict[str, str]] = {
    BrokerKeys: {
        "put_message_future_thread_pool_nums": _THREADS,
        "pull_message_thread_pool_nums": _THREADS,
        "process_reply_message_thread_pool_nums": _THREADS,
        "query_message_thread_pool_nums": _THREADS,
        "admin_broker_thread_pool_nums": _THREADS,
        "client_manage_thread_pool_nums": _THREADS,
        "consumer_manage_thread_pool_nums": _THREADS,
        "heartbeat_thread_pool_nums": _THREADS,
        "end_transaction_thread_pool_nums": _THREADS,
        "flush_consumer_offset_history_interval": _NOT_READ,
        "put_thread_pool_queue_capacity": _NO_QUEUE,
        "consumer_manager_thread_pool_queue_capacity": "no pool of 4.9.7 has this queue",
        "filter_server_nums": _NOT_READ,
        "high_speed_mode": _NOT_READ,
        "commercial_enable": _NOT_READ,
        "commercial_timer_count": _NOT_READ,
        "commercial_trans_count": _NOT_READ,
        "commercial_big_count": _NOT_READ,
        "commercial_base_count": "only hooks of other vendors read it",
        "max_delay_time": _NOT_READ,
        "isolate_log_enable": "there are no log files",
    },
    NettyServerKeys: {
        "server_worker_threads": _THREADS,
        "server_callback_executor_threads": _THREADS,
        "server_selector_threads": _THREADS,
        "server_oneway_semaphore_value": "a request to a client is written at once",
        "server_async_semaphore_value": "a request to a client is written at once",
        "write_buffer_high_water_mark": _SLOW_PEER,
        "write_buffer_low_water_mark": _SLOW_PEER,
        "server_pooled_byte_buf_allocator_enable": _MEMORY,
        "use_epoll_native_selector": "the loop of Python uses epoll in any case",
    },
    NettyClientKeys: {
        "client_worker_threads": _THREADS,
        "client_callback_executor_threads": _THREADS,
        "client_oneway_semaphore_value": "a broker asks name servers one thing at a time",
        "client_async_semaphore_value": "a broker asks name servers one thing at a time",
        "connect_timeout_millis": (
            "a name server elsewhere has 3 s; the broker tries again with its next registration"
        ),
        "channel_not_active_interval": _NOT_READ,
        "client_socket_snd_buf_size": "only registrations leave there",
        "client_socket_rcv_buf_size": "only answers to registrations arrive there",
        "client_pooled_byte_buf_allocator_enable": _MEMORY,
        "write_buffer_high_water_mark": _SLOW_PEER,
        "write_buffer_low_water_mark": _SLOW_PEER,
    },
    MessageStoreKeys: {
        "store_path_d_ledger_commit_log": _DLEDGER,
        "commit_interval_commit_log": _POOL,
        "use_reentrant_lock_when_put_message": "which lock the threads of a JVM take",
        "delete_consume_queue_files_interval": "files of queues are deleted in slices",
        "destroy_maped_file_interval_forcibly": "no pull keeps a file: each is deleted at once",
        "redelete_hanged_file_interval": "no pull keeps a file: each is deleted at once",
        "put_msg_index_hight_water": _NOT_READ,
        "commit_commit_log_least_pages": _POOL,
        "flush_least_pages_when_warm_maped_file": _WARM,
        "commit_commit_log_thorough_interval": _POOL,
        "warm_maped_file_enable": _WARM,
        "debug_lock_enable": "writes the stacks of a JVM's threads to a file",
        "fast_fail_if_no_buffer_in_store_pool": _POOL,
        "d_leger_group": _DLEDGER,
        "d_leger_peers": _DLEDGER,
        "d_leger_self_id": _DLEDGER,
        "preferred_leader_id": _DLEDGER,
        "enable_batch_push": _DLEDGER,
        "enable_schedule_async_deliver": "each delivery ends in the moment in which it is due",
        "schedule_async_deliver_max_pending_limit": "only `enableScheduleAsyncDeliver` reads it",
        "schedule_async_deliver_max_resend_num2_blocked": (
            "only `enableScheduleAsyncDeliver` reads it"
        ),
    },
    NamesrvKeys: {
        "rocketmq_home": "the folder of the settings of log files, which there are not",
        "config_store_path": "a changed config is not written to a file",
        "product_env_name": "only `clusterTest` reads it",
    },
}
"""Keys that are accepted and do nothing: why no client and no operator can notice it."""


def refused(key: Key) -> str | None:
    """Return which values of a key are accepted; None for a key that is not refused."""
    if key.attribute == "cluster_test":  # by the name server, when it starts
        return "false; no other name server is asked for routes"
    found = [instead for attribute, _, _, instead in REFUSED if attribute == key.attribute]
    return found[0].removeprefix(f"{key.name}=") if found else None


def effect(key: Key) -> str | None:
    """Return what a key does; None for a key without effect, or one that is refused."""
    return _line("ACTS", key)


def without_effect(key: Key) -> str | None:
    """Return why a key does nothing here; None for a key that acts, or is refused."""
    return _line("WITHOUT_EFFECT", key)


def _line(name: str, key: Key) -> str | None:
    """Return the line about a key in the tables called ``name``.

    The lines about ``config.v5.keys`` are in ``config.v5.effects``, and so on for each release.
    """
    for table in key.table.__mro__[:-1]:
        module = import_module(table.__module__.replace(".keys", ".effects"))
        lines: Mapping[str, str] = getattr(module, name).get(table, {})
        if key.attribute in lines:
            return lines[key.attribute]
    return None


def idle_keys(kind: type[Config], values: Mapping[str, Value]) -> list[str]:
    """Return Java's names of the keys that were set, other than to their default, in vain."""
    return [
        key.name
        for key in keys_of(kind).values()
        if key.attribute in values
        and values[key.attribute] != getattr(kind, key.attribute)
        and without_effect(key) is not None
    ]
