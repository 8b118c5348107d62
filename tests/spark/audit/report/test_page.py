"""The report as a file: whole, escaped, bounded, the same for the same summary."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fakemq.errors import FakemqError
from fakemq.spark.audit.report.page import page, write_report
from fakemq.spark.audit.report.tables import plain
from fakemq.spark.audit.summary import (
    Count,
    FaultSummary,
    LagPoint,
    MessageBiography,
    MessageSummary,
    Store,
    Summary,
    Verdict,
)
from tests.support.summaries import EMPTY, NOON_MS, full

EVIL = "<script>alert('$1$')</script><img src=x onerror=alert(1)>\"' & \x00\u202e\ud800 漢"
VOID = {"meta", "input"}


class Page(HTMLParser):
    """A page taken apart; what is not closed or closed twice fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def values(self, name: str, tag: str = "") -> list[str | None]:
        return [value for of, one, value in self.attributes if one == name and tag in ("", of)]


@pytest.mark.slow  # matplotlib is imported and draws four plots
def test_complete_page_has_every_section() -> None:
    found = Page(page(full()))
    assert (
        found.tags["h1"] == found.tags["main"] == found.tags["script"] == found.tags["style"] == 1
    )
    assert found.tags["figure"] == 4
    assert found.tags["table"] == found.tags["caption"] == 9
    # A reader that does not see it has a text.
    assert len(found.values("scope", "th")) == found.tags["th"]
    assert found.values("role", "svg") == ["img"] * 4
    assert found.tags["desc"] == 4
    ids = [value for value in found.values("id") if value]
    assert len(set(ids)) == len(ids)
    named = " ".join(value or "" for value in found.values("aria-labelledby")).split()
    assert set(named) <= set(ids)
    # It asks for nothing: what it refers to is in it.
    assert not found.values("src")
    referred = [value or "" for name in ("href", "xlink:href") for value in found.values(name)]
    assert all(value.startswith("#") and value[1:] in ids for value in referred)
    # Findings lead to their biographies.
    assert len(found.values("href", "a")) == 20
    assert "stored in orders" in found.texts
    for text in ("orders / billing", "key-59", "broker-a/3@59", "killed, ASYNC_FLUSH", "snapshot"):
        assert text in found.texts


@pytest.mark.slow  # draws eight plots
def test_page_is_the_same_for_any_matplotlib_settings() -> None:
    import matplotlib

    text, before = page(full(5)), dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert page(full(5)) == text
        assert matplotlib.rcParams["font.size"] == 30
    assert dict(matplotlib.rcParams) == before


def test_empty_summary_makes_a_page() -> None:
    found = Page(page(EMPTY))
    assert "Nothing to judge: no message was found." in found.texts
    assert not found.tags["table"] + found.tags["figure"] + found.tags["section"]


def test_summary_with_one_of_everything_makes_a_page() -> None:
    one = full(1, 1, 1)
    found = Page(page(msgspec.structs.replace(one, lag=one.lag[:1], begin_ms=NOON_MS)))
    assert found.tags["figure"] == 4


@pytest.mark.slow  # three megabytes of page
def test_long_tables_are_cut_and_say_so() -> None:
    much = msgspec.structs.replace(full(10_001, 200, 300), messages_left_out=1)
    text = page(much)
    assert len(text) < 5_000_000
    for said in (
        "2 more messages are left out; the counts have them all.",
        "Left out: 192 groups less far behind; 290 faults before or after.",
        "Left out: 180 faster groups.",
    ):
        assert f">{said}<" in text
    assert ">topic-199<" in text
    assert ">key-10000<" in text  # a lost one
    assert ">key-9999<" not in text


def test_number_of_marked_faults_is_limited() -> None:
    faults = [FaultSummary(NOON_MS + second * 1000, "broker-a", "cut", 0) for second in range(100)]
    found = Page(page(msgspec.structs.replace(full(), faults=faults)))
    assert "Left out: 60 faults of those that explain least." in found.texts


TEXTS = st.sampled_from([EVIL, "orders"]) | st.text(max_size=300)
INTS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.integers(0, 2**63 - 1)
VERDICTS = st.sampled_from(Verdict)
SUMMARIES = st.builds(
    Summary,
    TEXTS,
    INTS,
    INTS,
    st.lists(st.builds(Count, TEXTS, TEXTS, VERDICTS, NUMBERS), max_size=12),
    st.lists(
        st.builds(
            *(
                MessageSummary,
                TEXTS,
                TEXTS,
                VERDICTS,
                TEXTS,
                TEXTS,
                TEXTS,
                INTS,
                INTS,
                INTS,
                INTS,
                TEXTS,
            )
        ),
        max_size=12,
    ),
    NUMBERS,
    st.lists(
        st.builds(
            *(Store, TEXTS, st.dictionaries(TEXTS, NUMBERS, max_size=3), NUMBERS),
            st.lists(TEXTS, max_size=3),
        ),
        max_size=3,
    ),
    st.lists(st.builds(LagPoint, TEXTS, TEXTS, INTS, NUMBERS), max_size=12),
    st.lists(st.builds(FaultSummary, INTS, TEXTS, TEXTS, NUMBERS), max_size=12),
    st.lists(st.tuples(INTS, NUMBERS), max_size=12),
    st.lists(st.tuples(TEXTS, INTS, INTS, INTS), max_size=3),
    st.lists(TEXTS, max_size=3),
    st.lists(TEXTS, max_size=3),
    st.lists(st.builds(MessageBiography, TEXTS, TEXTS, st.lists(TEXTS, max_size=3)), max_size=3),
    TEXTS,
)


@pytest.mark.slow  # draws the plots of four summaries, too slow to shrink
@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(SUMMARIES)
def test_any_summary_makes_a_page(summary: Summary) -> None:
    found = Page(page(summary))
    assert found.tags["script"] == 1
    assert not found.tags["img"]
    assert not [name for _, name, _ in found.attributes if name.startswith("on")]


def test_data_are_escaped(tmp_path: Path) -> None:
    parts = full(3)
    summary = msgspec.structs.replace(
        parts,
        title=EVIL,
        counts=[Count(EVIL, EVIL, Verdict.LOST, 1)],
        messages=[
            msgspec.structs.replace(one, keys=EVIL, cause=EVIL, msg_id=EVIL)
            for one in parts.messages
        ],
        stores=[Store(EVIL, {EVIL: 1}, 0, [EVIL])],
        lag=[LagPoint(EVIL, EVIL, NOON_MS, 1)],
        faults=[FaultSummary(NOON_MS, EVIL, EVIL, 1)],
        latency_ms=[(EVIL, 1, 2, 3)],
        inputs=[EVIL],
        notes=[EVIL],
        biographies=[MessageBiography(EVIL, EVIL, [EVIL])],
        biographies_left_out=EVIL,
    )
    path = tmp_path / "report.html"
    write_report(summary, str(path))
    text = path.read_text(encoding="utf-8")
    assert Page(text).tags["script"] == 1
    assert not Page(text).tags["img"]
    assert Page(text).texts.count(plain(EVIL)) > 10


def test_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(EMPTY, str(path))
    written = path.read_bytes()
    assert written.decode() == page(EMPTY)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fakemq.spark.audit.report.page.os.replace", full_disk)
    with pytest.raises(FakemqError, match="No space left on device"):
        write_report(full(1), str(path))
    assert path.read_bytes() == written
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


@pytest.mark.parametrize(("where", "why"), [("", "directory"), ("file/report.html", "xist|direct")])
def test_unwritable_path_is_refused(tmp_path: Path, where: str, why: str) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / where
    with pytest.raises(FakemqError, match=f"{path}: cannot write the report: .*({why})"):
        write_report(EMPTY, str(path))
    assert sorted(tmp_path.parent.glob("*.tmp")) == []


@pytest.mark.slow  # a Python of its own
def test_tables_are_shown_without_matplotlib() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from fakemq.spark.audit.report.page import page\n"
        "from tests.support.summaries import full\n"
        "print(page(full(3)).encode('ascii', 'replace').decode())"
    )
    root = Path(__file__).resolve().parents[4]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = Page(done.stdout)
    assert "No plots without matplotlib: pip install 'fakemq[spark]'." in found.texts
    assert found.tags["table"] == 9
    assert not found.tags["figure"]
