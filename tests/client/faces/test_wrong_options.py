"""Options that cannot be are refused when a producer or consumer is made, in one clear line."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import fakemq
from fakemq.client import (
    AsyncClient,
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPullConsumer,
    AsyncPullScheduling,
    AsyncPushConsumer,
    Client,
    LitePullConsumer,
    Producer,
    PullConsumer,
    PullScheduling,
    PushConsumer,
)

ADDR = "127.0.0.1:1"
Wrong = list[tuple[dict[str, Any], str]]

OF_ALL: Wrong = [
    ({"seed": "a"}, "seed='a': expected a whole number"),
    ({"seed": True}, "seed=True: expected a whole number"),
    ({"api_timeout_ms": 0}, "api_timeout_ms=0: expected a whole number from 1 to 2147483647"),
    ({"heartbeat_interval_ms": -5}, "heartbeat_interval_ms=-5: expected a whole number from 1"),
    ({"route_interval_ms": -5}, "route_interval_ms=-5: expected a whole number from 1"),
    ({"persist_interval_ms": 0}, "persist_interval_ms=0: expected a whole number from 1"),
    ({"language": "PYTHN"}, "language='PYTHN': expected a LanguageCode; did you mean PYTHON?"),
    (
        {"serialize_type": 5},
        "serialize_type=5: expected a SerializeType; there are: JSON, ROCKETMQ",
    ),
    ({"version": 2**40}, "version=1099511627776: expected a whole number from 0"),
    ({"instance_name": 5}, "instance_name=5: expected text"),
    ({"vip_channel": 1}, "vip_channel=1: expected True or False"),
    ({"namespace": "a b"}, r"namespace='a b': expected up to 127 of ^[%|a-zA-Z0-9_-]+$, or none"),
    ({"group": 5}, "group=5: expected text"),
]
OF_PRODUCERS: Wrong = [
    ({"compress_level": 99}, "compress_level=99: expected a whole number from 0 to 9"),
    ({"retry_response_codes": 1}, "retry_response_codes=1: expected several response codes"),
    (
        {"retry_response_codes": ["a"]},
        "a code of retry_response_codes='a': expected a whole number",
    ),
    ({"retry_times_when_send_failed": -5}, "retry_times_when_send_failed=-5: expected a whole"),
    ({"send_timeout_ms": -1}, "send_timeout_ms=-1: expected a whole number from 1"),
    ({"max_message_bytes": 0}, "max_message_bytes=0: expected a whole number from 1"),
    ({"compress_over_bytes": -1}, "compress_over_bytes=-1: expected a whole number from 0"),
    ({"default_topic_queue_nums": 0}, "default_topic_queue_nums=0: expected a whole number from 1"),
    ({"check_request_hold_max": 0}, "check_request_hold_max=0: expected a whole number from 1"),
    ({"create_topic_key": ""}, "create_topic_key='': The specified topic is blank."),
    ({"trace_topic": "a b"}, "trace_topic='a b': The specified topic contains illegal characters"),
    ({"latency_max_ms": 5}, "latency_max_ms=5: expected several milliseconds, such as (50, 100)"),
    ({"latency_max_ms": (1, 2)}, "latency_max_ms=(1, 2) and not_available_duration_ms=(0, 0, 300"),
    ({"check": 5}, "check=5: expected a function"),
]
OF_CONSUMERS: Wrong = [
    ({"consume_timestamp": "yesterday"}, "consume_timestamp='yesterday': expected local time as"),
    ({"consume_timestamp": "2024-02-29"}, "consume_timestamp='2024-02-29': expected local time as"),
    ({"consume_timestamp": "2024229123000"}, "yyyyMMddHHmmss, such as '20240229123000', or a dat"),
    (
        {"subscribe": 5},
        'subscribe=5: expected {topic: tags}, such as {"orders": "paid || shipped"}',
    ),
    ({"subscribe": b"orders"}, "subscribe=b'orders': expected {topic: tags}"),
    ({"subscribe": "my orders"}, "topic='my orders': The specified topic contains illegal"),
    ({"subscribe": ""}, "topic='': The specified topic is blank."),
    ({"offsets_directory": 5}, "offsets_directory=5: expected a path"),
    ({"allocate": 5}, "allocate=5: expected a function"),
    ({"allocate": lambda queues: queues}, "allocate is <lambda>(queues): expected a function that"),
    ({"pull_batch_size": 0}, "pull_batch_size=0: expected a whole number from 1"),
]
OF_PUSH: Wrong = [
    ({"consume_threads": 0}, "consume_threads=0: expected a whole number from 1 to 1000"),
    ({"max_reconsume_times": -2}, "max_reconsume_times=-2: expected a whole number from -1"),
    ({"delay_level_when_next_consume": -2}, "delay_level_when_next_consume=-2: expected a whole"),
    ({"suspend_current_queue_time_ms": -1}, "suspend_current_queue_time_ms=-1: expected a whole"),
    ({"consume_timeout_ms": 0}, "consume_timeout_ms=0: expected a whole number from 1"),
]
OF_SCHEDULES: Wrong = [
    ({"callbacks": 5}, "callbacks=5: expected {topic: function}"),
    ({"callbacks": {5: print}}, "topic=5: expected text"),
    ({"pull_threads": 0}, "pull_threads=0: expected a whole number from 1"),
]
ADDRESSES = ("localhost", "a:b", "127.0.0.1:99999", "127.0.0.1:1;localhost", "http://localhost", 5)


def refused(face: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises((TypeError, fakemq.ConfigError)) as found:
        face(ADDR, **{"group": "g", **options})
    assert text in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(("options", "text"), OF_ALL)
def test_option_of_every_face_is_checked(options: dict[str, Any], text: str) -> None:
    for face in (Producer, PushConsumer, LitePullConsumer, PullConsumer, PullScheduling):
        refused(face, options, text)


@pytest.mark.parametrize(("options", "text"), OF_PRODUCERS)
def test_option_of_producers_is_checked(options: dict[str, Any], text: str) -> None:
    refused(Producer, options, text)
    refused(AsyncProducer, options, text)


@pytest.mark.parametrize(("options", "text"), OF_CONSUMERS)
def test_option_of_consumers_is_checked(options: dict[str, Any], text: str) -> None:
    for face in (PushConsumer, LitePullConsumer, AsyncPushConsumer, AsyncLitePullConsumer):
        refused(face, options, text)


@pytest.mark.parametrize(("options", "text"), OF_PUSH)
def test_option_of_push_consumers_is_checked(options: dict[str, Any], text: str) -> None:
    refused(PushConsumer, options, text)
    refused(AsyncPushConsumer, options, text)


def test_options_of_pull_consumers_are_checked() -> None:
    for face in (PullConsumer, AsyncPullConsumer):
        refused(face, {"topics": 5}, "topics=5: expected a topic, or several")
        refused(face, {"topics": ["a b"]}, "a topic of topics='a b': The specified topic contains")
        refused(face, {"max_reconsume_times": -2}, "max_reconsume_times=-2: expected a whole")


@pytest.mark.parametrize(("options", "text"), OF_SCHEDULES)
def test_option_of_schedules_is_checked(options: dict[str, Any], text: str) -> None:
    refused(PullScheduling, options, text)
    refused(AsyncPullScheduling, options, text)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nameserver", "namesrv_addr"),
        ("name_server", "namesrv_addr"),
        ("bootstrap_servers", "namesrv_addr"),
        ("namesrvAddr", "namesrv_addr"),
        ("consumerGroup", "group"),
        ("topic", "subscribe"),
        ("tags", "subscribe"),
        ("listener", "on_message"),
        ("on_mesage", "on_message"),
        ("threads", "consume_threads"),
        ("consumeThreadMax", "consume_threads"),
        ("maxReconsumeTimes", "max_reconsume_times"),
    ],
)
def test_unknown_option_is_answered_with_the_meant_one(name: str, meant: str) -> None:
    refused(PushConsumer, {name: 5}, f"unexpected option {name!r}; did you mean {meant}?")


def test_unknown_option_like_no_other_lists_all() -> None:
    refused(Producer, {"colour": 5}, "there are: namesrv_addr, group, namespace, send_timeout_ms")
    refused(Producer, {"retry_times": 5}, "did you mean retry_times_when_send_failed?")


@pytest.mark.parametrize("addr", ADDRESSES)
def test_name_server_without_host_and_port_is_refused(addr: Any) -> None:
    for face in (Producer, PushConsumer, AsyncLitePullConsumer):
        with pytest.raises(fakemq.ConfigError, match="expected 'host:port', several joined by ';'"):
            face(addr, group="g")


def test_name_server_of_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "localhost")
    with pytest.raises(fakemq.ConfigError, match="NAMESRV_ADDR='localhost': expected 'host:port'"):
        Producer(group="g")


def test_url_of_a_name_server_is_its_address(mq: fakemq.Cluster) -> None:
    # As in Java: client/ClientConfig.java#getNamesrvAddr (4.9.7).
    with Producer(f"http://{mq.namesrv_addr}", group="g") as producer:
        assert producer.send("orders", b"tea").status == "SEND_OK"


def test_codes_and_times_may_be_any_collection() -> None:
    producer = Producer(
        ADDR,
        group="g",
        retry_response_codes=[1, 14],
        latency_max_ms=[50, 100],
        not_available_duration_ms=(0, 10),
    )
    assert producer.settings.retry_response_codes == {1, 14}
    assert producer.settings.latency_max_ms == (50, 100)
    assert (
        Producer(ADDR, group="g", retry_response_codes=set()).settings.retry_response_codes == set()
    )


@pytest.mark.parametrize("timestamp", ["20240229123000", datetime(2024, 2, 29), None])
def test_timestamps_of_both_kinds_are_taken(timestamp: str | datetime | None) -> None:
    consumer = PushConsumer(ADDR, group="g", consume_timestamp=timestamp)
    assert consumer.settings.consume_timestamp == timestamp


def test_inside_clients_check_their_options_too(mq: fakemq.Cluster) -> None:
    wrong: Any = 5
    with pytest.raises(fakemq.ConfigError, match="compress_level=99: expected a whole number"):
        mq.producer(group="g", compress_level=99)
    with pytest.raises(TypeError, match="check=5: expected a function"):
        mq.producer(group="g", check=wrong)
    with pytest.raises(TypeError, match="subscribe=5: expected"):
        mq.consumer(group="g", subscribe=wrong)
    with pytest.raises(fakemq.ConfigError, match="consume_threads=0: expected a whole number"):
        mq.consumer(group="g", subscribe="orders", consume_threads=0)


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_options_of_clients_for_single_requests_are_checked(client: Any) -> None:
    for options, text in (
        ({"send_timeout_ms": 0}, "send_timeout_ms=0: expected a whole number from 1"),
        ({"seed": "a"}, "seed='a': expected a whole number"),
        ({"producerGroup": "g"}, "unexpected option 'producerGroup'; did you mean producer_group?"),
        ({"timeout": 5}, "unexpected option 'timeout'; did you mean send_timeout_ms?"),
    ):
        with pytest.raises((TypeError, fakemq.ConfigError)) as found:
            client(ADDR, **options)
        assert text in str(found.value)
    with pytest.raises(fakemq.ConfigError, match="expected 'host:port'"):
        client("localhost")
