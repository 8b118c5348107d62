"""Fields that no bean has."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol import fastjson
from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
from fakemq.protocol.bodies.topic import TopicConfigSerializeWrapper
from fakemq.protocol.unknown_fields import unknown_fields, with_unknown

NEW = st.text("abxyz", min_size=9, max_size=10)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NEW, inner, max_size=2),
    max_leaves=4,
)
NONE: dict[str, Any] = {}
MORE = st.dictionaries(NEW, VALUES, max_size=2)


def sorted_again(tree: Any) -> Any:
    return dict(sorted(tree.items()))


@settings(deadline=None)
@given(st.dictionaries(st.text("tT"), MORE, max_size=3), MORE, MORE)
def test_unknown_fields_are_written_again(
    topics: dict[str, dict[str, Any]], version: dict[str, Any], outside: dict[str, Any]
) -> None:
    topic = {
        "order": False,
        "perm": 6,
        "readQueueNums": 3,
        "topicFilterType": "MULTI_TAG",
        "topicSysFlag": 0,
        "writeQueueNums": 4,
    }
    raw = sorted_again(
        {
            "dataVersion": sorted_again({"counter": 1, "timestamp": 2, **version}),
            "topicConfigTable": {
                name: sorted_again({**topic, "topicName": name, **more})
                for name, more in topics.items()
            },
            **outside,
        }
    )
    text = fastjson.dumps_pretty(raw)
    bean = TopicConfigSerializeWrapper.decode(text.encode())
    assert fastjson.dumps_pretty(with_unknown(bean, unknown_fields(bean, raw))) == text


def test_removed_bean_loses_its_unknown_fields_and_a_changed_one_keeps_them() -> None:
    raw = fastjson.loads(
        '{"subscriptionGroupTable":{"a":{"groupName":"a","new":1},"b":{"groupName":"b","new":2}}}'
    )
    bean = SubscriptionGroupWrapper.decode(fastjson.encode(raw))
    unknown = unknown_fields(bean, raw)
    del bean.subscription_group_table["a"]
    bean.subscription_group_table["b"].retry_queue_nums = 7
    written = fastjson.loads(fastjson.dumps(with_unknown(bean, unknown)))
    assert list(written["subscriptionGroupTable"]) == ["b"]
    assert written["subscriptionGroupTable"]["b"]["new"] == 2
    assert written["subscriptionGroupTable"]["b"]["retryQueueNums"] == 7


def test_bean_without_unknown_fields_has_no_cost() -> None:
    bean = SubscriptionGroupWrapper()
    assert unknown_fields(bean, {"dataVersion": {"counter": 0}}) == {}
    assert with_unknown(bean, NONE) is bean
