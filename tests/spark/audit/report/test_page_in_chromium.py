"""The report in a browser: its filter works, its plots have colours, it complains of nothing."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fakemq.spark.audit.report.page import write_report
from tests.support.chromium import HEIGHT, WIDTH, chromium, opened
from tests.support.summaries import full

EVIL = "<script>document.title = 'taken over'</script>"
PAPER_AND_DELIVERED = {False: (0xFFFFFF, 0x1A7A3F), True: (0x14171B, 0x6FD196)}

pytestmark = pytest.mark.slow  # seconds for a browser to start

BROWSER = chromium() or ""
if not BROWSER:
    pytest.skip(
        "no Chromium on the path, and none named by FAKEMQ_CHROMIUM", allow_module_level=True
    )


@pytest.fixture
def report(tmp_path: Path) -> Path:
    summary = full()
    evil = msgspec.structs.replace(summary.messages[8], keys=EVIL)
    path = tmp_path / "report.html"
    write_report(msgspec.structs.replace(summary, messages=[*summary.messages, evil]), str(path))
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_opens_in_a_browser(report: Path, tmp_path: Path, dark: bool) -> None:
    import numpy
    from matplotlib.image import imread

    page = opened(BROWSER, report, tmp_path, "find=key-7", dark)
    assert page.console == []
    assert "<title>Audit of DefaultCluster</title>" in page.dom
    # The script has run: the filter is there, and did what the address asked for.
    assert "1 of 61 shown" in page.dom
    (messages,) = re.findall('<table id="messages">.*?</table>', page.dom, re.DOTALL)
    rows = re.findall("<tr([^>]*)>(.*?)</tr>", messages.partition("<tbody>")[2], re.DOTALL)
    assert len(rows) == 61
    assert ["key-7<" in inside for how, inside in rows if "hidden" not in how] == [True]
    assert page.dom.count('role="img"') == 4

    shown = imread(page.picture)
    assert shown.shape[:2] == (HEIGHT, WIDTH)
    rgb = numpy.rint(shown[:, :, :3] * 255).astype(int)
    colors = rgb[:, :, 0] << 16 | rgb[:, :, 1] << 8 | rgb[:, :, 2]
    paper, delivered = PAPER_AND_DELIVERED[dark]
    assert colors[0, 0] == paper
    assert 0.01 < numpy.mean(colors != paper) < 0.5
    # A bar of a plot, in the colour of the page's style.
    assert numpy.sum(colors == delivered) > 5_000


def test_link_opens_its_biography(report: Path, tmp_path: Path) -> None:
    dom = opened(BROWSER, report, tmp_path, "biography-2").dom
    folded = re.findall(
        r"<details([^>]*)><summary>[^<]*</summary>\s*<ol id=\"biography-(\d+)\"", dom
    )
    assert [number for how, number in folded if "open" in how] == ["2"]


def test_foreign_content_is_neither_run_nor_loaded(report: Path, tmp_path: Path) -> None:
    # As if something had escaped the escaping; the console that was empty above is not.
    text = report.read_text(encoding="utf-8")
    foreign = f'{EVIL}<img src="http://127.0.0.1:9/pixel.png">'
    report.write_text(text.replace("</main>", f"{foreign}</main>"), encoding="utf-8")
    page = opened(BROWSER, report, tmp_path)
    assert "<title>Audit of DefaultCluster</title>" in page.dom
    assert "61 of 61 shown" in page.dom
    script, image = page.console
    assert "Executing inline script violates" in script
    assert "Loading the image 'http://127.0.0.1:9/pixel.png' violates" in image
