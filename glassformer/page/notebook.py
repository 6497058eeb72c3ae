"""A run in a notebook: its page in a frame, stored with the notebook, or live before the Python that shows it."""

from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

from glassformer.base.errors import MissingExtraError
from glassformer.base.plain import counted
from glassformer.look.trace.trace import Trace
from glassformer.page.page import page, title_of


class Shown(Protocol):
    """What a notebook shows as the last value of a cell."""

    def _repr_mimebundle_(self, **given: Any) -> Any: ...


@dataclass(frozen=True)
class StaticPage:
    """The page of a run in a frame. It reaches neither the notebook around it nor a network."""

    html: str
    height: int
    called: str

    def __repr__(self) -> str:
        megabytes = len(self.html.encode("utf-8", "backslashreplace")) / 1e6
        return f"<the page of {self.called}, {megabytes:.1f} MB, for a notebook; as a file: trace.to_html(path)>"

    def _repr_html_(self) -> str:
        """The frame with the whole page in an attribute: words of a text stay words in it."""
        # The frame's content is read as HTML after the attribute is: each is escaped for itself.
        return (
            f'<iframe title="{escape(self.called)}" sandbox="allow-scripts allow-downloads" allow="clipboard-write" '
            f'style="width:100%;height:{self.height}px;box-sizing:border-box;border:1px solid #8888;display:block" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def _repr_mimebundle_(self, **given: Any) -> dict[str, str]:
        """The frame, and a line of text for whoever has no HTML."""
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def show(trace: Trace, *, height: int, title: str | None, megabytes: int, live: bool) -> Shown:
    """What a notebook shows of a run; raises ConfigError, and MissingExtraError for a live one without anywidget."""
    height = counted(height, "the height of a page")
    megabytes = counted(megabytes, "the maximum size of a page in megabytes")
    title = title or title_of(trace)
    if not live:
        return StaticPage(page(trace, title=title, megabytes=megabytes), height, repr(trace))
    try:
        import anywidget  # noqa: F401 - only whether it is there
    except ModuleNotFoundError as error:
        if error.name != "anywidget":
            raise
        raise MissingExtraError("anywidget", extra="notebook") from None
    from glassformer.page.widget import LivePage

    return LivePage(trace, title, height)
