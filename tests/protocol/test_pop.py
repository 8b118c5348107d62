"""Names, receipt handles and lists of POP, against literal texts of 5.5.0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol import pop
from fakemq.protocol.errors import HeaderError, IllegalArgumentError
from fakemq.protocol.pop import ExtraInfo, parse_infos, start_offset_info

NAMES = st.text("abcXYZ019-%", min_size=1, max_size=12)
LONGS = st.integers(0, 2**63 - 1)


def test_retry_topics_have_the_group_before_the_topic() -> None:
    assert pop.pop_retry_topic("T", "G", v2=False) == "%RETRY%G_T"
    assert pop.pop_retry_topic("T", "G", v2=True) == "%RETRY%G+T"


@given(topic=NAMES, group=NAMES, v2=st.booleans())
def test_retry_topic_names_its_normal_topic(topic: str, group: str, v2: bool) -> None:
    retry = pop.pop_retry_topic(topic, group, v2=v2)
    assert pop.normal_topic(retry, group) == topic
    assert pop.real_topic(topic, group, pop.retry_mark(retry)) == retry


@pytest.mark.parametrize(
    ("topic", "is_one"),
    [
        *(("%RETRY%a_b_c_d", True), ("%RETRY%a_b+c_d", True), ("%RETRY%a_b", False)),
        *(("%RETRY%a_c_d", False), ("%RETRY%a_b_d", False), ("a_b_c_d", False)),
    ],
)
def test_retry_topic_of_a_pop_is_known_by_group_and_topic(topic: str, is_one: bool) -> None:
    assert pop.is_pop_retry_topic(topic, {"a_b", "x"}, {"c_d"}) is is_one


@pytest.mark.parametrize("mark", ["3", "", None])
def test_real_topic_of_another_mark_is_an_error(mark: str | None) -> None:
    with pytest.raises(IllegalArgumentError, match="getRetry fail, format is wrong"):
        pop.real_topic("T", "G", mark)


@given(start=LONGS, popped=LONGS, invisible=LONGS, offset=LONGS, queue=st.integers(0, 99))
def test_handle_has_what_was_put_into_it(
    start: int, popped: int, invisible: int, offset: int, queue: int
) -> None:
    text = pop.extra_info(
        start_offset=start,
        pop_time_ms=popped,
        invisible_time_ms=invisible,
        revive_queue_id=7,
        topic="%RETRY%G_T",
        broker_name="broker-a",
        queue_id=queue,
        queue_offset=offset,
    )
    handle = ExtraInfo(text)
    assert text == f"{start} {popped} {invisible} 7 1 broker-a {queue} {offset}"
    assert (handle.start_offset, handle.pop_time_ms) == (start, popped)
    assert (handle.invisible_time_ms, handle.revive_queue_id) == (invisible, 7)
    assert (handle.broker_name, handle.is_order) == ("broker-a", False)


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("", "getBrokerName fail, extraInfoStrs length 1"),
        ("1 2 3 4 0", "getBrokerName fail, extraInfoStrs length 5"),
        ("1 2  ", "getBrokerName fail, extraInfoStrs length 2"),
    ],
)
def test_short_handle_says_what_is_missing(text: str, remark: str) -> None:
    with pytest.raises(IllegalArgumentError, match=f"^{remark}$"):
        _ = ExtraInfo(text).broker_name


@given(st.text(max_size=40))
def test_handle_of_any_text_raises_header_errors_only(text: str) -> None:
    handle = ExtraInfo(text)
    for part in ("start_offset", "pop_time_ms", "invisible_time_ms", "is_order", "broker_name"):
        try:
            getattr(handle, part)
        except HeaderError:
            continue


def test_lists_of_an_answer_are_as_java_writes_them() -> None:
    assert pop.start_offset_info("T", 3, 12) == "0 3 12"
    assert pop.start_offset_info("%RETRY%G_T", 0, 12) == "1 0 12"
    assert pop.start_offset_info("%RETRY%G+T", 0, 12) == "2 0 12"
    assert pop.msg_offset_info("T", 3, [12, 13, 15]) == "0 3 12,13,15"
    assert pop.queue_order_count("T", 3, 1) == "0 3 1"
    assert pop.offset_order_count("T", 3, 12, 2) == "0 qo3%12 2"


def test_handle_names_topic_queue_and_offset() -> None:
    handle = ExtraInfo("3 1000 30000 4 2 broker-a 7 5")
    assert (handle.retry_mark, handle.queue_id, handle.queue_offset) == ("2", 7, 5)
    with pytest.raises(IllegalArgumentError, match="getRetry fail, extraInfoStrs length 1"):
        _ = ExtraInfo("3").retry_mark
    with pytest.raises(IllegalArgumentError, match="getQueueOffset fail, extraInfoStrs length 7"):
        _ = ExtraInfo("3 1000 30000 4 2 broker-a 7").queue_offset


def test_infos_are_read_by_what_they_are_of() -> None:
    text = ";".join((start_offset_info("orders", 3, 9), start_offset_info("%RETRY%g_orders", 0, 1)))
    assert parse_infos(text, "startOffsetInfo") == {"0 3": "9", "1 0": "1"}
    assert parse_infos(None, "startOffsetInfo") == {}


@pytest.mark.parametrize("text", ["0 3", "0 3 9;0 3 9", "0 3 9;", "0  3 9"])
def test_infos_that_java_refuses_are_refused(text: str) -> None:
    with pytest.raises(IllegalArgumentError, match="parse startOffsetInfo error, "):
        parse_infos(text, "startOffsetInfo")
