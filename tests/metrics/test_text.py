"""The texts for Prometheus: those of Java's exporter, and Prometheus' parsers read them."""

from __future__ import annotations

import gzip
from typing import Any

from prometheus_client.openmetrics import parser as open_metrics_parser
from prometheus_client.parser import text_string_to_metric_families as read_plain

from fakemq.clock.slices import A_STEP, finished
from fakemq.metrics.instruments import Family, Histogram, Meter, Tally
from fakemq.metrics.text import compressed, exposition

METER = Meter("broker-meter", {"node_id": "broker-a"}, 100)


def families() -> list[Family]:
    size = Histogram(METER, "rocketmq_message_size", "Incoming messages size", (1024, 4194304))
    size.record(348)
    size.record(20_000_000)
    out = Tally(METER, "rocketmq_messages_out")
    out.add(2, topic="b")
    out.add(1, topic='a"\\\n', is_retry="false")
    lag = finished(METER.gauge("rocketmq_lag_latency", [({}, 12_345_678)], "milliseconds"))
    return [out.read(), size.read(), lag, finished(METER.gauge("nothing", []))]


PLAIN = """\
# HELP rocketmq_lag_latency_milliseconds default view for gauge.
# TYPE rocketmq_lag_latency_milliseconds gauge
rocketmq_lag_latency_milliseconds{node_id="broker-a",otel_scope_name="broker-meter"} 1.2345678E7
# HELP rocketmq_message_size Incoming messages size
# TYPE rocketmq_message_size histogram
rocketmq_message_size_bucket{node_id="broker-a",otel_scope_name="broker-meter",le="1024.0"} 1
rocketmq_message_size_bucket{node_id="broker-a",otel_scope_name="broker-meter",le="4194304.0"} 1
rocketmq_message_size_bucket{node_id="broker-a",otel_scope_name="broker-meter",le="+Inf"} 2
rocketmq_message_size_count{node_id="broker-a",otel_scope_name="broker-meter"} 2
rocketmq_message_size_sum{node_id="broker-a",otel_scope_name="broker-meter"} 2.0000348E7
# HELP rocketmq_messages_out_total default view for counter.
# TYPE rocketmq_messages_out_total counter
rocketmq_messages_out_total{is_retry="false",node_id="broker-a",otel_scope_name="broker-meter",\
topic="a\\"\\\\\\n"} 1.0
rocketmq_messages_out_total{node_id="broker-a",otel_scope_name="broker-meter",topic="b"} 2.0
# TYPE target_info gauge
target_info 1
"""


def text(*, open_metrics: bool) -> str:
    return b"".join(finished(exposition(families(), open_metrics=open_metrics))).decode()


def test_plain_text_is_that_of_java() -> None:
    assert text(open_metrics=False) == PLAIN


def test_open_metrics_say_units_and_end() -> None:
    lines = text(open_metrics=True).splitlines()
    assert lines[:3] == [
        "# TYPE rocketmq_lag_latency_milliseconds gauge",
        "# UNIT rocketmq_lag_latency_milliseconds milliseconds",
        "# HELP rocketmq_lag_latency_milliseconds default view for gauge.",
    ]
    assert "# TYPE rocketmq_messages_out counter" in lines
    assert lines[-3:] == ["# TYPE target info", "target_info 1", "# EOF"]


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    """A peer's JSON may have one, and Java's encoder writes the same."""
    tally = Tally(METER, "sent")
    tally.add(1, topic="a\ud800b")
    parts = finished(exposition([tally.read()], open_metrics=False))
    assert b'topic="a?b"' in b"".join(parts)


def test_long_text_is_made_in_steps() -> None:
    rows = [({"topic": f"t{number:05}"}, number) for number in range(4 * A_STEP)]
    meter = Meter("broker-meter", {}, len(rows) + 1)
    read = meter.gauge("lag", reversed(rows))
    assert sum(1 for _ in read) == 4
    lag = finished(meter.gauge("lag", reversed(rows)))
    parts = finished(exposition([lag], open_metrics=False))
    assert len(parts) > 4
    whole = b"".join(parts)
    found = [line for line in whole.splitlines() if b"topic=" in line]
    assert found == sorted(found)
    assert len(found) == len(rows)
    assert gzip.decompress(b"".join(finished(compressed(parts)))) == whole


def test_parsers_of_prometheus_read_both_texts() -> None:
    plain = {one.name: one for one in read_plain(text(open_metrics=False))}
    read_open_metrics: Any = open_metrics_parser.text_string_to_metric_families
    opened = {one.name: one for one in read_open_metrics(text(open_metrics=True))}
    for found in (plain, opened):
        labels = [sample.labels for sample in found["rocketmq_messages_out"].samples]
        assert [one["topic"] for one in labels] == ['a"\\\n', "b"]
        assert found["rocketmq_lag_latency_milliseconds"].samples[0].value == 12_345_678
    assert opened["rocketmq_lag_latency_milliseconds"].unit == "milliseconds"
