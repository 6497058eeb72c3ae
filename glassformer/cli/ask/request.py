"""What was typed for a verb that answers, resolved once: all that follows reads this record, or one of its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from glassformer.cli.ask.decoding_options import check_decoding
from glassformer.cli.ask.show import check_tree
from glassformer.cli.ask.stream_words import can_stream, check_streamed
from glassformer.cli.terminal.destination import Output
from glassformer.cli.terminal.inputs import Same
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.tasks import VerbEntry

if TYPE_CHECKING:
    from glassformer.tasks.predictor import Options

Way = Literal["records", "stream", "tree", "page", "conversation"]
# Options that say how an answer is shown or kept, not what it is.
_SHOWN = ("stream", "tree", "html", "megabytes", "save", "target")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of which model, of which texts and files, and where the answers go. `columns` are those that were
    named, by role; `same` is what belongs to every text; `page` is the file of a page, `save` that of a conversation.
    """

    verb: VerbEntry
    model: str
    machine: Machine
    texts: tuple[str, ...]
    files: tuple[str, ...]
    columns: Mapping[str, str | Sequence[str]]
    same: Same
    options: Options
    output: Output
    way: Way
    target: str | None = None
    page: Path | None = None
    megabytes: int | None = None
    save: Path | None = None


def request_typed(verb: VerbEntry, own: Iterable[str], typed: Mapping[str, Any]) -> Request:
    """What was typed; `own` are the options that only some verbs have. Raises ConfigError as `split_model` does."""
    way = _way(typed)
    options = {name: typed[name] for name in own if name not in _SHOWN}
    if options.get("alignment", False) is None:
        options["alignment"] = typed["json"]
    model, texts = split_model(verb.name, typed["text"], typed["model"], files=typed["file"])
    named = {role: typed[f"{role}_column"] for role in verb.columns}
    same = {"pair": typed.get("pair"), "target": typed.get("target"), "choices": typed.get("choice") or None}
    return Request(
        verb=verb,
        model=model,
        machine=Machine(typed["device"], typed["threads"], typed["fast"], typed.get("int8")),
        texts=tuple(texts),
        files=tuple(typed["file"] or ()),
        columns={role: of for role, of in named.items() if of},
        same={role: value for role, value in same.items() if value is not None},
        options=check_decoding(options, verb.name) if verb.writes else options,
        output=Output(typed["out"], typed["json"], typed["resume"], typed["rejects"]),
        way="conversation" if verb.turns and way in ("records", "stream") and not (texts or typed["file"]) else way,
        target=typed.get("target"),
        page=typed.get("html"),
        megabytes=typed.get("megabytes"),
        save=typed.get("save"),
    )


def _way(typed: Mapping[str, Any]) -> Way:
    """How texts are answered; raises ConfigError for options that exclude it."""
    stream, tree, page = (typed.get(name) for name in ("stream", "tree", "html"))
    if stream:
        check_streamed(typed)
    if tree or page:
        check_tree(typed)
        return "tree" if tree else "page"
    if stream is None and "stream" in typed:
        stream = can_stream(typed)
    return "stream" if stream else "records"
