"""How a push consumer pulls: flow control, filters, errors, moved offsets."""

from __future__ import annotations

import pytest

from fakemq.client.consuming.settings import Selector
from fakemq.client.errors import RemotingSendRequestError
from fakemq.client.operation import Call
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.sysflag import MessageSysFlag, PullSysFlag
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_carrier import Outcome
from tests.support.scripted_operation import answer

RETRY = f"%RETRY%{GROUP}"


def pulls_of(lab: PushLab, topic: str = "orders") -> list[int]:
    """The offsets that were pulled from."""
    return [one.queue_offset for one in lab.broker.pulls if one.topic == topic]


# -- the request -------------------------------------------------------------------------------


def test_pull_may_be_held_for_15_seconds_and_waits_for_30() -> None:
    lab = PushLab(PlayedBroker()).start()
    pull = next(one for one in lab.broker.pulls if one.topic == "orders")
    call = next(one for one in lab.carrier.calls if one.command.code == RequestCode.PULL_MESSAGE)
    assert (pull.suspend_timeout_millis, call.timeout_ms) == (15_000, 30_000)
    assert pull.sys_flag == PullSysFlag.SUSPEND
    assert (pull.max_msg_nums, pull.consumer_group) == (32, GROUP)
    assert pull.sub_version == lab.core.subscriptions["orders"].sub_version


def test_pull_commits_the_offset_of_what_was_consumed() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker).start()
    assert broker.committed() is None
    lab.put(b"0")
    lab.put(b"1")
    assert broker.committed() == 1  # the next pull begins before the listener is called
    assert RequestCode.UPDATE_CONSUMER_OFFSET not in lab.carrier.codes()


def test_broadcast_consumer_commits_nothing(tmp_path: object) -> None:
    broker = PlayedBroker()
    settings = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    lab = PushLab(broker, **settings).start()
    lab.put(b"0", b"1", b"2")
    lab.advance(30_000)
    assert broker.offsets == {}


def test_subscription_is_sent_with_each_pull_if_the_settings_say_so() -> None:
    settings = {"subscribe": {"orders": "a || b"}}
    assert {
        one.subscription for one in PushLab(PlayedBroker(), **settings).start().broker.pulls
    } == {None}
    lab = PushLab(PlayedBroker(), post_subscription_when_pull=True, **settings).start()
    pull = next(one for one in lab.broker.pulls if one.topic == "orders")
    assert pull.subscription == "a || b"
    assert pull.sys_flag & PullSysFlag.SUBSCRIPTION


def test_slave_is_pulled_from_without_a_commit_when_it_is_suggested() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker)
    broker.suggested_broker = 1
    lab.start()
    lab.services.instance.routes.brokers["a"][1] = "slave:10911"
    lab.put(b"0")
    lab.put(b"1")
    pulls = [one for one in lab.carrier.calls if one.command.code == RequestCode.PULL_MESSAGE]
    assert pulls[-1].addr == "slave:10911"
    flags = int(pulls[-1].command.ext_fields["sysFlag"])
    assert not flags & PullSysFlag.COMMIT_OFFSET


def test_queue_that_is_dropped_leaves_no_suggestion_behind() -> None:
    broker = PlayedBroker()
    broker.suggested_broker = 1
    lab = PushLab(broker).start()
    lab.put(b"0")
    assert broker.queue() in lab.core._operations._pull_from
    lab.core.unsubscribe("orders")
    lab.carrier.settle()
    assert broker.queue() not in lab.core._operations._pull_from


def test_pull_waits_for_the_interval_of_the_settings() -> None:
    lab = PushLab(PlayedBroker(), pull_interval_ms=500).start()
    lab.put(b"0")
    assert pulls_of(lab) == [0, 0]
    lab.advance(499)
    assert pulls_of(lab) == [0, 0]
    lab.advance(1)
    assert pulls_of(lab) == [0, 0, 1]


# -- filters -----------------------------------------------------------------------------------


def test_messages_with_other_tags_are_dropped_and_over() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, subscribe={"orders": "a || b"}).start()
    lab.put(b"0", tags="a")
    lab.put(b"1", tags="c")
    lab.put(b"2")
    lab.put(b"3", tags="b")
    assert lab.consumed == [b"0", b"3"]
    lab.carrier.run(lab.core.shutdown())
    assert broker.committed() == 4


def test_message_that_cannot_be_unpacked_is_over() -> None:
    broker = PlayedBroker()
    broker.put(b"before")
    broker.put(b"notzlib", sys_flag=MessageSysFlag.COMPRESSED)
    broker.put(b"behind")
    lab = PushLab(broker).start()
    assert lab.consumed == [b"before", b"behind"]
    lab.put(b"notzlib", sys_flag=MessageSysFlag.COMPRESSED)
    lab.advance(30_000)
    assert pulls_of(lab)[-1] == 4
    lab.carrier.run(lab.core.shutdown())
    assert broker.committed() == 4


def test_broker_that_filters_all_lets_the_offset_move() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker)

    def filtered(call: Call) -> Outcome | None:
        fields = call.command.ext_fields
        if fields["topic"] != "orders" or fields["queueOffset"] != "0":
            return None
        code = ResponseCode.PULL_RETRY_IMMEDIATELY
        return answer(code, suggestWhichBrokerId=0, nextBeginOffset=5, minOffset=0, maxOffset=5)

    for one in range(5):
        broker.put(b"%d" % one)
    broker.answers[RequestCode.PULL_MESSAGE] = filtered
    lab.start()
    assert pulls_of(lab) == [5]
    lab.carrier.run(lab.core.shutdown())
    assert (lab.consumed, broker.committed()) == ([], 5)


def test_filtered_messages_behind_one_that_is_consumed_do_not_move_the_offset() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker, subscribe={"orders": "a"}).start()
    lab.carrier.performs_at_once = False
    lab.put(b"0", tags="a")
    lab.put(b"1", tags="c")
    lab.carrier.run(lab.core.persist_offsets())
    assert broker.committed() == 0


def test_message_of_the_retry_topic_has_its_first_topic() -> None:
    lab = PushLab(PlayedBroker()).start()
    lab.put(b"again", topic=RETRY, reconsume_times=2, RETRY_TOPIC="orders")
    (message,) = lab.messages
    assert (message.topic, message.reconsume_times) == ("orders", 2)
    assert message.stored.topic == RETRY


def test_messages_know_the_range_of_their_queue() -> None:
    lab = PushLab(PlayedBroker()).start()
    lab.put(b"0")
    assert lab.messages[0].properties["MAX_OFFSET"] == "1"
    assert lab.messages[0].properties["MIN_OFFSET"] == "0"


def test_broker_that_is_too_old_for_sql_is_not_pulled_from() -> None:
    broker = PlayedBroker()
    old = answer()
    old.version = 231
    broker.answers[RequestCode.HEART_BEAT] = lambda _: old
    lab = PushLab(broker, subscribe={"orders": Selector.by_sql("a > 5")}).start()
    lab.advance(10_000)
    assert (len(lab.owned()), pulls_of(lab)) == (1, [])
    old.version = 232
    lab.advance(30_000)
    assert pulls_of(lab)[0] == 0


# -- errors ------------------------------------------------------------------------------------


def failing(outcome: Outcome, **settings: object) -> PushLab:
    """A consumer whose pulls of ``orders`` fail."""
    broker = PlayedBroker()
    lab = PushLab(broker, **settings)

    def pull(call: object) -> Outcome | None:
        return outcome if lab.carrier.calls[-1].command.ext_fields["topic"] == "orders" else None

    broker.answers[RequestCode.PULL_MESSAGE] = pull
    return lab.start()


def count_pulls(lab: PushLab) -> int:
    return sum(
        one.command.code == RequestCode.PULL_MESSAGE and one.command.ext_fields["topic"] == "orders"
        for one in lab.carrier.calls
    )


@pytest.mark.parametrize(
    "outcome",
    [
        answer(ResponseCode.SYSTEM_ERROR, remark="no"),
        answer(99),
        answer(0, body=b"no record"),  # a field is missing, too
        RemotingSendRequestError("a:10911"),
    ],
    ids=str,
)
def test_failed_pull_is_tried_again_after_three_seconds(outcome: Outcome) -> None:
    lab = failing(outcome)
    assert count_pulls(lab) == 1
    lab.advance(2_999)
    assert count_pulls(lab) == 1
    lab.advance(1)
    assert count_pulls(lab) == 2
    lab.broker.answers.clear()
    lab.put(b"0")
    lab.advance(3_000)
    assert lab.consumed == [b"0"]


@pytest.mark.parametrize(
    "code", [ResponseCode.SUBSCRIPTION_NOT_LATEST, ResponseCode.SUBSCRIPTION_NOT_EXIST]
)
def test_pull_is_tried_again_soon_once_if_the_heartbeat_is_late(code: ResponseCode) -> None:
    lab = failing(answer(code, remark="old"))
    lab.advance(49)
    assert count_pulls(lab) == 1
    lab.advance(1)
    assert count_pulls(lab) == 2
    lab.advance(2_999)
    assert count_pulls(lab) == 2
    lab.advance(1)
    assert count_pulls(lab) == 3


def test_pull_is_tried_again_soon_if_the_broker_controls_the_flow() -> None:
    lab = failing(answer(ResponseCode.FLOW_CONTROL, remark="slower"))
    lab.advance(19)
    assert count_pulls(lab) == 1
    lab.advance(1)
    assert count_pulls(lab) == 2


def test_pull_without_an_answer_is_tried_again() -> None:
    lab = failing("held")
    lab.advance(30_000)
    assert count_pulls(lab) == 1
    lab.advance(3_000)
    assert count_pulls(lab) == 2


def test_message_that_is_sent_twice_is_consumed_once() -> None:
    broker = PlayedBroker()
    lab = PushLab(broker).start()
    lab.carrier.performs_at_once = False
    lab.put(b"0", b"1")
    lab.core.queues[broker.queue()].next_offset = 0
    lab.put(b"2")
    lab.carrier.performs_at_once = True
    while lab.carrier.performing:
        lab.carrier.perform_next()
    lab.carrier.settle()
    assert sorted(lab.consumed) == [b"0", b"1", b"2"]


# -- moved offsets -----------------------------------------------------------------------------


def test_queue_whose_offset_moved_continues_there_after_a_rebalance() -> None:
    broker = PlayedBroker()
    broker.offsets[GROUP, broker.queue()] = 100
    broker.put(b"0")
    lab = PushLab(broker).start()
    assert lab.core.queues[broker.queue()].dropped
    lab.advance(9_999)
    assert broker.committed() == 100
    lab.advance(1)
    assert broker.committed() == 1
    assert lab.owned() == []
    lab.advance(20_000)
    lab.put(b"1")
    assert lab.consumed == [b"1"]


def test_moved_offset_of_a_queue_that_was_taken_anew_is_not_fixed() -> None:
    broker = PlayedBroker()
    broker.offsets[GROUP, broker.queue()] = 100
    lab = PushLab(broker).start()
    broker.members = ["10.0.0.9@1"]
    lab.services.rebalance_soon()
    lab.carrier.settle()
    assert lab.owned() == []
    broker.offsets[GROUP, broker.queue()] = 0
    broker.members = ["10.0.0.1@7"]
    lab.services.rebalance_soon()
    lab.put(b"0")
    assert lab.consumed == [b"0"]
    lab.advance(12_000)
    assert not lab.core.queues[broker.queue()].dropped


def test_negative_offset_of_a_broker_is_not_committed() -> None:
    outcome = answer(
        ResponseCode.PULL_OFFSET_MOVED,
        suggestWhichBrokerId=0,
        nextBeginOffset=-5,
        minOffset=-5,
        maxOffset=-5,
    )
    lab = failing(outcome)
    lab.advance(10_000)
    assert lab.broker.committed() == 0
