"""docs/options.md, made from the table of options: ``python -m tests.support.option_table``."""

from __future__ import annotations

from fakemq.config.options import OPTIONS, Option
from tests.support.imports import ROOT

_TOP = """# Options of a cluster

One table for `fakemq.Cluster`, `fakemq.AsyncCluster`, `@pytest.mark.rocketmq`, `python -m fakemq`
and pytest's command line and ini. An option that is given beats what `config` sets, and that beats
the default. From Python and pytest, ports that are not given are free ones. This page is made from
`fakemq/config/options.py`.

| Python | command line | pytest | default | meaning |
|---|---|---|---|---|
"""


def option_page() -> str:
    """Return the text of docs/options.md."""
    return _TOP + "".join(map(_row, OPTIONS))


def _row(option: Option) -> str:
    line = "" if option.flag == "-" else ", ".join(option.spellings)
    if option.kind != "flag" and line:
        line += " " + (option.metavar or ("N" if option.kind == "number" else "TEXT"))
    pytest = f"`rocketmq_{option.name}`" if option.in_pytest else ""
    # A flag is off by default, which needs no word.
    default = option.chosen or ("" if option.default in (None, ()) else str(option.default))
    cells = (f"`{option.name}`", line and f"`{line}`", pytest, default, option.help)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


if __name__ == "__main__":
    (ROOT / "docs/options.md").write_text(option_page(), encoding="utf-8")
