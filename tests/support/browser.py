"""Chromium without a screen, driven over its debugging pipe: pages, actions, console."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ANSWER_S = 60.0

_STARTER = """
import os, sys
read, write = (os.dup(os.dup(int(one))) for one in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Starts the browser with its pipe as the descriptors 3 and 4, where it looks for it."""


class PageError(Exception):
    """A script of the page, or of the test in the page, has failed."""


class Browser:
    """One browser with one page; ``console`` has what was written there, errors included."""

    def __init__(self, command: list[str], profile: Path) -> None:
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()
        starter = [sys.executable, "-c", _STARTER, str(theirs_read), str(theirs_write)]
        self._process = subprocess.Popen(
            [*starter, *command, f"--user-data-dir={profile}"],
            pass_fds=(theirs_read, theirs_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_read)
        os.close(theirs_write)
        self._read, self._write = ours_read, ours_write
        self._bytes = b""
        self._number = 0
        self._loaded = self._shown = False
        self.console: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session: str | None = attached["sessionId"]
        self.call("Page.bringToFront")
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    _session: str | None = None

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command of the protocol, and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until_s = time.monotonic() + ANSWER_S
        while True:
            received = self._receive(until_s - time.monotonic())
            if received.get("id") == self._number:
                if "error" in received:
                    raise PageError(f"{method}: {received['error']}")
                result: dict[str, Any] = received["result"]
                return result

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        while b"\0" not in self._bytes:
            ready, _, _ = select.select([self._read], [], [], max(0.0, timeout_s))
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has ended"
            self._bytes += part
        message, _, self._bytes = self._bytes.partition(b"\0")
        received: dict[str, Any] = json.loads(message)
        self._note(received)
        return received

    def _note(self, received: dict[str, Any]) -> None:
        method, params = received.get("method"), received.get("params", {})
        if method == "Runtime.consoleAPICalled":
            words = [str(one.get("value", one.get("description"))) for one in params["args"]]
            self.console.append(f"{params['type']}: {' '.join(words)}")
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            text = details.get("exception", {}).get("description", details["text"])
            self.console.append(f"exception: {text}")
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self.console.append(f"{entry['level']}: {entry['text']} {entry.get('url', '')}")
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Page.frameNavigated":
            self._shown = True

    def open(self, url: str) -> None:
        """Open a page, and wait until it is loaded."""
        self._loaded = False
        self.call("Page.navigate", url=url)
        until_s = time.monotonic() + ANSWER_S
        while not self._loaded:
            self._receive(until_s - time.monotonic())

    def back(self) -> None:
        """Go back to the page before, and wait until it is there: it may be as it was left."""
        history = self.call("Page.getNavigationHistory")
        before = history["entries"][history["currentIndex"] - 1]
        self._shown = False
        # A script's answer may be lost with its page.
        self.call("Page.navigateToHistoryEntry", entryId=before["id"])
        until_s = time.monotonic() + ANSWER_S
        while not self._shown:
            self._receive(until_s - time.monotonic())

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Have another tab in front of the page."""
        session, self._session = self._session, None
        other = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.call("Target.activateTarget", targetId=other)
        self._session = session
        self.wait("document.hidden")
        yield
        self.call("Page.bringToFront")
        self._session = None
        self.call("Target.closeTarget", targetId=other)
        self._session = session
        self.wait("!document.hidden")

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page; await it if it is a promise."""
        result = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            raise PageError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, script: str) -> Any:
        """Return the value of an expression once it is true; it is looked at in each frame."""
        return self.run(
            "new Promise((resolve, reject) => { const began = performance.now();"
            f" const look = () => {{ const seen = ({script}); if (seen) resolve(seen);"
            f" else if (performance.now() - began > {ANSWER_S * 500})"
            f" reject(new Error('not seen in time: ' + {json.dumps(script)}"
            " + '; ' + document.body.innerText.slice(0, 2000)));"
            " else setTimeout(look, 20); }; look(); })"
        )

    def fill(self, element: str, text: str) -> None:
        """Write text into the element with this id."""
        self.run(f"document.getElementById({element!r}).value = {json.dumps(text)}")

    def click(self, selector: str) -> None:
        """Click an element, when it is there and can be clicked."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"{found} && !{found}.disabled")
        self.run(f"{found}.click()")

    def press(self, key: str) -> None:
        """Press a key of the keyboard."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def look(self, *, width: int = 1280, dark: bool = False) -> None:
        """Be a window of this width, of a reader that prefers light or dark pages."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )

    def picture(self, path: Path, *, width: int = 1280, dark: bool = False) -> None:
        """Write a picture of the whole page."""
        self.look(width=width, dark=dark)
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)


def chromium_command() -> list[str] | None:
    """Return how to start Chromium for `Browser`; None if there is none here."""
    from tests.support.chromium import chromium

    found = chromium()
    if found is None:
        return None
    return [
        *(found, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-background-networking", "--no-first-run", "--remote-debugging-pipe"),
        *("--hide-scrollbars", "--disable-extensions", "--enable-precise-memory-info"),
        # Nothing but this machine is reachable.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ]


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with its profile in a folder."""
    command = chromium_command()
    assert command is not None, "no Chromium here"
    opened = Browser(command, folder / "profile")
    try:
        yield opened
    finally:
        opened.close()


needs_chromium = pytest.mark.skipif(chromium_command() is None, reason="no Chromium here")


def text_of(element: str) -> str:
    """Return the script that has the text of the element with this id."""
    return f"document.getElementById({element!r}).innerText"
