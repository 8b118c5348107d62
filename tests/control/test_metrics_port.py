"""The ports for Prometheus: what they answer, when they are open, and what peers may send."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import fakemq
from conformance.wire.pops import pop_fields
from conformance.wire.raw import call, frame
from conformance.wire.requests import texts
from fakemq.control.metrics import MOST_AT_ONCE
from fakemq.errors import ConfigError, ConfigWarning, FakemqError
from fakemq.protocol.v5.codes import RequestCode5

PROM = {"metricsExporterType": "PROM", "metricsPromExporterPort": "0"}


def get(addr: str, path: str = "/metrics", method: str = "GET", **headers: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://{addr}{path}", headers=named, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        body: bytes = answer.read()
    return body


def values(addr: str, name: str) -> dict[str, float]:
    """Return the samples of a name, by their labels that are no node's."""
    found = {}
    for family in text_string_to_metric_families(get(addr).decode()):
        for sample in family.samples:
            if sample.name == name:
                of_node = ("cluster", "node_id", "node_type", "otel_scope_name")
                labels = [f"{k}={v}" for k, v in sample.labels.items() if k not in of_node]
                found[" ".join(sorted(labels))] = sample.value
    return found


def cluster(**options: object) -> fakemq.Cluster:
    return fakemq.Cluster(reference="5.5.0", config=PROM, clock="frozen", **options)  # type: ignore[arg-type]


def test_lag_of_a_group_grows_and_ends() -> None:
    with cluster(topics={"orders": 1}) as mq:
        addr = mq.broker("broker-a").metrics_addr
        consumer, producer = mq.consumer(group="billing", subscribe="orders"), mq.producer()
        producer.send("orders", b"consumed and committed")
        mq.clock.advance("10s")
        consumer.suspend()
        producer.send("orders", b"taken by the pull that waits")
        mq.clock.advance("10s")
        for _ in range(3):
            producer.send("orders", b"stays")
        mq.clock.advance("90s")
        [behind] = values(addr, "rocketmq_consumer_lag_messages").values()
        [age_ms] = values(addr, "rocketmq_consumer_lag_latency_milliseconds").values()
        assert (behind, age_ms) == (3, 90_000)
        consumer.resume()
        mq.clock.advance("10s")
        assert [*values(addr, "rocketmq_consumer_lag_messages").values()] == [0]
        assert [*values(addr, "rocketmq_consumer_lag_latency_milliseconds").values()] == [0]


def test_lag_counts_the_messages_with_the_tags_that_a_group_wants() -> None:
    with cluster(topics={"orders": 1}) as mq:
        addr = mq.broker("broker-a").metrics_addr
        consumer = mq.consumer(group="billing", subscribe={"orders": "paid"})
        producer = mq.producer()
        producer.send("orders", b"consumed and committed", tags="paid")
        mq.clock.advance("10s")
        consumer.suspend()
        producer.send("orders", b"taken by the pull that waits", tags="paid")
        mq.clock.advance("10s")
        for tag in ("paid", "open", "open", "paid"):
            producer.send("orders", b"stays", tags=tag)
        assert [*values(addr, "rocketmq_consumer_lag_messages").values()] == [2]


def test_group_that_pops_without_heartbeats_has_a_lag() -> None:
    """As the consumers behind a gRPC front: for ten minutes after their last pop."""
    with cluster(topics={"orders": 1}) as mq:
        broker = mq.broker("broker-a")
        mq.seed("orders", [b"1", b"2", b"3"])
        fields = pop_fields(
            "orders", consumerGroup="billing", maxMsgNums=1, bornTime=mq.clock.now_ms()
        )
        call(broker.addr, frame(RequestCode5.POP_MESSAGE, texts(fields)))
        labels = "consumer_group=billing is_retry={} is_system=false topic=orders"
        assert values(broker.metrics_addr, "rocketmq_consumer_lag_messages") == {
            labels.format("false"): 3,
            labels.format("true"): 0,
        }
        inflight = values(broker.metrics_addr, "rocketmq_consumer_inflight_messages")
        assert inflight[labels.format("false")] == 1
        mq.clock.advance("11m")
        assert values(broker.metrics_addr, "rocketmq_consumer_lag_messages") == {}


def test_port_is_closed_while_its_node_is_down_and_counts_from_its_start() -> None:
    with cluster(topics={"orders": 1}) as mq:
        broker = mq.broker("broker-a")
        addr = broker.metrics_addr
        mq.producer().send("orders", b"1")
        assert values(addr, "rocketmq_messages_in_total") == {
            "is_system=false message_type=normal topic=orders": 1.0
        }
        broker.kill()
        with pytest.raises(urllib.error.URLError):
            get(addr)
        broker.restart()
        assert values(addr, "rocketmq_messages_in_total") == {}
        assert values(addr, "rocketmq_broker_permission") == {"": 6.0}


def test_reset_begins_the_counters_again() -> None:
    with cluster(topics={"orders": 1}) as mq:
        addr = mq.broker("broker-a").metrics_addr
        mq.producer().send("orders", b"1")
        mq.reset()
        assert values(addr, "rocketmq_messages_in_total") == {}
        mq.producer().send("orders", b"1")
        assert sum(values(addr, "rocketmq_messages_in_total").values()) == 1


def test_paused_broker_answers_when_it_resumes() -> None:
    with cluster() as mq:
        broker = mq.broker("broker-a")
        host, _, port = broker.metrics_addr.rpartition(":")
        broker.pause()
        with socket.create_connection((host, int(port)), 20) as peer:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            peer.settimeout(0.2)
            with pytest.raises(TimeoutError):
                peer.recv(1)
            broker.resume()
            peer.settimeout(20)
            assert peer.recv(12) == b"HTTP/1.1 200"


def test_latency_of_a_request_counts_the_time_of_the_cluster() -> None:
    with cluster(topics={"orders": 1}) as mq:
        addr = mq.broker("broker-a").metrics_addr
        mq.faults.delay("SEND_MESSAGE_V2", "2s", times=1)
        producer = mq.producer()
        mq.clock.unfreeze()
        producer.send("orders", b"1")
        name = "rocketmq_rpc_latency_milliseconds"
        [sent] = [v for k, v in values(addr, f"{name}_sum").items() if "send_message" in k]
        assert 1_900 <= sent <= 4_000


def test_forms_of_an_answer() -> None:
    with cluster() as mq:
        addr = mq.broker("broker-a").metrics_addr
        plain = get(addr)
        assert gzip.decompress(get(addr, Accept_Encoding="gzip")).startswith(plain[:1_000])
        assert get(addr, Accept="application/openmetrics-text").endswith(b"# EOF\n")
        assert get(addr, method="HEAD") == b""
        one = get(addr, "/metrics?name[]=rocketmq_topic_number&name[]=rocketmq_rpc_latency")
        assert one.count(b"# TYPE") == 2  # and target_info
        assert get(addr, "/-/healthy") == b"Exporter is healthy.\n"
        assert b"/metrics" in get(addr, "/")


def test_page_of_another_host_gets_no_metrics() -> None:
    with cluster() as mq:
        addr = mq.broker("broker-a").metrics_addr
        for headers in ({"Host": "evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
            with pytest.raises(urllib.error.HTTPError) as refused:
                get(addr, **headers)
            assert refused.value.code == 403
            refused.value.close()


def test_hostile_bytes_end_their_connection_alone() -> None:
    with cluster() as mq:
        broker = mq.broker("broker-a")
        host, _, port = broker.metrics_addr.rpartition(":")
        for data in (b"\0\0\0\5hello", b"GET " + b"x" * 100_000, b"\xff\xfe\r\n\r\n"):
            with socket.create_connection((host, int(port)), 20) as peer:
                peer.sendall(data)
                answer = peer.recv(65_536)
                assert not answer or b" 400 " in answer
        assert get(broker.metrics_addr).startswith(b"# HELP")


def test_warning_names_the_port_that_a_remoting_client_has_reached(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with cluster() as mq:
        host, _, port = mq.broker("broker-a").metrics_addr.rpartition(":")
        with socket.create_connection((host, int(port)), 20) as peer:
            peer.sendall(b"\0\0\0\5hello")
            assert ended(peer)
    assert any("this is the metrics port, which speaks HTTP" in one for one in caplog.messages)


def ended(peer: socket.socket) -> bool:
    try:
        return not peer.recv(1)
    except ConnectionResetError:
        return True


def test_peers_that_do_not_read_hold_few_texts() -> None:
    """Others wait for their turn, and have it when one of them leaves."""
    config = PROM | {"metricsLabel": f"pad:{'x' * 100_000}"}
    with fakemq.Cluster(reference="5.5.0", config=config) as mq:
        addr = mq.broker("broker-a").metrics_addr
        host, _, port = addr.rpartition(":")
        asked = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        peers = [socket.create_connection((host, int(port)), 20) for _ in range(MOST_AT_ONCE + 1)]
        try:
            for peer in peers[:-1]:
                peer.sendall(asked)
                assert peer.recv(12) == b"HTTP/1.1 200"
            last = peers[-1]
            last.sendall(asked)
            last.settimeout(0.2)
            with pytest.raises(TimeoutError):
                last.recv(1)
            peers[0].close()
            last.settimeout(20)
            assert last.recv(12) == b"HTTP/1.1 200"
        finally:
            for peer in peers:
                peer.close()


def test_brokers_of_one_process_have_ports_of_their_own() -> None:
    with cluster(masters=2, controllers=0) as mq:
        addrs = [broker.metrics_addr for broker in mq.brokers]
        assert len(set(addrs)) == 2
        assert [b'node_id="broker-a"' in get(addr) for addr in addrs] == [True, False]


def test_same_port_for_two_brokers_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"port 5557 is wanted by broker-a-0 .* and broker-b-0"):
        fakemq.Cluster(reference="5.5.0", masters=2, config={"metricsExporterType": "PROM"})


def test_taken_port_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = PROM | {"metricsPromExporterPort": str(port)}
        mq = fakemq.Cluster(reference="5.5.0", config=config)
        with pytest.raises(
            FakemqError, match=rf"port {port} .*metrics port of broker-a-0.* in use"
        ):
            mq.start()


def test_address_that_is_no_address_of_this_machine_is_one_line() -> None:
    config = PROM | {"metricsPromExporterHost": "192.0.2.1"}
    why = r"cannot listen on 192\.0\.2\.1:0 \(metrics port of broker-a-0\): "
    with pytest.raises(FakemqError, match=why):
        fakemq.Cluster(reference="5.5.0", config=config).start()


def test_other_exporters_have_no_effect() -> None:
    for kind in ("OTLP_GRPC", "LOG"):
        said = f"metricsExporterType={kind} has no effect: fakemq exports metrics to Prometheus"
        with pytest.warns(ConfigWarning, match=said):
            mq = fakemq.Cluster(reference="5.5.0", config={"metricsExporterType": kind})
        with mq, pytest.raises(FakemqError, match="broker-a-0 has no port for Prometheus"):
            _ = mq.broker("broker-a").metrics_addr


def test_ready_file_says_where_metrics_are(tmp_path: Path) -> None:
    with cluster(ready_file=str(tmp_path / "ready"), grpc=True) as mq:
        said = json.loads((tmp_path / "ready").read_text())["metrics"]
        assert said["broker-a-0"] == mq.broker("broker-a").metrics_addr
        assert said["proxy-0"] == mq.proxy.metrics_addr


def test_metrics_are_not_imported_without_the_key() -> None:
    program = """
import sys, fakemq
with fakemq.Cluster(reference="5.5.0") as mq:
    pass
print([name for name in sys.modules if name.startswith(("fakemq.metrics", "uvicorn"))])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
