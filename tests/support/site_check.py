"""What is wrong with the HTML pages of a site: headings, images, links, things from outside."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
"""Tag → its attribute with the address of a thing that a browser loads to show the page."""

NO_THING = {"alternate", "canonical", "next", "prev"}
"""What a ``<link>`` names without loading it."""


class _Page(HTMLParser):
    """Ids, links, headings and images of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.headings: list[int] = []
        self.images_without_text: list[str] = []
        self.has_language = False
        self.in_article = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        self.has_language |= tag == "html" and bool(values.get("lang"))
        self.in_article |= tag == "article"
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]) and values.get("rel") not in NO_THING:
            self.loaded.append(values[LOADED[tag]])
        if tag == "img" and not values.get("alt", "").strip():
            self.images_without_text.append(values.get("src", ""))
        if tag in HEADINGS and self.in_article:
            self.headings.append(HEADINGS[tag])

    def handle_endtag(self, tag: str) -> None:
        self.in_article &= tag != "article"


def faults_of(site: Path) -> list[str]:
    """Return what is wrong in a built site, one line each: the page, and the fault."""
    # 404.html has links for any folder, which begin with a slash.
    paths = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    pages = {path.resolve(): _Page(path.read_text()) for path in paths}
    return [
        f"{path.relative_to(site.resolve())}: {fault}"
        for path, page in pages.items()
        for fault in (*_faults_of_outline(page), *_faults_of_links(path, page, pages))
    ]


def _faults_of_outline(page: _Page) -> list[str]:
    found = [f"an image without alt text: {source}" for source in page.images_without_text]
    if not page.has_language:
        found.append("no language")
    if page.headings.count(1) != 1 or page.headings[0] != 1:
        found.append(f"not one h1, and first: {page.headings[:5]}")
    for above, below in zip(page.headings, page.headings[1:], strict=False):
        if below > above + 1:
            found.append(f"h{below} follows h{above}")
    return found


def _faults_of_links(path: Path, page: _Page, pages: dict[Path, _Page]) -> list[str]:
    found = []
    for link in (*page.links, *page.loaded):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loaded and parts.scheme != "data":
                found.append(f"loads from outside: {link}")
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            found.append(f"a link to no file: {link}")
        elif (
            parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids
        ):
            found.append(f"a link to no heading: {link}")
    return found
