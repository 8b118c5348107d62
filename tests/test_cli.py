"""The command line, with the running of clusters replaced."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import fakemq
from fakemq.cli import main
from fakemq.config.model import BrokerConfig, NamesrvConfig
from fakemq.config.spec import ClusterSpec, cluster_spec
from fakemq.errors import NO_MEMORY, NO_MEMORY_FOR_COMMAND, FakemqError
from fakemq.serving import foreground
from fakemq.serving.ready import (
    ReadyBroker,
    ReadyInfo,
    ready_line,
    remove_ready_file,
    write_ready_file,
)

INFO = ReadyInfo(
    namesrv="127.0.0.1:9876",
    cluster="DefaultCluster",
    pid=7,
    brokers=(
        ReadyBroker(
            name="broker-a",
            id=0,
            addr="127.0.0.1:10911",
            vip="127.0.0.1:10909",
            ha="127.0.0.1:10912",
            store="memory",
        ),
    ),
)
LINE = "fakemq ready: namesrv 127.0.0.1:9876, brokers broker-a-0 127.0.0.1:10911 (pid 7)\n"


def words(text: str) -> list[str]:
    return text.split()


def run(*args: str) -> Result:
    result = CliRunner().invoke(main, args, prog_name="fakemq")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ClusterSpec]:
    """What was asked to run, instead of running it."""
    asked: list[ClusterSpec] = []

    def run_at_once(spec: ClusterSpec, on_ready: Callable[[ReadyInfo], None], _: object) -> int:
        asked.append(spec)
        on_ready(INFO)
        return 0

    monkeypatch.setattr(foreground, "run", run_at_once)
    monkeypatch.setattr(foreground, "remove_ready_file", lambda *_: None)  # of an end
    return asked


# -- serve ------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [[], ["serve"]])
def test_serve_is_the_default(served: list[ClusterSpec], args: list[str]) -> None:
    result = run(*args)
    assert (result.exit_code, result.stdout, result.stderr) == (0, LINE, "")
    assert served == [cluster_spec()]


def test_every_option_reaches_the_spec(served: list[ClusterSpec], tmp_path: Path) -> None:
    config = tmp_path / "b.properties"
    config.write_text("brokerClusterName=C\n")
    ready = tmp_path / "ready.json"
    result = run(
        *words("--listen 127.0.0.2 --advertise mq --namesrv-port 1000 --namesrvs 2 --masters 2"),
        *words("--broker-port 2000 --slaves 1 --store memory --memory-limit 64MiB --clock frozen"),
        *words("--role SYNC_MASTER --flush SYNC_FLUSH --start-at 2024-02-29 --seed 5"),
        *words("--topic orders:8 --topic bills:1 --strict --journal j"),
        *["--ready-file", str(ready), "-c", str(config)],
    )
    assert result.exit_code == 0, result.output
    assert served == [
        cluster_spec(
            listen="127.0.0.2",
            advertise="mq",
            namesrv_port=1000,
            namesrvs=2,
            broker_port=2000,
            masters=2,
            store="memory",
            memory_limit="64MiB",
            slaves=1,
            role="SYNC_MASTER",
            flush="SYNC_FLUSH",
            clock="frozen",
            start_at="2024-02-29",
            seed=5,
            topics={"orders": 8, "bills": 1},
            ready_file=ready,
            config=config,
            strict=True,
            journal="j",
        )
    ]
    assert json.loads(ready.read_text()) == {
        "namesrv": "127.0.0.1:9876",
        "cluster": "DefaultCluster",
        "pid": 7,
        "control": None,
        "brokers": [
            {
                "name": "broker-a",
                "id": 0,
                "addr": "127.0.0.1:10911",
                "vip": "127.0.0.1:10909",
                "ha": "127.0.0.1:10912",
                "store": "memory",
            }
        ],
    }
    assert [path.name for path in tmp_path.iterdir() if path != config] == ["ready.json"]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ("--masters 0", "--masters=0: expected a whole number from 1 to 1000"),
        (
            "--topic orders",
            "topic 'orders': expected NAME:QUEUES, such as orders:8, or NAME:QUEUES:TYPE",
        ),
        (
            "--topic orders:8:FIFO",
            "topic orders: topics of 4.9.7 have no message types: only those of RocketMQ 5 do",
        ),
        (
            "--topic orders:65537",
            "queues of topic orders=65537: expected a whole number from 1 to 65536",
        ),
        ("--control-port 65536", "--control-port=65536: expected a whole number from 0 to 65535"),
        (
            "--start-at tomorrow",
            (
                "--start-at='tomorrow': expected an ISO 8601 date and time such as"
                ' "2024-02-29T12:00:00Z"'
            ),
        ),
        (
            "--reference 4.9.7 --grpc-port 0",
            (
                "--grpc-port=0: gRPC clients need brokers with POP, which reference 4.9.7"
                " does not have: expected reference 5.5.0, or none"
            ),
        ),
        (
            "--control-port 0 --control-listen 0.0.0.0",
            (
                "--control-listen=0.0.0.0: any peer that reaches the control port controls"
                " the cluster; away from loopback it needs a --control-token"
            ),
        ),
        ("--control-token t", "--control-token needs a --control-port"),
        ("-c control_token", "control_token: cannot read this config: No such file or directory"),
        ("-c /none", "/none: cannot read this config: No such file or directory"),
    ],
)
def test_invalid_input_is_one_line_and_exit_code_2(
    served: list[ClusterSpec], args: str, error: str
) -> None:
    result = run(*words(args))
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {error}\n")
    assert served == []


@pytest.mark.parametrize("args", [["--nonsense"], ["nonsense"], ["--masters", "two"]])
def test_unknown_arguments_are_refused_by_click(served: list[ClusterSpec], args: list[str]) -> None:
    assert run(*args).exit_code == 2
    assert served == []


def test_failed_start_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_cluster(spec: ClusterSpec, on_ready: Callable[[ReadyInfo], None], _: object) -> int:
        raise FakemqError("port 10911 is in use; choose another with --broker-port")

    monkeypatch.setattr(foreground, "run", run_cluster)
    result = run()
    assert result.exit_code == 1
    assert result.stderr == "Error: port 10911 is in use; choose another with --broker-port\n"


def test_unknown_key_is_a_warning_or_an_error_when_strict(
    served: list[ClusterSpec], tmp_path: Path
) -> None:
    path = tmp_path / "b.properties"
    path.write_text("brokerNam=x\n")
    warning = f"{path}:1: unknown key brokerNam: RocketMQ 4.9.7 does not have it;"
    result = run("-c", str(path))
    assert result.exit_code == 0
    assert result.stderr.startswith(f"Warning: {warning}")
    result = run("-c", str(path), "--strict")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {warning}")


def test_stale_ready_file_is_removed_before_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "ready.json"
    path.write_text("stale")

    def run_cluster(spec: ClusterSpec, on_ready: Callable[[ReadyInfo], None], _: object) -> int:
        assert not path.exists()
        return 0

    monkeypatch.setattr(foreground, "run", run_cluster)
    assert run("--ready-file", str(path)).exit_code == 0


def test_unwritable_ready_file_is_refused(served: list[ClusterSpec], tmp_path: Path) -> None:
    path = tmp_path / "no folder" / "ready.json"
    result = run("--ready-file", str(path))
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: {path}: cannot write the ready file: No such file or directory\n"
    )
    (tmp_path / "folder").mkdir()
    with pytest.raises(FakemqError, match="cannot write the ready file"):
        write_ready_file(str(tmp_path / "folder"), INFO)
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_pipe_is_no_ready_file(served: list[ClusterSpec], tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    why = f"{path}: cannot write the ready file: Is a named pipe, not a regular file"
    result = run("--ready-file", str(path))
    assert (result.exit_code, result.stderr) == (1, f"Error: {why}\n")
    with pytest.raises(FakemqError, match=re.escape(why)):
        write_ready_file(str(path), INFO)
    assert path.is_fifo()


def test_link_to_a_ready_file_stays(tmp_path: Path) -> None:
    path, link = tmp_path / "ready.json", tmp_path / "link"
    link.symlink_to(path)
    for _ in range(2):
        write_ready_file(str(link), INFO)
        assert link.is_symlink()
        assert path.is_file()
        remove_ready_file(str(link))
        assert link.is_symlink()
        assert not path.exists()


# -- printing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["serve", "namesrv", "broker"])
def test_printed_config_is_read_back(
    served: list[ClusterSpec], tmp_path: Path, command: str
) -> None:
    source = tmp_path / "source.properties"
    extra = "clusterTest=true\n" if command == "namesrv" else "regionId=caf\\u00e9 : x\n"
    source.write_text(f"listenPort=20911\n{extra}")
    first = run(command, "-c", str(source), "-p")
    assert (first.exit_code, first.stderr) == (0, "")
    assert "listenPort=20911\n" in first.stdout
    printed = tmp_path / "printed.properties"
    printed.write_text(first.stdout)
    second = run(command, "--config", str(printed), "-p")
    assert (second.exit_code, second.stderr, second.stdout) == (0, "", first.stdout)
    assert served == []


def test_several_brokers_are_printed_one_after_the_other(tmp_path: Path) -> None:
    printed = run("--masters", "2", "--broker-port", "3000", "-p").stdout
    first, second = printed.removeprefix("# broker-a-0\n").split("# broker-b-0\n")
    files = []
    for number, text in enumerate((first, second)):
        path = tmp_path / str(number)
        path.write_text(text)
        files += ["-c", str(path)]
    assert run("--masters", "2", *files, "-p").stdout == printed


def test_important_keys_are_printed(served: list[ClusterSpec]) -> None:
    result = run("broker", "-n", "h:1", "-m")
    assert result.exit_code == 0
    assert "namesrvAddr=h\\:1\n" in result.stdout or "namesrvAddr=h:1\n" in result.stdout
    assert "brokerIP2" not in result.stdout
    assert served == []


# -- namesrv, broker --------------------------------------------------------------------------


def test_namesrv_command_starts_a_name_server(served: list[ClusterSpec], tmp_path: Path) -> None:
    path = tmp_path / "n.properties"
    path.write_text("listenPort=19876\n")
    assert run("namesrv", "-c", str(path)).exit_code == 0
    (spec,) = served
    assert spec.namesrv_config == NamesrvConfig(listen_port=19876)
    assert (spec.listen, spec.namesrv_ports, spec.broker_configs) == ("0.0.0.0", (19876,), ())
    path.write_text("kvConfigPath=/kv.json\n")
    assert run("namesrv", "-c", str(path)).exit_code == 0
    assert served[1].namesrv_config.kv_config_path == "/kv.json"


def test_broker_command_starts_a_broker(
    served: list[ClusterSpec], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "env:9876")
    path = tmp_path / "b.properties"
    path.write_text("brokerName=b\nbrokerIP1=1.1.1.1\nbrokerIP2=1.1.1.2\n")
    assert run("broker", "-c", str(path)).exit_code == 0
    assert run("broker", "-c", str(path), "-n", "flag:1;flag:2").exit_code == 0
    base = BrokerConfig(broker_name="b", broker_ip1="1.1.1.1", broker_ip2="1.1.1.2")
    first, second = base.copy(), base.copy()
    first.namesrv_addr, second.namesrv_addr = "env:9876", "flag:1;flag:2"
    assert [spec.broker_configs for spec in served] == [(first,), (second,)]
    assert [(spec.listen, spec.namesrv_ports) for spec in served] == [("0.0.0.0", ())] * 2
    assert served[0].advertised_host == "1.1.1.1"


def test_slave_needs_its_own_id(served: list[ClusterSpec], tmp_path: Path) -> None:
    path = tmp_path / "b.properties"
    path.write_text("brokerName=b\nbrokerRole=SLAVE\nbrokerId=0\n")
    result = run("broker", "-c", str(path))
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {path}:3: Slave's brokerId must be > 0\n",
    )
    path.write_text("brokerName=b\nbrokerRole=SLAVE\nbrokerId=1\n")
    assert run("broker", "-c", str(path)).exit_code == 0
    (spec,) = served
    assert [(one.node_name, one.is_slave) for one in spec.broker_configs] == [("b-1", True)]


# -- the rest ---------------------------------------------------------------------------------


def test_version_and_help_are_printed() -> None:
    assert run("--version").stdout == f"fakemq {fakemq.__version__}, as Apache RocketMQ 4.9.7\n"
    overview = run("--help").stdout
    for command in ("serve", "namesrv", "broker", "table"):
        assert command in overview
        assert run(command, "--help").exit_code == 0
    assert "--memory-limit" in run("serve", "-h").stdout


def test_ready_lines_name_the_addresses() -> None:
    assert ready_line(INFO) + "\n" == LINE
    alone = ReadyInfo(namesrv="h:1", cluster="", pid=3)
    assert ready_line(alone) == "fakemq ready: namesrv h:1 (pid 3)"


def test_printing_a_config_imports_no_server() -> None:
    code = (
        "import sys; from fakemq.cli import main;"
        "main(['-p'], standalone_mode=False);"
        "print(*(m for m in ('asyncio', 'construct', 'fakemq.cluster') if m in sys.modules),"
        " file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "brokerName=broker-a\n" in done.stdout
    assert done.stderr.strip() == ""


def test_token_without_a_control_port_is_refused(
    served: list[ClusterSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--control-token needs a --control-port" in run("--control-token", "t").output
    monkeypatch.setenv("FAKEMQ_CONTROL_TOKEN", "t")  # for a run with a control port
    assert run().exit_code == 0
    assert served[-1].control is None


def test_missing_memory_ends_a_command_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def explain(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("fakemq.decoding.explain.explain", explain)
    result = run("decode", "00")
    assert (result.exit_code, result.stderr) == (1, f"Error: {NO_MEMORY_FOR_COMMAND}\n")
    assert NO_MEMORY.startswith(NO_MEMORY_FOR_COMMAND)
