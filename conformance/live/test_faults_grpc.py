"""What faults of RPCs are to RocketMQ 5's own Python client."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

import fakemq
from conformance.drivers.grpc_python_program import environment
from fakemq.events import LinkClosed, LinkOpened, RpcHandled, RpcReceived

# Seconds: a process with the client, which waits for its own time-outs.
pytestmark = pytest.mark.slow

TOPIC, GROUP = "Orders", "billing"


class CommandedClient:
    """A process with a producer and a consumer; see conformance/grpc_python/commanded.py."""

    def __init__(self, addr: str, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conformance.grpc_python.commanded", addr, TOPIC, GROUP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=home,
            env=environment(home),
        )
        assert self._read() == "ready"

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def do(self, command: str) -> str:
        assert self._process.stdin is not None
        print(command, file=self._process.stdin, flush=True)
        return self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(grpc=True, topics={TOPIC: 1}) as mq:
        yield mq


@pytest.fixture(scope="module")
def client(
    cluster: fakemq.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CommandedClient]:
    with CommandedClient(cluster.grpc_addr, tmp_path_factory.mktemp("client")) as one:
        yield one


@pytest.fixture
def mq(cluster: fakemq.Cluster) -> Iterator[fakemq.Cluster]:
    yield cluster
    unused = cluster.faults.unused()
    cluster.faults.clear()
    assert unused == []


def bodies(mq: fakemq.Cluster) -> list[str]:
    return [message.body.decode() for message in mq.messages(TOPIC)]


def test_flow_control_reaches_the_program(mq: fakemq.Cluster, client: CommandedClient) -> None:
    mq.faults.grpc("SendMessage", status="TOO_MANY_REQUESTS", topic=TOPIC)
    assert client.do("send busy") == "TooManyRequestsException"
    assert client.do("send calm") == "sent"
    assert (bodies(mq).count("busy"), bodies(mq).count("calm")) == (0, 1)


def test_refusal_of_every_attempt_is_an_error(mq: fakemq.Cluster, client: CommandedClient) -> None:
    mq.faults.grpc("SendMessage", status="FORBIDDEN", text="not you", times=3)
    assert client.do("send forbidden").endswith("Exception")
    assert "forbidden" not in bodies(mq)


def test_status_of_grpc_is_retried(mq: fakemq.Cluster, client: CommandedClient) -> None:
    mq.faults.grpc(
        "SendMessage", status="UNAVAILABLE", client=mq.journal.find(RpcReceived)[0].client_id
    )
    assert client.do("send unavailable") == "sent"
    assert bodies(mq).count("unavailable") == 1


def test_lost_answer_stores_the_message_twice(mq: fakemq.Cluster, client: CommandedClient) -> None:
    mq.faults.grpc_drop("SendMessage", at="before_reply")
    assert client.do("send twice") == "sent"
    assert bodies(mq).count("twice") == 2


def test_reset_stream_is_retried(mq: fakemq.Cluster, client: CommandedClient) -> None:
    mq.faults.grpc_reset("SendMessage", code=7)
    assert client.do("send reset") == "sent"
    assert bodies(mq).count("reset") == 1


def test_client_connects_again_after_a_goaway(mq: fakemq.Cluster, client: CommandedClient) -> None:
    before = len(mq.journal.find(LinkOpened, node="proxy-0"))
    mq.faults.grpc_goaway("SendMessage")
    assert client.do("send goaway") == "sent"
    assert bodies(mq).count("goaway") == 1
    mq.wait_for(lambda: len(mq.journal.find(LinkOpened, node="proxy-0")) > before, timeout="10s")


def test_client_that_is_disconnected_works_on(mq: fakemq.Cluster, client: CommandedClient) -> None:
    mq.faults.grpc_disconnect()
    assert mq.journal.find(LinkClosed, node="proxy-0")
    assert client.do("send disconnected") == "sent"


def test_answer_to_a_late_send_arrives(mq: fakemq.Cluster, client: CommandedClient) -> None:
    mq.faults.grpc_delay("SendMessage", "300ms", at="before_reply")
    assert client.do("send late") == "sent"
    assert bodies(mq).count("late") == 1


def test_open_answer_of_a_receive_is_an_error_or_late(
    mq: fakemq.Cluster, client: CommandedClient
) -> None:
    client.do("receive")
    client.do("ack")
    client.do("send open")
    mq.faults.grpc_leave_open("ReceiveMessage", group=GROUP)
    assert client.do("receive").endswith(("Error", "Exception", "RpcError"))


def test_silent_telemetry_does_not_stop_a_consumer(
    mq: fakemq.Cluster, client: CommandedClient
) -> None:
    mq.faults.grpc_drop("Telemetry", at="before_reply", always=True, must_fire=False)
    client.do("send telemetry")
    received = len(mq.journal.find(RpcReceived, rpc="ReceiveMessage"))
    assert "telemetry#1" in client.do("receive")
    assert len(mq.journal.find(RpcReceived, rpc="ReceiveMessage")) > received
    assert client.do("ack") == "acknowledged"
    assert mq.journal.find(RpcHandled, rpc="AckMessage")[-1].status == "OK"
