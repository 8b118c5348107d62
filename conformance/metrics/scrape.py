"""Scrapes of metrics, and what two of them have in common after the same requests."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterable
from pathlib import Path

RECORDINGS = Path(__file__).parent / "recordings"
HEAD = """\
; The metrics of a {node} of 5.5.0, written by `python -m conformance.metrics`; do not edit.
; * is a value that differs from run to run; <address> and <name> are the machine's.
"""

VOLATILE = re.compile(
    "|".join(
        [
            # Times, and how many times of each length there were.
            r"\w+_(?:latency|time)(?:_consume)?_(?:milli|micro)seconds(?:_bucket|_sum)?\b",
            r"rocketmq_pop_buffer_\w+_count\b",
            r"rocketmq_storage_(?:size|flush_behind)_bytes\b",
            r"rocketmq_timer_dequeue_lag\b",
            r"dledger_disk_usage_bytes\b",
            r"request_(?:total|latency_microseconds_count)\b",
            # How often the revive topic is read, and when.
            r"rocketmq_pop_revive_(?:lag|out)\w+",
            r'rocketmq_(?:messages|throughput)_out_total(?=\{.*topic="rmq_sys_REVIVE)',
            r'rocketmq_timer_message_snapshot(?=\{.*timer_bound_s="(?:60|300)")',
        ]
    )
)
"""Samples whose values differ from run to run."""

OURS_LACK = re.compile(
    "|".join(
        [
            r"rocketmq_pop_buffer_scan_time_consume_milliseconds",
            r'rocketmq_(?:tim|delay_message_)\w+\{.*topic="rmq_sys_REVIVE_LOG',
        ]
    )
)
"""What fakemq does not export, as docs/metrics.md says: it buffers no pops, and its records of POP
are no timer messages."""

_SAMPLE = re.compile(r"(\w+)(\{.*\})? (\S+)")


def scrape(addr: str, path: str = "/metrics", **headers: str) -> str:
    """Return the metrics at an address ``host:port``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://{addr}{path}", headers=named)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def normalised(text: str) -> list[str]:
    """Return the lines of a scrape without what differs from run to run."""
    lines = []
    for line in text.splitlines():
        sample = _SAMPLE.fullmatch(line)
        if sample is None:
            lines.append(line)
            continue
        name, labels, value = sample[1], sample[2] or "", sample[3]
        if VOLATILE.match(name + labels):
            value = "*"
        labels = re.sub(r'(address|peer_id)="[^"]*:\d+"', r'\1="<address>"', labels)
        if 'node_type="proxy"' in labels:
            labels = re.sub(r'node_id="[^"]*"', 'node_id="<name>"', labels)
        if name.startswith("rocketmq_pop_revive_out"):  # pops take the queues in turn
            labels = re.sub(r'queue_id="\d+"', 'queue_id="*"', labels)
        lines.append(f"{name}{labels} {value}")
    return list(dict.fromkeys(lines))


def recorded(node: str) -> list[str]:
    """Return the lines of a recording."""
    lines = (RECORDINGS / f"{node}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(";")]


def that_we_have(lines: Iterable[str]) -> list[str]:
    """Leave out what fakemq does not export."""
    return [line for line in lines if not OURS_LACK.search(line)]
