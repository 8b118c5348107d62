"""Colours by their meaning; the page's style sets their dark and light variants."""

from __future__ import annotations

import re

from fakemq.spark.audit.report.series import SHOWN_LINES
from fakemq.spark.audit.summary import Verdict

INK, FAINT, ALARM = "#fa0101", "#fa0102", "#fa0103"
"""Text and axes, grid, and marks of faults."""
VERDICTS = {verdict: f"#fa02{number:02x}" for number, verdict in enumerate(Verdict)}
LINES = [f"#fa03{number:02x}" for number in range(SHOWN_LINES)]

_PROPERTIES = {
    INK: "--ink",
    FAINT: "--faint",
    ALARM: "--alarm",
    **{color: f"--{verdict.name.lower()}" for verdict, color in VERDICTS.items()},
    **{color: f"--line-{number}" for number, color in enumerate(LINES)},
}


def css(color: str) -> str:
    """Return a colour of this module as a style sheet names it."""
    return f"var({_PROPERTIES[color]})"


def themed(svg: str) -> str:
    """Return an SVG drawn in these colours with the colours of its page."""
    return re.sub("#fa0[1-3][0-9a-f]{2}", lambda found: css(found[0]), svg)
