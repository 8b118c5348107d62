"""The pages for people: ``/`` shows and steers the cluster, ``/docs`` explains the port.

They are the files of `fakemq.control.pages`, and load nothing from elsewhere. They have no data of
the cluster, so they need no token; their scripts ask for it, and send it with each request.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fakemq.control.control import Control
from fakemq.control.endpoints import endpoint
from fakemq.control.results import Asset, Refusal

_SCRIPT = "text/javascript; charset=utf-8"
_PARTS = {
    "style.css": "text/css; charset=utf-8",
    "common.js": _SCRIPT,
    "index.js": _SCRIPT,
    "journal.js": _SCRIPT,
    "docs.js": _SCRIPT,
}


@cache
def _asset(name: str, media_type: str = "text/html; charset=utf-8") -> Asset:
    return Asset(files("fakemq.control.pages").joinpath(f"{name}.txt").read_bytes(), media_type)


@endpoint("GET", "/", open=True)
def get_page(control: Control) -> Asset:
    """The page that shows the cluster: topology, topics, messages, journal, clock, faults."""
    return _asset("index.html")


@endpoint("GET", "/docs", open=True)
def get_docs(control: Control) -> Asset:
    """The page that explains each endpoint, and tries it out."""
    return _asset("docs.html")


@endpoint("GET", "/page/{part}", open=True)
def get_part(control: Control, part: str) -> Asset:
    """The style or a script of the pages."""
    if part not in _PARTS:
        raise Refusal(404, f"the pages have no {part}; they have: {', '.join(_PARTS)}")
    return _asset(part, _PARTS[part])
