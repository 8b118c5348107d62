"""The pages of the control port in Chromium: what they show, and what their buttons do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import fakemq
from fakemq.core import overview
from fakemq.core.cluster import ClusterCore
from fakemq.events import ClockMoved, FaultPlaced, TopicChanged
from tests.support.browser import Browser, needs_chromium, text_of
from tests.support.control import Http, send_with_id


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        masters=2, slaves=1, topics={"orders": 2}, control_port=0, start_at="2024-02-29T12:00:00Z"
    ) as cluster:
        yield cluster


def search(page: Browser, element: str, text: str) -> None:
    """Write a text into a filter, as with the keyboard."""
    page.fill(element, text)
    page.run(f"document.getElementById({element!r}).dispatchEvent(new Event('input'))")


def processor_s(page: Browser) -> float:
    """The processor's time of the page: a loaded machine says little by a stopwatch."""
    page.call("Performance.enable", timeDomain="threadTicks")
    found = page.call("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in found if one["name"] == "TaskDuration")


@needs_chromium
@pytest.mark.slow  # a browser
def test_ten_actions_on_the_page_are_seen_in_the_cluster(page: Browser, mq: fakemq.Cluster) -> None:
    # 1 and 2: the clock stops, and moves.
    page.click("#freeze")
    mq.wait_for(lambda: mq.clock.frozen)
    page.wait(f"{text_of('clock-state')} === 'frozen'")
    page.click("[data-advance='2h']")
    mq.wait_for(lambda: mq.journal.find(ClockMoved, how="advance"))
    page.wait(f"{text_of('moved')}.includes('deadlines fired')")
    page.fill("duration", "90s")
    page.click("#advance button")
    mq.wait_for(lambda: len(mq.journal.find(ClockMoved, how="advance")) >= 2)
    # 3: a message is sent.
    for element, text in (("seed-topic", "orders"), ("seed-body", "tea"), ("seed-keys", "k-7")):
        page.fill(element, text)
    page.click("#seed button")
    mq.wait_for(lambda: [one.keys for one in mq.messages("orders")] == ["k-7"])
    page.wait(f"{text_of('topics')}.includes('orders')")
    # 4: it is found, with its biography.
    page.fill("word", "k-7")
    page.click("#find button")
    page.wait("document.querySelectorAll('#biography li').length >= 2")
    assert "stored in orders" in page.run(text_of("biography"))
    # 5 to 7: a fault is placed, drawn, and lifted.
    page.run(
        "document.getElementById('fault').value = 'partition';"
        "document.getElementById('fault').dispatchEvent(new Event('change'))"
    )
    assert "partition(" in page.run(text_of("fault-doc"))
    page.fill("fault-args", '"broker-a", "broker-a-1"')
    page.click("#place button[type=submit]")
    mq.wait_for(lambda: mq.journal.find(FaultPlaced))
    page.wait("document.querySelector('#topology .faulty')")
    page.click("#faults button")
    mq.wait_for(lambda: not mq.faults.placed())
    page.wait("!document.querySelector('#topology .faulty')")
    # 8 and 9: a broker is killed, and starts again.
    page.click("[data-focus='kill broker-b-1']")
    mq.wait_for(lambda: mq.broker("broker-b-1").state == "stopped")
    page.click("[data-focus='restart broker-b-1']")
    mq.wait_for(lambda: mq.broker("broker-b-1").state == "running")
    # 10: a group is suspended.
    mq.consumer(group="billing", subscribe="orders")
    page.click("[data-focus='s billing']")
    mq.wait_for(lambda: mq.journal.find("GroupChanged", group="billing", how="updated"))
    assert mq.control_url is not None
    settings = Http(mq.control_url).get("/v1/groups/billing")["settings"]
    assert settings["consume_enable"] is False
    # 11: the cluster is reset.
    page.run("window.confirm = () => true")
    page.click("#reset")
    mq.wait_for(lambda: mq.inspect(lambda core: core.journal.epoch))
    assert not mq.messages("orders")
    assert page.run("document.getElementById('error').textContent") == ""
    assert page.console == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_error_of_an_action_is_shown(page: Browser, mq: fakemq.Cluster) -> None:
    page.fill("duration", "soon")
    page.click("#advance button")
    page.wait(f"{text_of('error')}.includes('expected a duration')")
    page.fill("kind", "Nothing")
    page.click("#filters button[type=submit]")
    page.wait(f"{text_of('error')}.includes('Nothing')")
    assert all(" 400 " in line for line in page.console), "the browser notes refused requests"


@needs_chromium
@pytest.mark.slow  # a browser
def test_filter_finds_a_topic_that_is_left_out(page: Browser, mq: fakemq.Cluster) -> None:
    left_out = text_of("topics-left-out")
    assert page.run(left_out) == ""
    for number in range(260):
        mq.create_topic(f"topic-{number:03}", queues=1)
    mq.create_topic("zzz", queues=1)
    page.wait(f"{left_out}.startsWith('62 more topics are not shown')")
    assert "zzz" not in page.run(text_of("topics"))
    search(page, "topic-filter", "Zz")
    page.wait(f"{text_of('topics')}.startsWith('zzz')")
    page.wait(f"{left_out} === ''")
    assert page.console == []


def assert_found_by_filter(page: Browser, what: str, name: str) -> None:
    """Check that a group or client is the one left out, and that the filter finds it."""
    listed, left_out = text_of(f"{what}s"), text_of(f"{what}s-left-out")
    page.wait(f"{left_out}.startsWith('1 more {what} is not shown; the filter finds')")
    assert name not in page.run(listed)
    search(page, f"{what}-filter", name.capitalize())
    page.wait(f"{listed}.includes('{name}')")
    page.wait(f"{left_out} === ''")


@needs_chromium
@pytest.mark.slow  # a browser
def test_filters_find_a_group_and_a_client_that_are_left_out(
    page: Browser, mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        mq.group(f"group-{number:03}").set(retry_max_times=3)
    mq.consumer(group="zzz", subscribe="orders")
    assert_found_by_filter(page, "group", "zzz")
    assert page.run(text_of("groups")).startswith("zzz")
    monkeypatch.setattr(overview, "MOST", 1)
    mq.producer(group="shop")
    assert_found_by_filter(page, "client", "shop")
    assert "zzz" not in page.run(text_of("clients"))
    assert page.console == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_names_may_be_those_of_properties_of_every_object(
    page: Browser, mq: fakemq.Cluster
) -> None:
    for name in ("constructor", "valueOf", "__proto__"):
        mq.create_topic(name, queues=1)
    mq.consumer(group="toString", subscribe="__proto__")
    mq.clock.advance("1m")
    mq.wait_for(lambda: mq.group("toString").offsets("__proto__"))
    page.wait(f"{text_of('topics')}.includes('toString: 0')")
    rows = page.run(text_of("topics"))
    assert all(name in rows for name in ("constructor", "valueOf", "__proto__"))
    assert rows.count("toString") == 1
    assert "native code" not in rows
    # Clients choose their ids: of these only the first 24 are drawn.
    page.run(
        """
        const ask = window.fetch;
        window.fetch = async (path, options) => {
          const answer = await ask(path, options);
          if (!path.startsWith("/v1/overview")) return answer;
          const seen = await answer.json();
          const names = ["__proto__", ...Array(23).keys(), "constructor"];
          seen.links = names.map((b) => (
            { a: "broker-a-0", b: String(b), client: true, count: 1, faulty: false }));
          return new Response(JSON.stringify(seen));
        };
        """
    )
    page.wait(f"{text_of('drawn-left-out')} === '1 more client is not shown.'")
    titles = page.run("[...document.querySelectorAll('#topology title')].map((o) => o.textContent)")
    assert "__proto__" in titles
    assert not any("constructor" in one for one in titles)
    width = page.run("document.getElementById('topology').viewBox.baseVal.width")
    assert width == 640, "names can be read, however many clients there are"
    # The page continues to look, and shows more after the drawing.
    mq.create_topic("last", queues=1)
    page.wait(f"{text_of('topics')}.includes('last')")
    assert page.console == []


@needs_chromium
@pytest.mark.slow  # a browser
@pytest.mark.parametrize("msg_id", ["../../../../page/x", "..", "a/b", "%2F?#"])
def test_biography_of_a_message_with_any_id_is_shown(
    page: Browser, mq: fakemq.Cluster, msg_id: str
) -> None:
    send_with_id(mq, "orders", msg_id)
    page.fill("word", msg_id)
    page.click("#find button")
    page.wait("document.querySelectorAll('#biography li').length >= 1")
    assert "stored in orders" in page.run(text_of("biography"))
    assert page.run("document.querySelector('#found button').innerText") == msg_id
    assert page.console == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_journal_is_live_and_filtered(page: Browser, mq: fakemq.Cluster) -> None:
    page.fill("kind", "LogAppended")
    page.fill("where", "topic=orders")
    page.click("#filters button[type=submit]")
    page.wait(f"{text_of('live')} === 'live'")
    mq.seed("orders", ["<img src=x onerror=alert(1)>"], keys="<b>bold</b>")
    mq.seed("others", ["x"])
    page.wait("document.querySelectorAll('#journal tr').length >= 1")
    rows = page.run(text_of("journal"))
    assert "LogAppended" in rows
    assert "keys=<b>bold</b>" in rows
    assert "topic=orders" in rows
    assert "others" not in rows
    page.run("document.activeElement.blur()")
    page.press("j")
    page.wait("document.getElementById('pause').getAttribute('aria-pressed') === 'true'")
    before = page.run("document.getElementById('journal').childElementCount")
    mq.seed("orders", ["y"])
    page.wait(f"{text_of('pause')}.includes('missed')")
    assert page.run("document.getElementById('journal').childElementCount") == before
    page.fill("word", "<b>bold</b>")
    page.click("#find button")
    page.wait("document.querySelector('#found td')")
    assert page.run("document.querySelector('#found b, #found img, #biography img')") is None
    assert page.console == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_keys_work_without_a_mouse(page: Browser, mq: fakemq.Cluster) -> None:
    page.press("f")
    mq.wait_for(lambda: mq.clock.frozen)
    page.press("/")
    assert page.run("document.activeElement.id") == "word"
    page.press("f")
    assert mq.clock.frozen, "letters in a field are text"
    page.run("document.activeElement.blur()")
    page.press("?")
    page.wait("document.getElementById('help').open")
    unnamed = page.run(
        "[...document.querySelectorAll('button, input, select, a')].filter((one) =>"
        " !(one.innerText || one.value || one.getAttribute('aria-label') || one.labels?.length))"
        ".map((one) => one.outerHTML)"
    )
    assert unnamed == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_first_paint_is_quick(page: Browser, mq: fakemq.Cluster) -> None:
    page.open("about:blank")
    before_s = processor_s(page)
    page.open(f"{mq.control_url}/")
    page.wait("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    assert processor_s(page) - before_s < 0.3
    loaded = page.run("performance.getEntriesByType('resource').map((one) => one.name)")
    assert all(urlsplit(name).hostname == "127.0.0.1" for name in loaded if "data:" not in name)


@needs_chromium
@pytest.mark.slow  # a browser, and fifty thousand events
def test_page_is_live_with_many_events_and_its_memory_does_not_grow(
    page: Browser, mq: fakemq.Cluster
) -> None:
    def happen(core: ClusterCore) -> int:
        for number in range(2_500):
            core.journal.add(TopicChanged(node="broker-a-0", topic="orders", how=f"n {number}"))
        return core.journal.last_seq

    def flood() -> int:
        # A batch leaves each quarter of a second: with 2,500 events in each it is 10,000 a second.
        for _ in range(4):
            seq = mq.inspect(happen)
            page.wait(f"Number(document.querySelector('#journal td').innerText) >= {seq}")
        page.wait("document.getElementById('journal').childElementCount >= 300")
        page.call("HeapProfiler.collectGarbage")
        rows = page.run("document.getElementById('journal').childElementCount")
        assert rows == 300
        size: int = page.call("Runtime.getHeapUsage")["usedSize"]
        return size

    flood()
    before_bytes, before_s = flood(), processor_s(page)
    for _ in range(3):
        after_bytes = flood()
    assert processor_s(page) - before_s < 1.5, "half of the time that 30,000 events may take"
    assert after_bytes < before_bytes + (2 << 20)
    assert page.run(text_of("live")) == "live"
    page.wait(f"{text_of('journal')}.includes(' more')")
    assert page.console == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_page_asks_for_the_token(opened: Browser) -> None:
    with fakemq.Cluster(control_port=0, control_token="s3cret", grpc=True) as mq:
        opened.open("about:blank")
        opened.console.clear()
        opened.open(f"{mq.control_url}/")
        opened.wait("document.getElementById('login').open")
        assert opened.run("document.getElementById('wrong-token').hidden")
        opened.fill("token", "wrong")
        opened.click("#login button")
        opened.wait("document.getElementById('login').open")
        assert not opened.run("document.getElementById('wrong-token').hidden")
        opened.fill("token", "s3cret")
        opened.click("#login button")
        opened.wait(f"{text_of('cluster')}.includes('DefaultCluster')")
        opened.wait(f"{text_of('nodes')}.includes('proxy-0')")
        opened.open(f"{mq.control_url}/docs#token=s3cret")
        opened.wait("document.querySelectorAll('details').length > 30")
        assert "s3cret" not in opened.run("location.href")
    assert all(" 401 " in line for line in opened.console)


@needs_chromium
@pytest.mark.slow  # a browser
def test_docs_try_an_endpoint_out(opened: Browser, mq: fakemq.Cluster) -> None:
    opened.open("about:blank")
    opened.console.clear()
    opened.open(f"{mq.control_url}/docs")
    opened.wait("document.querySelectorAll('.tag').length > 8")
    chosen = "details[data-words^='put /v1/topics/{topic} ']"
    opened.run(f"document.querySelector({chosen!r}).open = true")
    opened.run(f"document.querySelector({chosen!r} + ' input').value = 'made'")
    opened.run(f"document.querySelector({chosen!r} + ' textarea').value = '{{\"queues\": 3}}'")
    opened.click(f"{chosen} button")
    opened.wait(f"document.querySelector({chosen!r} + ' pre').innerText.includes('200')")
    assert len(mq.queues("made")) == 6
    opened.fill("filter", "biography")
    opened.run("document.getElementById('filter').dispatchEvent(new Event('input'))")
    assert (
        opened.run("[...document.querySelectorAll('details')].filter((o) => !o.hidden).length") == 1
    )
    assert opened.console == []


@needs_chromium
@pytest.mark.slow  # a browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_have_contrast(page: Browser, tmp_path: Path, dark: bool) -> None:
    page.picture(tmp_path / "page.png", dark=dark)
    assert (tmp_path / "page.png").stat().st_size > 20_000
    low = page.run(_LOW_CONTRAST)
    assert low == []


@needs_chromium
@pytest.mark.slow  # a browser
def test_page_can_be_read_in_a_narrow_window(page: Browser, mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["x"], keys="a-key")
    mq.group("billing").set(retry_max_times=3)
    page.look(width=420)
    page.wait(f"{text_of('groups')}.includes('billing')")
    page.wait(f"{text_of('journal')}.includes('a-key')")
    page.wait("document.querySelector('#topology text')")
    assert page.run("document.documentElement.scrollWidth") <= 420
    for table in ("nodes", "groups", "journal"):
        box = f"document.getElementById({table!r}).closest('.scroll')"
        assert page.run(f"{box}.scrollWidth - {box}.clientWidth") <= 0, "nothing is hidden aside"
    lines = page.run("document.querySelector('#nodes .actions').getBoundingClientRect().height")
    assert lines < 40, "the buttons of a node are one line"
    assert page.run("document.querySelector('#topology text').getBoundingClientRect().height") > 10
    page.look()


_LOW_CONTRAST = """
(() => {
  const light = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (!color.startsWith('rgba(0, 0, 0, 0')) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  return [...document.querySelectorAll('main *, header *')]
    .filter((one) => one.innerText && !one.childElementCount && one.offsetParent)
    .filter((one) => {
      const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
    }).map((one) => one.outerHTML.slice(0, 200));
})()
"""
