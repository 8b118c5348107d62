"""The ways in which a producer sends."""

# Over 400 lines: every way to send, over one scripted client.

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingTooMuchRequestError
from fakemq.client.messages import Message, SendStatus
from fakemq.client.operation import Call
from fakemq.protocol.batch import decode_batch
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.topics import FAQ
from tests.support.producer_lab import ProducerLab, order
from tests.support.scripted_carrier import HELD
from tests.support.scripted_operation import A, B, answer, queue, route, sent

ILLEGAL = "contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"


def test_send_returns_where_the_message_was_stored() -> None:
    lab = ProducerLab()
    message = order(tags="eu", keys="k")
    result = lab.carrier.run(lab.started().send(message))
    assert result.status is SendStatus.SEND_OK
    assert (result.broker_name, result.queue_offset) == ("a", 7)
    assert result.message_id == message.unique_id
    assert result.queue.topic == "orders"
    ((addr, header, body),) = lab.sends()
    assert (addr, header.producer_group, header.topic, body) == (A, "billing", "orders", b"paid")
    assert (header.default_topic, header.default_topic_queue_nums) == ("TBW102", 4)


def test_producers_of_one_client_have_settings_of_their_own() -> None:
    lab = ProducerLab()
    first = lab.started("one", default_topic_queue_nums=2, vip_channel=True)
    second = lab.started("two", compress_over_bytes=1, send_timeout_ms=77)
    lab.carrier.run(first.send(order()))
    lab.carrier.run(second.send(order()))
    (addr, header, _), (other_addr, other, body) = lab.sends()
    assert (addr, header.default_topic_queue_nums, header.sys_flag) == ("a:10909", 2, 0)
    assert (other_addr, other.default_topic_queue_nums, other.sys_flag) == (A, 4, 0x301)
    assert body != b"paid"
    assert lab.carrier.calls[-1].timeout_ms == 77


def test_new_topic_uses_the_route_of_the_create_topic_key() -> None:
    lab = ProducerLab(topics=("mine",))
    producer = lab.started(create_topic_key="mine", default_topic_queue_nums=1)
    lab.carrier.run(producer.send(order()))
    (_, header, _) = lab.sends()[0]
    assert (header.topic, header.default_topic, header.queue_id) == ("orders", "mine", 0)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("", "The specified topic is blank"),
        ("t" * 128, "The specified topic is longer than topic max length 127."),
        ("a/b", f"The specified topic[a/b] {ILLEGAL}"),
        ("SCHEDULE_TOPIC_XXXX", "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."),
        (
            "RMQ_SYS_TRANS_HALF_TOPIC",
            "Sending message to topic[RMQ_SYS_TRANS_HALF_TOPIC] is forbidden.",
        ),
    ],
)
def test_topic_is_checked_before_anything_is_sent(topic: str, text: str) -> None:
    lab = ProducerLab()
    producer = lab.started()
    for task in (
        producer.send(Message(topic, "x")),
        producer.send_oneway(Message(topic, "x")),
        producer.send_batch([Message(topic, "x")]),
        producer.send_in_transaction(Message(topic, "x"), lambda message: None),
    ):
        with pytest.raises(MQClientError) as caught:
            lab.carrier.run(task)
        assert str(caught.value) == text
    assert lab.carrier.calls == []


def test_unknown_topic_has_no_route() -> None:
    lab = ProducerLab(topics=())
    with pytest.raises(MQClientError) as caught:
        lab.carrier.run(lab.started().send(order()))
    assert (str(caught.value), caught.value.code) == (
        f"No route info of this topic: orders{FAQ}",
        10005,
    )


def test_oneway_gets_no_answer() -> None:
    lab = ProducerLab()
    lab.carrier.run(lab.started().send_oneway(order()))
    assert lab.carrier.calls[-1].command.is_oneway
    assert lab.carrier.calls[-1].command.code == RequestCode.SEND_MESSAGE_V2


def test_delay_level_is_sent_as_a_property() -> None:
    lab = ProducerLab()
    lab.carrier.run(lab.started().send(order(delay_level=3)))
    assert lab.last_properties()["DELAY"] == "3"


# -- queues of the caller's choice ------------------------------------------------------------


@pytest.mark.parametrize("key", ["order-1", "order-2", "", "ж", 7, -3])
def test_sharding_key_chooses_the_queue_as_java_does(key: str | int) -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started()
    hashed = key if isinstance(key, int) else java_string_hash(key)
    for _ in range(3):
        result = lab.carrier.run(producer.send(order(), sharding_key=key))
        place = abs(hashed) % 4
        assert (result.broker_name, result.queue_id) == ("ab"[place // 2], place % 2)


def test_random_selector_reaches_every_queue() -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started()
    places = {
        (result.broker_name, result.queue_id)
        for result in (
            lab.carrier.run(producer.send(order(), selector="random")) for _ in range(50)
        )
    }
    assert len(places) == 4


def test_selector_gets_the_queues_and_the_message() -> None:
    lab = ProducerLab("a", "b")
    seen: list[tuple[int, bytes]] = []

    def last(queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
        seen.append((len(queues), message.body))
        return queues[-1]

    producer = lab.started()
    result = lab.carrier.run(producer.send(order(b"x"), selector=last))
    assert (result.broker_name, result.queue_id, seen) == ("b", 1, [(4, b"x")])
    lab.carrier.run(producer.send_oneway(order(b"y"), selector=last))
    assert (lab.carrier.calls[-1].addr, seen[-1]) == (B, (4, b"y"))


def test_selector_runs_as_a_function_of_the_user() -> None:
    lab = ProducerLab()
    producer = lab.started()
    lab.carrier.performs_at_once = False
    results = lab.carrier.start(producer.send(order(), selector=lambda queues, _: queues[1]))
    assert (results, lab.sends()) == ([], [])
    lab.carrier.time.passed_ms = 2_990
    lab.carrier.perform_next()
    assert len(results) == 1
    assert lab.carrier.calls[-1].timeout_ms == 10


def test_slow_selector_uses_up_the_time() -> None:
    lab = ProducerLab()
    producer = lab.started()
    lab.carrier.performs_at_once = False
    results = lab.carrier.start(producer.send(order(), selector=lambda queues, _: queues[1]))
    lab.carrier.time.passed_ms = 3_001
    lab.carrier.perform_next()
    assert isinstance(results[0][1], RemotingTooMuchRequestError)
    assert str(results[0][1]) == "sendSelectImpl call timeout"


def test_selector_that_fails_is_named() -> None:
    lab = ProducerLab()
    producer = lab.started()

    def failing(queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
        raise KeyError("no")

    with pytest.raises(MQClientError, match=r"exception\. KeyError: 'no'$") as caught:
        lab.carrier.run(producer.send(order(), selector=failing))
    assert isinstance(caught.value.__cause__, KeyError)
    for bad, text in (
        (lambda queues, _: None, "select message queue return null."),
        (lambda queues, _: 3, "the selector returned 3: expected one of the queues"),
    ):
        with pytest.raises(MQClientError) as caught:
            lab.carrier.run(producer.send(order(), selector=bad))  # type: ignore[arg-type]  # wrong
        assert str(caught.value) == text
    assert lab.sends() == []


def test_queue_of_another_topic_is_refused() -> None:
    lab = ProducerLab()
    producer = lab.started()
    with pytest.raises(MQClientError, match="message's topic not equal mq's topic"):
        lab.carrier.run(producer.send(order(), queue=queue(topic="other")))


def test_send_to_a_queue_is_not_tried_again() -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started()
    lab.carrier.run(producer.queues("orders"))
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(ResponseCode.SYSTEM_ERROR)
    with pytest.raises(MQBrokerError):
        lab.carrier.run(producer.send(order(), queue=queue("b", 1)))
    assert [addr for addr, *_ in lab.sends()] == [B]


def test_queues_are_those_that_a_name_server_has_now() -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started()
    lab.carrier.run(producer.send(order()))
    assert len(lab.carrier.run(producer.queues("orders"))) == 4
    lab.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: answer(body=route("a"))
    assert len(lab.carrier.run(producer.queues("orders"))) == 2
    lab.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: answer(
        ResponseCode.TOPIC_NOT_EXIST
    )
    with pytest.raises(MQClientError, match="Can not find Message Queue for this topic, orders"):
        lab.carrier.run(producer.queues("orders"))


def test_queues_of_an_order_config_keep_its_order() -> None:
    lab = ProducerLab("a", "b")
    data = route("a", "b")
    ordered = TopicRouteData(
        order_topic_conf="b:1;a:1", queue_datas=data.queue_datas, broker_datas=data.broker_datas
    )
    lab.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: answer(body=ordered)
    queues = lab.carrier.run(lab.started().queues("orders"))
    assert [(one.broker_name, one.queue_id) for one in queues] == [("b", 0), ("a", 0)]


# -- failures -----------------------------------------------------------------------------------


def broker_a_says(lab: ProducerLab, code: int) -> None:
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: (
        answer(code, msgId="0A", queueId=0, queueOffset=1) if call.addr == A else None
    )


def test_other_broker_is_tried_when_a_message_is_not_stored_well() -> None:
    lab = ProducerLab("a", "b")
    broker_a_says(lab, ResponseCode.FLUSH_DISK_TIMEOUT)
    producer = lab.started(retry_another_broker_when_not_store_ok=True)
    for _ in range(4):
        result = lab.carrier.run(producer.send(order()))
        assert (result.broker_name, result.status) == ("b", SendStatus.SEND_OK)
    usual = lab.started("usual")
    results = [lab.carrier.run(usual.send(order())) for _ in range(4)]
    assert SendStatus.FLUSH_DISK_TIMEOUT in {one.status for one in results}


def test_result_that_is_not_ok_is_better_than_none() -> None:
    lab = ProducerLab("a", "b")
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(
        ResponseCode.SLAVE_NOT_AVAILABLE if call.addr == A else ResponseCode.MESSAGE_ILLEGAL,
        msgId="0A",
        queueId=0,
        queueOffset=1,
    )
    producer = lab.started(
        retry_another_broker_when_not_store_ok=True,
        retry_response_codes=frozenset((ResponseCode.MESSAGE_ILLEGAL,)),
    )
    result = lab.carrier.run(producer.send(order()))
    assert result.status is SendStatus.SLAVE_NOT_AVAILABLE


def test_own_codes_decide_what_is_tried_again() -> None:
    lab = ProducerLab("a", "b")
    broker_a_says(lab, ResponseCode.SYSTEM_BUSY)
    patient = lab.started(retry_response_codes=frozenset((ResponseCode.SYSTEM_BUSY,)))
    results = [lab.carrier.run(patient.send(order())) for _ in range(4)]
    assert {one.broker_name for one in results} == {"b"}


def test_number_of_attempts_is_set() -> None:
    lab = ProducerLab("a", "b")
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(ResponseCode.SYSTEM_ERROR)
    producer = lab.started(retry_times_when_send_failed=4)
    with pytest.raises(MQClientError, match=r"Send \[5\] times, still failed") as caught:
        lab.carrier.run(producer.send(order()))
    assert caught.value.code == ResponseCode.SYSTEM_ERROR
    assert len(lab.sends()) == 5


def test_broker_that_does_not_answer_costs_all_the_time() -> None:
    lab = ProducerLab("a", "b")
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: HELD
    results = lab.carrier.start(lab.started().send(order(), timeout_ms=500))
    lab.carrier.advance(499)
    assert results == []
    lab.carrier.advance(2)
    assert isinstance(results[0][1], MQClientError | RemotingTooMuchRequestError)


def test_avoided_broker_is_used_again_after_its_time() -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started(send_latency_fault_enable=True)

    def failing(call: Call) -> object:
        return answer(ResponseCode.SYSTEM_ERROR) if call.addr == A else sent()

    lab.answers[RequestCode.SEND_MESSAGE_V2] = failing  # type: ignore[assignment]  # an Outcome
    brokers = [lab.carrier.run(producer.send(order())).broker_name for _ in range(8)]
    assert set(brokers) == {"b"}
    assert [addr for addr, *_ in lab.sends()].count(A) == 1
    lab.answers.clear()
    lab.carrier.time.passed_ms = 599_999
    brokers = [lab.carrier.run(producer.send(order())).broker_name for _ in range(8)]
    assert set(brokers) == {"b"}, "a failure counts as 30 s of latency, which is 10 min of pause"
    lab.carrier.time.passed_ms = 600_000
    brokers = [lab.carrier.run(producer.send(order())).broker_name for _ in range(8)]
    assert set(brokers) == {"a", "b"}


def test_send_that_ends_after_the_shutdown_does_not_join_its_group_again() -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started()
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: HELD
    results = lab.carrier.start(producer.send(order()))
    lab.carrier.run(producer.shutdown())
    lab.answers.clear()
    lab.carrier.held[-1].answer(answer(ResponseCode.SYSTEM_ERROR))
    lab.carrier.settle()
    assert results[0][1] is None
    assert lab.services.instance.producer_groups == {}


# -- batches --------------------------------------------------------------------------------------


def test_batch_goes_to_one_queue_in_its_order() -> None:
    lab = ProducerLab("a", "b")
    messages = [order(str(number)) for number in range(5)]
    result = lab.carrier.run(lab.started().send_batch(messages))
    assert result.message_id == ",".join(one.unique_id for one in messages)
    ((_, header, body),) = lab.sends()
    assert header.batch
    assert [one.body for one in decode_batch(body)] == [b"0", b"1", b"2", b"3", b"4"]


def test_batch_that_is_too_large_is_refused_and_split() -> None:
    lab = ProducerLab()
    producer = lab.started(max_message_bytes=1_200)
    messages = [order(bytes([number]) * 300) for number in range(7)]
    with pytest.raises(MQClientError, match="the message body size over max value, MAX: 1200"):
        lab.carrier.run(producer.send_batch(messages))
    results = lab.carrier.run(producer.send_batches(messages))
    bodies = [decode_batch(body) for *_, body in lab.sends()]
    assert [one.body for batch in bodies for one in batch] == [one.body for one in messages]
    assert len(results) == len(bodies) == 4
    assert {header.queue_id for _, header, _ in lab.sends()} == {0, 1}


def test_batches_go_to_the_queue_of_the_caller() -> None:
    lab = ProducerLab()
    producer = lab.started(max_message_bytes=600)
    messages = [order(b"x" * 300) for _ in range(3)]
    results = lab.carrier.run(producer.send_batches(messages, queue=queue("a", 1)))
    assert [one.queue_id for one in results] == [1, 1, 1]


def test_failed_batch_ends_the_sending_of_batches() -> None:
    lab = ProducerLab()
    producer = lab.started(max_message_bytes=600)
    messages = [order(b"x" * 300) for _ in range(2)] + [order(b"x" * 601), order(b"y")]
    with pytest.raises(MQClientError, match="over max value"):
        lab.carrier.run(producer.send_batches(messages))
    assert len(lab.sends()) == 2


def test_no_messages_are_no_batches() -> None:
    lab = ProducerLab()
    assert lab.carrier.run(lab.started().send_batches([])) == []
    assert lab.sends() == []


# -- namespaces -----------------------------------------------------------------------------------


def test_namespace_is_put_before_topic_and_group() -> None:
    lab = ProducerLab(topics=("tenant%orders",))
    producer = lab.started(namespace="tenant")
    result = lab.carrier.run(producer.send(order()))
    ((_, header, _),) = lab.sends()
    assert (header.topic, header.producer_group) == ("tenant%orders", "tenant%billing")
    assert lab.last_properties()["INSTANCE_ID"] == "tenant"
    assert result.queue.topic == "orders"
    queues = lab.carrier.run(producer.queues("orders"))
    assert {one.topic for one in queues} == {"orders"}
    lab.carrier.run(producer.send(order(), queue=queues[1]))
    lab.carrier.run(producer.send(order(), sharding_key="k"))
    lab.carrier.run(producer.send(order(), selector=lambda queues, _: queues[0]))
    lab.carrier.run(producer.send_batch([order()]))
    lab.carrier.run(producer.send_oneway(order()))
    assert {header.topic for _, header, _ in lab.sends()} == {"tenant%orders"}
    assert set(producer.topics()) == {"TBW102", "tenant%orders"}
