"""The page about the control port does what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

import fakemq

PAGE = Path(__file__).parents[2] / "docs" / "control.md"


# Over a second: one process of curl and a shell for each example.
@pytest.mark.slow
def test_examples_of_the_page_run() -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if line[:5] == "curl "]
    assert len(commands) > 15
    with fakemq.Cluster(control_port=0) as mq:
        assert mq.control_url is not None
        for command in commands:
            done = subprocess.run(
                ["sh", "-c", command],
                capture_output=True,
                env={**os.environ, "CONTROL": mq.control_url, "NO_PROXY": "127.0.0.1"},
            )
            assert done.returncode == 0, (command, done.stderr)
            if "nsaddr" in command:
                assert done.stdout.decode() == mq.namesrv_addr
            else:
                answer = msgspec.json.decode(done.stdout)
                assert not (isinstance(answer, dict) and "error" in answer), (command, answer)
