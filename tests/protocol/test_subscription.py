"""Subscriptions: tag expressions and their hash codes."""

from __future__ import annotations

import pytest

from fakemq.protocol.java import java_string_hash
from fakemq.protocol.subscription import (
    SubscriptionError,
    build_subscription,
    build_subscription_data,
    is_tag_type,
)


@pytest.mark.parametrize("text", [None, "", "*"])
def test_subscription_to_everything_has_no_tags(text: str | None) -> None:
    data = build_subscription_data("T", text)
    assert (data.topic, data.sub_string, data.expression_type) == ("T", "*", "TAG")
    assert data.tags_set == []
    assert data.code_set == []
    assert data.class_filter_mode is False


def test_tags_are_trimmed_and_deduplicated() -> None:
    data = build_subscription_data("T", "a || b||a||  ||\tc ")
    assert data.sub_string == "a || b||a||  ||\tc "
    assert data.tags_set == ["a", "b", "c"]
    assert data.code_set == [java_string_hash(tag) for tag in "abc"]


def test_only_javas_whitespace_is_trimmed() -> None:
    data = build_subscription_data("T", "\u00a0a\u3000 || \x01b\x1f")
    assert set(data.tags_set) == {"\u00a0a\u3000", "b"}


def test_blank_words_are_no_tags() -> None:
    assert build_subscription_data("T", " || ").tags_set == []


@pytest.mark.parametrize("text", ["||", "||||"])
def test_separators_alone_are_an_error(text: str) -> None:
    with pytest.raises(SubscriptionError, match="subString split error"):
        build_subscription_data("T", text)


def test_other_types_keep_their_text() -> None:
    data = build_subscription("T", "a > 1", "SQL92")
    assert (data.sub_string, data.expression_type) == ("a > 1", "SQL92")
    assert data.tags_set == []
    assert build_subscription("T", "a", None).tags_set == ["a"]
    # An empty type counts as tags when it is asked about, not when it is built.
    assert build_subscription("T", "a", "").tags_set == []
    with pytest.raises(SubscriptionError, match="Expression can't be null! SQL92"):
        build_subscription("T", "", "SQL92")


def test_null_and_empty_type_are_tags() -> None:
    assert is_tag_type(None)
    assert is_tag_type("")
    assert is_tag_type("TAG")
    assert not is_tag_type("SQL92")
    assert not is_tag_type("tag")
