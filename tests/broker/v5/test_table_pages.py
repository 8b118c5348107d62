"""The page of a table that slaves ask for again and again is encoded once."""

from __future__ import annotations

import pytest

from fakemq.broker.v5 import table_pages
from fakemq.broker.v5.table_pages import LastPage
from fakemq.clock.slices import finished
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.v5.bodies.tables import TopicConfigAndMappingSerializeWrapper


def page_of(*topics: TopicConfig) -> TopicConfigAndMappingSerializeWrapper:
    """Return a page of these topics, always of one version."""
    table = {one.topic_name or "": one for one in topics}
    return TopicConfigAndMappingSerializeWrapper(topic_config_table=table)


def encoded(last: LastPage, page: TopicConfigAndMappingSerializeWrapper) -> bytes:
    found = finished(last.encoded(page, page.topic_config_table))
    assert found == page.encode()
    return found


ORDERS, REFUNDS = TopicConfig("orders", 1, 1, 6), TopicConfig("refunds", 1, 1, 6)


def test_equal_page_is_not_encoded_again() -> None:
    last = LastPage()
    first = encoded(last, page_of(ORDERS, REFUNDS))
    assert encoded(last, page_of(TopicConfig("orders", 1, 1, 6), REFUNDS)) is first


@pytest.mark.parametrize(
    "other",
    [
        (ORDERS,),
        (REFUNDS, ORDERS),
        (ORDERS, TopicConfig("refunds", 2, 2, 6)),
    ],
    ids=["shorter", "another order", "another row"],
)
def test_other_page_of_the_same_version_is_encoded(other: tuple[TopicConfig, ...]) -> None:
    last = LastPage()
    first = encoded(last, page_of(ORDERS, REFUNDS))
    assert encoded(last, page_of(*other)) != first
    assert encoded(last, page_of(ORDERS, REFUNDS)) == first


def test_large_page_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    last = LastPage()
    size_bytes = len(page_of(ORDERS).encode())
    monkeypatch.setattr(table_pages, "KEPT_BYTES", size_bytes)
    small = encoded(last, page_of(ORDERS))
    large = encoded(last, page_of(ORDERS, REFUNDS))
    assert encoded(last, page_of(ORDERS, REFUNDS)) is not large
    assert encoded(last, page_of(ORDERS)) is small
