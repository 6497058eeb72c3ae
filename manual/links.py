"""Links of the built site that lead nowhere: each href and src, with its anchor, is looked up in the files."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGEST = 500_000
"""Bytes of a page with what it loads of its own; fonts, styles and scripts that all pages share are not counted."""


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.images: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag not in ("input", "meta"):
            self.targets += [values[name] for name in ("href", "src") if name in values]
        if tag == "img" and "src" in values:
            self.images.append(values["src"])
        if "src" in values or values.get("rel") in ("stylesheet", "preconnect", "icon"):
            self.loaded.append(values.get("src") or values.get("href", ""))


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def live(path: Path) -> bool:
    """A page that the package itself wrote: it has no links to the site."""
    return path.parent.name == "live"


def broken(site: Path) -> list[str]:
    """A line for each link to a file or an anchor that is not there, for each resource from another host, and for each
    page that is larger than LARGEST.
    """
    _read.cache_clear()
    wrong = []
    for path in sorted(site.rglob("*.html")):
        if live(path) or path.name == "404.html":  # its links begin at the root of a host
            continue
        page, name = _read(path), path.relative_to(site)
        wrong += [f"{name}: {target}: {why}" for target in page.targets if (why := _wrong(path, target, site))]
        wrong += [f"{name}: {each} is loaded from elsewhere" for each in page.loaded if urlsplit(each).netloc]
        size = path.stat().st_size + sum((path.parent / unquote(image)).stat().st_size for image in _own(page, path))
        if size > LARGEST:
            wrong.append(f"{name}: {size:,} bytes, more than {LARGEST:,}")
    return wrong


def _own(page: _Page, path: Path) -> set[str]:
    return {image for image in page.images if (path.parent / unquote(image)).is_file()}


def _wrong(path: Path, target: str, site: Path) -> str:
    """Why a link leads nowhere; empty where it does not, or where it leads to another host."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if to.is_dir():
        to /= "index.html"
    if not to.is_file():
        return "no such file"
    if not to.is_relative_to(site.resolve()):
        return "outside of the site"
    if not parts.fragment or to.suffix != ".html" or live(to):  # the addresses of a live page are its own
        return ""
    return "" if unquote(parts.fragment) in _read(to).anchors else "no such anchor"
