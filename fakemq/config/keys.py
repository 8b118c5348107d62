"""Every config key that RocketMQ 4.9.7 knows, and a few later ones: a row for each key.

One class for each Java class. A row says all that is known of a key: its attribute, the values that
it may have, what it does here, what Java says of it, and its default. Its words are explained in
`fakemq.config.rows`. ``Long`` is Java's long (an int is 32 bits), ``str | None`` is a String that
starts as null. A key's Java name follows from the attribute's (``broker_name`` is ``brokerName``),
or is `Named`. Rows are annotations, which Python keeps as texts; nothing is computed here, so
importing it costs next to nothing.

Some of Java's defaults depend on the machine. The table has fixed values for them: the local host
for addresses, ``broker-a`` for the host name, None for folders (nothing is written there), and for
thread pools, which fakemq does not have, the values of a machine with four processors.
"""

# Over 400 lines: one table, with a row for each key.

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from fakemq.protocol.delay_levels import DEFAULT_DELAY_LEVELS

if TYPE_CHECKING:
    from typing import Annotated

    from fakemq.config.rows import (
        IMPORTANT,
        AboveZero,
        Acts,
        Addresses,
        DelayLevels,
        Hours,
        Idle,
        JavaField,
        Long,
        LongAboveZero,
        Named,
        Percent,
        SomeText,
        Unsupported,
        Whole,
    )

BrokerRole: TypeAlias = Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"]
FlushDiskType: TypeAlias = Literal["ASYNC_FLUSH", "SYNC_FLUSH"]

# What several rows say.
CAPACITY = "the most requests in its queue while `mq.faults.busy` keeps the threads busy"
LONGEST_WAIT = "how long a request may wait for a busy thread, in ms"
NOT_READ = "4.9.7 does not read it"
THREADS = "threads: requests are handled one after the other, each when it arrives"
NO_QUEUE = "no put waits in a queue"
POOL = "only `transientStorePoolEnable` reads it; all messages can be read at once"
DLEDGER = "only DLedger reads it"
WARM = "pages of files are not written in advance"
MEMORY = "memory of the JVM"
SLOW_PEER = "what a slow peer leaves unread is limited in any case"


class BrokerKeys:
    """Keys of common/BrokerConfig.java."""

    rocketmq_home: Annotated[
        str | None, Acts("the folder of `conf/plain_acl.yml`, for `aclEnable`")
    ] = None
    namesrv_addr: Annotated[
        Addresses,
        IMPORTANT,
        Acts(
            "where the broker registers; a change is followed within 2 minutes. In a cluster of"
            " fakemq: its own name servers, whatever a file says"
        ),
    ] = None
    broker_ip1: Annotated[
        SomeText, Named("brokerIP1"), IMPORTANT, Acts("the address that clients get")
    ] = "127.0.0.1"
    broker_ip2: Annotated[SomeText, Named("brokerIP2"), Acts("the address that slaves get")] = (
        "127.0.0.1"
    )
    broker_name: Annotated[SomeText, IMPORTANT, Acts("its name in routes")] = "broker-a"
    broker_cluster_name: Annotated[
        SomeText, IMPORTANT, Acts("its cluster in routes and statistics")
    ] = "DefaultCluster"
    broker_id: Annotated[Long, IMPORTANT, Acts("0 for a master; of a slave its number")] = 0
    broker_permission: Annotated[
        int, Whole(0, 7), Acts("what clients may do; a change registers the broker again")
    ] = 6
    default_topic_queue_nums: Annotated[
        AboveZero, Acts("the most queues of a topic that a send creates")
    ] = 8
    auto_create_topic_enable: Annotated[
        bool, IMPORTANT, Acts("whether a send creates its topic")
    ] = True
    cluster_topic_enable: Annotated[
        bool, Acts("whether the topic named like the cluster may be read and written")
    ] = True
    broker_topic_enable: Annotated[
        bool, Acts("whether the topic named like the broker may be read and written")
    ] = True
    auto_create_subscription_group: Annotated[
        bool, IMPORTANT, Acts("whether a pull or heartbeat creates its group")
    ] = True
    message_store_plug_in: Annotated[
        str, Unsupported("the default store; plug-ins are classes of Java", for_good=True)
    ] = ""
    msg_trace_topic_name: Annotated[str, IMPORTANT, Acts("the topic of `traceTopicEnable`")] = (
        "RMQ_SYS_TRACE_TOPIC"
    )
    trace_topic_enable: Annotated[
        bool, IMPORTANT, Acts("whether the topic of traces is there from the start")
    ] = False
    send_message_thread_pool_nums: Annotated[
        int, Acts("how many sends wait for the lock of a busy page cache")
    ] = 4
    put_message_future_thread_pool_nums: Annotated[int, Idle(THREADS)] = 4
    pull_message_thread_pool_nums: Annotated[int, Idle(THREADS)] = 24
    process_reply_message_thread_pool_nums: Annotated[int, Idle(THREADS)] = 24
    query_message_thread_pool_nums: Annotated[int, Idle(THREADS)] = 12
    admin_broker_thread_pool_nums: Annotated[int, Idle(THREADS)] = 16
    client_manage_thread_pool_nums: Annotated[int, Idle(THREADS)] = 32
    consumer_manage_thread_pool_nums: Annotated[int, Idle(THREADS)] = 32
    heartbeat_thread_pool_nums: Annotated[int, Idle(THREADS)] = 4
    end_transaction_thread_pool_nums: Annotated[int, Idle(THREADS)] = 16
    flush_consumer_offset_interval: Annotated[
        AboveZero, Acts("how often offsets are written, in ms")
    ] = 1000 * 5
    flush_consumer_offset_history_interval: Annotated[int, Idle(NOT_READ)] = 1000 * 60
    reject_transaction_message: Annotated[bool, IMPORTANT, Acts("refuses half messages")] = False
    fetch_namesrv_addr_by_address_server: Annotated[
        bool,
        IMPORTANT,
        Acts(
            "without `namesrvAddr`: 10 s after the start, and every 2 minutes, asks"
            " `http://DOMAIN:8080/rocketmq/SUBGROUP` for it; read at the start. In a cluster of"
            " fakemq: nothing, because its brokers have name servers"
        ),
    ] = False
    send_thread_pool_queue_capacity: Annotated[
        int, Acts(f"{CAPACITY}; shown in the runtime information")
    ] = 10000
    put_thread_pool_queue_capacity: Annotated[int, Idle(NO_QUEUE)] = 10000
    pull_thread_pool_queue_capacity: Annotated[
        int,
        Acts(f"{CAPACITY}, and the most pulls that are held; shown in the runtime information"),
    ] = 100000
    reply_thread_pool_queue_capacity: Annotated[int, Acts(CAPACITY)] = 10000
    query_thread_pool_queue_capacity: Annotated[
        int, Acts(f"{CAPACITY}; shown in the runtime information")
    ] = 20000
    client_manager_thread_pool_queue_capacity: Annotated[int, Acts(CAPACITY)] = 1000000
    consumer_manager_thread_pool_queue_capacity: Annotated[
        int, Idle("no pool of 4.9.7 has this queue")
    ] = 1000000
    heartbeat_thread_pool_queue_capacity: Annotated[int, Acts(CAPACITY)] = 50000
    end_transaction_pool_queue_capacity: Annotated[
        int, Acts(f"{CAPACITY}; shown in the runtime information")
    ] = 100000
    filter_server_nums: Annotated[int, Idle(NOT_READ)] = 0
    long_polling_enable: Annotated[bool, Acts("whether pulls without messages are held")] = True
    short_polling_time_mills: Annotated[
        LongAboveZero, Acts("how long they are held without long polling, in ms")
    ] = 1000
    notify_consumer_ids_changed_enable: Annotated[
        bool, Acts("whether a group's members are notified of changes")
    ] = True
    high_speed_mode: Annotated[bool, Idle(NOT_READ)] = False
    commercial_enable: Annotated[bool, Idle(NOT_READ)] = True
    commercial_timer_count: Annotated[int, Idle(NOT_READ)] = 1
    commercial_trans_count: Annotated[int, Idle(NOT_READ)] = 1
    commercial_big_count: Annotated[int, Idle(NOT_READ)] = 1
    commercial_base_count: Annotated[int, Idle("only hooks of other vendors read it")] = 1
    transfer_msg_by_heap: Annotated[bool, Acts("without it GROUP_GET_LATENCY is not counted")] = (
        True
    )
    max_delay_time: Annotated[int, Idle(NOT_READ)] = 40
    region_id: Annotated[str, Acts("MSG_REGION of messages and answers")] = "DefaultRegion"
    register_broker_timeout_mills: Annotated[
        AboveZero, Acts("how long a registration waits for its answer, in ms")
    ] = 6000
    slave_read_enable: Annotated[bool, Acts("whether pulls far behind are sent to a slave")] = False
    disable_consume_if_consumer_read_slowly: Annotated[
        bool, Acts("every 3 minutes, suspends groups that are too far behind")
    ] = False
    consumer_fallbehind_threshold: Annotated[Long, Acts("how far behind that is, in bytes")] = (
        1024 * 1024 * 1024 * 16
    )
    broker_fast_failure_enable: Annotated[
        bool, Acts("whether requests that wait too long for a busy thread are refused")
    ] = True
    wait_time_mills_in_send_queue: Annotated[Long, Acts(LONGEST_WAIT)] = 200
    wait_time_mills_in_pull_queue: Annotated[Long, Acts(LONGEST_WAIT)] = 5 * 1000
    wait_time_mills_in_heartbeat_queue: Annotated[Long, Acts(LONGEST_WAIT)] = 31 * 1000
    wait_time_mills_in_transaction_queue: Annotated[Long, Acts(LONGEST_WAIT)] = 3 * 1000
    start_accept_send_request_time_stamp: Annotated[
        Long, Acts("sends before this time are refused, in ms")
    ] = 0
    trace_on: Annotated[bool, Acts("TRACE_ON of messages and answers")] = True
    enable_calc_filter_bit_map: Annotated[
        bool,
        Acts("whether extensions of queues have the bits of the filters that a message matches"),
    ] = False
    expect_consumer_num_use_filter: Annotated[
        AboveZero, Acts("the length of the bits of filters")
    ] = 32
    max_error_rate_of_bloom_filter: Annotated[int, Whole(1, 99), Acts("the same, in per cent")] = 20
    filter_data_clean_time_span: Annotated[
        Long, Acts("how long filters of absent groups are kept, in ms")
    ] = 24 * 3600 * 1000
    filter_support_retry: Annotated[bool, Acts("whether SQL92 filters hold for retries")] = False
    enable_property_filter: Annotated[bool, Acts("whether SQL92 filters are allowed")] = False
    compressed_register: Annotated[bool, Acts("registrations are compressed")] = False
    force_register: Annotated[bool, Acts("false: registers only after changes")] = True
    register_name_server_period: Annotated[
        AboveZero, Acts("how often it registers: 10 s to 60 s, in ms")
    ] = 1000 * 30
    transaction_time_out: Annotated[
        Long, IMPORTANT, Acts("the age at which a half message is checked, in ms")
    ] = 6 * 1000
    transaction_check_max: Annotated[int, IMPORTANT, Acts("how often it is checked")] = 15
    transaction_check_interval: Annotated[
        LongAboveZero, IMPORTANT, Acts("how often half messages are looked for, in ms")
    ] = 60 * 1000
    acl_enable: Annotated[
        bool,
        IMPORTANT,
        Acts("access control ([acl.md](acl.md)); read at each start, of 5.5.0 nowhere"),
    ] = False
    store_reply_message_enable: Annotated[bool, Acts("whether replies are stored")] = True
    enable_detail_stat: Annotated[bool, Acts("statistics by queue")] = True
    auto_delete_unused_stats: Annotated[
        bool, Acts("deleted topics and groups lose their statistics")
    ] = False
    isolate_log_enable: Annotated[bool, Idle("there are no log files")] = False


class MessageStoreKeys:
    """Keys of store/config/MessageStoreConfig.java."""

    store_path_root_dir: Annotated[
        str | None, IMPORTANT, Acts("the folder; none: in memory; read at the start")
    ] = None
    store_path_commit_log: Annotated[
        str | None,
        IMPORTANT,
        Acts("the folder of the log, or several with commas between them; read at the start"),
    ] = None
    store_path_d_ledger_commit_log: Annotated[str | None, IMPORTANT, Idle(DLEDGER)] = None
    read_only_commit_log_store_paths: Annotated[
        str | None,
        Acts(
            "folders of the log that get no new files; only beside several folders; read at the"
            " start"
        ),
    ] = None
    mapped_file_size_commit_log: Annotated[
        AboveZero, Acts("size of a file of the log, in bytes")
    ] = 1024 * 1024 * 1024
    mapped_file_size_consume_queue: Annotated[
        AboveZero, Acts("size of a file of a queue, in bytes")
    ] = 300000 * 20
    enable_consume_queue_ext: Annotated[
        bool, Acts("whether new queues have an extension (consumequeue_ext)")
    ] = False
    mapped_file_size_consume_queue_ext: Annotated[
        AboveZero, Acts("size of a file of an extension, in bytes")
    ] = 48 * 1024 * 1024
    bit_map_length_consume_queue_ext: Annotated[
        int, Acts("set at the start, from the two keys about filters; shown to operators")
    ] = 64
    flush_interval_commit_log: Annotated[
        AboveZero, IMPORTANT, Acts("how often the log is flushed, in ms")
    ] = 500
    commit_interval_commit_log: Annotated[int, IMPORTANT, Idle(POOL)] = 200
    use_reentrant_lock_when_put_message: Annotated[
        bool, Idle("which lock the threads of a JVM take")
    ] = True
    flush_commit_log_timed: Annotated[
        bool, IMPORTANT, Acts("false: each message asks for a flush, too")
    ] = True
    flush_interval_consume_queue: Annotated[
        AboveZero, Acts("how often queues are flushed, in ms")
    ] = 1000
    clean_resource_interval: Annotated[
        AboveZero, Acts("how often old files are looked for, in ms")
    ] = 10000
    delete_commit_log_files_interval: Annotated[
        int, Acts("the pause between two deleted files of the log, in ms")
    ] = 100
    delete_consume_queue_files_interval: Annotated[
        int, Idle("files of queues are deleted in slices")
    ] = 100
    destroy_maped_file_interval_forcibly: Annotated[
        int, Idle("no pull keeps a file: each is deleted at once")
    ] = 1000 * 120
    redelete_hanged_file_interval: Annotated[
        int, Idle("no pull keeps a file: each is deleted at once")
    ] = 1000 * 120
    delete_when: Annotated[Hours, IMPORTANT, Acts("the hours in which old files are deleted")] = (
        "04"
    )
    disk_max_used_space_ratio: Annotated[
        Percent, Acts("from here they are deleted at any hour, in per cent")
    ] = 75
    file_reserved_time: Annotated[
        int, IMPORTANT, Acts("the age at which files are deleted, in hours")
    ] = 72
    put_msg_index_hight_water: Annotated[int, Idle(NOT_READ)] = 600000
    max_message_size: Annotated[AboveZero, Acts("the largest message, in bytes")] = 1024 * 1024 * 4
    check_crc_on_recover: Annotated[
        bool,
        Named("checkCRCOnRecover"),
        Acts("whether checksums of bodies are checked after a crash"),
    ] = True
    flush_commit_log_least_pages: Annotated[
        int, Acts("the pages of 4 KiB for which a flush is worth it")
    ] = 4
    commit_commit_log_least_pages: Annotated[int, Idle(POOL)] = 4
    flush_least_pages_when_warm_maped_file: Annotated[int, Idle(WARM)] = 1024 // 4 * 16
    flush_consume_queue_least_pages: Annotated[int, Acts("the same, of queues")] = 2
    flush_commit_log_thorough_interval: Annotated[int, Acts("how often all is flushed, in ms")] = (
        1000 * 10
    )
    commit_commit_log_thorough_interval: Annotated[int, Idle(POOL)] = 200
    flush_consume_queue_thorough_interval: Annotated[int, Acts("the same, of queues")] = 1000 * 60
    max_transfer_bytes_on_message_in_memory: Annotated[
        int, IMPORTANT, Acts("the most that a pull gets, in bytes")
    ] = 1024 * 256
    max_transfer_count_on_message_in_memory: Annotated[
        int, IMPORTANT, Acts("the most that a pull gets, in messages")
    ] = 32
    max_transfer_bytes_on_message_in_disk: Annotated[
        int, IMPORTANT, Acts("the same of old messages")
    ] = 1024 * 64
    max_transfer_count_on_message_in_disk: Annotated[
        int, IMPORTANT, Acts("the same of old messages")
    ] = 8
    access_message_in_memory_max_ratio: Annotated[
        Percent,
        IMPORTANT,
        Acts("which part of the RAM (`ram_size`) holds messages that are not old, in per cent"),
    ] = 40
    message_index_enable: Annotated[
        bool, IMPORTANT, Acts("whether messages are found by their keys")
    ] = True
    max_hash_slot_num: Annotated[AboveZero, Acts("size of an index file")] = 5000000
    max_index_num: Annotated[AboveZero, Acts("size of an index file")] = 5000000 * 4
    max_msgs_num_batch: Annotated[AboveZero, Acts("the most messages of a query by key")] = 64
    message_index_safe: Annotated[bool, IMPORTANT, Acts("the index is checked after a crash")] = (
        False
    )
    ha_listen_port: Annotated[
        int, Whole(0, 65_535), Acts("`listenPort` + 1, whatever a file says")
    ] = 10912
    ha_send_heartbeat_interval: Annotated[
        AboveZero, Acts("how often masters and slaves report, in ms")
    ] = 1000 * 5
    ha_housekeeping_interval: Annotated[
        AboveZero, Acts("when a silent connection of these is closed, in ms")
    ] = 1000 * 20
    ha_transfer_batch_size: Annotated[AboveZero, Acts("the most bytes of one transfer")] = 1024 * 32
    ha_master_address: Annotated[
        str | None, IMPORTANT, Acts("a slave's master, if no name server is to say it")
    ] = None
    ha_slave_fallbehind_max: Annotated[
        int, Acts("a slave further behind is not waited for, in bytes")
    ] = 1024 * 1024 * 256
    broker_role: Annotated[BrokerRole, IMPORTANT, Acts("ASYNC_MASTER, SYNC_MASTER or SLAVE")] = (
        "ASYNC_MASTER"
    )
    flush_disk_type: Annotated[
        FlushDiskType, IMPORTANT, Acts("SYNC_FLUSH: sends wait for the disk")
    ] = "ASYNC_FLUSH"
    sync_flush_timeout: Annotated[AboveZero, Acts("how long, in ms")] = 1000 * 5
    slave_timeout: Annotated[AboveZero, Acts("how long SYNC_MASTER waits for a slave, in ms")] = (
        3000
    )
    message_delay_level: Annotated[
        DelayLevels, Acts("the delays of levels 1, 2, …; read at the start")
    ] = DEFAULT_DELAY_LEVELS
    flush_delay_offset_interval: Annotated[
        LongAboveZero, Acts("how often the progress of delay levels is written, in ms")
    ] = 1000 * 10
    clean_file_forcibly_enable: Annotated[
        bool, IMPORTANT, Acts("whether a full disk deletes files before their time")
    ] = True
    warm_maped_file_enable: Annotated[bool, Idle(WARM)] = False
    offset_check_in_slave: Annotated[bool, Acts("whether slaves correct offsets of pulls")] = False
    debug_lock_enable: Annotated[bool, Idle("writes the stacks of a JVM's threads to a file")] = (
        False
    )
    duplication_enable: Annotated[
        bool,
        Unsupported(
            "duplicationEnable=false; with true, RocketMQ 4.9.7 delivers no message",
            for_good=True,
        ),
    ] = False
    disk_fall_recorded: Annotated[bool, Acts("without it no group is found too far behind")] = True
    os_page_cache_busy_time_out_mills: Annotated[
        Long,
        Acts(
            "how long a put holds the lock before `mq.faults.page_cache_busy` rejects sends, in ms"
        ),
    ] = 1000
    default_query_max_num: Annotated[
        AboveZero, Acts("the most messages of a query by unique key")
    ] = 32
    transient_store_pool_enable: Annotated[
        bool,
        IMPORTANT,
        Acts(
            "shown in the runtime information; a killed RocketMQ loses the last 200 ms of its log,"
            " and fakemq nothing"
        ),
    ] = False
    transient_store_pool_size: Annotated[int, Acts("shown in the runtime information")] = 5
    fast_fail_if_no_buffer_in_store_pool: Annotated[bool, Idle(POOL)] = False
    enable_d_leger_commit_log: Annotated[bool, Unsupported("no DLedger")] = False
    d_leger_group: Annotated[str | None, Idle(DLEDGER)] = None
    d_leger_peers: Annotated[str | None, Idle(DLEDGER)] = None
    d_leger_self_id: Annotated[str | None, Idle(DLEDGER)] = None
    preferred_leader_id: Annotated[str | None, Idle(DLEDGER)] = None
    enable_batch_push: Annotated[bool, JavaField("isEnableBatchPush"), Idle(DLEDGER)] = False
    enable_schedule_message_stats: Annotated[
        bool, Acts("whether deliveries of delayed messages are counted")
    ] = True
    enable_lmq: Annotated[
        bool,
        Acts(
            "light queues `%LMQ%…`: every such topic and group is there; read at the start, and"
            " for each message"
        ),
    ] = False
    enable_multi_dispatch: Annotated[
        bool, Acts("a message is also in the queues that its property `INNER_MULTI_DISPATCH` names")
    ] = False
    max_lmq_consume_queue_num: Annotated[
        int,
        Acts(
            "with more light queues, pulls of these are refused; messages are not, as in RocketMQ"
        ),
    ] = 20000
    enable_schedule_async_deliver: Annotated[
        bool, Idle("each delivery ends in the moment in which it is due")
    ] = False
    schedule_async_deliver_max_pending_limit: Annotated[
        int, Idle("only `enableScheduleAsyncDeliver` reads it")
    ] = 2000
    schedule_async_deliver_max_resend_num2_blocked: Annotated[
        int, Idle("only `enableScheduleAsyncDeliver` reads it")
    ] = 3


class NettyServerKeys:
    """Keys of remoting/netty/NettyServerConfig.java."""

    listen_port: Annotated[int, Whole(0, 65_534), Acts("the port; read at the start")] = 8888
    server_worker_threads: Annotated[int, Idle(THREADS)] = 8
    server_callback_executor_threads: Annotated[int, Idle(THREADS)] = 0
    server_selector_threads: Annotated[int, Idle(THREADS)] = 3
    server_oneway_semaphore_value: Annotated[
        int, Idle("a request to a client is written at once")
    ] = 256
    server_async_semaphore_value: Annotated[
        int, Idle("a request to a client is written at once")
    ] = 64
    server_channel_max_idle_time_seconds: Annotated[
        AboveZero,
        Acts(
            "connections of clients without traffic are closed after this time, in s; read when"
            " they connect"
        ),
    ] = 120
    server_socket_snd_buf_size: Annotated[
        int, Acts("SO_SNDBUF of connections, in bytes; read at the start")
    ] = 0
    server_socket_rcv_buf_size: Annotated[
        int, Acts("SO_RCVBUF of connections, in bytes; read at the start")
    ] = 0
    write_buffer_high_water_mark: Annotated[int, Idle(SLOW_PEER)] = 0
    write_buffer_low_water_mark: Annotated[int, Idle(SLOW_PEER)] = 0
    server_socket_backlog: Annotated[
        AboveZero, Acts("connections that wait to be accepted; read at the start")
    ] = 1024
    server_pooled_byte_buf_allocator_enable: Annotated[bool, Idle(MEMORY)] = True
    use_epoll_native_selector: Annotated[
        bool, Idle("the loop of Python uses epoll in any case")
    ] = False


class NettyClientKeys:
    """Keys of remoting/netty/NettyClientConfig.java."""

    client_worker_threads: Annotated[int, Idle(THREADS)] = 4
    client_callback_executor_threads: Annotated[int, Idle(THREADS)] = 4
    client_oneway_semaphore_value: Annotated[
        int, Idle("a broker asks name servers one thing at a time")
    ] = 65535
    client_async_semaphore_value: Annotated[
        int, Idle("a broker asks name servers one thing at a time")
    ] = 65535
    connect_timeout_millis: Annotated[
        int,
        Idle("a name server elsewhere has 3 s; the broker tries again with its next registration"),
    ] = 3000
    channel_not_active_interval: Annotated[Long, Idle(NOT_READ)] = 1000 * 60
    client_channel_max_idle_time_seconds: Annotated[
        int, Acts("its connections to other nodes are closed after this time without traffic, in s")
    ] = 120
    client_socket_snd_buf_size: Annotated[int, Idle("only registrations leave there")] = 0
    client_socket_rcv_buf_size: Annotated[
        int, Idle("only answers to registrations arrive there")
    ] = 0
    client_pooled_byte_buf_allocator_enable: Annotated[bool, Idle(MEMORY)] = False
    client_close_socket_if_timeout: Annotated[
        bool,
        Acts(
            "closes the connection to a name server that does not answer in time; that name server"
            " then forgets the broker"
        ),
    ] = True
    use_tls: Annotated[
        bool, Named("useTLS"), Acts("its connections to other nodes use TLS ([tls.md](tls.md))")
    ] = False
    write_buffer_high_water_mark: Annotated[int, Idle(SLOW_PEER)] = 0
    write_buffer_low_water_mark: Annotated[int, Idle(SLOW_PEER)] = 0


class NewerKeys:
    """Keys that 4.9.7 does not have, but that clients of 5.x need.

    ``litePullMessageEnable``: whether the broker answers LITE_PULL_MESSAGE (361), without which no
    DefaultLitePullConsumer of 5.x consumes anything. Source: common/BrokerConfig.java (5.3.3).

    ``enableActingMaster``: the value of that field of this broker in routes, true or false. If it
    is empty, routes do not have the field, as in 4.9.7. A client that reads only routes of 5.x
    needs false. Source: remoting/protocol/route/BrokerData.java (5.3.3).
    """

    lite_pull_message_enable: Annotated[
        bool, Acts("whether LITE_PULL_MESSAGE (361) of 5.x is answered")
    ] = True
    enable_acting_master: Annotated[
        bool | None, Acts("the value of that field in routes of 5.x; nothing: no such field")
    ] = None


class NamesrvKeys:
    """Keys of common/namesrv/NamesrvConfig.java."""

    rocketmq_home: Annotated[
        str | None, Idle("the folder of the settings of log files, which there are not")
    ] = None
    kv_config_path: Annotated[
        str | None, Acts("the file of the KV config; none: in memory; read at the start")
    ] = None
    config_store_path: Annotated[str | None, Idle("a changed config is not written to a file")] = (
        None
    )
    product_env_name: Annotated[str, Idle("only `clusterTest` reads it")] = "center"
    cluster_test: Annotated[
        bool, Unsupported("false; no other name server is asked for routes")
    ] = False
    order_message_enable: Annotated[bool, Acts("whether routes have the order of topics")] = False


class BrokerStartupKeys:
    """Keys that BrokerStartup.java#properties2SystemEnv reads and no config class has."""

    rmq_address_server_domain: Annotated[
        str, Acts("DOMAIN of `fetchNamesrvAddrByAddressServer`, or `HOST:PORT`")
    ] = "jmenv.tbsite.net"
    rmq_address_server_sub_group: Annotated[
        str, Acts("SUBGROUP of `fetchNamesrvAddrByAddressServer`")
    ] = "nsaddr"
