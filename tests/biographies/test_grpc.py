"""What gRPC clients did, in the laboratory's terms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakemq.biographies.chronicle import Chronicle
from fakemq.biographies.inflight import inflight
from tests.support.proxy_lab import ProxyLab, message


@pytest.fixture
def lab() -> Iterator[ProxyLab]:
    made = ProxyLab()
    yield made
    made.free()


def test_message_that_a_grpc_client_received_names_the_client(lab: ProxyLab) -> None:
    lab.client("c1").send(message())
    consumer = lab.client("c22")
    consumer.consume()
    consumer.receive()
    chronicle = Chronicle(lab.core.journal, {lab.broker.name: lab.broker.config.broker_name})
    chronicle.read()
    (out,) = inflight(lab.core, chronicle, "g")
    assert (out.client_id, out.attempt) == ("c22", 1)
