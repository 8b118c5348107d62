"""A real broker that exports its metrics."""

from __future__ import annotations

import time

from conformance.metrics.scrape import scrape
from conformance.metrics.traffic import CONFIG, Traffic
from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST

WANTED = ("rocketmq_pop_revive_retry", "rocketmq_timer_dequeue_total", 'is_long_polling="true"')
"""What a broker's metrics have when all of its traffic is over."""
OVER_S = 40.0


def exporting(port: int) -> dict[str, str]:
    """Return the config of a node that exports metrics."""
    return {
        "metricsExporterType": "PROM",
        "metricsPromExporterHost": "127.0.0.1",
        "metricsPromExporterPort": str(port),
    }


def scrape_of_java() -> str:
    """Return the metrics of a real broker after the traffic."""
    port = free_port()
    config = CONFIG | exporting(port)
    with (
        JavaCluster(version=NEWEST, config=config) as cluster,
        Traffic(cluster.broker("broker-a").addr, time.sleep, now_ms) as traffic,
    ):
        traffic.run()
        wait_until(lambda: is_over(scrape(f"127.0.0.1:{port}")), OVER_S)
        return scrape(f"127.0.0.1:{port}")


def now_ms() -> int:
    return int(time.time() * 1000)


def is_over(text: str) -> bool:
    """Return whether a scrape has the end of all that takes time."""
    two_came = 'topic="SCHEDULE_TOPIC_XXXX"} 2.0' in text
    return two_came and all(part in text for part in WANTED)
