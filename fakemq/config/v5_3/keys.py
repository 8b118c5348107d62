"""The config keys of RocketMQ 5.5.0 that 5.3.2 does not have, and those that differ there.

One class for each Java class, as in `fakemq.config.v5.keys`. The value of a key that 5.3.2 does not
have is what it always does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config.v5 import keys

if TYPE_CHECKING:
    from typing import Annotated

    from fakemq.config.rows import GONE, IMPORTANT, Idle, Long, Unsupported

CONTROLLER = "brokers of 5.3.2 have no controllers here"


class BrokerKeys53(keys.BrokerKeys5):
    """Keys of common/BrokerConfig.java (5.3.2)."""

    broker_heartbeat_interval: Annotated[int, Idle(keys.CONTAINER)] = 1000
    broker_not_active_timeout_millis: Annotated[Long, Idle(keys.CONTAINER)] = 10 * 1000
    sync_broker_member_group_period: Annotated[int, Idle(keys.CONTAINER)] = 1000
    enable_slave_acting_master: Annotated[bool, Unsupported("no acting masters")] = False
    enable_remote_escape: Annotated[bool, Unsupported("no acting masters")] = False
    skip_pre_online: Annotated[bool, Idle(keys.CONTAINER)] = False
    lock_in_strict_mode: Annotated[bool, Idle(keys.CONTAINER)] = False
    compatible_with_old_name_srv: Annotated[bool, Idle(keys.CONTAINER)] = True
    enable_controller_mode: Annotated[bool, Unsupported("no controller")] = False
    controller_addr: Annotated[str, Idle(CONTROLLER)] = ""
    sync_broker_metadata_period: Annotated[Long, Idle(CONTROLLER)] = 5 * 1000
    check_sync_state_set_period: Annotated[Long, Idle(CONTROLLER)] = 5 * 1000
    sync_controller_metadata_period: Annotated[Long, Idle(CONTROLLER)] = 10 * 1000
    controller_heart_beat_timeout_mills: Annotated[Long, Idle(CONTROLLER)] = 10 * 1000
    broker_election_priority: Annotated[int, Idle(CONTROLLER)] = (1 << 31) - 1
    transaction_metric_flush_interval: Annotated[Long, Idle(keys.METRICS)] = 3 * 1000
    max_stats_idle_time_in_minutes: Annotated[int, GONE]
    pop_polling_map_expire_time_seconds: Annotated[int, GONE]
    pop_from_retry_probability_for_priority: Annotated[int, GONE]
    priority_order_asc: Annotated[bool, GONE] = False
    pop_revive_concurrency: Annotated[int, GONE]
    pop_revive_skip_if_group_absent: Annotated[bool, GONE]
    use_separate_retry_queue: Annotated[bool, GONE]
    use_message_filter_for_notification: Annotated[bool, GONE] = False
    max_message_filter_num_for_notification: Annotated[int, GONE]
    transaction_check_rocksdb_core_threads: Annotated[int, GONE]
    transaction_check_rocksdb_max_threads: Annotated[int, GONE]
    transaction_check_rocksdb_queue_capacity: Annotated[int, GONE]
    metrics_export_batch_max_data_points: Annotated[int, GONE]
    enable_remoting_metrics: Annotated[bool, GONE]
    enable_message_store_metrics: Annotated[bool, GONE]
    enable_pop_metrics: Annotated[bool, GONE]
    enable_connection_metrics: Annotated[bool, GONE]
    enable_transaction_metrics: Annotated[bool, GONE]
    enable_stats_metrics: Annotated[bool, GONE]
    enable_request_metrics: Annotated[bool, GONE]
    enable_lag_and_dlq_metrics: Annotated[bool, GONE]
    enable_split_metadata: Annotated[bool, GONE] = False
    split_metadata_size: Annotated[int, GONE]
    enable_fast_channel_event_process: Annotated[bool, GONE]
    print_channel_groups: Annotated[bool, GONE]
    print_channel_groups_min_num: Annotated[int, GONE]
    use_single_rocks_d_b_for_all_configs: Annotated[bool, GONE]
    enable_register_producer: Annotated[bool, GONE]
    enable_create_sys_group: Annotated[bool, GONE]
    enable_lite_event_mode: Annotated[bool, GONE]
    lite_event_check_interval: Annotated[int, GONE]
    lite_ttl_check_interval: Annotated[int, GONE]
    min_lite_t_tl: Annotated[int, GONE]
    lite_subscription_check_interval: Annotated[int, GONE]
    lite_subscription_check_timeout_mills: Annotated[int, GONE]
    persist_consumer_offset_incrementally: Annotated[bool, GONE]
    max_lite_subscription_count: Annotated[int, GONE]
    enable_lite_pop_log: Annotated[bool, GONE]
    max_client_event_count: Annotated[int, GONE]
    lite_event_full_dispatch_delay_time: Annotated[int, GONE]
    lite_event_full_dispatch_delay_time_for_wildcard_group: Annotated[int, GONE]
    lite_lag_latency_collect_enable: Annotated[bool, GONE]
    lite_lag_latency_metrics_enable: Annotated[bool, GONE]
    lite_lag_count_metrics_enable: Annotated[bool, GONE]
    lite_lag_latency_top_k: Annotated[int, GONE]


class MessageStoreKeys53(keys.MessageStoreKeys5):
    """Keys of store/config/MessageStoreConfig.java (5.3.2)."""

    store_path_epoch_file: Annotated[str | None, IMPORTANT, Idle(CONTROLLER)] = None
    store_path_broker_identity: Annotated[str | None, IMPORTANT, Idle(CONTROLLER)] = None
    total_replicas: Annotated[int, IMPORTANT, Idle(keys.CONTAINER)] = 1
    enable_auto_in_sync_replicas: Annotated[bool, IMPORTANT, Idle(keys.CONTAINER)] = False
    min_in_sync_replicas: Annotated[int, IMPORTANT, Idle(CONTROLLER)] = 1
    all_ack_in_sync_state_set: Annotated[bool, IMPORTANT, Idle(CONTROLLER)] = False
    ha_max_time_slave_not_catchup: Annotated[Long, Idle(CONTROLLER)] = 1000 * 15
    sync_from_last_file: Annotated[bool, Idle(CONTROLLER)] = False
    async_learner: Annotated[bool, Idle(CONTROLLER)] = False
    read_un_committed: Annotated[bool, Idle(CONTROLLER)] = False
    timer_wheel_snapshot_flush: Annotated[bool, GONE]
    timer_wheel_snapshot_interval_ms: Annotated[int, GONE]
    commit_log_recover_max_num: Annotated[int, GONE]
    timer_rocks_d_b_enable: Annotated[bool, GONE]
    timer_rocks_d_b_stop_scan: Annotated[bool, GONE]
    timer_rocks_d_b_precision_ms: Annotated[int, GONE]
    timer_rocks_d_b_roll_max_tps: Annotated[str, GONE]
    timer_rocks_d_b_time_expired_max_tps: Annotated[str, GONE]
    timer_rocks_d_b_roll_interval_hours: Annotated[int, GONE]
    timer_rocks_d_b_roll_range_hours: Annotated[int, GONE]
    timer_recall_to_time_wheel_enable: Annotated[bool, GONE]
    timer_recall_to_timeline_enable: Annotated[bool, GONE]
    timer_reput_service_core_pool_size: Annotated[int, GONE]
    timer_reput_service_max_pool_size: Annotated[int, GONE]
    timer_reput_service_queue_capacity: Annotated[int, GONE]
    trans_rocks_d_b_enable: Annotated[bool, GONE]
    trans_write_origin_trans_half_enable: Annotated[bool, GONE]
    index_rocks_d_b_enable: Annotated[bool, GONE]
    max_rocks_d_b_index_query_days: Annotated[int, GONE]
    index_file_write_enable: Annotated[bool, GONE]
    index_file_read_enable: Annotated[bool, GONE]
    iterator_when_use_rocksdb_consume_queue: Annotated[bool, GONE]
    check_commit_log_offset_on_recover: Annotated[bool, GONE]
    write_without_mmap: Annotated[bool, GONE]
    enable_lmq_quota: Annotated[bool, GONE]
    enable_running_flags_in_flush: Annotated[bool, GONE]
    combine_c_q_loading_c_q_types: Annotated[str, GONE]
    combine_c_q_prefer_c_q_type: Annotated[str, GONE]
    combine_assign_offset_c_q_type: Annotated[str, GONE]
    combine_c_q_enable_check_self: Annotated[bool, GONE]
    combine_c_q_max_extra_search_commit_log_files: Annotated[int, GONE]
    combine_c_q_use_rocksdb_for_lmq: Annotated[bool, GONE]
    enable_accelerated_recovery: Annotated[bool, GONE]
    shared_byte_buffer_num: Annotated[int, GONE]
    use_separate_store_path_for_rocksdb_c_q: Annotated[bool, GONE]
    enable_log_consume_queue_repeatedly_build_when_recover: Annotated[bool, GONE]
    append_topic_for_timer_delete_key: Annotated[bool, GONE] = True
