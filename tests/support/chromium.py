"""A page as Chromium has it, without a screen and without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT = 1200, 2000

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FOUND_WITHIN_S = 90


class Opened(NamedTuple):
    """The document after its scripts ran, a picture of it, and what stood in the console."""

    dom: str
    picture: Path
    console: list[str]


def chromium() -> str | None:
    """The browser: what FAKEMQ_CHROMIUM names, or the first on the path; None if there is none."""
    named = os.environ.get("FAKEMQ_CHROMIUM")
    found = (shutil.which(name) for name in ([named] if named else _NAMES))
    return next((path for path in found if path), None)


def opened(
    browser: str, page: Path, folder: Path, fragment: str = "", dark: bool = False
) -> Opened:
    """Open a page; what there is to know of it is written into ``folder``."""
    picture = folder / "picture.png"
    command = [
        browser,
        "--headless",
        "--no-sandbox",  # which root cannot have
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--no-first-run",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={WIDTH},{HEIGHT}",
        f"--screenshot={picture}",
        "--dump-dom",
        f"{page.as_uri()}#{fragment}",
    ]
    # Into files: a pipe would be held open by processes of its own that outlive it.
    with open(folder / "dom", "wb") as out, open(folder / "log", "wb") as log:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, timeout=_FOUND_WITHIN_S
        )
    said = (folder / "log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, said
    console = [line for line in said.splitlines() if ":CONSOLE:" in line]
    return Opened((folder / "dom").read_text(encoding="utf-8"), picture, console)
