"""Ceilings for the calls and files of a send, and for the file changes of five journeys.

``python -m bench.journeys`` measures the journeys over TCP. The calls and files of a send are
measured here over a link in memory, without the files that only TCP needs.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import CodeType, FrameType

import pytest

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from tests.support.broker_lab import BrokerLab, send_header

MAX_CALLS, MAX_FILES = 84, 27
"""For one SEND_MESSAGE_V2; over TCP it takes six calls and one file more, so 90 and 28."""
MAX_CHANGES = {
    "send": 64,
    "held pull woken": 119,
    "clock.advance": 152,
    "SYNC_MASTER send": 189,
    "faults.error first": 47,
}
"""Journey → the most file changes: about three quarters of 86, 157, 193, 249 and 63, which is what
they took before files were put into folders by layer."""
OURS = ("/fakemq/", "/protocol/")
ROOT = Path(__file__).parents[2]


def calls_of_a_send() -> list[CodeType]:
    """Return our functions that a broker calls for a send, in their order."""
    lab = BrokerLab()
    broker = lab.broker()
    lab.outside_peer(broker, "127.0.0.1:5000")
    (session,) = broker.sessions
    connection = Connection()
    calls: list[CodeType] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and any(part in frame.f_code.co_filename for part in OURS):
            calls.append(frame.f_code)

    for number in range(3):  # the first two fill caches
        command = RemotingCommand(
            RequestCode.SEND_MESSAGE_V2, ext_fields=send_header("orders").encode(), body=b"hello"
        )
        command.opaque = number
        data = connection.encode(command)
        calls.clear()
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            session.data_received(data)
        finally:
            sys.setprofile(before)
    assert broker.store.max_offset_in_queue("orders", 0) == 3
    return calls


def test_send_takes_few_calls_and_files() -> None:
    calls = calls_of_a_send()
    files = {code.co_filename for code in calls}
    listed = "\n".join(code.co_qualname for code in calls)
    text = f"{len(calls)} calls in {len(files)} files:\n{listed}"
    assert len(calls) <= MAX_CALLS, text
    assert len(files) <= MAX_FILES, text


def measured_changes() -> dict[str, int]:
    """Return the file changes of each journey, measured in a process that has loaded nothing."""
    command = [sys.executable, "-m", "bench.journeys"]
    table = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    changes = {}
    for line in table.splitlines()[1:]:
        name, _, _, count, *_ = line.rsplit(maxsplit=5)
        changes[name.strip()] = int(count)
    return changes


@pytest.mark.slow  # starts three clusters, and waits after each journey until all is quiet
def test_journeys_change_files_seldom() -> None:
    fewest: dict[str, int] = {}
    for _ in range(3):  # on a busy machine the end of one journey may fall into the next
        changes = measured_changes()
        fewest = {name: min(count, fewest.get(name, count)) for name, count in changes.items()}
        if all(fewest[name] <= most for name, most in MAX_CHANGES.items()):
            return
    pytest.fail(f"file changes {fewest}, at most {MAX_CHANGES}; see bench.journeys --calls")
