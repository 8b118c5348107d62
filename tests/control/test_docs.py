"""The page about the control port does what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fakemq

PAGE = Path(__file__).parents[2] / "docs" / "control.md"


# Over a second: one process of curl and a shell for each example.
@pytest.mark.slow
def test_examples_of_the_page_run() -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    before, _, rest = PAGE.read_text().partition("\n## POP and timers\n")
    later, _, rest = rest.partition("\n## gRPC clients\n")
    front, _, after = rest.partition("\n## ")
    assert len(run(commands_of(before + after))) > 15
    delivered = run(commands_of(later), reference="5.5.0")[4]
    assert [entry["kind"] for entry in delivered["entries"]] == ["TimerDelivered"]
    topic, group, _, proxy = run(commands_of(front), grpc=True)
    assert topic["message_type"] == "FIFO"
    assert group["settings"]["consume_message_orderly"] is True
    assert proxy["state"] == "running"


def commands_of(text: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line[:5] == "curl "]


def run(commands: list[str], **options: Any) -> list[Any]:
    """Run commands at a cluster, and return their answers."""
    answers = []
    with fakemq.Cluster(control_port=0, **options) as mq:
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
                answers.append(answer)
    return answers
