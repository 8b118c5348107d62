"""A cluster with a control port, a client at it, and a browser with its page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from tests.support.browser import Browser, browser
from tests.support.control import Http


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        control_port=0, topics={"orders": 2}, clock="frozen", start_at="2024-02-29T12:00:00Z"
    ) as cluster:
        yield cluster


@pytest.fixture
def http_client(mq: fakemq.Cluster) -> Http:
    assert mq.control_url is not None
    return Http(mq.control_url)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as one:
        yield one


@pytest.fixture
def page(opened: Browser, mq: fakemq.Cluster) -> Browser:
    """The page of a cluster, with the fault kinds and the journal there."""
    opened.open("about:blank")  # the page of the cluster before notes that it is gone
    opened.console.clear()
    opened.open(f"{mq.control_url}/")
    opened.wait("document.getElementById('fault').options.length > 10")
    opened.wait("document.getElementById('live').textContent === 'live'")
    return opened
