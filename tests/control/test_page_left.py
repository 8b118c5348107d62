"""The page while it is not seen: left for another page, or behind another tab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.control.port import ControlPort
from fakemq.core.cluster import ClusterCore
from fakemq.events import TopicChanged
from tests.support.browser import Browser, needs_chromium, text_of


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(control_port=0, topics={"orders": 2}) as cluster:
        yield cluster


def readers(mq: fakemq.Cluster) -> int:
    """Return how many requests follow the journal."""
    (port,) = mq._running().server._services
    assert isinstance(port, ControlPort)
    return port._control.readers


@needs_chromium
@pytest.mark.slow  # a browser
def test_page_that_was_left_keeps_no_connection(page: Browser, mq: fakemq.Cluster) -> None:
    # The browser keeps the pages that were left, and has six connections to a host for all.
    for _ in range(10):
        page.open("about:blank")
        page.open(f"{mq.control_url}/")
        page.wait(f"{text_of('live')} === 'live'")
    mq.wait_for(lambda: readers(mq) == 1)
    page.open("about:blank")
    mq.wait_for(lambda: readers(mq) == 0)
    assert page.console == []


def seqs(page: Browser) -> list[int]:
    """Return the numbers of the entries that the page shows, the newest first."""
    texts = page.run(
        "[...document.querySelectorAll('#journal td:first-child')].map((one) => one.innerText)"
    )
    return [int(one) for one in texts if one]


@needs_chromium
@pytest.mark.slow  # a browser
def test_page_to_which_one_goes_back_is_live(page: Browser, mq: fakemq.Cluster) -> None:
    page.run("window.kept = true")
    page.open("about:blank")
    mq.wait_for(lambda: readers(mq) == 0)
    mq.seed("orders", ["x"], keys="while-away")
    page.back()
    assert page.run("window.kept"), "the browser has kept the page"
    page.wait(f"{text_of('live')} === 'live'")
    page.wait(f"{text_of('journal')}.includes('keys=while-away')")
    mq.seed("orders", ["x"], keys="after-that")
    mq.create_topic("made-after-that", queues=1)
    page.wait(f"{text_of('journal')}.includes('keys=after-that')")
    page.wait(f"{text_of('topics')}.includes('made-after-that')")
    shown = seqs(page)
    assert shown == [*range(shown[0], shown[-1] - 1, -1)], "no entry is missing, none there twice"
    assert readers(mq) == 1
    assert page.console == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_page_behind_another_tab_keeps_no_connection_and_says_what_it_has_missed(
    page: Browser, mq: fakemq.Cluster
) -> None:
    def happen(core: ClusterCore) -> None:
        for number in range(150):
            core.journal.add(TopicChanged(node="broker-a-0", topic="orders", how=f"n-{number}"))

    page.fill("kind", "TopicChanged")
    page.fill("where", "topic=orders node=broker-a-0")
    page.click("#filters button[type=submit]")
    page.wait("document.getElementById('journal').childElementCount === 1")
    with page.hidden():
        mq.wait_for(lambda: readers(mq) == 0)
        mq.inspect(happen)
    page.wait(f"{text_of('journal')}.includes('n-149')")
    assert "… 50 more" in page.run(text_of("journal"))
    assert len(seqs(page)) == 101
    with page.hidden():
        mq.wait_for(lambda: readers(mq) == 0)
        mq.inspect(lambda core: core.journal.clear())
        mq.inspect(happen)
        mq.inspect(happen)
    page.wait(f"{text_of('journal')}.includes('reset')")
    assert "… 200 more" in page.run(text_of("journal"))
    assert readers(mq) == 1
    assert page.console == []
