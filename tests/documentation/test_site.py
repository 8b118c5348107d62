"""The site is built without a warning, and its pages can be read by all."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.browser import browser, needs_chromium
from tests.support.contrast import faint_texts
from tests.support.pages import DOCS
from tests.support.site_check import faults_of

ONCE = pytest.mark.xdist_group("site")
"""One worker runs what needs the site, so that it is built once."""

MOST_S = 30
"""Of the processor: the build must stay short enough for each test run."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it: mkdocs.yml says that a warning is an error."""
    pytest.importorskip("mkdocs", reason="the site needs fakemq[docs]")
    pytest.importorskip("mkdocstrings", reason="the site needs fakemq[docs]")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=DOCS.parent,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        preexec_fn=_limit_processor_time,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def _limit_processor_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, MOST_S))


@ONCE
@pytest.mark.slow  # seven seconds of the processor: every docstring of the reference is read
def test_site_is_built_strictly_and_its_pages_have_no_faults(site: Path) -> None:
    assert faults_of(site) == []


@ONCE
@pytest.mark.slow  # it waits for the site
def test_site_has_every_page_of_docs(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    built = {path.parent.relative_to(site) for path in site.rglob("index.html")}
    assert {page.parent if page.name == "index" else page for page in pages} == built


SHOWN = ("", "tutorial", "config", "control", "reference/cluster")
"""Pages that have all kinds of texts: prose, code, tables, pictures, signatures."""


@ONCE
@pytest.mark.slow  # a browser
@needs_chromium
@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_texts_of_the_site_have_enough_contrast(site: Path, tmp_path: Path, scheme: str) -> None:
    faint = set()
    with browser(tmp_path) as opened:  # a new one: the site keeps its scheme in the browser
        opened.look(dark=scheme == "slate")
        for page in SHOWN:
            opened.open((site / page / "index.html").as_uri())
            opened.wait(f"document.body.dataset.mdColorScheme === {scheme!r}")
            faint |= {*faint_texts(opened)}
        opened.run("document.querySelector('article p').style.opacity = 0.4")
        assert len(faint_texts(opened)) > len(faint), "a faint text is not seen"
    assert faint == set()


PAGE = """<html lang="en"><a href="above/">out of the article</a><article>
<h1 id="a">A</h1><h2>B</h2><a href="#a">up</a><a href="https://example.org">out</a>
<img src="data:," alt="none"></article></html>"""


@pytest.mark.parametrize(
    ("change", "to", "fault"),
    [
        ("<h2>", "<h3>", "h3 follows h1"),
        ("<h2>", "<h1>", "not one h1, and first: [1, 1]"),
        (' lang="en"', "", "no language"),
        (' alt="none"', "", "an image without alt text: data:,"),
        ("#a", "#b", "a link to no heading: #b"),
        ("above/", "beside/", "a link to no file: beside/"),
        ("<h2>", '<script src="https://example.org/a.js"></script><h2>', "loads from outside"),
    ],
)
def test_check_names_each_fault(tmp_path: Path, change: str, to: str, fault: str) -> None:
    (tmp_path / "above").mkdir()
    for path in (tmp_path, tmp_path / "above"):
        (path / "index.html").write_text(
            PAGE.replace("above/", "#a" if path != tmp_path else "above/")
        )
    assert faults_of(tmp_path) == []
    page = tmp_path / "index.html"
    page.write_text(page.read_text().replace(change, to, 1))
    (found,) = faults_of(tmp_path)
    assert found.startswith("index.html: ")
    assert fault in found
