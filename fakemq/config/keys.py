"""Every config key that RocketMQ 4.9.7 knows, and a few later ones: name, Java type and default.

One class for each Java class. The annotations and class attributes *are* the table: ``Long`` is
Java's long (an int is 32 bits), ``str | None`` is a String that starts as null. A key's Java name
follows from the attribute's (``broker_name`` is ``brokerName``); ``JAVA_NAMES`` has those where it
does not. Nothing is computed here, so importing it costs next to nothing.

Some of Java's defaults depend on the machine. The table has fixed values for them: the local host
for addresses, ``broker-a`` for the host name, None for folders (nothing is written there), and for
thread pools, which fakemq does not have, the values of a machine with four processors.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from fakemq.protocol.delay_levels import DEFAULT_DELAY_LEVELS

Long: TypeAlias = int
BrokerRole: TypeAlias = Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"]
FlushDiskType: TypeAlias = Literal["ASYNC_FLUSH", "SYNC_FLUSH"]

CHOICES: dict[str, tuple[str, ...]] = {
    "BrokerRole": ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"),
    "FlushDiskType": ("ASYNC_FLUSH", "SYNC_FLUSH"),
}
JAVA_NAMES = {
    "broker_ip1": "brokerIP1",
    "broker_ip2": "brokerIP2",
    "check_crc_on_recover": "checkCRCOnRecover",
    "use_tls": "useTLS",
}
FIELD_NAMES = {"enable_batch_push": "isEnableBatchPush"}
"""Fields whose setter has another name: Java prints the field's name and reads the setter's."""


class BrokerKeys:
    """Keys of common/BrokerConfig.java."""

    rocketmq_home: str | None = None
    namesrv_addr: str | None = None
    broker_ip1: str = "127.0.0.1"
    broker_ip2: str = "127.0.0.1"
    broker_name: str = "broker-a"
    broker_cluster_name: str = "DefaultCluster"
    broker_id: Long = 0
    broker_permission: int = 6
    default_topic_queue_nums: int = 8
    auto_create_topic_enable: bool = True
    cluster_topic_enable: bool = True
    broker_topic_enable: bool = True
    auto_create_subscription_group: bool = True
    message_store_plug_in: str = ""
    msg_trace_topic_name: str = "RMQ_SYS_TRACE_TOPIC"
    trace_topic_enable: bool = False
    send_message_thread_pool_nums: int = 4
    put_message_future_thread_pool_nums: int = 4
    pull_message_thread_pool_nums: int = 24
    process_reply_message_thread_pool_nums: int = 24
    query_message_thread_pool_nums: int = 12
    admin_broker_thread_pool_nums: int = 16
    client_manage_thread_pool_nums: int = 32
    consumer_manage_thread_pool_nums: int = 32
    heartbeat_thread_pool_nums: int = 4
    end_transaction_thread_pool_nums: int = 16
    flush_consumer_offset_interval: int = 1000 * 5
    flush_consumer_offset_history_interval: int = 1000 * 60
    reject_transaction_message: bool = False
    fetch_namesrv_addr_by_address_server: bool = False
    send_thread_pool_queue_capacity: int = 10000
    put_thread_pool_queue_capacity: int = 10000
    pull_thread_pool_queue_capacity: int = 100000
    reply_thread_pool_queue_capacity: int = 10000
    query_thread_pool_queue_capacity: int = 20000
    client_manager_thread_pool_queue_capacity: int = 1000000
    consumer_manager_thread_pool_queue_capacity: int = 1000000
    heartbeat_thread_pool_queue_capacity: int = 50000
    end_transaction_pool_queue_capacity: int = 100000
    filter_server_nums: int = 0
    long_polling_enable: bool = True
    short_polling_time_mills: Long = 1000
    notify_consumer_ids_changed_enable: bool = True
    high_speed_mode: bool = False
    commercial_enable: bool = True
    commercial_timer_count: int = 1
    commercial_trans_count: int = 1
    commercial_big_count: int = 1
    commercial_base_count: int = 1
    transfer_msg_by_heap: bool = True
    max_delay_time: int = 40
    region_id: str = "DefaultRegion"
    register_broker_timeout_mills: int = 6000
    slave_read_enable: bool = False
    disable_consume_if_consumer_read_slowly: bool = False
    consumer_fallbehind_threshold: Long = 1024 * 1024 * 1024 * 16
    broker_fast_failure_enable: bool = True
    wait_time_mills_in_send_queue: Long = 200
    wait_time_mills_in_pull_queue: Long = 5 * 1000
    wait_time_mills_in_heartbeat_queue: Long = 31 * 1000
    wait_time_mills_in_transaction_queue: Long = 3 * 1000
    start_accept_send_request_time_stamp: Long = 0
    trace_on: bool = True
    enable_calc_filter_bit_map: bool = False
    expect_consumer_num_use_filter: int = 32
    max_error_rate_of_bloom_filter: int = 20
    filter_data_clean_time_span: Long = 24 * 3600 * 1000
    filter_support_retry: bool = False
    enable_property_filter: bool = False
    compressed_register: bool = False
    force_register: bool = True
    register_name_server_period: int = 1000 * 30
    transaction_time_out: Long = 6 * 1000
    transaction_check_max: int = 15
    transaction_check_interval: Long = 60 * 1000
    acl_enable: bool = False
    store_reply_message_enable: bool = True
    enable_detail_stat: bool = True
    auto_delete_unused_stats: bool = False
    isolate_log_enable: bool = False


class MessageStoreKeys:
    """Keys of store/config/MessageStoreConfig.java."""

    store_path_root_dir: str | None = None
    store_path_commit_log: str | None = None
    store_path_d_ledger_commit_log: str | None = None
    read_only_commit_log_store_paths: str | None = None
    mapped_file_size_commit_log: int = 1024 * 1024 * 1024
    mapped_file_size_consume_queue: int = 300000 * 20
    enable_consume_queue_ext: bool = False
    mapped_file_size_consume_queue_ext: int = 48 * 1024 * 1024
    bit_map_length_consume_queue_ext: int = 64
    flush_interval_commit_log: int = 500
    commit_interval_commit_log: int = 200
    use_reentrant_lock_when_put_message: bool = True
    flush_commit_log_timed: bool = True
    flush_interval_consume_queue: int = 1000
    clean_resource_interval: int = 10000
    delete_commit_log_files_interval: int = 100
    delete_consume_queue_files_interval: int = 100
    destroy_maped_file_interval_forcibly: int = 1000 * 120
    redelete_hanged_file_interval: int = 1000 * 120
    delete_when: str = "04"
    disk_max_used_space_ratio: int = 75
    file_reserved_time: int = 72
    put_msg_index_hight_water: int = 600000
    max_message_size: int = 1024 * 1024 * 4
    check_crc_on_recover: bool = True
    flush_commit_log_least_pages: int = 4
    commit_commit_log_least_pages: int = 4
    flush_least_pages_when_warm_maped_file: int = 1024 // 4 * 16
    flush_consume_queue_least_pages: int = 2
    flush_commit_log_thorough_interval: int = 1000 * 10
    commit_commit_log_thorough_interval: int = 200
    flush_consume_queue_thorough_interval: int = 1000 * 60
    max_transfer_bytes_on_message_in_memory: int = 1024 * 256
    max_transfer_count_on_message_in_memory: int = 32
    max_transfer_bytes_on_message_in_disk: int = 1024 * 64
    max_transfer_count_on_message_in_disk: int = 8
    access_message_in_memory_max_ratio: int = 40
    message_index_enable: bool = True
    max_hash_slot_num: int = 5000000
    max_index_num: int = 5000000 * 4
    max_msgs_num_batch: int = 64
    message_index_safe: bool = False
    ha_listen_port: int = 10912
    ha_send_heartbeat_interval: int = 1000 * 5
    ha_housekeeping_interval: int = 1000 * 20
    ha_transfer_batch_size: int = 1024 * 32
    ha_master_address: str | None = None
    ha_slave_fallbehind_max: int = 1024 * 1024 * 256
    broker_role: BrokerRole = "ASYNC_MASTER"
    flush_disk_type: FlushDiskType = "ASYNC_FLUSH"
    sync_flush_timeout: int = 1000 * 5
    slave_timeout: int = 3000
    message_delay_level: str = DEFAULT_DELAY_LEVELS
    flush_delay_offset_interval: Long = 1000 * 10
    clean_file_forcibly_enable: bool = True
    warm_maped_file_enable: bool = False
    offset_check_in_slave: bool = False
    debug_lock_enable: bool = False
    duplication_enable: bool = False
    disk_fall_recorded: bool = True
    os_page_cache_busy_time_out_mills: Long = 1000
    default_query_max_num: int = 32
    transient_store_pool_enable: bool = False
    transient_store_pool_size: int = 5
    fast_fail_if_no_buffer_in_store_pool: bool = False
    enable_d_leger_commit_log: bool = False
    d_leger_group: str | None = None
    d_leger_peers: str | None = None
    d_leger_self_id: str | None = None
    preferred_leader_id: str | None = None
    enable_batch_push: bool = False
    enable_schedule_message_stats: bool = True
    enable_lmq: bool = False
    enable_multi_dispatch: bool = False
    max_lmq_consume_queue_num: int = 20000
    enable_schedule_async_deliver: bool = False
    schedule_async_deliver_max_pending_limit: int = 2000
    schedule_async_deliver_max_resend_num2_blocked: int = 3


class NettyServerKeys:
    """Keys of remoting/netty/NettyServerConfig.java."""

    listen_port: int = 8888
    server_worker_threads: int = 8
    server_callback_executor_threads: int = 0
    server_selector_threads: int = 3
    server_oneway_semaphore_value: int = 256
    server_async_semaphore_value: int = 64
    server_channel_max_idle_time_seconds: int = 120
    server_socket_snd_buf_size: int = 0
    server_socket_rcv_buf_size: int = 0
    write_buffer_high_water_mark: int = 0
    write_buffer_low_water_mark: int = 0
    server_socket_backlog: int = 1024
    server_pooled_byte_buf_allocator_enable: bool = True
    use_epoll_native_selector: bool = False


class NettyClientKeys:
    """Keys of remoting/netty/NettyClientConfig.java."""

    client_worker_threads: int = 4
    client_callback_executor_threads: int = 4
    client_oneway_semaphore_value: int = 65535
    client_async_semaphore_value: int = 65535
    connect_timeout_millis: int = 3000
    channel_not_active_interval: Long = 1000 * 60
    client_channel_max_idle_time_seconds: int = 120
    client_socket_snd_buf_size: int = 0
    client_socket_rcv_buf_size: int = 0
    client_pooled_byte_buf_allocator_enable: bool = False
    client_close_socket_if_timeout: bool = True
    use_tls: bool = False
    write_buffer_high_water_mark: int = 0
    write_buffer_low_water_mark: int = 0


class NewerKeys:
    """Keys that 4.9.7 does not have, but that clients of 5.x need.

    ``litePullMessageEnable``: whether the broker answers LITE_PULL_MESSAGE (361), without which no
    DefaultLitePullConsumer of 5.x consumes anything. Source: common/BrokerConfig.java (5.3.3).

    ``enableActingMaster``: the value of that field of this broker in routes, true or false. If it
    is empty, routes do not have the field, as in 4.9.7. A client that reads only routes of 5.x
    needs false. Source: remoting/protocol/route/BrokerData.java (5.3.3).
    """

    lite_pull_message_enable: bool = True
    enable_acting_master: bool | None = None


class NamesrvKeys:
    """Keys of common/namesrv/NamesrvConfig.java."""

    rocketmq_home: str | None = None
    kv_config_path: str | None = None
    config_store_path: str | None = None
    product_env_name: str = "center"
    cluster_test: bool = False
    order_message_enable: bool = False


class BrokerStartupKeys:
    """Keys that BrokerStartup.java#properties2SystemEnv reads and no config class has."""

    rmq_address_server_domain: str = "jmenv.tbsite.net"
    rmq_address_server_sub_group: str = "nsaddr"


IMPORTANT = frozenset(
    {
        "namesrv_addr",
        "broker_ip1",
        "broker_name",
        "broker_cluster_name",
        "broker_id",
        "auto_create_topic_enable",
        "auto_create_subscription_group",
        "msg_trace_topic_name",
        "trace_topic_enable",
        "reject_transaction_message",
        "fetch_namesrv_addr_by_address_server",
        "transaction_time_out",
        "transaction_check_max",
        "transaction_check_interval",
        "acl_enable",
        "store_path_root_dir",
        "store_path_commit_log",
        "store_path_d_ledger_commit_log",
        "flush_interval_commit_log",
        "commit_interval_commit_log",
        "flush_commit_log_timed",
        "delete_when",
        "file_reserved_time",
        "max_transfer_bytes_on_message_in_memory",
        "max_transfer_count_on_message_in_memory",
        "max_transfer_bytes_on_message_in_disk",
        "max_transfer_count_on_message_in_disk",
        "access_message_in_memory_max_ratio",
        "message_index_enable",
        "message_index_safe",
        "ha_master_address",
        "broker_role",
        "flush_disk_type",
        "clean_file_forcibly_enable",
        "transient_store_pool_enable",
    }
)
"""Attributes that Java marks @ImportantField: what ``mqbroker -m`` prints."""
