"""Every config key that RocketMQ 5.5.0 has and 4.9.7 does not, and those that differ there.

One class for each Java class, as in `fakemq.config.keys`: each adds to the one of 4.9.7. A row of a
key that 4.9.7 has says only what differs, such as the default; all else is said there. A double is
a text here.
"""

# Over 400 lines: one table, with a row for each key.

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from fakemq.config import keys
from fakemq.config.model import WHY_NO_OTHER as METRICS
from fakemq.config.model import ExporterType as ExporterType

if TYPE_CHECKING:
    from typing import Annotated

    from fakemq.config.rows import (
        ADDRESSES,
        GONE,
        IMPORTANT,
        INT_MAX,
        AboveZero,
        Acts,
        Idle,
        JavaField,
        Long,
        LongAboveZero,
        Named,
        Secret,
        Unsupported,
        Whole,
    )

MessageRequestMode: TypeAlias = Literal["PULL", "POP"]

AuthenticationProvider: TypeAlias = Literal[
    "", "org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider"
]
AuthenticationMetadata: TypeAlias = Literal[
    "", "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
]
AuthenticationStrategy: TypeAlias = Literal[
    "",
    "org.apache.rocketmq.auth.authentication.strategy.StatelessAuthenticationStrategy",
    "org.apache.rocketmq.auth.authentication.strategy.StatefulAuthenticationStrategy",
]
AuthorizationProvider: TypeAlias = Literal[
    "", "org.apache.rocketmq.auth.authorization.provider.DefaultAuthorizationProvider"
]
AuthorizationMetadata: TypeAlias = Literal[
    "", "org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider"
]
AuthorizationStrategy: TypeAlias = Literal[
    "",
    "org.apache.rocketmq.auth.authorization.strategy.StatelessAuthorizationStrategy",
    "org.apache.rocketmq.auth.authorization.strategy.StatefulAuthorizationStrategy",
]

# What several rows say.
POP_BUFFER = "each pop and each acknowledgement is a record at once"
POP_HELD = "what is held for a topic or group ends with its connections"
REVIVE = "each revive queue has one deadline, see docs/architecture.md"
WHEEL = "the wheel is made from the timer log"
ROCKSDB = "there is no RocksDB store"
TIMER_COUNTS = "the counts of timers by topic are never wrong"
ACCOUNTS = "there are no statistics of accounts"
CONTAINER = "no slave acts as a master"
ALONE = "a broker is started without a container"
COMPACTION = "topics are not compacted"
COLD = "there is no flow control of cold data"
STORE = "how a JVM maps, writes, reads or recovers its files"
HA = "no flow control between masters and slaves"
POOL = "no fault keeps these threads busy, so no request waits for one"
REGISTRATION = "name servers learn the same from one request as from several"
BROADCAST = "only a proxy that pulls by broadcast needs these offsets; fakemq's does not"
VERSIONS = "slaves take offsets over, whatever version they have"
NOT_YET = "not read yet"
AUTH_CACHE = "a change of users or rights holds at once"
ONE_PROVIDER = "it is RocketMQ's own in any case"


class BrokerKeys5(keys.BrokerKeys):
    """Keys of common/BrokerConfig.java (5.5.0)."""

    filter_server_nums: Annotated[int, GONE]
    commercial_enable: Annotated[bool, GONE]
    commercial_timer_count: Annotated[int, GONE]
    commercial_trans_count: Annotated[int, GONE]
    commercial_big_count: Annotated[int, GONE]
    max_delay_time: Annotated[int, GONE]
    register_broker_timeout_mills: AboveZero = 24000
    transaction_check_interval: LongAboveZero = 30 * 1000
    auto_delete_unused_stats: bool = True
    broker_config_path: Annotated[str | None, Idle("a changed config is not written to a file")] = (
        None
    )
    is_broker_container: Annotated[bool, Idle(ALONE)] = False
    in_broker_container: Annotated[bool, JavaField("isInBrokerContainer"), Idle(ALONE)] = False
    recover_concurrently: Annotated[bool, IMPORTANT, Idle(keys.THREADS)] = False
    lite_pull_message_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 24
    ack_message_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 16
    load_balance_processor_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 32
    recover_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 32
    fetch_name_srv_addr_by_dns_lookup: Annotated[bool, IMPORTANT, Unsupported("namesrvAddr")] = (
        False
    )
    lite_pull_thread_pool_queue_capacity: Annotated[
        int, Acts("shown in the runtime information")
    ] = 100000
    ack_thread_pool_queue_capacity: Annotated[int, Acts("shown in the runtime information")] = (
        100000
    )
    admin_broker_thread_pool_queue_capacity: Annotated[int, Idle(keys.THREADS)] = 10000
    load_balance_thread_pool_queue_capacity: Annotated[int, Idle(keys.THREADS)] = 100000
    commercial_size_per_msg: Annotated[int, Idle("only hooks of other vendors read it")] = 4 * 1024
    account_stats_enable: Annotated[bool, Idle(ACCOUNTS)] = True
    account_stats_print_zero_values: Annotated[bool, Idle(ACCOUNTS)] = True
    max_stats_idle_time_in_minutes: Annotated[int, Idle(NOT_YET)] = -1
    send_heartbeat_timeout_millis: Annotated[int, Idle(CONTAINER)] = 1000
    wait_time_mills_in_lite_pull_queue: Annotated[Long, Idle(POOL)] = 5 * 1000
    wait_time_mills_in_ack_queue: Annotated[Long, Idle(POOL)] = 3000
    wait_time_mills_in_admin_broker_queue: Annotated[Long, Idle(POOL)] = 5 * 1000
    reject_pull_consumer_enable: Annotated[
        bool, Acts("whether consumers that pull by themselves are refused")
    ] = False
    update_name_server_addr_period: Annotated[
        int, Acts("how soon a changed `namesrvAddr` is followed, at most; read at the start")
    ] = 1000 * 120
    broker_heartbeat_interval: Annotated[
        int, Acts("how often controllers get a heartbeat, in ms; name servers with acting masters")
    ] = 1000
    broker_not_active_timeout_millis: Annotated[
        Long, Acts("how long it may be silent to name servers, in ms; with acting masters")
    ] = 10 * 1000
    enable_net_work_flow_control: Annotated[
        bool, Idle("an answer waits until its connection takes it")
    ] = False
    enable_broadcast_offset_store: Annotated[bool, Idle(BROADCAST)] = True
    broadcast_offset_expire_second: Annotated[Long, Idle(BROADCAST)] = 2 * 60
    broadcast_offset_expire_max_second: Annotated[Long, Idle(BROADCAST)] = 5 * 60
    pop_polling_size: Annotated[int, Acts("how many pops of a group are held for one queue")] = 1024
    pop_polling_map_size: Annotated[int, Idle(POP_HELD)] = 100000
    pop_polling_map_expire_time_seconds: Annotated[int, Idle(POP_HELD)] = 60 * 10
    max_pop_polling_size: Annotated[Long, Acts("how many pops a broker holds")] = 100000
    revive_queue_num: Annotated[
        int,
        Whole(1, 32_768),
        Acts("how many revive queues there are, at the first start, and are read"),
    ] = 8
    revive_interval: Annotated[Long, Idle(REVIVE)] = 1000
    revive_max_slow: Annotated[Long, Idle(REVIVE)] = 3
    revive_scan_time: Annotated[Long, Idle(REVIVE)] = 10000
    enable_skip_long_awaiting_ack: Annotated[bool, Idle(REVIVE)] = False
    revive_ack_wait_ms: Annotated[Long, Idle(REVIVE)] = 3 * 60 * 1000
    enable_pop_log: Annotated[bool, Idle("there is no log of POP")] = False
    enable_pop_buffer_merge: Annotated[bool, Idle(POP_BUFFER)] = False
    pop_ck_stay_buffer_time: Annotated[int, Idle(POP_BUFFER)] = 10 * 1000
    pop_ck_stay_buffer_time_out: Annotated[int, Idle(POP_BUFFER)] = 3 * 1000
    pop_ck_max_buffer_size: Annotated[int, Idle(POP_BUFFER)] = 200000
    pop_ck_offset_max_queue_size: Annotated[int, Idle(POP_BUFFER)] = 20000
    enable_pop_batch_ack: Annotated[bool, Idle(POP_BUFFER)] = False
    pop_long_polling_force_notify_interval: Annotated[
        Long, Acts("how often an arrival wakes any pop")
    ] = 800
    enable_notify_before_pop_calculate_lag: Annotated[
        bool, Idle("a held pop is answered when a message arrives, before any scrape")
    ] = True
    enable_notify_after_pop_order_lock_release: Annotated[
        bool, Acts("whether a lock's end wakes pops")
    ] = True
    init_pop_offset_by_check_msg_in_mem: Annotated[bool, Acts("where a new group begins")] = True
    retrieve_message_from_pop_retry_topic_v1: Annotated[
        bool, Acts("whether v1 is read with v2")
    ] = True
    enable_retry_topic_v2: Annotated[bool, Acts("the names of new retry topics of POP")] = False
    pop_from_retry_probability: Annotated[
        int, Acts("how often a pop reads the retry topic first, in percent")
    ] = 20
    pop_from_retry_probability_for_priority: Annotated[
        int, Acts("the same of topics with priorities")
    ] = 0
    priority_order_asc: Annotated[
        bool, Acts("the order in which a pop reads the queues of a topic")
    ] = True
    pop_consumer_f_s_service_init: Annotated[bool, Idle(ROCKSDB)] = True
    pop_consumer_k_v_service_log: Annotated[bool, Idle(ROCKSDB)] = False
    pop_consumer_k_v_service_init: Annotated[bool, Unsupported("no RocksDB")] = False
    pop_consumer_k_v_service_enable: Annotated[bool, Unsupported("no RocksDB")] = False
    pop_revive_max_return_size_per_read: Annotated[int, Idle(ROCKSDB)] = 16 * 1024
    pop_revive_concurrency: Annotated[int, Idle(ROCKSDB)] = 32
    pop_revive_max_attempt_times: Annotated[int, Idle(ROCKSDB)] = 16
    pop_revive_skip_if_group_absent: Annotated[bool, Idle(ROCKSDB)] = True
    use_separate_retry_queue: Annotated[
        bool, Acts("whether a retry topic of POP has as many queues as its topic")
    ] = False
    real_time_notify_consumer_change: Annotated[bool, Idle(NOT_YET)] = True
    use_message_filter_for_notification: Annotated[
        bool, Acts("whether NOTIFICATION obeys its filter")
    ] = True
    max_message_filter_num_for_notification: Annotated[int, Acts("its limit of messages")] = 64
    lite_pull_message_enable: Annotated[
        bool, Acts("whether LITE_PULL_MESSAGE (361) is answered")
    ] = True
    sync_broker_member_group_period: Annotated[
        int,
        Acts("how often a broker asks which brokers live in its group, in ms; with acting masters"),
    ] = 1000
    load_balance_poll_name_server_interval: Annotated[
        Long, Acts("how long a slave that acts as master believes a route, in ms")
    ] = 1000 * 30
    clean_offline_broker_interval: Annotated[int, Idle(CONTAINER)] = 1000 * 30
    server_load_balancer_enable: Annotated[
        bool, Acts("whether QUERY_ASSIGNMENT divides the queues of a topic")
    ] = True
    default_message_request_mode: Annotated[
        MessageRequestMode, Acts("whether groups pull or pop that nothing was set for")
    ] = "PULL"
    default_pop_share_queue_num: Annotated[
        int, Acts("how clients that pop share queues if nothing was set")
    ] = -1
    transaction_metric_flush_interval: Annotated[
        Long, Idle("how many half messages there are is not written to a file")
    ] = 10 * 1000
    transaction_check_rocksdb_core_threads: Annotated[int, Idle(ROCKSDB)] = 2
    transaction_check_rocksdb_max_threads: Annotated[int, Idle(ROCKSDB)] = 5
    transaction_check_rocksdb_queue_capacity: Annotated[int, Idle(ROCKSDB)] = 2000
    transaction_op_msg_max_size: Annotated[
        int, Acts("the length of what is collected above which it is stored")
    ] = 4096
    transaction_op_batch_interval: Annotated[
        int, Acts("how long ends of transactions are collected, in ms")
    ] = 3000
    forward_timeout: Annotated[Long, Idle(CONTAINER)] = 3 * 1000
    enable_slave_acting_master: Annotated[
        bool, Acts("whether the lowest slave acts as master without a master; read at the start")
    ] = False
    enable_remote_escape: Annotated[
        bool, Acts("whether it sends what it may not store to another master; without it, it waits")
    ] = False
    skip_pre_online: Annotated[
        bool, Acts("whether a broker registers before its group knows it; with acting masters")
    ] = False
    async_send_enable: Annotated[bool, Idle(keys.THREADS)] = True
    use_server_side_reset_offset: Annotated[
        bool, Acts("whether the broker resets offsets itself, or the clients")
    ] = True
    consumer_offset_update_version_step: Annotated[Long, Idle(VERSIONS)] = 500
    delay_offset_update_version_step: Annotated[Long, Idle(VERSIONS)] = 200
    lock_in_strict_mode: Annotated[
        bool, Acts("whether a queue is locked at most brokers of a group; with acting masters")
    ] = False
    compatible_with_old_name_srv: Annotated[
        bool, Acts("whether requests of 4.9.7 are used for 901 and 904; with acting masters")
    ] = True
    enable_controller_mode: Annotated[
        bool, Acts("whether controllers say if it is master or slave; read at the start")
    ] = False
    controller_addr: Annotated[
        str,
        ADDRESSES,
        Acts("the controllers, `host:port` with semicolons between; followed within 2 minutes"),
    ] = ""
    fetch_controller_addr_by_dns_lookup: Annotated[bool, Unsupported("controllerAddr")] = False
    sync_broker_metadata_period: Annotated[
        LongAboveZero, Acts("how often a broker asks for its group's master, in ms")
    ] = 5 * 1000
    check_sync_state_set_period: Annotated[
        LongAboveZero, Acts("how often a master looks which slaves are in sync, in ms")
    ] = 5 * 1000
    sync_controller_metadata_period: Annotated[
        LongAboveZero, Acts("how often a broker asks which controller leads, in ms")
    ] = 10 * 1000
    controller_heart_beat_timeout_mills: Annotated[
        Long, Acts("how long after a heartbeat a controller takes a broker for alive, in ms")
    ] = 10 * 1000
    validate_system_topic_when_update_topic: Annotated[
        bool, Acts("whether Java's own topics are left alone")
    ] = True
    broker_election_priority: Annotated[
        int, Acts("which of equal replicas is elected: the one with the lowest")
    ] = (1 << 31) - 1
    use_static_subscription: Annotated[
        bool, Idle("groups have no subscriptions of their own: members say them")
    ] = False
    metrics_exporter_type: Annotated[
        ExporterType,
        Acts(
            "`PROM`: Prometheus can read its metrics ([metrics.md](metrics.md)); read at the start"
        ),
    ] = "DISABLE"
    metrics_otel_cardinality_limit: Annotated[
        AboveZero, Acts("how many series each metric has at most; read at the start")
    ] = 50 * 1000
    metrics_grpc_exporter_target: Annotated[str, Idle(METRICS)] = ""
    metrics_grpc_exporter_header: Annotated[str, Idle(METRICS)] = ""
    metric_grpc_exporter_time_out_in_mills: Annotated[Long, Idle(METRICS)] = 3 * 1000
    metric_grpc_exporter_interval_in_mills: Annotated[Long, Idle(METRICS)] = 60 * 1000
    metric_logging_exporter_interval_in_mills: Annotated[Long, Idle(METRICS)] = 10 * 1000
    metrics_prom_exporter_port: Annotated[
        int, Acts("the port for Prometheus, 0 for a free one; read at the start")
    ] = 5557
    metrics_prom_exporter_host: Annotated[
        str, Acts("the address of that port, by default brokerIP1; read at the start")
    ] = ""
    metrics_label: Annotated[
        str, Acts("further labels of all metrics: `NAME:VALUE,NAME:VALUE`; read at the start")
    ] = ""
    metrics_export_batch_max_data_points: Annotated[int, Idle(METRICS)] = 1000
    metrics_in_delta: Annotated[
        bool, Acts("whether all metrics have the label `aggregation`; read at the start")
    ] = False
    enable_remoting_metrics: Annotated[
        bool, Acts("whether there are metrics of the latency of requests; read at the start")
    ] = True
    enable_message_store_metrics: Annotated[
        bool, Acts("whether there are metrics of the store and its timers; read at the start")
    ] = True
    enable_pop_metrics: Annotated[
        bool, Acts("whether there are metrics of POP; read at the start")
    ] = True
    enable_connection_metrics: Annotated[
        bool, Acts("whether there are metrics of connections; read at the start")
    ] = True
    enable_transaction_metrics: Annotated[
        bool, Acts("whether there are metrics of transactions; read at the start")
    ] = True
    enable_stats_metrics: Annotated[
        bool, Acts("whether there are metrics of numbers of topics and groups; read at the start")
    ] = True
    enable_request_metrics: Annotated[
        bool,
        Acts("whether there are metrics of messages that came in or went out; read at the start"),
    ] = True
    enable_lag_and_dlq_metrics: Annotated[
        bool, Acts("whether there are metrics of lags and dead letters; read at the start")
    ] = True
    channel_expired_timeout: Annotated[
        Long, Acts("how long a consumer may send no heartbeat, in ms")
    ] = 1000 * 120
    subscription_expired_timeout: Annotated[
        Long, Acts("how long a pop or pull counts as a subscription")
    ] = 1000 * 60 * 10
    estimate_accumulation: Annotated[
        bool, Acts("whether lags count only messages with the tags that a group wants")
    ] = True
    cold_ctr_strategy_enable: Annotated[bool, Idle(COLD)] = False
    use_p_i_d_cold_ctr_strategy: Annotated[bool, Idle(COLD)] = True
    cg_cold_read_threshold: Annotated[Long, Idle(COLD)] = 3 * 1024 * 1024
    global_cold_read_threshold: Annotated[Long, Idle(COLD)] = 100 * 1024 * 1024
    fetch_namesrv_addr_interval: Annotated[
        Long, Acts("how often an address server is asked; read at the start")
    ] = 10 * 1000
    pop_response_return_actual_retry_topic: Annotated[
        bool, Acts("the topic of retried messages")
    ] = False
    enable_single_topic_register: Annotated[bool, Idle(REGISTRATION)] = False
    enable_mixed_message_type: Annotated[bool, Acts("whether a topic may be of the type MIXED")] = (
        False
    )
    enable_split_registration: Annotated[bool, Idle(REGISTRATION)] = False
    enable_split_metadata: Annotated[
        bool, Acts("whether slaves and mqadmin get topics and groups in pages")
    ] = True
    split_metadata_size: Annotated[int, Acts("the most topics or groups of a page")] = 2000
    pop_inflight_message_threshold: Annotated[
        Long, Acts("how many messages of a queue may be out")
    ] = 10000
    enable_pop_message_threshold: Annotated[
        bool, Acts("whether the number of messages that are out has a limit")
    ] = False
    enable_fast_channel_event_process: Annotated[bool, Idle(keys.THREADS)] = False
    print_channel_groups: Annotated[bool, Idle("there are no log files")] = False
    print_channel_groups_min_num: Annotated[int, Idle("there are no log files")] = 5
    split_registration_size: Annotated[int, Idle(REGISTRATION)] = 800
    config_black_list: Annotated[
        str, Acts("keys that UPDATE_BROKER_CONFIG refuses, with `;` between them")
    ] = "configBlackList;brokerConfigPath"
    skip_when_c_k_re_put_reach_max_times: Annotated[
        bool, Acts("whether the retries of a revival have an end")
    ] = False
    append_ack_async: Annotated[bool, Idle(keys.THREADS)] = False
    append_ck_async: Annotated[bool, Idle(keys.THREADS)] = False
    clear_retry_topic_when_delete_topic: Annotated[
        bool, Acts("whether a topic's POP retry topics are deleted too")
    ] = True
    enable_lmq_stats: Annotated[bool, Idle("light queues have no statistics")] = False
    config_manager_version: Annotated[str, Unsupported("configs in JSON files")] = "v1"
    use_single_rocks_d_b_for_all_configs: Annotated[bool, Idle(ROCKSDB)] = False
    allow_recall_when_broker_not_writeable: Annotated[
        bool, Acts("whether recalls ignore brokerPermission")
    ] = True
    recall_message_enable: Annotated[bool, Acts("whether RECALL_MESSAGE (370) is answered")] = False
    enable_register_producer: Annotated[
        bool, Acts("with `rejectTransactionMessage`: whether producers are known")
    ] = True
    enable_create_sys_group: Annotated[
        bool, Acts("whether CID_RMQ_SYS_ groups need no auto-creation")
    ] = True
    enable_lite_event_mode: Annotated[
        bool,
        Acts("whether clients get lite topics with news; if not, they look into all of theirs"),
    ] = True
    lite_event_check_interval: Annotated[
        Long, Acts("how often silent clients of lite topics are looked for, in ms")
    ] = 10 * 1000
    lite_ttl_check_interval: Annotated[
        Long, Acts("how often lite topics that are over are looked for, in ms")
    ] = 120 * 1000
    min_lite_t_tl: Annotated[
        Long, Acts("how long a lite topic stays at least, and all do behind a start, in ms")
    ] = 15 * 60 * 1000
    lite_subscription_check_interval: Annotated[
        Long, Acts("how often clients that no longer subscribe are looked for, in ms")
    ] = 2 * 60 * 1000
    lite_subscription_check_timeout_mills: Annotated[
        Long, Acts("how long a subscription to lite topics lasts without a word, in ms")
    ] = 3 * 60 * 1000
    persist_consumer_offset_incrementally: Annotated[bool, Idle(ROCKSDB)] = False
    max_lite_subscription_count: Annotated[
        Long, Acts("to how many lite topics all clients of a broker subscribe")
    ] = 100000
    enable_lite_pop_log: Annotated[bool, Idle("there is no log of POP")] = False
    max_client_event_count: Annotated[
        AboveZero, Acts("how many lite topics with news wait for one client")
    ] = 100
    lite_event_full_dispatch_delay_time: Annotated[
        Long, Acts("when a client with too many of these gets the others, in ms")
    ] = 10 * 1000
    lite_event_full_dispatch_delay_time_for_wildcard_group: Annotated[
        Long, Acts("the same for a group that has all lite topics")
    ] = 10 * 1000
    lite_lag_latency_collect_enable: Annotated[
        bool, Acts("whether the oldest unconsumed messages of lite topics are kept")
    ] = False
    lite_lag_latency_metrics_enable: Annotated[bool, Idle(NOT_YET)] = False
    lite_lag_count_metrics_enable: Annotated[bool, Idle(NOT_YET)] = False
    lite_lag_latency_top_k: Annotated[int, Acts("of how many lite topics of a group")] = 50


class MessageStoreKeys5(keys.MessageStoreKeys):
    """Keys of store/config/MessageStoreConfig.java (5.5.0)."""

    ha_slave_fallbehind_max: Annotated[int, Named("haMaxGapNotInSync")]
    enable_batch_push: Annotated[bool, JavaField("enableBatchPush")]
    store_path_epoch_file: Annotated[
        str | None, IMPORTANT, Acts("the file with the epochs of a log under a controller")
    ] = None
    store_path_broker_identity: Annotated[
        str | None, IMPORTANT, Acts("the file with the broker's id at the controllers")
    ] = None
    compaction_mapped_file_size: Annotated[int, Idle(COMPACTION)] = 100 * 1024 * 1024
    compaction_cq_mapped_file_size: Annotated[int, Idle(COMPACTION)] = 10 * 1024 * 1024
    compaction_schedule_internal: Annotated[int, Idle(COMPACTION)] = 15 * 60 * 1000
    max_offset_map_size: Annotated[int, Idle(COMPACTION)] = 100 * 1024 * 1024
    compaction_thread_num: Annotated[int, Idle(keys.THREADS)] = 6
    enable_compaction: Annotated[bool, Idle(COMPACTION)] = True
    mapped_file_size_timer_log: Annotated[
        int, Whole(68, INT_MAX), Acts("bytes of each file of the timer log")
    ] = 100 * 1024 * 1024
    timer_precision_ms: Annotated[
        AboveZero, Acts("the length of a slot of the wheel; read at the start")
    ] = 1000
    timer_roll_window_slot: Annotated[
        int, Acts("slots after which a timer message rolls; read at the start")
    ] = 3600 * 24 * 2
    timer_flush_interval_ms: Annotated[int, Acts("how long progress waits for the disk")] = 1000
    timer_get_message_thread_num: Annotated[int, Idle(keys.THREADS)] = 3
    timer_put_message_thread_num: Annotated[int, Idle(keys.THREADS)] = 3
    timer_enable_disruptor: Annotated[bool, Idle(keys.THREADS)] = False
    timer_enable_check_metrics: Annotated[bool, Idle(TIMER_COUNTS)] = True
    timer_intercept_delay_level: Annotated[bool, Idle("Java does not read it")] = False
    timer_max_delay_sec: Annotated[int, Acts("the longest delay of a timer message")] = (
        3600 * 24 * 3
    )
    timer_wheel_snapshot_flush: Annotated[bool, Idle(WHEEL)] = False
    timer_wheel_enable: Annotated[
        bool, Acts("whether there are timer messages, and their topic from the start")
    ] = True
    disappear_time_after_start: Annotated[int, IMPORTANT, Idle(NOT_YET)] = -1
    timer_stop_enqueue: Annotated[
        bool, Acts("whether new timer messages stay in their topic without a slot")
    ] = False
    timer_check_metrics_when: Annotated[str, Idle(TIMER_COUNTS)] = "05"
    timer_skip_unknown_error: Annotated[bool, Idle("Java's own errors do not happen here")] = False
    timer_warm_enable: Annotated[bool, Idle(STORE)] = False
    timer_stop_dequeue: Annotated[bool, Acts("whether timer messages that are due stay")] = False
    timer_enable_retry_until_success: Annotated[
        bool, Idle("a refused delivery is tried until it succeeds")
    ] = False
    timer_congest_num_each_slot: Annotated[
        int, Acts("messages of a slot above which sends are refused")
    ] = (1 << 31) - 1
    timer_metric_small_threshold: Annotated[int, Idle(TIMER_COUNTS)] = 1000000
    timer_progress_log_interval_ms: Annotated[int, Idle("its progress is not logged")] = 10 * 1000
    timer_wheel_snapshot_interval_ms: Annotated[int, Idle(WHEEL)] = 10 * 1000
    commit_log_recover_max_num: Annotated[int, Idle(STORE)] = 10
    timer_rocks_d_b_enable: Annotated[bool, Unsupported("no RocksDB")] = False
    timer_rocks_d_b_stop_scan: Annotated[bool, Idle(ROCKSDB)] = False
    timer_rocks_d_b_precision_ms: Annotated[Long, Idle(ROCKSDB)] = 1000
    timer_rocks_d_b_roll_max_tps: Annotated[str, Idle(ROCKSDB)] = "8000.0"
    timer_rocks_d_b_time_expired_max_tps: Annotated[str, Idle(ROCKSDB)] = "200000.0"
    timer_rocks_d_b_roll_interval_hours: Annotated[int, Idle(ROCKSDB)] = 1
    timer_rocks_d_b_roll_range_hours: Annotated[int, Idle(ROCKSDB)] = 2
    timer_recall_to_time_wheel_enable: Annotated[bool, Idle(ROCKSDB)] = True
    timer_recall_to_timeline_enable: Annotated[bool, Idle(ROCKSDB)] = True
    timer_reput_service_core_pool_size: Annotated[int, Idle(keys.THREADS)] = 6
    timer_reput_service_max_pool_size: Annotated[int, Idle(keys.THREADS)] = 6
    timer_reput_service_queue_capacity: Annotated[int, Idle(keys.THREADS)] = 10000
    trans_rocks_d_b_enable: Annotated[bool, Unsupported("no RocksDB")] = False
    trans_write_origin_trans_half_enable: Annotated[bool, Idle(ROCKSDB)] = True
    index_rocks_d_b_enable: Annotated[bool, Unsupported("no RocksDB")] = False
    max_rocks_d_b_index_query_days: Annotated[int, Idle(ROCKSDB)] = 7
    index_file_write_enable: Annotated[bool, Idle("`messageIndexEnable` does the same")] = True
    index_file_read_enable: Annotated[bool, Acts("whether messages are found by their keys")] = True
    store_type: Annotated[str, IMPORTANT, Unsupported("the default store")] = "default"
    iterator_when_use_rocksdb_consume_queue: Annotated[bool, Idle(ROCKSDB)] = True
    mapper_file_size_batch_consume_queue: Annotated[int, Idle(STORE)] = 300000 * 46
    max_recovery_commitlog_files: Annotated[int, Idle(STORE)] = 30
    disk_space_warning_level_ratio: Annotated[int, Idle(STORE)] = 90
    disk_space_clean_forcibly_ratio: Annotated[int, Idle(STORE)] = 85
    delete_file_batch_max: Annotated[int, IMPORTANT, Idle(STORE)] = 10
    max_filter_message_size: Annotated[
        int, Acts("bytes of a queue that a pull looks at, up to 400,000")
    ] = 16000
    check_commit_log_offset_on_recover: Annotated[bool, Idle(STORE)] = False
    put_message_timeout: Annotated[int, Idle("5.5.0 does not read it")] = 1000 * 8
    write_without_mmap: Annotated[bool, IMPORTANT, Idle(STORE)] = False
    enable_lmq_quota: Annotated[
        bool, Acts("whether sends to more light queues than `maxLmqConsumeQueueNum` are refused")
    ] = False
    max_batch_delete_files_num: Annotated[int, Idle(STORE)] = 50
    dispatch_cq_threads: Annotated[int, Idle(keys.THREADS)] = 10
    dispatch_cq_cache_num: Annotated[int, Idle(STORE)] = 1024 * 4
    enable_async_reput: Annotated[bool, Idle(STORE)] = True
    recheck_reput_offset_from_cq: Annotated[bool, Idle(STORE)] = False
    max_topic_length: Annotated[int, Idle("5.5.0 does not read it")] = 127
    auto_message_version_on_topic_len: Annotated[bool, Idle(NOT_YET)] = True
    enable_running_flags_in_flush: Annotated[bool, IMPORTANT, Idle(STORE)] = False
    enabled_append_prop_c_r_c: Annotated[bool, Idle(STORE)] = False
    force_verify_prop_c_r_c: Annotated[bool, Idle(STORE)] = False
    travel_cq_file_num_when_get_message: Annotated[int, Idle(STORE)] = 1
    correct_logic_min_offset_sleep_interval: Annotated[int, Idle(STORE)] = 1
    correct_logic_min_offset_force_interval: Annotated[int, Idle(STORE)] = 5 * 60 * 1000
    mapped_file_swap_enable: Annotated[bool, Idle(STORE)] = True
    commit_log_force_swap_map_interval: Annotated[Long, Idle(STORE)] = 12 * 60 * 60 * 1000
    commit_log_swap_map_interval: Annotated[Long, Idle(STORE)] = 1 * 60 * 60 * 1000
    commit_log_swap_map_reserve_file_num: Annotated[int, Idle(STORE)] = 100
    logic_queue_force_swap_map_interval: Annotated[Long, Idle(STORE)] = 12 * 60 * 60 * 1000
    logic_queue_swap_map_interval: Annotated[Long, Idle(STORE)] = 1 * 60 * 60 * 1000
    clean_swaped_map_interval: Annotated[Long, Idle(STORE)] = 5 * 60 * 1000
    logic_queue_swap_map_reserve_file_num: Annotated[int, Idle(STORE)] = 20
    search_bcq_by_cache_enable: Annotated[bool, Idle(STORE)] = True
    dispatch_from_sender_thread: Annotated[bool, IMPORTANT, Idle(STORE)] = False
    wake_commit_when_put_message: Annotated[bool, IMPORTANT, Idle(STORE)] = True
    wake_flush_when_put_message: Annotated[bool, IMPORTANT, Idle(STORE)] = False
    enable_clean_expired_offset: Annotated[bool, IMPORTANT, Idle(STORE)] = False
    max_async_put_message_requests: Annotated[int, Idle(STORE)] = 5000
    pull_batch_max_message_count: Annotated[int, Idle(STORE)] = 160
    total_replicas: Annotated[
        int, IMPORTANT, Acts("how many brokers a group has; with acting masters")
    ] = 1
    in_sync_replicas: Annotated[
        int, IMPORTANT, Acts("how many brokers must have a send to a SYNC_MASTER, itself included")
    ] = 1
    min_in_sync_replicas: Annotated[
        int,
        IMPORTANT,
        Acts("how many replicas must be in sync before a send; with controllers or acting masters"),
    ] = 1
    all_ack_in_sync_state_set: Annotated[
        bool, IMPORTANT, Acts("whether a send waits for all replicas in sync; with controllers")
    ] = False
    enable_auto_in_sync_replicas: Annotated[
        bool, IMPORTANT, Acts("whether fewer replicas do, if fewer live; with acting masters")
    ] = False
    ha_flow_control_enable: Annotated[bool, IMPORTANT, Idle(HA)] = False
    max_ha_transfer_byte_in_second: Annotated[Long, Idle(HA)] = 100 * 1024 * 1024
    ha_max_time_slave_not_catchup: Annotated[
        Long, Acts("how long a slave may be behind and in sync, in ms; with controllers")
    ] = 1000 * 15
    sync_master_flush_offset_when_startup: Annotated[
        bool, Acts("whether a slave takes the end of its master's log at the start, for 907")
    ] = False
    max_checksum_range: Annotated[Long, Idle(STORE)] = 1024 * 1024 * 1024
    replicas_per_disk_partition: Annotated[int, Idle(STORE)] = 1
    logical_disk_space_clean_forcibly_threshold: Annotated[str, Idle(STORE)] = "0.8"
    max_slave_resend_length: Annotated[Long, Idle(STORE)] = 256 * 1024 * 1024
    sync_from_last_file: Annotated[
        bool, Acts("whether an empty slave begins with the master's last file; with controllers")
    ] = False
    async_learner: Annotated[
        bool, Acts("whether a slave copies the log and is never in sync; with controllers")
    ] = False
    max_consume_queue_scan: Annotated[
        AboveZero, Acts("how many entries of a queue a lag by tags looks at")
    ] = 20_000
    sample_count_threshold: Annotated[int, Acts("with how many that match it ends to look")] = 5000
    cold_data_flow_control_enable: Annotated[bool, Idle(COLD)] = False
    cold_data_scan_enable: Annotated[bool, Idle(COLD)] = False
    data_read_ahead_enable: Annotated[bool, Idle(COLD)] = True
    timer_cold_data_check_interval_ms: Annotated[int, Idle(COLD)] = 60 * 1000
    sample_steps: Annotated[int, Idle("only a store of Java's batch queues reads it")] = 32
    access_message_in_memory_hot_ratio: Annotated[int, Idle(COLD)] = 26
    enable_build_consume_queue_concurrently: Annotated[bool, Idle(keys.THREADS)] = False
    batch_dispatch_request_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 16
    clean_rocks_d_b_dirty_c_q_interval_min: Annotated[Long, Idle(ROCKSDB)] = 60
    stat_rocks_d_b_c_q_interval_sec: Annotated[Long, Idle(ROCKSDB)] = 10
    mem_table_flush_interval_ms: Annotated[Long, Idle(ROCKSDB)] = 60 * 60 * 1000
    real_time_persist_rocks_d_b_config: Annotated[bool, Idle(ROCKSDB)] = True
    enable_rocks_d_b_log: Annotated[bool, Idle(ROCKSDB)] = False
    topic_queue_lock_num: Annotated[int, Idle(STORE)] = 32
    read_un_committed: Annotated[
        bool, Acts("whether messages are read that not all in sync have; with controllers")
    ] = False
    put_consume_queue_data_by_file_channel: Annotated[bool, Idle(STORE)] = True
    rocksdb_c_q_double_write_enable: Annotated[bool, Unsupported("no RocksDB")] = False
    combine_c_q_loading_c_q_types: Annotated[str, Idle(ROCKSDB)] = "default;defaultRocksDB"
    combine_c_q_prefer_c_q_type: Annotated[str, Idle(ROCKSDB)] = "default"
    combine_assign_offset_c_q_type: Annotated[str, Idle(ROCKSDB)] = "default"
    combine_c_q_enable_check_self: Annotated[bool, Idle(ROCKSDB)] = False
    combine_c_q_max_extra_search_commit_log_files: Annotated[int, Idle(ROCKSDB)] = 3
    combine_c_q_use_rocksdb_for_lmq: Annotated[bool, Idle(ROCKSDB)] = False
    bottom_most_compression_type_for_consume_queue_store: Annotated[str, Idle(ROCKSDB)] = "zstd"
    rocksdb_compression_type: Annotated[str, Idle(ROCKSDB)] = "lz4"
    rocksdb_flush_wal_frequency: Annotated[int, Idle(ROCKSDB)] = 1024
    rocksdb_wal_file_rolling_threshold: Annotated[Long, Idle(ROCKSDB)] = 1 << 30
    enable_accelerated_recovery: Annotated[bool, Idle(STORE)] = False
    shared_byte_buffer_num: Annotated[int, Idle(STORE)] = 16
    use_separate_store_path_for_rocksdb_c_q: Annotated[bool, Idle(ROCKSDB)] = False
    spin_lock_collision_retreat_optimal_degree: Annotated[int, Idle(STORE)] = 1000
    use_a_b_s_lock: Annotated[bool, Idle(STORE)] = False
    enable_log_consume_queue_repeatedly_build_when_recover: Annotated[bool, Idle(STORE)] = False
    append_topic_for_timer_delete_key: Annotated[
        bool, Acts("whether a recall names the topic, too")
    ] = False


class NettyServerKeys5(keys.NettyServerKeys):
    """Keys of remoting/netty/NettyServerConfig.java (5.5.0)."""

    bind_address: Annotated[str, Idle("the option `listen` says it")] = "0.0.0.0"
    server_netty_worker_group_enable: Annotated[bool, Idle(keys.THREADS)] = True
    enable_shutdown_gracefully: Annotated[bool, Idle("a stop ends the connections at once")] = False
    shutdown_wait_time_seconds: Annotated[int, Idle("only `enableShutdownGracefully` reads it")] = (
        30
    )


class NettyClientKeys5(keys.NettyClientKeys):
    """Keys of remoting/netty/NettyClientConfig.java (5.5.0)."""

    is_scan_available_name_srv: Annotated[bool, Idle("a broker asks all its name servers")] = True
    disable_callback_executor: Annotated[bool, Idle(keys.THREADS)] = False
    disable_netty_worker_group: Annotated[bool, Idle(keys.THREADS)] = False
    max_reconnect_interval_time_seconds: Annotated[
        Long, Idle("a lost connection is opened with the next request")
    ] = 60
    enable_reconnect_for_go_away: Annotated[bool, Idle("no node sends GO_AWAY")] = True
    socks_proxy_config: Annotated[str, Idle("no node connects by a proxy")] = "{}"


class AuthKeys5:
    """Keys of auth/config/AuthConfig.java (5.5.0), but for three that a broker sets itself."""

    authentication_enabled: Annotated[
        bool, Acts("whether each request needs the key of a user; read at the start")
    ] = False
    authentication_provider: Annotated[AuthenticationProvider, Idle(ONE_PROVIDER)] = ""
    authentication_metadata_provider: Annotated[
        AuthenticationMetadata, Acts("what keeps users; nothing without it; read at the start")
    ] = ""
    authentication_strategy: Annotated[
        AuthenticationStrategy,
        Acts("whether what was said of a connection is remembered; read at the start"),
    ] = ""
    authentication_whitelist: Annotated[
        str, Acts("codes whose requests need no key, with `,` between; read at the start")
    ] = ""
    init_authentication_user: Annotated[
        Secret, Acts("a super user, as JSON; each start makes it if it is not there")
    ] = ""
    inner_client_authentication_credentials: Annotated[
        Secret,
        Acts("the keys, as JSON, that a broker signs its own requests with; read at the start"),
    ] = ""
    authorization_enabled: Annotated[
        bool, Acts("whether each request needs a right; read at the start")
    ] = False
    authorization_provider: Annotated[AuthorizationProvider, Idle(ONE_PROVIDER)] = ""
    authorization_metadata_provider: Annotated[
        AuthorizationMetadata, Acts("what keeps rights; nothing without it; read at the start")
    ] = ""
    authorization_strategy: Annotated[
        AuthorizationStrategy,
        Acts("whether what was said of a connection is remembered; read at the start"),
    ] = ""
    authorization_whitelist: Annotated[
        str, Acts("codes whose requests need no right, with `,` between; read at the start")
    ] = ""
    migrate_auth_from_v1_enabled: Annotated[
        bool, Acts("whether accounts of `conf/plain_acl.yml` become users, with each start")
    ] = False
    user_cache_max_num: Annotated[int, Idle(AUTH_CACHE)] = 1000
    user_cache_expired_second: Annotated[int, Idle(AUTH_CACHE)] = 600
    user_cache_refresh_second: Annotated[int, Idle(AUTH_CACHE)] = 60
    acl_cache_max_num: Annotated[int, Idle(AUTH_CACHE)] = 1000
    acl_cache_expired_second: Annotated[int, Idle(AUTH_CACHE)] = 600
    acl_cache_refresh_second: Annotated[int, Idle(AUTH_CACHE)] = 60
    stateful_authentication_cache_max_num: Annotated[
        int, Acts("of how many connections' requests that is remembered at most")
    ] = 10000
    stateful_authentication_cache_expired_second: Annotated[
        int, Acts("how long, in s, it is remembered whether a connection's key was right")
    ] = 60
    stateful_authorization_cache_max_num: Annotated[
        int, Acts("of how many connections' requests that is remembered at most")
    ] = 10000
    stateful_authorization_cache_expired_second: Annotated[
        int, Acts("how long, in s, it is remembered what a connection's user may")
    ] = 60


class NamesrvKeys5(keys.NamesrvKeys):
    """Keys of common/namesrv/NamesrvConfig.java (5.5.0)."""

    return_order_topic_config_to_broker: Annotated[
        bool, Acts("whether brokers learn which topics are in order")
    ] = True
    client_request_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 8
    default_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 16
    client_request_thread_pool_queue_capacity: Annotated[int, Idle(keys.THREADS)] = 50000
    default_thread_pool_queue_capacity: Annotated[int, Idle(keys.THREADS)] = 10000
    scan_not_active_broker_interval: Annotated[
        Long, Acts("how often silent brokers are looked for")
    ] = 5 * 1000
    un_register_broker_queue_capacity: Annotated[int, Idle(keys.THREADS)] = 3000
    support_acting_master: Annotated[
        bool, Acts("whether routes list the lowest slave as master, where it acts as one")
    ] = False
    enable_all_topic_list: Annotated[
        bool, Acts("whether GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206) is answered")
    ] = True
    enable_topic_list: Annotated[
        bool, Acts("whether 224, 311, 312 and 313, lists of some topics, are answered")
    ] = True
    notify_min_broker_id_changed: Annotated[
        bool, Acts("whether a group is notified of its lowest broker (905)")
    ] = False
    enable_controller_in_namesrv: Annotated[
        bool, Acts("whether a controller runs beside it; its keys are in the same file")
    ] = False
    need_wait_for_service: Annotated[bool, Acts("whether routes are refused after a start")] = False
    wait_seconds_for_service: Annotated[int, Acts("how long")] = 45
    delete_topic_with_broker_registration: Annotated[bool, Idle(NOT_YET)] = False
    config_black_list: Annotated[
        str, Acts("keys that UPDATE_NAMESRV_CONFIG refuses, with `;` between them")
    ] = "configBlackList;configStorePath;kvConfigPath"
