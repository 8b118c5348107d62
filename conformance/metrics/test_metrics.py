"""The metrics of fakemq's nodes beside those that real ones had after the same requests."""

from __future__ import annotations

import re
from pathlib import Path

import fakemq
from conformance.metrics.scrape import normalised, recorded, scrape, that_we_have
from conformance.metrics.traffic import CONFIG, Traffic
from conformance.wire.raw import call, frame
from fakemq.protocol.v5.codes import RequestCode5

PROM = {"metricsExporterType": "PROM", "metricsPromExporterPort": "0"}


def test_broker_has_the_metrics_of_java() -> None:
    """All names, types, help texts, labels and their values, and each value that time leaves."""
    with fakemq.Cluster(reference="5.5.0", config=CONFIG | PROM, clock="frozen") as mq:
        broker = mq.broker("broker-a")

        def wait(seconds: float) -> None:
            mq.clock.advance(f"{round(seconds * 1000)}ms", outside_peers=True)

        with Traffic(broker.addr, wait, mq.clock.now_ms) as traffic:
            traffic.run()
            wait(12)
            found = normalised(scrape(broker.metrics_addr))
    assert found == that_we_have(recorded("broker"))


def test_controller_has_the_metrics_of_java(tmp_path: Path) -> None:
    with fakemq.Cluster(
        controllers=1, slaves=1, config=PROM, clock="frozen", store=str(tmp_path)
    ) as mq:
        [controller] = mq.controllers
        asked = frame(RequestCode5.CONTROLLER_GET_SYNC_STATE_DATA, {}, b'["broker-a"]')
        call(controller.addr, asked)
        mq.broker("broker-a").kill()
        mq.clock.advance("25s")
        found = normalised(scrape(controller.metrics_addr))
    assert _without_groups(found) == _without_groups(recorded("controller"))


def _without_groups(lines: list[str]) -> list[str]:
    return [
        line.replace("DefaultControllerGroup", "<group>").replace("group-of-controllers", "<group>")
        for line in lines
    ]


def test_proxy_has_the_metrics_of_java() -> None:
    with fakemq.Cluster(grpc=True, config=PROM, clock="frozen") as mq:
        assert normalised(scrape(mq.proxy.metrics_addr)) == recorded("proxy")


def test_page_of_docs_names_every_metric() -> None:
    page = (Path(__file__).parents[2] / "docs/metrics.md").read_text(encoding="utf-8")
    lines = [line for node in ("broker", "controller", "proxy") for line in recorded(node)]
    found = {match[1] for line in lines if (match := re.match(r"# TYPE (\w+)", line))}
    assert sorted(name for name in found if f"`{name}`" not in page) == []
