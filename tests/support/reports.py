"""What tests of diagnoses do to a cluster."""

from __future__ import annotations

from typing import Any

import fakemq
from fakemq.client import Client
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.header import Header

GROUP = "billing"


def consume(mq: fakemq.Cluster, advance: str = "1m", **options: Any) -> Any:
    """A consumer of ``orders`` that has had time to commit."""
    options = {"subscribe": "orders", "consume_from": "first", "group": GROUP} | options
    consumer = mq.consumer(**options)
    mq.clock.advance(advance)
    return consumer


def ask(mq: fakemq.Cluster, code: RequestCode, header: Header, body: bytes = b"") -> None:
    """Send a request to the broker by hand."""
    with Client(mq.namesrv_addr) as client:
        command = client.instance.command(code, header)
        command.body = body
        client.run(client.instance.invoke_ok(mq.broker("broker-a").addr, command))
