"""``python -m fakemq`` as processes: signals, routes, exit codes, and what stays on the disk."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from conformance.targets.processes import NOTICED_S, FakemqProcess, real_ms_until, routed
from conformance.wire.raw import call, frame, json_header

# Around a second each: one to three Python processes start and stop.
pytestmark = pytest.mark.slow

DEFAULT_TOPIC = "TBW102"
AT_ONCE_MS = 10_000
PUT_KV_CONFIG = 100
NAMESRV = ("listenPort=0",)


def broker_config(name: str) -> list[str]:
    return ["listenPort=0", "brokerIP1=127.0.0.1", f"brokerName={name}"]


def test_cluster_writes_its_ready_file_and_nothing_else(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    with FakemqProcess(
        *("--masters", "2", "--namesrv-port", "0", "--broker-port", "0"),
        *("--topic", "orders:8", "--ready-file", str(ready)),
    ) as cluster:
        said = json.loads(ready.read_bytes())
        assert said["namesrv"] == cluster.namesrv_addr
        assert said["pid"] == cluster.process.pid
        assert [broker["addr"] for broker in said["brokers"]] == cluster.broker_addrs
        assert routed(said["namesrv"], "orders") == {"broker-a", "broker-b"}
        assert cluster.terminate() == 0
        assert cluster.files() == []
        assert cluster.output().count("\n") == 1, cluster.output()
    assert list(tmp_path.iterdir()) == [], "the end removes the ready file"


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_dead_brokers_route_is_gone_at_once(how: str) -> None:
    with FakemqProcess("namesrv", config=NAMESRV) as namesrv:
        addr = namesrv.namesrv_addr
        with (
            FakemqProcess("broker", "-n", addr, config=broker_config("stays")) as stays,
            FakemqProcess("broker", "-n", addr, config=broker_config("dies")) as dies,
        ):
            assert routed(addr, DEFAULT_TOPIC) == {"stays", "dies"}
            if how == "SIGTERM":
                assert dies.terminate() == 0
            else:
                dies.kill()
            took_ms = real_ms_until(lambda: routed(addr, DEFAULT_TOPIC) == {"stays"}, NOTICED_S)
            print(f"{how}: gone {took_ms} ms after the process")
            assert took_ms < AT_ONCE_MS
            assert stays.terminate() == 0
            assert routed(addr, DEFAULT_TOPIC) == set()
            assert stays.files() == dies.files() == []
        assert namesrv.terminate() == 0
        assert namesrv.files() == []


def test_sigterm_of_the_broker_takes_its_route_away_before_the_process_ends() -> None:
    with FakemqProcess("namesrv", config=NAMESRV) as namesrv:
        addr = namesrv.namesrv_addr
        with FakemqProcess("broker", "-n", addr, config=broker_config("dies")) as dies:
            dies.process.terminate()
            took_ms = real_ms_until(lambda: routed(addr, DEFAULT_TOPIC) == set(), NOTICED_S)
            print(f"SIGTERM: gone {took_ms} ms after the signal")
            assert took_ms < AT_ONCE_MS
            assert dies.process.wait(10) == 0


def test_name_server_keeps_its_kv_config_in_memory_without_a_path() -> None:
    fields = {"namespace": "N", "key": "k", "value": "v"}
    with FakemqProcess("namesrv", config=NAMESRV) as namesrv:
        answer = call(namesrv.namesrv_addr, frame(PUT_KV_CONFIG, fields))
        assert json_header(answer)["code"] == 0
        assert namesrv.terminate() == 0
        assert namesrv.files() == []


def test_broker_is_ready_although_its_name_server_is_down() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        addr = f"127.0.0.1:{silent.getsockname()[1]}"
        with FakemqProcess("broker", "-n", addr, config=broker_config("alone")) as broker:
            assert broker.terminate() == 0


# 3 s are what the name server gets to answer the broker's leaving.
def test_broker_that_waits_for_its_name_server_can_be_stopped() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        addr = f"127.0.0.1:{mute.getsockname()[1]}"
        broker = FakemqProcess("broker", "-n", addr, config=broker_config("waits"))
        try:
            connection, _ = mute.accept()
            with connection:
                assert connection.recv(1)
                assert broker.output() == ""
                assert broker.terminate() == 0
                assert broker.output() == ""
        finally:
            broker.close()
