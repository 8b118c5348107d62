"""Slaves, played over their own protocol, and the statuses of sends beside them."""

from __future__ import annotations

import socket
import struct

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import properties, send_v2_fields
from fakemq.protocol.codes import RequestCode

SYNC_MASTER = {"brokerRole": "SYNC_MASTER"}
BEYOND = 1 << 60
"""More than any log has."""
QUIET_S = 1.0
"""How long a master has to do what it does about a report."""
_INT64 = struct.Struct(">q")


@scenario(
    "replication: a slave that says first that it has more than its master", config=SYNC_MASTER
)
def first_report_beyond_the_end(run: Run) -> None:
    topic = run.topic("SBeyond")
    run.note("no slave is there")
    _send(run, topic, "is it safe?")
    host, _, port = run.addrs["broker-a ha"].rpartition(":")
    with socket.create_connection((host, int(port)), QUIET_S) as slave:
        run.note(f"a slave reports {BEYOND}")
        slave.sendall(_INT64.pack(BEYOND))
        run.note(f"its master {_reaction(slave)}")
        _send(run, topic, "is it now?")


def _reaction(slave: socket.socket) -> str:
    """Return what an idle master does."""
    try:
        data = slave.recv(1 << 16)
    except TimeoutError:
        return "says nothing"
    return f"sends {data.hex()}" if data else "hangs up"


def _send(run: Run, topic: str, body: str) -> None:
    fields = send_v2_fields(topic, i=properties(WAIT="true"))
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")
