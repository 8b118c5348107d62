"""A port that is in use: the error says by which process, and what to do."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

import fakemq
from fakemq.errors import FakemqError
from fakemq.serving.taken_ports import PortTakenError, listening_process
from tests.support.command_line import run

LISTENER = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as one:
    print(one.getsockname()[1], flush=True)
    sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux names the process")


@pytest.fixture(params=["fakemq", "other"])
def taken(request: pytest.FixtureRequest) -> Iterator[tuple[int, int, str]]:
    """A port, the process that listens there, and its words in the error."""
    args = ["-c", LISTENER, request.param, "--control-token", "hunter2"]
    command = [sys.executable, *args]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        name = re.escape(os.path.basename(sys.executable))
        owner = f"pid {process.pid} \\({name}\\);"
        yield (
            port,
            process.pid,
            f"another fakemq, {owner} stop it or" if request.param == "fakemq" else owner,
        )
        process.communicate()


def test_error_names_the_process_and_its_port_option(taken: tuple[int, int, str]) -> None:
    port, _, owner = taken
    use = rf"port {port} on 127\.0\.0\.1 \(name server 0\) is in use by {owner} choose another"
    with pytest.raises(FakemqError, match=use):
        fakemq.Cluster(namesrv_port=port).start()
    error = run("serve", "--namesrv-port", str(port), exit_code=1).stderr
    assert error.endswith("choose another port, or 0 for a free one (--namesrv-port 0)\n")
    assert "hunter2" not in error


def test_broker_port_has_its_own_option(taken: tuple[int, int, str]) -> None:
    args = ("serve", "--namesrv-port", "0", "--broker-port", str(taken[0]))
    assert run(*args, exit_code=1).stderr.endswith(" (--broker-port 0)\n")


def test_port_of_this_process_is_named_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        process = listening_process(port)
        assert process is not None
        assert process.pid == os.getpid()
        assert " is in use by this process; " in str(PortTakenError("::1", port, "", "x"))
    assert listening_process(port) is None
    assert " is in use by another program; " in str(PortTakenError("::1", port, "", "x"))
