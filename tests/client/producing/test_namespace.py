"""Names of topics and groups with and without a namespace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.producing.namespace import (
    is_in,
    namespace_of,
    unwrap,
    unwrap_queue,
    wrap,
    wrap_queue,
)
from tests.support.scripted_operation import queue

SYSTEM = (
    *("TBW102", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRACE_TOPIC", "BenchmarkTest"),
    *("rmq_sys_anything", "CID_RMQ_SYS_TRANS", "OFFSET_MOVED_EVENT"),
)

PREFIXES = ("%RETRY%", "%DLQ%")

PLAIN = st.text("abcABC019_-|", min_size=1, max_size=12).filter(lambda name: name not in SYSTEM)
ANY = st.builds(str.__add__, st.sampled_from(["", *PREFIXES, *SYSTEM]), st.text())


@pytest.mark.parametrize(
    ("namespace", "name", "wrapped"),
    [
        ("ns", "orders", "ns%orders"),
        ("ns", "%RETRY%billing", "%RETRY%ns%billing"),
        ("ns", "%DLQ%billing", "%DLQ%ns%billing"),
        ("ns", "ns%orders", "ns%orders"),
        ("ns", "%RETRY%ns%billing", "%RETRY%ns%billing"),
        ("ns", "other%orders", "ns%other%orders"),
        ("", "orders", "orders"),
        ("ns", "", ""),
        *(("ns", name, name) for name in SYSTEM),
    ],
)
def test_name_is_wrapped_once(namespace: str, name: str, wrapped: str) -> None:
    assert wrap(namespace, name) == wrapped


@pytest.mark.parametrize(
    ("name", "namespace", "plain"),
    [
        ("ns%orders", None, "orders"),
        ("ns%orders", "ns", "orders"),
        ("ns%orders", "", "ns%orders"),
        ("ns%orders", "other", "ns%orders"),
        ("%RETRY%ns%billing", "ns", "%RETRY%billing"),
        ("%RETRY%ns%billing", "other", "%RETRY%ns%billing"),
        ("%DLQ%ns%billing", None, "%DLQ%billing"),
        ("%RETRY%billing", None, "%RETRY%billing"),
        ("orders", None, "orders"),
        ("%orders", None, "%orders"),
        ("rmq_sys_a%b", None, "rmq_sys_a%b"),
        ("", None, ""),
    ],
)
def test_name_loses_its_own_namespace_only(name: str, namespace: str | None, plain: str) -> None:
    assert unwrap(name, namespace) == plain


@given(PLAIN, PLAIN, st.sampled_from(["", *PREFIXES]))
def test_wrapped_name_is_unwrapped_to_what_it_was(namespace: str, name: str, prefix: str) -> None:
    wrapped = wrap(namespace, prefix + name)
    assert unwrap(wrapped) == unwrap(wrapped, namespace) == prefix + name
    assert wrap(namespace, wrapped) == wrapped
    if not wrapped.startswith(("rmq_sys_", "CID_RMQ_SYS_")):
        assert is_in(namespace, wrapped)
        assert namespace_of(wrapped) == namespace


@given(ANY, ANY)
def test_any_text_is_wrapped_at_most_once(namespace: str, name: str) -> None:
    prefix = next((one for one in PREFIXES if name.startswith(one)), "")
    wrapped = wrap(namespace, name)
    assert wrapped in (name, f"{prefix}{namespace}%{name.removeprefix(prefix)}")
    # A namespace like a prefix is taken for one, and Java would not find it either.
    if not f"{namespace}%".startswith(PREFIXES):
        assert wrap(namespace, wrapped) == wrapped


def test_queue_has_the_topic_in_its_namespace() -> None:
    wrapped = wrap_queue("ns", queue("a", 3))
    assert wrapped == queue("a", 3, "ns%orders")
    assert unwrap_queue(wrapped, "ns") == queue("a", 3)
    assert wrap_queue("", queue()) == unwrap_queue(queue(), "") == queue()


def test_names_without_a_namespace_have_none() -> None:
    assert [namespace_of(name) for name in ("orders", "", "TBW102", "%RETRY%g")] == [""] * 4
    assert not is_in("", "orders")
