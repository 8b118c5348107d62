"""Every config key of a controller of 5.5.0: a row for each, as in `fakemq.config.keys`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config import keys
from fakemq.config.model import WHY_NO_OTHER as METRICS
from fakemq.config.model import ExporterType as ExporterType

if TYPE_CHECKING:
    from typing import Annotated

    from fakemq.config.rows import Acts, Idle, JavaField, Long, LongAboveZero

RAFT = "controllers of one process have one log, and no Raft between them"
UNREAD = "Java's answer shows its object; no file sets it"


class ControllerKeys:
    """Keys of common/ControllerConfig.java (5.5.0)."""

    rocketmq_home: Annotated[str | None, Idle("a controller reads no file there")] = None
    config_store_path: Annotated[str | None, Idle("a changed config is not written to a file")] = (
        None
    )
    jraft_config: Annotated[str, Idle(UNREAD)] = "org.apache.rocketmq.common.JraftConfig@0"
    controller_type: Annotated[
        str, Acts("`jRaft` for the addresses of jRaft, any other text for DLedger's")
    ] = "DLedger"
    scan_not_active_broker_interval: Annotated[
        LongAboveZero, Acts("how often silent brokers are looked for, in ms; read at the start")
    ] = 5 * 1000
    controller_thread_pool_nums: Annotated[int, Idle(keys.THREADS)] = 16
    controller_request_thread_pool_queue_capacity: Annotated[int, Idle(keys.THREADS)] = 50000
    controller_d_leger_group: Annotated[
        str | None, Acts("the name of the group of controllers")
    ] = None
    controller_d_leger_peers: Annotated[
        str | None, Acts("the controllers of the group: `n0-HOST:PORT`, with `;` between them")
    ] = None
    controller_d_leger_self_id: Annotated[
        str | None, Acts("which one of `controllerDLegerPeers` it is")
    ] = None
    mapped_file_size: Annotated[int, Idle("its log is one file, which grows")] = 1024 * 1024 * 1024
    controller_store_path: Annotated[
        str, Acts("the folder of its log; without one all is in memory")
    ] = ""
    elect_master_max_retry_count: Annotated[
        int, Acts("how often an election is tried that no broker asks for, up to 100")
    ] = 3
    enable_elect_unclean_master: Annotated[
        bool, Acts("whether a replica that is not in sync may be elected")
    ] = False
    process_read_event: Annotated[
        bool, JavaField("isProcessReadEvent"), Acts("whether reads wait for the log, too")
    ] = False
    notify_broker_role_changed: Annotated[
        bool, Acts("whether brokers are notified of an election (1008)")
    ] = True
    scan_inactive_master_interval: Annotated[
        LongAboveZero, Acts("how often groups without a living master are looked for, in ms")
    ] = 5 * 1000
    metrics_exporter_type: Annotated[
        ExporterType,
        Acts(
            "`PROM`: Prometheus can read its metrics ([metrics.md](metrics.md)); read at the start"
        ),
    ] = "DISABLE"
    metrics_grpc_exporter_target: Annotated[str, Idle(METRICS)] = ""
    metrics_grpc_exporter_header: Annotated[str, Idle(METRICS)] = ""
    metric_grpc_exporter_time_out_in_mills: Annotated[Long, Idle(METRICS)] = 3 * 1000
    metric_grpc_exporter_interval_in_mills: Annotated[Long, Idle(METRICS)] = 60 * 1000
    metric_logging_exporter_interval_in_mills: Annotated[Long, Idle(METRICS)] = 10 * 1000
    metrics_prom_exporter_port: Annotated[
        int, Acts("the port for Prometheus of a controller alone; read at the start")
    ] = 5557
    metrics_prom_exporter_host: Annotated[
        str, Acts("the address of that port; read at the start")
    ] = ""
    metrics_label: Annotated[
        str, Acts("further labels of all metrics: `NAME:VALUE,NAME:VALUE`; read at the start")
    ] = ""
    metrics_in_delta: Annotated[
        bool, Acts("whether all metrics have the label `aggregation`; read at the start")
    ] = False
    config_black_list: Annotated[
        str, Acts("keys that UPDATE_CONTROLLER_CONFIG refuses, with `;` between them")
    ] = "configBlackList;configStorePath"


class JraftKeys:
    """Keys of common/JraftConfig.java (5.5.0); answers with configs do not have them."""

    j_raft_election_timeout_ms: Annotated[int, Idle(RAFT)] = 1000
    j_raft_scan_wait_timeout_ms: Annotated[int, Idle(RAFT)] = 1000
    j_raft_snapshot_interval_secs: Annotated[int, Idle(RAFT)] = 3600
    j_raft_group_id: Annotated[str, Acts("the name of the group of controllers")] = (
        "jRaft-Controller"
    )
    j_raft_server_id: Annotated[str, Acts("which one of `jRaftInitConf` it is")] = "localhost:9880"
    j_raft_init_conf: Annotated[
        str, Acts("the controllers of the group, by their addresses for Raft")
    ] = "localhost:9880,localhost:9881,localhost:9882"
    j_raft_controller_r_p_c_addr: Annotated[
        str, Acts("the addresses of their ports for brokers and tools, in the same order")
    ] = "localhost:9770,localhost:9771,localhost:9772"
