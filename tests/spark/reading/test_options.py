"""What may be said of reading, and what is answered to the rest."""

from __future__ import annotations

import pickle

import pytest

pytest.importorskip("pyarrow")

from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.options import Options
from fakemq.spark.reading.offsets import EARLIEST, LATEST
from fakemq.spark.reading.options import Bound, ReadOptions, read_options

QUEUE = MessageQueue(topic="t", broker_name="b", queue_id=0)
JSON = '{"t": {"b": {"0": 5}}}'


def read(*, streaming: bool = False, columns: list[str] | None = None, **given: str) -> ReadOptions:
    least = {"nameServer": "127.0.0.1:9876", "subscribe": "orders"}
    if given.keys() & {"topic", "assign", "subscribePattern"}:
        del least["subscribe"]
    given = {name.replace("__", "."): value for name, value in given.items()}
    return read_options(Options("rocketmq", least | given), streaming=streaming, columns=columns)


def refused(given: dict[str, str], *, streaming: bool) -> None:
    read(streaming=streaming, columns=None, **given)


def test_settings_of_tls_have_the_names_of_java() -> None:
    options = read(
        rocketmq__useTLS="true",
        rocketmq__tls__client__trustCertPath="/ca.pem",
        rocketmq__tls__client__certPath="/c.pem",
        rocketmq__tls__client__keyPath="/c.key",
        rocketmq__tls__client__keyPassword="1234",
    )
    assert options.connection.settings == {
        "tls": True,
        "tls_ca_file": "/ca.pem",
        "tls_cert_file": "/c.pem",
        "tls_key_file": "/c.key",
        "tls_key_password": "1234",
    }


def test_defaults_are_those_of_kafkas_connector() -> None:
    batch, stream = read(), read(streaming=True)
    assert (batch.start, batch.end) == (
        Bound("startingOffsets", EARLIEST),
        Bound("endingOffsets", LATEST),
    )
    assert stream.start == Bound("startingOffsets", LATEST)
    assert batch.fail_on_data_loss
    assert not batch.include_properties
    assert not batch.pulling.is_filtered
    assert batch.pulling.group == "spark-rocketmq-source"
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_topics_are_selected_in_one_of_three_ways() -> None:
    assert read(subscribe=" a , b,a,").wanted.topics == ("a", "b")
    assert read(topic="a").wanted.topics == ("a",)
    assert read(subscribePattern="a.*").wanted.pattern == "a.*"
    assert read(assign='{"t": {"b": [0, 0]}}').wanted.queues == (QUEUE,)


def test_time_beats_offsets() -> None:
    start = read(startingTimestamp="7", startingOffsetsByTimestamp=JSON, startingOffsets=JSON).start
    assert start == Bound("startingTimestamp", 7, by_time=True)
    start = read(startingOffsetsByTimestamp=JSON, startingOffsets=JSON).start
    assert start == Bound("startingOffsetsByTimestamp", each={QUEUE: 5}, by_time=True)
    start = read(startingOffsets=JSON).start
    assert (start.of(QUEUE), start.by_time) == (5, False)
    assert read(endingTimestamp="9", endingOffsets=JSON).end.of(QUEUE) == 9


def test_broker_filters_by_tags_or_by_sql() -> None:
    assert read(tags="a || b").pulling.expression == "a || b"
    sql = read(sql="a > 5").pulling
    assert (sql.expression, sql.expression_type) == ("a > 5", "SQL92")
    assert read(group="G", groupIdPrefix="p").pulling.group == "G"
    assert read(groupIdPrefix="p").pulling.group == "p-source"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"subscribe": ""}, "exactly one of subscribe, subscribePattern and assign"),
        ({"topic": "a", "assign": "{}"}, "but topic and assign was given"),
        ({"subscribe": ","}, "a topic, or several"),
        ({"subscribePattern": "("}, "a regular expression"),
        ({"assign": "{}"}, '{"topic": {"broker-a": [0, 1]}}'),
        ({"startingOffsets": "latest"}, "startingOffsets is 'latest'"),
        ({"startingOffsets": '{"t": {"b": {"0": -1}}}'}, "not latest"),
        ({"startingOffsets": '{"t": {"b": {"0": -3}}}'}, "-2 for earliest"),
        ({"startingOffsets": "erliest"}, "earliest, latest or"),
        ({"startingOffsets": '{"t": {"b": {"x": 1}}}'}, "got `str`"),
        ({"endingOffsets": "earliest"}, "not earliest"),
        ({"endingOffsets": '{"t": {"b": {"0": -2}}}'}, "not earliest"),
        ({"startingTimestamp": "now"}, "startingTimestamp is 'now'"),
        ({"startingOffsetsByTimestamp": '{"t": {"b": {"0": -1}}}'}, "milliseconds"),
        ({"startingOffsetsByTimestampStrategy": "none"}, "error or latest"),
        ({"tags": "a", "sql": "b > 1"}, "exclude each other"),
        ({"tags": "||"}, "tags separated by ||"),
        ({"pullBatchSize": "0"}, "from 1 on"),
        ({"pullBatchSize": str(1 << 31)}, "from 1 to 2147483647"),
        ({"pullTimeoutMs": str(1 << 63)}, "from 1 to 9223372036854775807"),
        ({"startingTimestamp": "9" * 400}, "from 0 to 9223372036854775807"),
        ({"startingOffsets": '{"t": {"b": {"0": 9223372036854775808}}}'}, "startingOffsets"),
        ({"startingOffsets": '{"t": {"b": {"2147483648": 1}}}'}, "startingOffsets"),
        ({"minPartitions": "many"}, "from 1 on"),
        ({"maxOffsetsPerTrigger": "5"}, "is not possible for a batch"),
        ({"nameServer": "localhost"}, "host:port"),
        ({"startingOfsets": "latest"}, "did you mean startingOffsets?"),
        ({"rocketmq__sendMsgTimeot": "5"}, "did you mean rocketmq.sendMsgTimeout?"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        refused(given, streaming=False)
    assert expected in str(refusal.value)
    assert "rocketmq" in str(refusal.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"endingOffsets": "latest"}, "is not possible for a stream"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "at most"),
        ({"maxTriggerDelay": "soon"}, "a duration"),
        ({"commitOffsets": "true"}, "needs option group"),
    ],
)
def test_options_that_a_stream_cannot_have_are_refused(
    given: dict[str, str], expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        refused(given, streaming=True)


def test_user_schema_is_refused() -> None:
    with pytest.raises(ConfigError, match="leave schema"):
        read(columns=["value"])


def test_path_is_refused_with_the_topic_option() -> None:
    with pytest.raises(ConfigError, match=r"a path is not used: .* option subscribe"):
        read(path="orders")
