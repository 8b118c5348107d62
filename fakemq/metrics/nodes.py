"""The metrics of each kind of node, and where they are to be read."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from fakemq.config.v5.model import config5
from fakemq.errors import ConfigError
from fakemq.events.controller import (
    ControllerElected,
    MasterElected,
    ReplicaJoined,
    ReplicaMoved,
    ReplicasCleaned,
    SyncStateSetChanged,
)
from fakemq.events.core import NodeStarted, RequestHandled, RequestReceived
from fakemq.metrics.counted import MOST_REQUESTS, BrokerCounts
from fakemq.metrics.gauges import gauges
from fakemq.metrics.instruments import (
    Family,
    Histogram,
    Meter,
    Tally,
    own_labels,
)
from fakemq.protocol.codes import ResponseCode, code_name
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.slices import Steps
    from fakemq.config.spec import ClusterSpec
    from fakemq.controller.controller import Controller
    from fakemq.core.cluster import ClusterCore
    from fakemq.dispatch.node import NodeState
    from fakemq.events.core import Event
    from fakemq.journal.entries import Entry
    from fakemq.proxy.proxy import Proxy


class Exporting(Protocol):
    """The keys of a config that concern the metrics of any node."""

    metrics_prom_exporter_host: str
    metrics_prom_exporter_port: int
    metrics_label: str
    metrics_in_delta: bool


class NodeMetrics(Protocol):
    """The metrics of one node."""

    def read(self) -> Steps[list[Family]]:
        """Return them as they are now."""


class Exported(Protocol):
    """A node whose metrics can be read."""

    name: str
    state: NodeState


class Exporter(NamedTuple):
    """What a node exports, and where."""

    node: Exported
    metrics: NodeMetrics
    host: str
    port: int
    """0 means a free one."""


def exporters(core: ClusterCore, spec: ClusterSpec) -> Iterator[Exporter]:
    """Yield what the nodes of a cluster export that has not started yet.

    A port of the config is for its broker, or for a controller without a broker beside it. Further
    controllers and the gRPC front have configs of their own in Java; here they get free ports.
    Raise ConfigError if the extra is missing.
    """
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise ConfigError(
            "metricsExporterType=PROM needs an extra that is not installed:"
            " pip install 'fakemq[metrics]'"
        )
    first: Exporting | None = None
    for broker in core.brokers.values():
        config = broker.config
        if config.metrics_port is not None:
            first = first or config5(config)
            host = config5(config).metrics_prom_exporter_host or config.broker_ip1
            metrics = BrokerMetrics(cast("Broker5", broker))
            yield Exporter(broker, metrics, host, config.metrics_port)
    for controller, addr in zip(core.controllers_called(None), core.controller_addrs, strict=True):
        own = controller.config
        if own.metrics_port is not None:
            host = own.metrics_prom_exporter_host or spec.listen
            port = 0 if core.brokers else own.metrics_port
            yield Exporter(controller, ControllerMetrics(controller, addr), host, port)
    if core.proxy is not None and first is not None:
        front = ProxyMetrics(core.proxy, spec.cluster_name, first)
        yield Exporter(core.proxy, front, first.metrics_prom_exporter_host or spec.listen, 0)


def _labels(config: Exporting) -> dict[str, str]:
    delta = {"aggregation": "delta"} if config.metrics_in_delta else {}
    return own_labels(config.metrics_label) | delta


class BrokerMetrics:
    """The metrics of a broker. Source: broker/metrics/BrokerMetricsManager.java (5.5.0)"""

    def __init__(self, broker: Broker5) -> None:
        self._broker = broker
        # A peer may change the present one, and Java reads it once.
        config = self._config = broker.config.copy()
        labels = {
            "node_type": "broker",
            "cluster": config.broker_cluster_name,
            "node_id": config.broker_name,
        }
        limit = config.metrics_otel_cardinality_limit
        self._meter = Meter("broker-meter", _labels(config) | labels, limit)
        self._counts = BrokerCounts(broker, config, self._meter)

    def read(self) -> Steps[list[Family]]:
        counted = [*self._counts.read()]
        yield
        read = yield from gauges(
            self._broker, self._config, self._meter, self._counts.half_messages
        )
        return counted + read


_MICROS: Final = (1, 3, 5)
_MICROSECONDS: Final = (
    *(
        size * digit
        for size in (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
        for digit in _MICROS
    ),
    10_000_000,
)
_NO_LIMIT: Final = 2_000
"""OpenTelemetry's own limit: controllers set none."""


class ControllerMetrics:
    """The metrics of a controller, counted since its start.

    Source: controller/metrics/ControllerMetricsManager.java,
    controller/processor/ControllerRequestProcessor.java, controller/impl/DLedgerController.java
    (5.5.0)
    """

    def __init__(self, controller: Controller, addr: str) -> None:
        self._controller = controller
        config = controller.config
        own = {
            "address": controller.peer_id if config.is_jraft else addr,
            "group": config.group or "",
            "peer_id": controller.peer_id,
        }
        self._meter = meter = Meter("controller", own | _labels(config), _NO_LIMIT)
        self._requests: dict[int, Entry] = {}
        self._total = Tally(meter, "request", "total request num")
        self._latency = Histogram(
            meter, "request_latency", "request latency", _MICROSECONDS, "microseconds"
        )
        self._written = Tally(meter, "dledger_op", "total dledger operation num")
        self._write_latency = Histogram(
            meter,
            "dledger_op_latency",
            "dledger operation latency",
            _MICROSECONDS,
            "microseconds",
        )
        self._elections = Tally(meter, "election", "total elect num")
        self._shown = (
            *(self._total, self._latency, self._written, self._write_latency, self._elections),
        )
        take: Mapping[type[Event], Callable[[Entry, Any], None]] = {
            NodeStarted: self._started,
            RequestReceived: self._received,
            RequestHandled: self._handled,
            MasterElected: self._elected,
            **dict.fromkeys(
                (
                    *(ControllerElected, ReplicaJoined, ReplicaMoved),
                    *(ReplicasCleaned, SyncStateSetChanged),
                ),
                self._logged,
            ),
        }
        self._take = take
        controller.journal.listen(self._on_entry, *take)

    def read(self) -> Steps[list[Family]]:
        controller, meter = self._controller, self._meter
        counted = [one.read() for one in self._shown]
        alive = Counter(
            (one.cluster or "", one.broker_name or "") for one in controller.liveness.alive()
        )
        yield
        rows = [
            ({"cluster": cluster, "broker_set": name}, count)
            for (cluster, name), count in alive.items()
        ]
        # Java adds the change of a number that is 3 for a leader, and begins at 2, a follower.
        role = yield from meter.gauge("role", [({}, int(controller.leads))])
        active = yield from meter.gauge("active_broker_num", rows)
        found = [
            _described(role, "role of current node"),
            _described(active, "now active brokers num"),
        ]
        size_bytes = controller.group.log_bytes
        if size_bytes is not None:
            size = yield from meter.gauge("dledger_disk_usage", [({}, size_bytes)], "bytes")
            found.append(_described(size, "disk usage of dledger"))
        return counted + found

    def _on_entry(self, entry: Entry) -> None:
        if entry.event.node == self._controller.name:
            self._take[type(entry.event)](entry, entry.event)

    def _started(self, entry: Entry, event: NodeStarted) -> None:
        for one in self._shown:
            one.clear()
        self._requests.clear()

    def _received(self, entry: Entry, event: RequestReceived) -> None:
        self._requests[entry.seq] = entry
        if len(self._requests) > MOST_REQUESTS:
            del self._requests[next(iter(self._requests))]

    def _handled(self, entry: Entry, event: RequestHandled) -> None:
        name = _REQUEST_TYPES.get(event.code)
        of = {} if name is None else {"request_type": name}
        failed = event.response_code == ResponseCode.SYSTEM_ERROR
        self._total.add(1, **of, request_handle_status="failed" if failed else "success")
        began = self._requests.pop(entry.cause, None)
        if began is not None and not failed:
            self._latency.record(max(0, entry.at_ms - began.at_ms) * 1_000, **of)
        if (
            event.code == RequestCode5.CONTROLLER_ELECT_MASTER
            and event.response_code == ResponseCode5.CONTROLLER_MASTER_STILL_EXIST
        ):
            self._elections.add(1, election_result="keep_current_master")

    def _elected(self, entry: Entry, event: MasterElected) -> None:
        self._logged(entry, event)
        sync = self._controller.group.state.sync_state_infos.get(event.broker_name)
        asked = event.why != "inactive" and sync is not None
        self._elections.add(
            1,
            cluster=(sync.cluster or "") if asked and sync is not None else "",
            broker_set=event.broker_name,
            election_result="no_master_elected"
            if event.broker_id is None
            else "new_master_elected",
        )

    def _logged(self, entry: Entry, event: Event) -> None:
        of = {"dledger_operation": "append", "dLedger_operation_status": "success"}
        self._written.add(1, **of)
        self._write_latency.record(0, **of)


_REQUEST_TYPES: Final[dict[int, str]] = {
    **{
        code: code_name(code)
        for code in (
            *(RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET, RequestCode5.CONTROLLER_ELECT_MASTER),
            *(RequestCode5.CONTROLLER_REGISTER_BROKER, RequestCode5.CONTROLLER_GET_REPLICA_INFO),
            RequestCode5.CONTROLLER_GET_METADATA_INFO,
            RequestCode5.CONTROLLER_GET_SYNC_STATE_DATA,
            RequestCode5.CONTROLLER_GET_NEXT_BROKER_ID,
            RequestCode5.CONTROLLER_APPLY_BROKER_ID,
        )
    },
    **{
        code: f"CONTROLLER_{code_name(code)}"
        for code in (
            *(RequestCode5.GET_BROKER_EPOCH_CACHE, RequestCode5.NOTIFY_BROKER_ROLE_CHANGED),
            *(RequestCode5.BROKER_HEARTBEAT, RequestCode5.UPDATE_CONTROLLER_CONFIG),
            *(RequestCode5.GET_CONTROLLER_CONFIG, RequestCode5.CLEAN_BROKER_DATA),
        )
    },
}
"""Source: controller/metrics/ControllerMetricsConstant.java#RequestType (5.5.0)"""


class ProxyMetrics:
    """The metric of the gRPC front. Source: proxy/metrics/ProxyMetricsManager.java (5.5.0)"""

    def __init__(self, proxy: Proxy, cluster: str, config: Exporting) -> None:
        labels = {
            "node_type": "proxy",
            "cluster": cluster,
            "node_id": proxy.name,
            "proxy_mode": "cluster",
        }
        self._meter = Meter("broker-meter", _labels(config) | labels, _NO_LIMIT)

    def read(self) -> Steps[list[Family]]:
        up = yield from self._meter.gauge("rocketmq_proxy_up", [({}, 1)])
        return [_described(up, "proxy status")]


def _described(family: Family, text: str) -> Family:
    return family._replace(help=text)
