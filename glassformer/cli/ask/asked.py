"""What was typed after a verb that answers, and the answers: everything that --help does not need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import DataError
from glassformer.cli.ask import show
from glassformer.cli.ask.conversation import converse
from glassformer.cli.ask.show import Job
from glassformer.cli.corpus.blocks import Verb, answerable, corpus_of, need_one, write_lines
from glassformer.cli.corpus.on_ray import check_ray, spread_by_ray
from glassformer.cli.terminal.destination import Output, counted, destination, set_aside
from glassformer.cli.terminal.opened import Machine, open_quickly, second_text, split_model
from glassformer.cli.terminal.options import check_decoding, check_megabytes, refuse_given
from glassformer.cli.terminal.readers import Reader, SentenceReader, TableReader, with_kept
from glassformer.cli.terminal.screen import Few, console, note, note_windows, record
from glassformer.cli.terminal.texts import Same, batches, find_inputs, noting_unknown, records
from glassformer.data.readers.lines import stop_unless
from glassformer.data.readers.rows import Columns
from glassformer.decode.options import WritingOptions
from glassformer.tasks import TASKS, VerbEntry, data_of

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.tasks.predictor import Options


def answer_records(job: Job) -> None:
    """Answer what has no answer yet. A batch is computed whole: in another batch an answer may round otherwise."""
    opened, asked, out, bad = job.opened, Verb(job.verb, job.options), job.out, job.bad
    number = empty = 0
    remarks, long = Few(), Few()
    for texts in batches(job.texts):
        batch = texts
        if bad is not None:
            batch, refused = answerable(texts, asked.refusals(opened, texts))
            for error in refused:
                bad(error)
        if number + len(batch) <= out.done:
            number += len(batch)
            asked.count(opened, batch)
            continue
        before = max(number, out.done)
        for each, its in zip(batch, asked.answers(opened, batch), strict=True):
            number += 1
            if number <= out.done:
                continue
            note_windows(each.values.get("text", ""), its.windows, opened.row_tokens, long)
            for sentence in getattr(its, "notes", ()):
                remarks(f"{each.where}: {sentence}" if each.where else sentence)
            empty += bool(getattr(its, "empty", 0))
            if job.json:
                record(with_kept(each, its.to_dict()), out.handle)
            else:
                show.show(its.shown(each.values, console(out.handle).width), out.handle)
            out.whole()
        job.advance(number - before)
        out.handle.flush()  # who sends one line waits for its answer
    _note_empty(empty)
    remarks.rest()
    long.rest()
    need_one(number, bad)


def answer_blocks(job: Job) -> None:
    """The same, each block at once."""
    assert job.spread is not None
    _note_empty(write_lines(job.spread, job.opened, job.out, job.bad, job.advance))


def _note_empty(empty: int) -> None:
    if empty > 1:
        note(f"{empty:,} translations are empty, in whole or in part")


# Options that say how an answer is shown or kept, not what it is.
_SHOWN = ("stream", "tree", "html", "megabytes", "save", "target", "ray")


def _way(typed: Mapping[str, Any]) -> Callable[[Job], None]:
    """How texts are answered; raises ConfigError for options that exclude it."""
    stream, tree, page = (typed.get(name) for name in ("stream", "tree", "html"))
    check_megabytes(typed.get("megabytes"), page)
    if typed["ray"] is not None:
        check_ray(typed)
        return answer_blocks
    if stream:
        show.check_streamed(typed)
    if tree or page:
        show.check_tree(typed)
        return show.show_trees if tree else show.write_story
    if stream is None and "stream" in typed:
        stream = show.can_stream(typed)
    return show.stream_words if stream else answer_records


def answer(entry: VerbEntry, own: Iterable[str], typed: Mapping[str, Any]) -> None:
    """Answer what was typed after a verb, with its `own` options. Raises ConfigError as `split_model` does."""
    from glassformer.answering.answers import predictor_for  # not at the top: a few answers need no torch

    verb, way = entry.name, _way(typed)
    asked = {name: typed[name] for name in own if name not in _SHOWN}
    if asked.get("alignment", False) is None:
        asked["alignment"] = typed["json"]
    model, texts = split_model(verb, typed["text"], typed["model"], files=typed["file"])
    files = typed["file"] or ()
    named = {role: of for role in entry.columns if (of := typed[f"{role}_column"])}
    every = {"pair": typed.get("pair"), "target": typed.get("target"), "choices": typed.get("choice") or None}
    same: Same = {role: value for role, value in every.items() if value is not None}
    options: Options = check_decoding(asked, verb) if entry.writes else asked
    output = Output(typed["out"], typed["json"], typed["resume"], typed["rejects"])
    machine = Machine(typed["device"], typed["threads"], typed["fast"], typed.get("int8"), typed["engine"])
    on_screen = (way, output, machine) == (answer_records, Output(), Machine(engine="auto")) and texts and not files
    exactly = isinstance(options, WritingOptions) or options.get("expect")  # a rank among all tokens
    opened = _quickly(model, verb, texts, same) if on_screen and not exactly else None
    opened = opened or machine.open(model)
    alone = way in (answer_records, show.stream_words) and not (texts or files)
    if alone and entry.turns and isinstance(options, WritingOptions):
        shown = {"json": output.json, "out": output.out, "rejects": output.rejects, "n_best": options.n_best}
        got = "{} without a text or a file"
        refuse_given(shown, "a conversation is shown on the screen", got=got, do="give a text, or --file FILE")
        converse(opened, options, sys.stdout, kept=typed.get("save"))
        return
    if typed.get("save") is not None:
        raise DataError(
            "--save keeps a conversation",
            got="texts or files to reply to",
            do="leave them out for a conversation, or keep the replies with --json --out FILE",
        )
    predictor_for(opened, verb, options)  # refuses a model that does not answer
    second_text(opened, None, typed.get("target"), pairs=False)
    keep = tuple(typed.get("keep") or ())
    inputs = find_inputs(texts, files, _reader(entry, opened, named, same, keep), same)
    spread = None
    if typed["ray"] is not None:
        whole = corpus_of(model, machine, Verb(verb, options), inputs, rejects=output.rejects is not None)
        spread = spread_by_ray(whole, output, typed["ray"])
    named_options = options if isinstance(options, Mapping) else vars(options)
    depends = {"verb": verb, "keep": keep, **named_options, **machine.options}
    with (
        set_aside(output.rejects, inputs.order) as bad,
        destination(opened, inputs, output, depends) as out,
        counted(output.out, out.done) as advance,
    ):
        read = records(inputs, bad=bad or stop_unless("rejects"))
        read = read if entry.writes else noting_unknown(opened.tokenizer, read)
        job = Job(
            opened=opened, verb=verb, texts=read, options=options,
            out=out, advance=advance, bad=bad, json=output.json, page=typed.get("html"),
            megabytes=typed.get("megabytes"), title=Path(model).name, spread=spread,
        )  # fmt: skip
        way(job)


def _quickly(model: str, verb: str, texts: Sequence[str], same: Same) -> Model | None:
    """The model for a few texts whose answers are shown on a screen, with few digits; None where torch is to answer."""
    choices = same.get("choices") or [""]
    each = sum(map(len, choices)) + len(choices) * len(same.get("pair", ""))
    return open_quickly(model, verb, len(choices) * sum(map(len, texts)) + len(texts) * each)


def _reader(entry: VerbEntry, opened: Model, named: Mapping[str, Columns], same: Same, keep: tuple[str, ...]) -> Reader:
    """How files are read: by the columns that were `named` by role, else by those of the training or the usual ones."""
    task = opened.task_name
    pairs = task is not None and task in TASKS and TASKS[task].pairs
    roles = [role for role in entry.columns if pairs or role not in entry.of_pairs]
    trained = {role: getattr(opened.data, role, None) for role in roles}
    known = {role: name for role, name in trained.items() if name is not None}
    learned = data_of(task)
    fields = learned.model_fields if learned.reads == "pairs" else {}
    of_pairs = {role: fields[role].default for role in roles if role in fields}
    columns = {"text": "text", **entry.usual, **of_pairs, **known, **named}
    read: dict[str, Columns] = {
        role: of if isinstance(of, str) else of[0] if len(of) == 1 else tuple(of)
        for role, of in columns.items()
        if role == "pair" or role not in same
    }
    if "words" in entry.columns:
        return SentenceReader(read, entry.usual, blank=entry.blank, keep=keep)
    pairs = bool(of_pairs) and not named
    return TableReader(
        read, entry.usual, blank=entry.blank, pairs=pairs, lists=entry.turns, keep=keep, learned=not named
    )
