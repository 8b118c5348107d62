"""The pages for people: ``/`` shows and steers the cluster, ``/docs`` explains the port.

They are the files of `fakemq.control.pages`, and load nothing from elsewhere. They have no data of
the cluster, so they need no token; their scripts ask for it, and send it with each request.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fakemq.control.control import Control
from fakemq.control.endpoints import endpoint
from fakemq.control.results import Asset

_HTML = "text/html; charset=utf-8"
_CSS = "text/css; charset=utf-8"
_SCRIPT = "text/javascript; charset=utf-8"


@cache
def _asset(name: str, media_type: str) -> Asset:
    return Asset(files("fakemq.control.pages").joinpath(f"{name}.txt").read_bytes(), media_type)


@endpoint("GET", "/", open=True)
def get_page(control: Control) -> Asset:
    """The page that shows the cluster: topology, topics, messages, journal, clock, faults."""
    return _asset("index.html", _HTML)


@endpoint("GET", "/docs", open=True)
def get_docs(control: Control) -> Asset:
    """The page that explains each endpoint, and tries it out."""
    return _asset("docs.html", _HTML)


@endpoint("GET", "/page/style.css", open=True)
def get_style(control: Control) -> Asset:
    """The style of both pages."""
    return _asset("style.css", _CSS)


@endpoint("GET", "/page/common.js", open=True)
def get_common_script(control: Control) -> Asset:
    """What the scripts of both pages share: requests with the token, and elements."""
    return _asset("common.js", _SCRIPT)


@endpoint("GET", "/page/index.js", open=True)
def get_page_script(control: Control) -> Asset:
    """The script of the page ``/``."""
    return _asset("index.js", _SCRIPT)


@endpoint("GET", "/page/docs.js", open=True)
def get_docs_script(control: Control) -> Asset:
    """The script of the page ``/docs``."""
    return _asset("docs.js", _SCRIPT)
