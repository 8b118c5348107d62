"""How a push consumer starts and ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.client.consuming.concurrently import ConcurrentService
from fakemq.client.consuming.orderly import OrderlyService
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.settings import PushSettings, Selector
from fakemq.client.errors import MQClientError, RemotingConnectError
from fakemq.client.service_state import ServiceState
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.heartbeat import CheckClientRequestBody
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.topics import FAQ
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import answer

RETRY = f"%RETRY%{GROUP}"


# -- checks ------------------------------------------------------------------------------------

INVALID_TIME = "consumeTimestamp is invalid, the valid format is yyyyMMddHHmmss,but received"

REFUSED: list[tuple[dict[str, object], str]] = [
    ({"group": " "}, "the specified group is blank"),
    ({"group": "g" * 256}, "the specified group is longer than group max length 255."),
    (
        {"group": "a b"},
        "the specified group[a b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
    ),
    (
        {"group": "DEFAULT_CONSUMER"},
        f"consumerGroup can not equal DEFAULT_CONSUMER, please specify another one.{FAQ}",
    ),
    ({"message_model": "ALL"}, f"messageModel is 'ALL': expected CLUSTERING or BROADCASTING{FAQ}"),
    (
        {"consume_from": "middle"},
        f"consumeFromWhere is 'middle': expected last or first or timestamp{FAQ}",
    ),
    (
        {"consume_timestamp": "yesterday"},
        f"{INVALID_TIME} yesterday {FAQ}",
    ),
    ({"allocate": None}, f"allocateMessageQueueStrategy is null{FAQ}"),
    ({"consume_threads": 0}, f"consumeThreadMin Out of range [1, 1000]{FAQ}"),
    ({"consume_threads": 1001}, f"consumeThreadMin Out of range [1, 1000]{FAQ}"),
    (
        {"consume_concurrently_max_span": 65536},
        f"consumeConcurrentlyMaxSpan Out of range [1, 65535]{FAQ}",
    ),
    ({"pull_threshold_for_queue": 0}, f"pullThresholdForQueue Out of range [1, 65535]{FAQ}"),
    ({"pull_threshold_for_topic": 0}, f"pullThresholdForTopic Out of range [1, 6553500]{FAQ}"),
    (
        {"pull_threshold_size_mib_for_queue": 1025},
        f"pullThresholdSizeForQueue Out of range [1, 1024]{FAQ}",
    ),
    (
        {"pull_threshold_size_mib_for_topic": -2},
        f"pullThresholdSizeForTopic Out of range [1, 102400]{FAQ}",
    ),
    ({"pull_interval_ms": -1}, f"pullInterval Out of range [0, 65535]{FAQ}"),
    (
        {"consume_message_batch_max_size": 1025},
        f"consumeMessageBatchMaxSize Out of range [1, 1024]{FAQ}",
    ),
    ({"pull_batch_size": 0}, f"pullBatchSize Out of range [1, 1024]{FAQ}"),
    ({"subscribe": {"orders": "||"}}, "subscription exception: subString split error"),
    (
        {"subscribe": {"orders": Selector("", "SQL92")}},
        "subscription exception: Expression can't be null! SQL92",
    ),
]


@pytest.mark.parametrize(("options", "text"), REFUSED, ids=lambda one: str(one)[:40])
def test_settings_are_refused_with_the_text_of_java(options: dict[str, object], text: str) -> None:
    lab = PushLab(PlayedBroker(), **options)
    with pytest.raises(MQClientError) as caught:
        lab.start()
    assert str(caught.value) == text
    assert lab.core.state is ServiceState.START_FAILED
    assert lab.carrier.calls == []
    with pytest.raises(MQClientError, match="maybe started once, START_FAILED"):
        lab.start()


@pytest.mark.parametrize(
    "options",
    [
        {"pull_batch_size": "32"},
        {"consume_timeout_ms": 0},
        {"max_reconsume_times": -2},
        {"suspend_current_queue_time_ms": 1.5},
    ],
)
def test_numbers_that_are_none_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="expected a whole number"):
        PushLab(PlayedBroker(), **options).start()


def test_consumer_without_a_listener_is_refused() -> None:
    broker = PlayedBroker()
    core = PushConsumerCore(broker.services(), PushSettings(group=GROUP), None)
    with pytest.raises(MQClientError) as caught:
        broker.carrier.run(core.start())
    assert str(caught.value) == f"messageListener is null{FAQ}"


def test_second_consumer_of_a_group_in_a_client_is_refused_and_may_try_again() -> None:
    lab = PushLab(PlayedBroker()).start()
    again = PushConsumerCore(lab.services, lab.core.settings, lab.core.listener)
    with pytest.raises(MQClientError, match="has been created before, specify another name"):
        lab.carrier.run(again.start())
    states = [again.state]
    lab.carrier.run(lab.core.shutdown())
    lab.carrier.run(again.start())
    assert [*states, again.state] == [ServiceState.CREATE_JUST, ServiceState.RUNNING]


@pytest.mark.parametrize("ordered", [False, True])
def test_start_that_fails_leaves_nothing_registered(
    ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = PushLab(PlayedBroker(), trace=True, ordered=ordered)

    def fail(_: object) -> None:
        raise OSError("no room")

    service = OrderlyService if ordered else ConcurrentService
    with monkeypatch.context() as patch:
        patch.setattr(service, "start", fail)
        with pytest.raises(OSError, match="no room"):
            lab.carrier.run(lab.core.start())
    assert lab.core.state is ServiceState.START_FAILED
    assert not lab.services.is_used
    again = PushConsumerCore(lab.services, lab.core.settings, lab.core.listener)
    lab.carrier.run(again.start())
    assert list(lab.services.consumers) == [GROUP]
    lab.put(b"0")
    assert lab.consumed == [b"0"]


def test_consumer_starts_once() -> None:
    lab = PushLab(PlayedBroker()).start()
    with pytest.raises(MQClientError) as caught:
        lab.start()
    text = f"The PushConsumer service state not OK, maybe started once, RUNNING{FAQ}"
    assert str(caught.value) == text


# -- the start ---------------------------------------------------------------------------------


def test_start_asks_for_routes_and_registers_before_queues_are_taken() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker)
    lab.carrier.run(lab.core.start())
    codes = lab.carrier.codes()
    assert codes[:3] == [105, 105, 34]
    assert codes.index(34) < codes.index(38) < codes.index(14) < codes.index(11)


def test_heartbeat_has_the_subscriptions_and_the_retry_topic() -> None:
    broker = PlayedBroker()
    subscribe = {"orders": "a || b", "bills": Selector.by_sql("price > 5")}
    lab = PushLab(broker, subscribe=subscribe, consume_from="first").start()
    (data,) = broker.heartbeats[0].consumer_data_set
    assert broker.heartbeats[0].client_id == CLIENT
    assert (data.group_name, data.consume_type) == (GROUP, "CONSUME_PASSIVELY")
    assert (data.message_model, data.consume_from_where) == (
        "CLUSTERING",
        "CONSUME_FROM_FIRST_OFFSET",
    )
    assert [
        (one.topic, one.sub_string, one.expression_type) for one in data.subscription_data_set
    ] == [
        ("orders", "a || b", "TAG"),
        ("bills", "price > 5", "SQL92"),
        (RETRY, "*", "TAG"),
    ]
    assert all(one.sub_version for one in data.subscription_data_set)
    assert lab.core.topics() == ["orders", "bills", RETRY]


def test_broadcast_consumer_has_no_retry_topic(tmp_path: object) -> None:
    broker = PlayedBroker()
    settings = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    lab = PushLab(broker, **settings).start()
    assert lab.core.topics() == ["orders"]
    assert broker.heartbeats[0].consumer_data_set[0].message_model == "BROADCASTING"


def test_names_are_wrapped_in_the_namespace() -> None:
    broker = PlayedBroker(topics=("ns%orders",))
    lab = PushLab(broker, namespace="ns").start()
    assert lab.core.group == f"ns%{GROUP}"
    assert lab.core.topics() == ["ns%orders", f"%RETRY%ns%{GROUP}"]
    lab.put(b"0", topic="ns%orders")
    assert [one.topic for one in lab.messages] == ["orders"]


def test_start_without_a_route_waits_for_the_topic() -> None:
    broker = PlayedBroker(topics=())
    lab = PushLab(broker).start()
    assert lab.owned() == []
    broker.topics["orders"] = 1
    lab.advance(30_000)
    lab.put(b"0")
    assert lab.consumed == [b"0"]


def test_start_without_a_name_server_raises_and_can_be_shut_down() -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: RemotingConnectError(
        call.addr
    )
    lab = PushLab(broker)
    with pytest.raises(RemotingConnectError):
        lab.start()
    lab.carrier.run(lab.core.shutdown())
    assert lab.core.state is ServiceState.SHUTDOWN_ALREADY
    assert not lab.services.is_used


def test_broker_checks_an_sql_expression() -> None:
    broker = PlayedBroker()
    checked = []
    broker.answers[RequestCode.CHECK_CLIENT_CONFIG] = lambda call: checked.append(
        CheckClientRequestBody.decode(call.command.body)
    )
    PushLab(broker, subscribe={"orders": Selector.by_sql("a > 5")}).start()
    (body,) = checked
    assert (body.client_id, body.group) == (CLIENT, GROUP)
    assert body.subscription_data is not None
    assert body.subscription_data.sub_string == "a > 5"


def test_broker_checks_no_tags() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, subscribe={"orders": "a || b"}).start()
    assert RequestCode.CHECK_CLIENT_CONFIG not in lab.carrier.codes()


def test_expression_that_the_broker_refuses_ends_the_start() -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.CHECK_CLIENT_CONFIG] = lambda _: answer(
        ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark="Encountered <EOF>"
    )
    lab = PushLab(broker, subscribe={"orders": Selector.by_sql("a >")})
    with pytest.raises(MQClientError, match="Encountered <EOF>") as caught:
        lab.start()
    assert caught.value.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


def test_broker_that_cannot_check_an_expression_ends_the_start() -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.CHECK_CLIENT_CONFIG] = lambda call: RemotingConnectError(call.addr)
    lab = PushLab(broker, subscribe={"orders": Selector.by_sql("a > 5")})
    with pytest.raises(MQClientError, match="maybe because you use SQL92 to filter message"):
        lab.start()


# -- subscriptions -----------------------------------------------------------------------------


def test_topic_is_subscribed_while_the_consumer_runs() -> None:
    broker = PlayedBroker(topics=("orders", "bills"))
    lab = PushLab(broker).start()
    lab.core.subscribe("bills", "a")
    lab.carrier.settle()
    lab.put(b"wanted", topic="bills", tags="a")
    assert lab.consumed == [b"wanted"]
    subscribed = broker.heartbeats[-1].consumer_data_set[0].subscription_data_set
    assert [one.topic for one in subscribed] == ["orders", RETRY, "bills"]


def test_unsubscribed_topic_is_dropped_with_its_offset() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker).start()
    lab.put(b"0", b"1")
    lab.core.unsubscribe("orders")
    lab.carrier.settle()
    assert lab.owned() == []
    assert broker.committed() == 2
    lab.put(b"2")
    assert lab.consumed == [b"0", b"1"]


def test_topic_is_subscribed_before_the_start() -> None:
    lab = PushLab(PlayedBroker(topics=("orders", "bills")))
    lab.core.subscribe("bills")
    lab.core.subscribe("orders", "a")
    lab.start()
    assert lab.core.subscriptions["orders"].sub_string == "a"
    assert lab.owned("bills")


# -- the end -----------------------------------------------------------------------------------


def test_shutdown_commits_and_unregisters() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker).start()
    lab.put(b"0", b"1")
    before = len(lab.carrier.calls)
    lab.carrier.run(lab.core.shutdown())
    assert lab.carrier.codes()[before:] == [15, 15, 35]
    assert broker.committed() == 2
    assert lab.core.state is ServiceState.SHUTDOWN_ALREADY
    assert not lab.services.is_used
    lab.put(b"2")
    lab.advance(60_000)
    assert lab.consumed == [b"0", b"1"]


def test_shutdown_waits_for_messages_under_way() -> None:
    broker = PlayedBroker()
    ended: list[object] = []

    def react(_: object) -> None:
        task = lab.core.shutdown(wait_ms=5_000)
        ended.append(lab.carrier.start(task))
        lab.advance(4_000)
        assert ended == [[]]

    lab = PushLab(broker, react).start()
    lab.put(b"0")
    assert ended == [[(None, None)]]
    assert broker.committed() == 1


def test_shutdown_waits_no_longer_than_it_may() -> None:
    broker = PlayedBroker()

    def react(_: object) -> None:
        ended = lab.carrier.start(lab.core.shutdown(wait_ms=5_000))
        lab.advance(5_000)
        assert ended == [(None, None)]

    lab = PushLab(broker, react).start()
    lab.put(b"0")
    lab.advance(30_000)
    assert lab.consumed == [b"0"]
    assert broker.committed() == 0


def test_messages_that_have_not_begun_are_left_to_others() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, consume_threads=1).start()
    lab.carrier.performs_at_once = False
    for one in range(3):
        broker.put(b"%d" % one)
    lab.carrier.settle()
    lab.carrier.start(lab.core.shutdown(wait_ms=1_000))
    lab.carrier.perform_next()
    assert lab.consumed == []
    assert broker.committed() == 0


def test_shutdown_of_a_consumer_that_never_ran_does_nothing() -> None:
    lab = PushLab(PlayedBroker())
    lab.carrier.run(lab.core.shutdown())
    assert lab.core.state is ServiceState.CREATE_JUST
    lab.start()
    lab.carrier.run(lab.core.shutdown())
    lab.carrier.run(lab.core.shutdown())
    assert lab.carrier.codes().count(35) == 1


def test_shutdown_leaves_no_task_or_timer_of_its_own() -> None:
    lab = PushLab(PlayedBroker(), ordered=True).start()
    of_client = {"client_routes", "heartbeat", "client_persist", "client_rebalance"}
    lab.carrier.run(lab.core.shutdown())
    lab.carrier.held.clear()
    lab.advance(30_000)  # pulls that were held time out
    kinds = ("client_pull", "client_consume", "client_lock", "client_task")
    assert {kind: lab.carrier.pending(kind) for kind in kinds} == dict.fromkeys(kinds, 0)
    assert len(lab.services.tasks) == len(of_client)


@pytest.mark.parametrize("ask", [lambda core: core.suspend(), lambda core: core.resume()])
def test_consumer_that_was_not_started_cannot_be_suspended(
    ask: Callable[[PushConsumerCore], None],
) -> None:
    with pytest.raises(MQClientError, match="The consumer service state not OK, CREATE_JUST"):
        ask(PushLab(PlayedBroker()).core)
