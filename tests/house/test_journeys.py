"""Ceilings for the calls and files of a send, so that its path does not grow again.

``python -m bench.journeys`` measures a send over TCP, and other journeys; here the request goes
over a link in memory, without the files that only TCP needs.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from tests.support.broker_lab import BrokerLab, send_header

MAX_CALLS, MAX_FILES = 84, 27
"""For one SEND_MESSAGE_V2; over TCP it takes six calls and one file more, so 90 and 28."""
OURS = ("/fakemq/", "/protocol/")


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
