"""Answers a page in a notebook as the server does, from the trace that is shown and what is made of it by hand."""

import gzip
import logging
from collections import OrderedDict
from urllib.parse import parse_qsl, unquote, urlsplit

from glassformer.base.errors import GlassformerError
from glassformer.look.trace.saved import WordsRecord
from glassformer.look.trace.trace import Trace
from glassformer.page.server.answers import Run
from glassformer.page.server.asked import MOST_TEXTS, Asked, read_asked
from glassformer.page.server.numbers import Numbers
from glassformer.page.server.overview import json_bytes, overview
from glassformer.page.server.pictures import packed_weights
from glassformer.page.server.queries import JSON, answer_to, read_query
from glassformer.run.serving.refusals import BrokenError, MethodError, MissingError, RequestError, refusal

MOST_RUNS = 32
SHOWN = 1000
"""Characters of each text that the page gets."""


class Kernel:
    """The runs of one page: the trace that is shown, and the same with changes by hand."""

    def __init__(self, trace: Trace, title: str) -> None:
        self.trace = trace
        self.numbers = Numbers()
        self.runs: OrderedDict[str, Run] = OrderedDict()
        # What the page says back when it asks for changes. The texts themselves are not known, only their tokens.
        texts = tuple(" ".join(words)[:SHOWN] for words in trace.words.inputs[:MOST_TEXTS])
        self.start = Asked(model=title[:200], texts=texts or ("",))

    def answer(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the bytes for a request; an error is a sentence in JSON, as from the server."""
        try:
            return 200, self.routed(method, path, body)
        except GlassformerError as error:
            status, found = refusal(error)
        except Exception as error:
            logging.getLogger(__name__).exception("a request of a page was not answered")
            broken = BrokenError("this request should have been answered", got=type(error).__name__)
            status, found = refusal(broken)
        return status, json_bytes(found)

    def routed(self, method: str, path: str, body: bytes) -> bytes:
        parts = urlsplit(path)
        steps = [unquote(step) for step in parts.path.split("/")]
        match (method, *steps):
            case ("GET", "api", "models"):
                offer = {"name": self.start.model, "texts": self.start.texts, "seconds": None, "choices": None}
                return json_bytes({"models": [offer], "start": self.start.model_dump(mode="json")})
            case ("GET", "api", "models", _, "vocabulary"):
                return json_bytes(WordsRecord.of(self.trace.words).vocabulary)
            case ("GET", "api", "models", _, "weights"):
                return packed_weights(self.trace.parameters)
            case ("POST", "api", "runs"):
                return gzip.decompress(self.ask(read_asked(body)).overview)
            case ("POST", "api", "trees"):
                raise MissingError(
                    "a page in a notebook shows one trace, without the model's tokenizer",
                    got="a wish for a search",
                    do="print(model.search_tree(text)) shows it, trace.to_html(path, searches=[...]) draws it",
                )
            case ("GET", "api", "runs", key, what):
                kind, make = answer_to(what)
                data = make(self.run(key), read_query(dict(parse_qsl(parts.query, keep_blank_values=True))))
                return gzip.decompress(data) if kind == JSON else data
            case ("GET" | "POST", *_):
                raise MissingError("there is nothing at this address", got=f"{method} {path[:80]}")
        raise MethodError("this address is not asked for so", got=method[:20])

    def run(self, key: str) -> Run:
        """A run that is kept; raises MissingError."""
        if key not in self.runs:
            raise MissingError("this run is no longer in memory", do="open it again")
        self.runs.move_to_end(key)
        return self.runs[key]

    def ask(self, asked: Asked) -> Run:
        """The run with these changes, made or kept; raises RequestError for other texts, and what the run raises."""
        if (asked.model, asked.texts, asked.target_ids) != (self.start.model, self.start.texts, None):
            raise RequestError(
                "a page in a notebook shows one trace and changes of it",
                got="another text",
                do="trace the other text, and show that trace",
            )
        if asked.key not in self.runs:
            steps = [step.read(lambda key: self.run(key).trace) for step in asked.steps]
            trace = self.trace.intervene(*steps) if steps else self.trace
            record, whole = overview(asked, trace)
            self.runs[asked.key] = Run(asked.key, trace, record, whole, self.numbers, asked.model)
            while len(self.runs) > MOST_RUNS:
                key, _ = self.runs.popitem(last=False)
                self.numbers.forget(key)
        return self.run(asked.key)
