"""The frame of every page, and the elements of its head that services read which show a link."""

from collections.abc import Iterable
from html import escape


def meta(title: str, said: str, *, picture: str = "", alt: str = "", place: str = "") -> str:
    """A page's title and description, the address and text of its picture (1200 × 630 PNG), and its own address."""
    properties = {"og:type": "website", "og:site_name": "glassformer", "og:title": title, "og:description": said}
    if picture:
        properties |= {"og:image": picture, "og:image:type": "image/png", "og:image:alt": alt or said}
        properties |= {"og:image:width": "1200", "og:image:height": "630"}
    properties |= {"og:url": place} if place else {}
    lines = [f'<meta property="{name}" content="{escape(text)}">' for name, text in properties.items()]
    lines += [f'<meta name="description" content="{escape(said)}">']
    lines += [f'<meta name="twitter:card" content="{"summary_large_image" if picture else "summary"}">']
    return "\n".join(lines)


def framed(title: str, head: Iterable[str], body: Iterable[str], *, root: str = 'lang="en"', policy: str = "") -> str:
    """A page with these elements; `title` is HTML, `root` are the attributes of its root, `policy` is an element."""
    return "\n".join(
        (
            "<!doctype html>",
            f"<html {root}>",
            "<head>",
            '<meta charset="utf-8">',
            *([policy] if policy else []),
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            *head,
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        )
    )
