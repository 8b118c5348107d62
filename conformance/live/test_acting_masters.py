"""A slave acts as master for a master of the other kind, and hands over to it: Java's and ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaCluster, JavaNode, wait_until
from conformance.targets.java_group import NAMESRV
from conformance.targets.java_jars import NEWEST
from conformance.targets.master_slave_pairs import SLAVE, broker, broker_ids
from conformance.targets.processes import FakemqProcess
from conformance.wire.raw import call, frame, json_header, split
from fakemq.protocol.codes import RequestCode

# Java starts a name server and a broker, which waits a second for each step.
pytestmark = [WAITING, pytest.mark.slow]

ACTING = {"enableSlaveActingMaster": "true", "totalReplicas": "2"}
EVERYWHERE = {"consumerGroup": "TOOLS_CONSUMER", "topic": "BenchmarkTest", "queueId": "0"}
"""A group and a topic that each broker has from its first start."""
WITHIN_S = 60.0


@contextmanager
def name_server(kind: str, home: Path) -> Iterator[JavaNode]:
    if kind == "java":
        with JavaCluster(masters=0, version=NEWEST, namesrv_config=NAMESRV) as real:
            yield real.namesrv
    else:
        config = ["listenPort=0", *(f"{key}={value}" for key, value in NAMESRV.items())]
        with FakemqProcess("namesrv", "--reference", NEWEST, config=config) as fake:
            port = int(fake.namesrv_addr.rpartition(":")[2])
            yield JavaNode("fake", home, "", port, ())


def master_in_route(namesrv_addr: str) -> tuple[str | None, int]:
    """What a route lists as master, and the perm of the queues."""
    request = frame(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": EVERYWHERE["topic"]})
    answer = call(namesrv_addr, request)
    if json_header(answer)["code"]:
        return None, 0
    found = json.loads(split(answer)[2])
    addrs = found["brokerDatas"][0]["brokerAddrs"]
    return addrs.get("0"), found["queueDatas"][0]["perm"]


@pytest.mark.parametrize(
    ("namesrv", "first", "second"), [("fake", "fake", "java"), ("java", "java", "fake")]
)
def test_slave_of_the_other_kind_acts_and_hands_over(
    namesrv: str, first: str, second: str, tmp_path: Path, java: None
) -> None:
    with name_server(namesrv, tmp_path) as server:
        master = broker(first, "broker-a", tmp_path / "master", server, NEWEST)
        slave = broker(second, "broker-a", tmp_path / "slave", server, NEWEST)
        master.config |= ACTING
        slave.config |= {**ACTING, **SLAVE}
        try:
            master.start()
            slave.start()
            wait_until(lambda: broker_ids(server.addr) == [0, 1], WITHIN_S)
            assert master_in_route(server.addr) == (master.addr, 6)
            master.kill()
            wait_until(lambda: master_in_route(server.addr) == (slave.addr, 4), WITHIN_S)
            commit = {**EVERYWHERE, "commitOffset": "7"}
            call(slave.addr, frame(RequestCode.UPDATE_CONSUMER_OFFSET, commit))
            master.start()
            wait_until(lambda: master_in_route(server.addr) == (master.addr, 6), WITHIN_S)
            if first == "fake":  # Java's was killed before it wrote a table: it takes none over
                query = frame(RequestCode.QUERY_CONSUMER_OFFSET, EVERYWHERE)
                assert json_header(call(master.addr, query))["extFields"] == {"offset": "7"}
        finally:
            master.kill()
            slave.kill()
