"""Every config key that RocketMQ 5.5.0 has and 4.9.7 does not, and those with other defaults.

One class for each Java class, as in `fakemq.config.keys`: each adds to the one of 4.9.7. A double
is a text here.
"""

# Over 400 lines: one table, with a line for each key.

from __future__ import annotations

from typing import Literal, TypeAlias

from fakemq.config import keys

Long: TypeAlias = int
MessageRequestMode: TypeAlias = Literal["PULL", "POP"]
MetricsExporterType: TypeAlias = Literal["DISABLE", "OTLP_GRPC", "PROM", "LOG"]

NAMES: dict[str, str | None] = {
    "filter_server_nums": None,
    "commercial_enable": None,
    "commercial_timer_count": None,
    "commercial_trans_count": None,
    "commercial_big_count": None,
    "max_delay_time": None,
    "ha_slave_fallbehind_max": "haMaxGapNotInSync",
}
"""Attribute of a key of 4.9.7 → its Java name in 5.5.0; None for one that 5.5.0 does not have."""
FIELD_NAMES = {"in_broker_container": "isInBrokerContainer"}
"""Attribute → the name of Java's field, where it is not that of the key."""


class BrokerKeys5(keys.BrokerKeys):
    """Keys of common/BrokerConfig.java (5.5.0)."""

    register_broker_timeout_mills: int = 24000
    transaction_check_interval: Long = 30 * 1000
    auto_delete_unused_stats: bool = True
    broker_config_path: str | None = None
    is_broker_container: bool = False
    in_broker_container: bool = False
    recover_concurrently: bool = False
    lite_pull_message_thread_pool_nums: int = 24
    ack_message_thread_pool_nums: int = 16
    load_balance_processor_thread_pool_nums: int = 32
    recover_thread_pool_nums: int = 32
    fetch_name_srv_addr_by_dns_lookup: bool = False
    lite_pull_thread_pool_queue_capacity: int = 100000
    ack_thread_pool_queue_capacity: int = 100000
    admin_broker_thread_pool_queue_capacity: int = 10000
    load_balance_thread_pool_queue_capacity: int = 100000
    commercial_size_per_msg: int = 4 * 1024
    account_stats_enable: bool = True
    account_stats_print_zero_values: bool = True
    max_stats_idle_time_in_minutes: int = -1
    send_heartbeat_timeout_millis: int = 1000
    wait_time_mills_in_lite_pull_queue: Long = 5 * 1000
    wait_time_mills_in_ack_queue: Long = 3000
    wait_time_mills_in_admin_broker_queue: Long = 5 * 1000
    reject_pull_consumer_enable: bool = False
    update_name_server_addr_period: int = 1000 * 120
    broker_heartbeat_interval: int = 1000
    broker_not_active_timeout_millis: Long = 10 * 1000
    enable_net_work_flow_control: bool = False
    enable_broadcast_offset_store: bool = True
    broadcast_offset_expire_second: Long = 2 * 60
    broadcast_offset_expire_max_second: Long = 5 * 60
    pop_polling_size: int = 1024
    pop_polling_map_size: int = 100000
    pop_polling_map_expire_time_seconds: int = 60 * 10
    max_pop_polling_size: Long = 100000
    revive_queue_num: int = 8
    revive_interval: Long = 1000
    revive_max_slow: Long = 3
    revive_scan_time: Long = 10000
    enable_skip_long_awaiting_ack: bool = False
    revive_ack_wait_ms: Long = 3 * 60 * 1000
    enable_pop_log: bool = False
    enable_pop_buffer_merge: bool = False
    pop_ck_stay_buffer_time: int = 10 * 1000
    pop_ck_stay_buffer_time_out: int = 3 * 1000
    pop_ck_max_buffer_size: int = 200000
    pop_ck_offset_max_queue_size: int = 20000
    enable_pop_batch_ack: bool = False
    pop_long_polling_force_notify_interval: Long = 800
    enable_notify_before_pop_calculate_lag: bool = True
    enable_notify_after_pop_order_lock_release: bool = True
    init_pop_offset_by_check_msg_in_mem: bool = True
    retrieve_message_from_pop_retry_topic_v1: bool = True
    enable_retry_topic_v2: bool = False
    pop_from_retry_probability: int = 20
    pop_from_retry_probability_for_priority: int = 0
    priority_order_asc: bool = True
    pop_consumer_f_s_service_init: bool = True
    pop_consumer_k_v_service_log: bool = False
    pop_consumer_k_v_service_init: bool = False
    pop_consumer_k_v_service_enable: bool = False
    pop_revive_max_return_size_per_read: int = 16 * 1024
    pop_revive_concurrency: int = 32
    pop_revive_max_attempt_times: int = 16
    pop_revive_skip_if_group_absent: bool = True
    use_separate_retry_queue: bool = False
    real_time_notify_consumer_change: bool = True
    use_message_filter_for_notification: bool = True
    max_message_filter_num_for_notification: int = 64
    lite_pull_message_enable: bool = True
    sync_broker_member_group_period: int = 1000
    load_balance_poll_name_server_interval: Long = 1000 * 30
    clean_offline_broker_interval: int = 1000 * 30
    server_load_balancer_enable: bool = True
    default_message_request_mode: MessageRequestMode = "PULL"
    default_pop_share_queue_num: int = -1
    transaction_metric_flush_interval: Long = 10 * 1000
    transaction_check_rocksdb_core_threads: int = 2
    transaction_check_rocksdb_max_threads: int = 5
    transaction_check_rocksdb_queue_capacity: int = 2000
    transaction_op_msg_max_size: int = 4096
    transaction_op_batch_interval: int = 3000
    forward_timeout: Long = 3 * 1000
    enable_slave_acting_master: bool = False
    enable_remote_escape: bool = False
    skip_pre_online: bool = False
    async_send_enable: bool = True
    use_server_side_reset_offset: bool = True
    consumer_offset_update_version_step: Long = 500
    delay_offset_update_version_step: Long = 200
    lock_in_strict_mode: bool = False
    compatible_with_old_name_srv: bool = True
    enable_controller_mode: bool = False
    controller_addr: str = ""
    fetch_controller_addr_by_dns_lookup: bool = False
    sync_broker_metadata_period: Long = 5 * 1000
    check_sync_state_set_period: Long = 5 * 1000
    sync_controller_metadata_period: Long = 10 * 1000
    controller_heart_beat_timeout_mills: Long = 10 * 1000
    validate_system_topic_when_update_topic: bool = True
    broker_election_priority: int = (1 << 31) - 1
    use_static_subscription: bool = False
    metrics_exporter_type: MetricsExporterType = "DISABLE"
    metrics_otel_cardinality_limit: int = 50 * 1000
    metrics_grpc_exporter_target: str = ""
    metrics_grpc_exporter_header: str = ""
    metric_grpc_exporter_time_out_in_mills: Long = 3 * 1000
    metric_grpc_exporter_interval_in_mills: Long = 60 * 1000
    metric_logging_exporter_interval_in_mills: Long = 10 * 1000
    metrics_prom_exporter_port: int = 5557
    metrics_prom_exporter_host: str = ""
    metrics_label: str = ""
    metrics_export_batch_max_data_points: int = 1000
    metrics_in_delta: bool = False
    enable_remoting_metrics: bool = True
    enable_message_store_metrics: bool = True
    enable_pop_metrics: bool = True
    enable_connection_metrics: bool = True
    enable_transaction_metrics: bool = True
    enable_stats_metrics: bool = True
    enable_request_metrics: bool = True
    enable_lag_and_dlq_metrics: bool = True
    channel_expired_timeout: Long = 1000 * 120
    subscription_expired_timeout: Long = 1000 * 60 * 10
    estimate_accumulation: bool = True
    cold_ctr_strategy_enable: bool = False
    use_p_i_d_cold_ctr_strategy: bool = True
    cg_cold_read_threshold: Long = 3 * 1024 * 1024
    global_cold_read_threshold: Long = 100 * 1024 * 1024
    fetch_namesrv_addr_interval: Long = 10 * 1000
    pop_response_return_actual_retry_topic: bool = False
    enable_single_topic_register: bool = False
    enable_mixed_message_type: bool = False
    enable_split_registration: bool = False
    enable_split_metadata: bool = True
    split_metadata_size: int = 2000
    pop_inflight_message_threshold: Long = 10000
    enable_pop_message_threshold: bool = False
    enable_fast_channel_event_process: bool = False
    print_channel_groups: bool = False
    print_channel_groups_min_num: int = 5
    split_registration_size: int = 800
    config_black_list: str = "configBlackList;brokerConfigPath"
    skip_when_c_k_re_put_reach_max_times: bool = False
    append_ack_async: bool = False
    append_ck_async: bool = False
    clear_retry_topic_when_delete_topic: bool = True
    enable_lmq_stats: bool = False
    config_manager_version: str = "v1"
    use_single_rocks_d_b_for_all_configs: bool = False
    allow_recall_when_broker_not_writeable: bool = True
    recall_message_enable: bool = False
    enable_register_producer: bool = True
    enable_create_sys_group: bool = True
    enable_lite_event_mode: bool = True
    lite_event_check_interval: Long = 10 * 1000
    lite_ttl_check_interval: Long = 120 * 1000
    min_lite_t_tl: Long = 15 * 60 * 1000
    lite_subscription_check_interval: Long = 2 * 60 * 1000
    lite_subscription_check_timeout_mills: Long = 3 * 60 * 1000
    persist_consumer_offset_incrementally: bool = False
    max_lite_subscription_count: Long = 100000
    enable_lite_pop_log: bool = False
    max_client_event_count: int = 100
    lite_event_full_dispatch_delay_time: Long = 10 * 1000
    lite_event_full_dispatch_delay_time_for_wildcard_group: Long = 10 * 1000
    lite_lag_latency_collect_enable: bool = False
    lite_lag_latency_metrics_enable: bool = False
    lite_lag_count_metrics_enable: bool = False
    lite_lag_latency_top_k: int = 50


class MessageStoreKeys5(keys.MessageStoreKeys):
    """Keys of store/config/MessageStoreConfig.java (5.5.0)."""

    store_path_epoch_file: str | None = None
    store_path_broker_identity: str | None = None
    compaction_mapped_file_size: int = 100 * 1024 * 1024
    compaction_cq_mapped_file_size: int = 10 * 1024 * 1024
    compaction_schedule_internal: int = 15 * 60 * 1000
    max_offset_map_size: int = 100 * 1024 * 1024
    compaction_thread_num: int = 6
    enable_compaction: bool = True
    mapped_file_size_timer_log: int = 100 * 1024 * 1024
    timer_precision_ms: int = 1000
    timer_roll_window_slot: int = 3600 * 24 * 2
    timer_flush_interval_ms: int = 1000
    timer_get_message_thread_num: int = 3
    timer_put_message_thread_num: int = 3
    timer_enable_disruptor: bool = False
    timer_enable_check_metrics: bool = True
    timer_intercept_delay_level: bool = False
    timer_max_delay_sec: int = 3600 * 24 * 3
    timer_wheel_snapshot_flush: bool = False
    timer_wheel_enable: bool = True
    disappear_time_after_start: int = -1
    timer_stop_enqueue: bool = False
    timer_check_metrics_when: str = "05"
    timer_skip_unknown_error: bool = False
    timer_warm_enable: bool = False
    timer_stop_dequeue: bool = False
    timer_enable_retry_until_success: bool = False
    timer_congest_num_each_slot: int = (1 << 31) - 1
    timer_metric_small_threshold: int = 1000000
    timer_progress_log_interval_ms: int = 10 * 1000
    timer_wheel_snapshot_interval_ms: int = 10 * 1000
    commit_log_recover_max_num: int = 10
    timer_rocks_d_b_enable: bool = False
    timer_rocks_d_b_stop_scan: bool = False
    timer_rocks_d_b_precision_ms: Long = 1000
    timer_rocks_d_b_roll_max_tps: str = "8000.0"
    timer_rocks_d_b_time_expired_max_tps: str = "200000.0"
    timer_rocks_d_b_roll_interval_hours: int = 1
    timer_rocks_d_b_roll_range_hours: int = 2
    timer_recall_to_time_wheel_enable: bool = True
    timer_recall_to_timeline_enable: bool = True
    timer_reput_service_core_pool_size: int = 6
    timer_reput_service_max_pool_size: int = 6
    timer_reput_service_queue_capacity: int = 10000
    trans_rocks_d_b_enable: bool = False
    trans_write_origin_trans_half_enable: bool = True
    index_rocks_d_b_enable: bool = False
    max_rocks_d_b_index_query_days: int = 7
    index_file_write_enable: bool = True
    index_file_read_enable: bool = True
    store_type: str = "default"
    iterator_when_use_rocksdb_consume_queue: bool = True
    mapper_file_size_batch_consume_queue: int = 300000 * 46
    max_recovery_commitlog_files: int = 30
    disk_space_warning_level_ratio: int = 90
    disk_space_clean_forcibly_ratio: int = 85
    delete_file_batch_max: int = 10
    max_filter_message_size: int = 16000
    check_commit_log_offset_on_recover: bool = False
    put_message_timeout: int = 1000 * 8
    write_without_mmap: bool = False
    enable_lmq_quota: bool = False
    max_batch_delete_files_num: int = 50
    dispatch_cq_threads: int = 10
    dispatch_cq_cache_num: int = 1024 * 4
    enable_async_reput: bool = True
    recheck_reput_offset_from_cq: bool = False
    max_topic_length: int = 127
    auto_message_version_on_topic_len: bool = True
    enable_running_flags_in_flush: bool = False
    enabled_append_prop_c_r_c: bool = False
    force_verify_prop_c_r_c: bool = False
    travel_cq_file_num_when_get_message: int = 1
    correct_logic_min_offset_sleep_interval: int = 1
    correct_logic_min_offset_force_interval: int = 5 * 60 * 1000
    mapped_file_swap_enable: bool = True
    commit_log_force_swap_map_interval: Long = 12 * 60 * 60 * 1000
    commit_log_swap_map_interval: Long = 1 * 60 * 60 * 1000
    commit_log_swap_map_reserve_file_num: int = 100
    logic_queue_force_swap_map_interval: Long = 12 * 60 * 60 * 1000
    logic_queue_swap_map_interval: Long = 1 * 60 * 60 * 1000
    clean_swaped_map_interval: Long = 5 * 60 * 1000
    logic_queue_swap_map_reserve_file_num: int = 20
    search_bcq_by_cache_enable: bool = True
    dispatch_from_sender_thread: bool = False
    wake_commit_when_put_message: bool = True
    wake_flush_when_put_message: bool = False
    enable_clean_expired_offset: bool = False
    max_async_put_message_requests: int = 5000
    pull_batch_max_message_count: int = 160
    total_replicas: int = 1
    in_sync_replicas: int = 1
    min_in_sync_replicas: int = 1
    all_ack_in_sync_state_set: bool = False
    enable_auto_in_sync_replicas: bool = False
    ha_flow_control_enable: bool = False
    max_ha_transfer_byte_in_second: Long = 100 * 1024 * 1024
    ha_max_time_slave_not_catchup: Long = 1000 * 15
    sync_master_flush_offset_when_startup: bool = False
    max_checksum_range: Long = 1024 * 1024 * 1024
    replicas_per_disk_partition: int = 1
    logical_disk_space_clean_forcibly_threshold: str = "0.8"
    max_slave_resend_length: Long = 256 * 1024 * 1024
    sync_from_last_file: bool = False
    async_learner: bool = False
    max_consume_queue_scan: int = 20_000
    sample_count_threshold: int = 5000
    cold_data_flow_control_enable: bool = False
    cold_data_scan_enable: bool = False
    data_read_ahead_enable: bool = True
    timer_cold_data_check_interval_ms: int = 60 * 1000
    sample_steps: int = 32
    access_message_in_memory_hot_ratio: int = 26
    enable_build_consume_queue_concurrently: bool = False
    batch_dispatch_request_thread_pool_nums: int = 16
    clean_rocks_d_b_dirty_c_q_interval_min: Long = 60
    stat_rocks_d_b_c_q_interval_sec: Long = 10
    mem_table_flush_interval_ms: Long = 60 * 60 * 1000
    real_time_persist_rocks_d_b_config: bool = True
    enable_rocks_d_b_log: bool = False
    topic_queue_lock_num: int = 32
    read_un_committed: bool = False
    put_consume_queue_data_by_file_channel: bool = True
    rocksdb_c_q_double_write_enable: bool = False
    combine_c_q_loading_c_q_types: str = "default;defaultRocksDB"
    combine_c_q_prefer_c_q_type: str = "default"
    combine_assign_offset_c_q_type: str = "default"
    combine_c_q_enable_check_self: bool = False
    combine_c_q_max_extra_search_commit_log_files: int = 3
    combine_c_q_use_rocksdb_for_lmq: bool = False
    bottom_most_compression_type_for_consume_queue_store: str = "zstd"
    rocksdb_compression_type: str = "lz4"
    rocksdb_flush_wal_frequency: int = 1024
    rocksdb_wal_file_rolling_threshold: Long = 1 << 30
    enable_accelerated_recovery: bool = False
    shared_byte_buffer_num: int = 16
    use_separate_store_path_for_rocksdb_c_q: bool = False
    spin_lock_collision_retreat_optimal_degree: int = 1000
    use_a_b_s_lock: bool = False
    enable_log_consume_queue_repeatedly_build_when_recover: bool = False
    append_topic_for_timer_delete_key: bool = False


class NettyServerKeys5(keys.NettyServerKeys):
    """Keys of remoting/netty/NettyServerConfig.java (5.5.0)."""

    bind_address: str = "0.0.0.0"
    server_netty_worker_group_enable: bool = True
    enable_shutdown_gracefully: bool = False
    shutdown_wait_time_seconds: int = 30


class NettyClientKeys5(keys.NettyClientKeys):
    """Keys of remoting/netty/NettyClientConfig.java (5.5.0)."""

    is_scan_available_name_srv: bool = True
    disable_callback_executor: bool = False
    disable_netty_worker_group: bool = False
    max_reconnect_interval_time_seconds: Long = 60
    enable_reconnect_for_go_away: bool = True
    socks_proxy_config: str = "{}"


class NamesrvKeys5(keys.NamesrvKeys):
    """Keys of common/namesrv/NamesrvConfig.java (5.5.0)."""

    return_order_topic_config_to_broker: bool = True
    client_request_thread_pool_nums: int = 8
    default_thread_pool_nums: int = 16
    client_request_thread_pool_queue_capacity: int = 50000
    default_thread_pool_queue_capacity: int = 10000
    scan_not_active_broker_interval: Long = 5 * 1000
    un_register_broker_queue_capacity: int = 3000
    support_acting_master: bool = False
    enable_all_topic_list: bool = True
    enable_topic_list: bool = True
    notify_min_broker_id_changed: bool = False
    enable_controller_in_namesrv: bool = False
    need_wait_for_service: bool = False
    wait_seconds_for_service: int = 45
    delete_topic_with_broker_registration: bool = False
    config_black_list: str = "configBlackList;configStorePath;kvConfigPath"


IMPORTANT = frozenset(
    {
        "recover_concurrently",
        "fetch_name_srv_addr_by_dns_lookup",
        "store_path_epoch_file",
        "store_path_broker_identity",
        "disappear_time_after_start",
        "store_type",
        "delete_file_batch_max",
        "write_without_mmap",
        "enable_running_flags_in_flush",
        "dispatch_from_sender_thread",
        "wake_commit_when_put_message",
        "wake_flush_when_put_message",
        "enable_clean_expired_offset",
        "total_replicas",
        "in_sync_replicas",
        "min_in_sync_replicas",
        "all_ack_in_sync_state_set",
        "enable_auto_in_sync_replicas",
        "ha_flow_control_enable",
    }
)
"""Attributes that only 5.5.0 marks @ImportantField."""
