"""What a broker says of itself (request 28), asked until it can say it.

A Java broker takes its first samples a second after its start. Until then it answers with a
NoSuchElementException, and every program that asks fails.

Source: store/StoreStatsService.java#getPutTps, #run (4.9.7, 5.5.0)
"""

from __future__ import annotations

from functools import partial

from conformance.targets.java_cluster import wait_until
from conformance.wire.raw import call, frame, json_header, split
from fakemq.client.blocking import Client
from fakemq.client.cluster_admin import ClusterAdmin
from fakemq.client.errors import MQBrokerError
from fakemq.protocol import fastjson

GET_BROKER_RUNTIME_INFO = 28
_SAMPLED_S = 60.0
DISPATCH_S = 60.0


def figures(answer: bytes) -> dict[str, str]:
    """Return the figures of an answer by name; none while the broker has no samples."""
    if json_header(answer)["code"] != 0:
        return {}
    _, _, body = split(answer)
    table: dict[str, str] = fastjson.loads(body)["table"]
    return table


def runtime_info(addr: str) -> dict[str, str]:
    """Return what a broker says of itself."""
    found: dict[str, str] = {}

    def answered() -> bool:
        found.update(figures(call(addr, frame(GET_BROKER_RUNTIME_INFO, {}))))
        return bool(found)

    wait_until(answered, _SAMPLED_S)
    return found


def wait_dispatched(addr: str) -> None:
    """Wait until all of a broker's log is in its queues; in Java a thread brings it there."""
    wait_until(lambda: runtime_info(addr)["dispatchBehindBytes"] == "0", DISPATCH_S)


def wait_sampled(client: Client) -> None:
    """Wait until other programs may ask every broker: the client asks with its account."""
    for broker in client.cluster_info().broker_addr_table.values():
        for addr in broker.broker_addrs.values():
            wait_until(partial(_is_sampled, client, addr), _SAMPLED_S)


def _is_sampled(client: Client, addr: str) -> bool:
    try:
        client.run(ClusterAdmin(client.instance).runtime_info(addr))
    except MQBrokerError as error:
        if "NoSuchElementException" not in str(error):
            raise
        return False
    return True
