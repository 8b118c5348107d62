"""CONSUMER_SEND_MSG_BACK: retries, their levels, the dead-letter queue, and refusals."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import DeadLettered, LogAppended, SentBack
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.sysflag import PermName
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.delays import SCHEDULE, Delays

GROUP = "billing"
RETRY, DLQ = f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"


@pytest.fixture
def delays(lab: BrokerLab) -> Delays:
    return Delays(lab, BrokerConfig().message_delay_level)


def sent(delays: Delays, properties: str = "TAGS\x01red", **fields: int) -> int:
    """The physical offset of a message that was just sent."""
    header = send_header("orders", properties=properties)
    vars(header).update(fields)
    response = delays.peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"body")
    return int(response.ext_fields["msgId"][16:], 16)


def back(
    delays: Delays, offset: int, level: int = 0, *, version: int = 407, **fields: int | bool
) -> RemotingCommand:
    header = ConsumerSendMsgBackRequestHeader(offset=offset, group=GROUP, delay_level=level)
    vars(header).update(fields)
    return delays.peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header, version=version)


def group(broker: Broker, *, retry_max_times: int = 16, retry_queue_nums: int = 1) -> None:
    broker.groups.update(
        SubscriptionGroupConfig(
            group_name=GROUP, retry_max_times=retry_max_times, retry_queue_nums=retry_queue_nums
        )
    )


def levels(delays: Delays) -> list[str]:
    """The levels that messages were scheduled for, in the order of the levels."""
    return [
        message.properties["DELAY"]
        for queue_id in range(18)
        for message in delays.stored(SCHEDULE, queue_id)
    ]


# -- where it goes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "fields", "version", "dead"),
    [
        (-1, {}, 407, True),
        (0, {"max_reconsume_times": 0}, 407, True),
        (1, {"max_reconsume_times": 0}, 121, True),
        (1, {"max_reconsume_times": 0}, 120, False),
        (1, {"max_reconsume_times": 3}, 407, False),
    ],
)
def test_message_is_dead_after_the_requests_limit_or_at_a_negative_level(
    delays: Delays, level: int, fields: dict[str, int], version: int, dead: bool
) -> None:
    assert back(delays, sent(delays), level, version=version, **fields).code == 0
    assert len(delays.stored(DLQ)) == dead
    assert len(levels(delays)) == (not dead)


@pytest.mark.parametrize(("most", "dead"), [(5, True), (6, False)])
def test_message_is_dead_after_the_groups_limit(delays: Delays, most: int, dead: bool) -> None:
    group(delays.broker, retry_max_times=most)
    back(delays, sent(delays, reconsume_times=5))
    assert len(delays.stored(DLQ)) == dead
    assert levels(delays) == ([] if dead else ["8"])


@pytest.mark.parametrize(
    ("times", "most", "topic", "said"),
    [
        (2**31 - 1, 2**31 - 1, DLQ, -(2**31)),
        (2**31 - 2, 2**31 - 1, RETRY, 2**31 - 1),  # its level wraps too, and is none
        (-(2**31), 0, RETRY, -(2**31) + 1),
    ],
)
def test_retry_count_wraps_beyond_an_int(
    delays: Delays, times: int, most: int, topic: str, said: int
) -> None:
    offset = sent(delays, reconsume_times=times)
    assert back(delays, offset, max_reconsume_times=most).code == 0
    (again,) = delays.stored(topic)
    assert again.reconsume_times == said


def test_retries_are_spread_over_the_groups_retry_queues(delays: Delays) -> None:
    group(delays.broker, retry_queue_nums=4)
    offset = sent(delays)
    for _ in range(40):
        back(delays, offset, 1)
    delays.pass_ms(1_000)
    config = delays.broker.topics.select(RETRY)
    assert config is not None
    assert config.write_queue_nums == 4
    assert all(delays.stored(RETRY, queue_id) for queue_id in range(4))


def test_compressed_body_stays_compressed(delays: Delays) -> None:
    back(delays, sent(delays, sys_flag=1), 1)
    delays.pass_ms(1_000)
    assert delays.stored(RETRY)[0].sys_flag == 1


# -- what is created and refused ------------------------------------------------------------------


@pytest.mark.parametrize(("unit_mode", "flag"), [(False, 0), (True, 2)])
def test_unit_mode_marks_the_retry_topic(delays: Delays, unit_mode: bool, flag: int) -> None:
    back(delays, sent(delays), unit_mode=unit_mode)
    config = delays.broker.topics.select(RETRY)
    assert config is not None
    assert (config.topic_sys_flag, config.perm) == (flag, 6)


@pytest.mark.parametrize("nums", [0, -1])
def test_message_is_dropped_when_the_group_has_no_retry_queues(delays: Delays, nums: int) -> None:
    group(delays.broker, retry_queue_nums=nums)
    assert back(delays, sent(delays)).code == ResponseCode.SUCCESS
    assert delays.broker.topics.select(RETRY) is None
    assert levels(delays) == []


def test_unwritable_broker_refuses(delays: Delays) -> None:
    offset = sent(delays)
    delays.config.broker_permission = PermName.READ
    response = back(delays, offset)
    assert response.code == ResponseCode.NO_PERMISSION
    assert response.remark == "the broker[127.0.0.1] sending message is forbidden"


@pytest.mark.parametrize("offset", [1, 10**9, -5, -(2**63), 2**63 - 1])
def test_offset_without_a_message_is_refused(delays: Delays, offset: int) -> None:
    sent(delays)
    response = back(delays, offset)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark == f"look message by offset failed, {offset}"
    assert delays.broker.topics.select(RETRY) is not None  # made before anybody looked


@pytest.mark.parametrize("field", ["offset", "group", "delay_level"])
def test_missing_field_is_refused(delays: Delays, field: str) -> None:
    header = ConsumerSendMsgBackRequestHeader(offset=sent(delays), group=GROUP, delay_level=0)
    delattr(header, field)
    response = delays.peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.NullPointerException")
    assert (delays.broker.topics.select(RETRY) is None) is (field == "group")


def test_slave_stores_nothing(delays: Delays) -> None:
    offset = sent(delays)
    delays.broker.store.role.take("SLAVE")
    response = back(delays, offset)
    assert (response.code, response.remark) == (1, "SERVICE_NOT_AVAILABLE")


def test_fast_port_serves_the_request(lab: BrokerLab, delays: Delays) -> None:
    offset = sent(delays)
    delays.peer = lab.peer(delays.broker.vip_addr)
    assert back(delays, offset).code == ResponseCode.SUCCESS


# -- the journal ----------------------------------------------------------------------------------


def test_journal_links_the_message_to_its_retry(lab: BrokerLab, delays: Delays) -> None:
    offset = sent(delays, "UNIQ_KEY\x01id")
    back(delays, offset)
    assert lab.journal.find(SentBack) == [
        SentBack(
            node="broker-a-0",
            group=GROUP,
            level=3,
            reconsume_times=1,
            from_phy_offset=offset,
            phy_offset=lab.journal.find(LogAppended, topic=SCHEDULE)[0].phy_offset,
            origin_msg_id=delays.stored()[0].offset_msg_id,
            msg_id="id",
        )
    ]


def test_journal_links_the_message_to_its_dead_letter(lab: BrokerLab, delays: Delays) -> None:
    offset = sent(delays, "UNIQ_KEY\x01id")
    back(delays, offset, -1)
    assert lab.journal.find(DeadLettered) == [
        DeadLettered(
            node="broker-a-0",
            group=GROUP,
            reconsume_times=1,
            from_phy_offset=offset,
            phy_offset=lab.journal.find(LogAppended, topic=DLQ)[0].phy_offset,
            origin_msg_id=delays.stored()[0].offset_msg_id,
            msg_id="id",
        )
    ]
