"""What was typed after a verb that answers, and the answers: everything that --help does not need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from glassformer.base.errors import DataError
from glassformer.cli.ask.conversation import converse, refuse_beside
from glassformer.cli.ask.decoding_options import check_decoding
from glassformer.cli.ask.show import (
    Job,
    can_stream,
    check_streamed,
    check_tree,
    show,
    show_trees,
    stream_words,
    write_story,
)
from glassformer.cli.corpus.batch import Verb, answerable, need_one
from glassformer.cli.corpus.blocks import corpus_of
from glassformer.cli.corpus.on_ray import check_ray, spread_by_ray
from glassformer.cli.corpus.written import write_lines
from glassformer.cli.terminal.destination import Output, counted, destination, set_aside
from glassformer.cli.terminal.opened import Machine, open_quickly, second_text, split_model
from glassformer.cli.terminal.options import check_megabytes
from glassformer.cli.terminal.readers import reader_of
from glassformer.cli.terminal.screen import Few, console, note, note_windows, record
from glassformer.cli.terminal.texts import Same, batches, find_inputs, records
from glassformer.data.readers.lines import stop_unless
from glassformer.decode.options import WritingOptions
from glassformer.tasks import TASKS, VerbEntry, data_of

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.tasks.predictor import Options


def answer_records(job: Job) -> None:
    """Answer what has no answer yet. A batch is computed whole: in another batch an answer may round otherwise."""
    opened, asked, out, bad = job.opened, Verb(job.verb, job.options), job.out, job.bad
    number = empty = 0
    told, long = Few(), Few()
    for texts in batches(job.texts):
        batch = texts
        if bad is not None:
            batch, refused = answerable(texts, asked.refusals(opened, texts))
            for error in refused:
                bad(error)
        if number + len(batch) <= out.done:
            number += len(batch)
            continue
        before = max(number, out.done)
        for each, its in zip(batch, asked.answers(opened, batch), strict=True):
            number += 1
            if number <= out.done:
                continue
            note_windows(each.values.get("text", ""), its.windows, opened.row_tokens, long)
            for sentence in getattr(its, "notes", ()):
                told(sentence)
            empty += bool(getattr(its, "empty", 0))
            if job.json:
                record({**each.kept, **its.to_dict()}, out.handle)
            else:
                show(its.shown(each.values, console(out.handle).width), out.handle)
            out.whole()
        job.advance(number - before)
        out.handle.flush()  # who sends one line waits for its answer
    _note_empty(empty)
    told.rest()
    long.rest()
    need_one(number, bad)


def answer_blocks(job: Job) -> None:
    """The same, each block at once."""
    assert job.spread is not None
    _note_empty(write_lines(job.spread, job.opened, job.out, job.bad, job.advance))


def _note_empty(empty: int) -> None:
    if empty > 1:
        note(f"{empty:,} translations are empty, in whole or in part")


Way = Literal["records", "stream", "tree", "page", "conversation", "blocks"]
# Options that say how an answer is shown or kept, not what it is.
_SHOWN = ("stream", "tree", "html", "megabytes", "save", "target", "ray")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of which model, of which texts and files, and where the answers go. `columns` are those that were
    named, by role; `same` is what belongs to every text; `page` is the file of a page, `save` that of a conversation;
    `ray` is the address of the Ray that answers.
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
    ray: str | None = None


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
        machine=Machine(typed["device"], typed["threads"], typed["fast"], typed.get("int8"), typed["engine"]),
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
        ray=typed["ray"],
    )


def _way(typed: Mapping[str, Any]) -> Way:
    """How texts are answered; raises ConfigError for options that exclude it."""
    stream, tree, page = (typed.get(name) for name in ("stream", "tree", "html"))
    check_megabytes(typed.get("megabytes"), page)
    if typed["ray"] is not None:
        check_ray(typed)
        return "blocks"
    if stream:
        check_streamed(typed)
    if tree or page:
        check_tree(typed)
        return "tree" if tree else "page"
    if stream is None and "stream" in typed:
        stream = can_stream(typed)
    return "stream" if stream else "records"


_WAYS: Mapping[Way, Callable[[Job], None]] = {
    "records": answer_records,
    "stream": stream_words,
    "tree": show_trees,
    "page": write_story,
    "blocks": answer_blocks,
}


def _quickly(asked: Request) -> Model | None:
    """The model for a few texts whose answers are shown on a screen, with few digits; None where torch is to answer."""
    shown = (asked.way, asked.output, asked.machine) == ("records", Output(), Machine())
    exactly = isinstance(asked.options, WritingOptions) or asked.options.get("expect")  # a rank among all tokens
    if not shown or exactly or asked.files or not asked.texts:
        return None
    choices = asked.same.get("choices") or [""]
    each = sum(map(len, choices)) + len(choices) * len(asked.same.get("pair", ""))
    characters = len(choices) * sum(map(len, asked.texts)) + len(asked.texts) * each
    return open_quickly(asked.model, asked.verb.name, characters)


def answer(asked: Request) -> None:
    """Open the model, find what is asked about, and answer, each step with what the one before has found."""
    from glassformer.answering.answers import predictor_for  # not at the top: a few answers need no torch

    opened = _quickly(asked) or asked.machine.open(asked.model)
    if asked.way == "conversation" and isinstance(asked.options, WritingOptions):
        refuse_beside(asked.output, asked.options)
        converse(opened, asked.options, sys.stdout, kept=asked.save)
        return
    if asked.save is not None:
        raise DataError(
            "--save keeps a conversation",
            got="texts or files to reply to",
            do="leave them out for a conversation, or keep the replies with --json --out FILE",
        )
    predictor_for(opened, asked.verb.name, asked.options)  # refuses a model that does not answer
    second_text(opened, None, asked.target)
    task = opened.task_name
    pairs = task is not None and task in TASKS and TASKS[task].pairs
    roles = [role for role in asked.verb.columns if pairs or role not in asked.verb.of_pairs]
    trained = {role: getattr(opened.data, role, None) for role in roles}
    known = {role: name for role, name in trained.items() if name is not None}
    learned = data_of(task)
    fields = learned.model_fields if learned.reads == "pairs" else {}
    of_pairs = {role: fields[role].default for role in roles if role in fields}
    columns = {"text": "text", **asked.verb.usual, **of_pairs, **known, **asked.columns}
    reader = reader_of(
        {
            role: of if isinstance(of, str) else of[0] if len(of) == 1 else tuple(of)
            for role, of in columns.items()
            if role == "pair" or role not in asked.same
        },
        asked.verb.usual,
        blank=asked.verb.blank,
        pairs=bool(of_pairs) and not asked.columns,
        turns=asked.verb.turns,
        words="words" in asked.verb.columns,
    )
    inputs, output = find_inputs(asked.texts, asked.files, reader, asked.same), asked.output
    verb, given = asked.verb.name, asked.options
    spread = None
    if asked.ray is not None:
        whole = corpus_of(asked.model, asked.machine, Verb(verb, given), inputs, rejects=output.rejects is not None)
        spread = spread_by_ray(whole, output, asked.ray)
    depends = {"verb": verb, **(given if isinstance(given, Mapping) else vars(given)), **asked.machine.options}
    with (
        set_aside(output.rejects, inputs.order) as bad,
        destination(opened, inputs, output, depends) as out,
        counted(output.out, out.done) as advance,
    ):
        job = Job(
            opened=opened, verb=verb, texts=records(inputs, bad=bad or stop_unless("rejects")), options=given, out=out,
            advance=advance, bad=bad, json=output.json, page=asked.page, megabytes=asked.megabytes,
            title=Path(asked.model).name, spread=spread,
        )  # fmt: skip
        _WAYS[asked.way](job)
