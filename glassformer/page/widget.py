"""The live page of a run in a notebook. It needs anywidget: nothing but `show` imports this."""

from typing import Any

import anywidget
import traitlets

from glassformer.look.trace.trace import Trace
from glassformer.page.kernel import Kernel
from glassformer.page.page import built, document, texts_of_page


class LivePage(anywidget.AnyWidget):  # type: ignore[misc]  # its package is not always installed
    """A page whose requests this Python answers, one after the other."""

    _esm = built("explorer.js")
    page = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)

    def __init__(self, trace: Trace, title: str, height: int) -> None:
        self.kernel = Kernel(trace, title)
        self.called = repr(trace)
        root = '<div id="explorer" data-host="kernel">'
        super().__init__(page=document(title, texts_of_page(), root), title=self.called, height=height)
        self.on_msg(self.answer)

    def __repr__(self) -> str:
        return f"<the live page of {self.called}, for a notebook>"

    def answer(self, widget: object, content: Any, buffers: object) -> None:
        """Answer one request of the page; what is none is not answered."""
        if not isinstance(content, dict) or not {"view", "id", "method", "path", "body"} <= content.keys():
            return
        method, path, body = (str(content[name]) for name in ("method", "path", "body"))
        status, found = self.kernel.answer(method, path, body.encode("utf-8", "replace"))
        self.send({"view": content["view"], "id": content["id"], "status": status}, buffers=[found])
