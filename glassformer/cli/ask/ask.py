"""glassformer fill, score, classify, answer: every verb that answers, made from the table of verbs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.base.errors import DataError
from glassformer.cli.ask.conversation import converse, refuse_beside
from glassformer.cli.ask.decoding_options import CHATTING, DECODING, WRITING, check_decoding
from glassformer.cli.ask.show import show
from glassformer.cli.ask.show_tree import check_tree, show_trees
from glassformer.cli.ask.story import write_story
from glassformer.cli.ask.stream_words import can_stream, check_streamed, stream_words
from glassformer.cli.terminal.destination import Answers, counted, destination, set_aside
from glassformer.cli.terminal.opened import open_model, second_text, split_model
from glassformer.cli.terminal.options import (
    Choices,
    Device,
    Fast,
    Int8,
    Json,
    NamedModel,
    Out,
    Pair,
    Passage,
    Rejects,
    Resume,
    Target,
    Texts,
    Threads,
)
from glassformer.cli.terminal.readers import Text, reader_of
from glassformer.cli.terminal.screen import Few, console, note, note_windows, record, refuse_out_over_input
from glassformer.cli.terminal.texts import batches, records
from glassformer.data.readers.lines import stop_unless
from glassformer.tasks import TASKS, VERBS, VerbEntry, data_of

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.data.readers.rejects import RejectsFile
    from glassformer.tasks.predictor import Options

# The options of verbs that write, by what they write.
_WRITING = {"reply": CHATTING, "text": WRITING, "translation": DECODING}
# The column that holds a role where a table is read.
_COLUMNS: dict[str, tuple[Any, object]] = {
    "text": (
        Annotated[
            str,
            typer.Option(
                "--column",
                help="Column of a table with the text: a name, or a number from 0.  [default: that of the training "
                "table, else text]",
            ),
        ],
        None,
    ),
    "pair": (
        Annotated[
            str | None,
            typer.Option(
                "--pair-column",
                "--context-column",
                help="Column with the second text of a pair, or the passage.  [default: that of the training table, "
                "else none]",
            ),
        ],
        None,
    ),
    "choices": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--choices-column",
                help="Column with the list of candidates, or one for each candidate (repeatable).  [default: those of "
                "the training table]",
            ),
        ],
        None,
    ),
    "target": (
        Annotated[
            str | None,
            typer.Option(
                "--target-column",
                help="Column with the target, for a model that translates.  [default: that of the training table]",
            ),
        ],
        None,
    ),
    "words": (
        Annotated[
            str | None,
            typer.Option(
                "--words-column",
                help="Column with the words of a text.  [default: that of the training files, else the first of CoNLL, "
                "FORM of CoNLL-U, words of JSON lines]",
            ),
        ],
        None,
    ),
}


_SECOND: dict[str, Any] = {"pair": Pair, "passage": Passage}


def _options(entry: VerbEntry) -> dict[str, tuple[Any, object]]:
    """The options that only some verbs have, with their defaults."""
    top = Annotated[int, typer.Option("--top", "-k", min=1, help=entry.top)]
    return {
        **({"top": (top, 5)} if entry.top else {}),
        **({"target": (Target, None)} if "target" in entry.of_pairs else {}),
        **_WRITING.get(entry.writes, {}),
    }


def asking(verb: str) -> Callable[..., None]:
    """The command of a verb, with the options that its table names."""
    entry = VERBS[verb]
    own = _options(entry)
    shared: dict[str, tuple[Any, object]] = {
        "text": (Texts, None),
        "model": (NamedModel, None),
        **({"pair": (_SECOND[entry.second], None)} if "pair" in entry.columns else {}),
        **({"choice": (Choices, None)} if "choices" in entry.columns else {}),
        "file": (_files(entry.files), None),
        **{f"{role}_column": _COLUMNS[role] for role in entry.columns},
        **own,
        "out": (Out, None),
        "resume": (Resume, False),
        "rejects": (Rejects, None),
        "json": (Json, False),
        "fast": (Fast, False),
        **({"int8": (Int8, False)} if entry.writes else {}),
        "device": (Device, "auto"),
        "threads": (Threads, None),
    }

    def command(**values: Any) -> None:
        options = {name: values[name] for name in own if name != "target"}
        if options.get("alignment", False) is None:
            options["alignment"] = values["json"]
        stream, tree, page = (options.pop(name, None) for name in ("stream", "tree", "html"))
        if stream:
            check_streamed(values)
        elif tree or page:
            values["stream"] = False
        elif stream is None and "stream" in values:
            values["stream"] = can_stream(values)
        kept = options.pop("save", None)
        if tree or page:
            check_tree(values)
        columns = {role: values[f"{role}_column"] for role in entry.columns if values[f"{role}_column"]}
        _answer(verb, {**values, "save": kept}, options, columns)

    command.__name__, command.__doc__ = verb, f"{entry.help[0].upper()}{entry.help[1:]}."
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in shared.items()
        ]
    )
    command.__annotations__ = {name: kind for name, (kind, _) in shared.items()}
    return command


def _files(kinds: str) -> Any:
    """The option for files of these kinds."""
    help = f"A file of texts, one a line, or a {kinds}; - and pipes too: texts or JSON (repeatable).  [default: none]"
    return Annotated[list[str] | None, typer.Option("--file", "-f", help=help)]


def _answer(verb: str, values: Mapping[str, Any], options: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    model, texts = split_model(verb, values["text"], values["model"], files=values["file"])
    writing = check_decoding(options, verb) if VERBS[verb].writes else None
    opened = open_model(
        model,
        device=values["device"],
        dtype="int8" if values.get("int8") else None,
        fast=values["fast"],
        threads=values["threads"],
    )
    if writing and VERBS[verb].turns and not (texts or values["file"] or values["tree"] or values["html"]):
        refuse_beside(values)
        converse(opened, writing, sys.stdout, kept=values["save"])
        return
    if values["save"] is not None:
        raise DataError(
            "--save keeps a conversation",
            got="texts or files to reply to",
            do="leave them out to talk, or keep the replies with --json --out FILE",
        )
    # The columns of a table, where none are named, are those of the training tables.
    entry, task = VERBS[verb], opened.task_name
    pairs = task is not None and task in TASKS and TASKS[task].pairs
    roles = [role for role in entry.columns if pairs or role not in entry.of_pairs]
    target = second_text(opened, None, values.get("target"))
    trained = {role: getattr(opened.data, role, None) for role in roles}
    known = {role: name for role, name in trained.items() if name is not None}
    learned = data_of(task)
    of_pairs = {role: learned.model_fields[role].default for role in roles if learned.reads == "pairs"}
    two_columns = bool(of_pairs) and not columns
    columns = {"text": "text", **entry.usual, **of_pairs, **known, **columns}
    if target is not None:  # the same for every text
        columns.pop("target", None)
    choices = values.get("choice")
    if choices:  # the same candidates for every text
        columns.pop("choices", None)
    refuse_out_over_input(values["out"], values["file"], text=columns["text"])
    by_role = {
        role: of if isinstance(of, str) else of[0] if len(of) == 1 else tuple(of) for role, of in columns.items()
    }
    asks = {"verb": verb, **options, "columns": columns, "json": values["json"], "rejects": bool(values["rejects"])}
    asks |= {"choices": choices} if choices else {}
    asks |= {} if target is None else {"target": target}
    with (
        set_aside(values["rejects"], values["out"], values["file"], text=columns["text"]) as bad,
        destination(opened, {**values, "text": texts}, asks) as out,
        counted(values["out"], out.done) as advance,
    ):
        reader = reader_of(
            by_role,
            entry.usual,
            blank=entry.blank,
            pairs=two_columns,
            turns=entry.turns,
            words="words" in entry.columns,
        )
        more = {"pair": values.get("pair"), "target": target, "choices": choices or None}
        also = {role: value for role, value in more.items() if value is not None}
        asked = records(texts, values["file"], reader, also, bad=bad or stop_unless("rejects"))
        if writing and values["stream"]:
            stream_words(opened, verb, asked, writing, out.handle)
        elif writing and values["tree"]:
            show_trees(opened, verb, asked, writing, out.handle, json=values["json"])
        elif writing and values.get("html"):
            write_story(opened, verb, asked, writing, values["html"], title=Path(model).name)
        else:
            _write(opened, verb, asked, writing or options, out, advance, json=values["json"], bad=bad)


def _write(
    opened: Model,
    verb: str,
    asked: Iterable[Text],
    options: Options,
    out: Answers,
    advance: Callable[[int], None],
    *,
    json: bool,
    bad: RejectsFile | None,
) -> None:
    """Answer all texts but those that have their answer already, and those that go to `bad`.

    A batch in which only some have it is computed again as a whole: in another batch an answer may round otherwise.
    """
    from glassformer.answering.answers import refusals  # not at the top: --help must not import torch

    number = empty = 0
    told, long = Few(), Few()
    for texts in batches(asked):
        batch = texts
        if bad is not None:
            why = list(refusals(opened, verb, ((one.values, one.where) for one in texts), options))
            batch = [one for one, error in zip(texts, why, strict=True) if error is None]
            for one, error in zip(texts, why, strict=True):
                if error is not None:
                    bad(error.about(one.where, {**one.kept, **one.values} if one.own is None else one.own))
        if number + len(batch) <= out.done:
            number += len(batch)
            continue
        before = max(number, out.done)
        found = _answers(opened, verb, batch, options)
        for each, its in zip(batch, found, strict=True):
            number += 1
            if number <= out.done:
                continue
            note_windows(each.values.get("text", ""), its.windows, opened.row_tokens, long)
            for sentence in getattr(its, "notes", ()):
                told(sentence)
            empty += bool(getattr(its, "empty", 0))
            if json:
                record({**each.kept, **its.to_dict()}, out.handle)
            else:
                show(its.shown(each.values, console(out.handle).width), out.handle)
            out.whole()
        advance(number - before)
        out.handle.flush()  # who sends one line waits for its answer
    if empty > 1:
        note(f"{empty:,} translations are empty, in whole or in part")
    told.rest()
    long.rest()
    if bad is not None and bad.count and not number:
        raise DataError("a record that can be answered is needed", got=bad.first[0])


def _answers(opened: Model, verb: str, batch: Sequence[Text], options: Options) -> Iterator[Any]:
    """The answers to a batch; the error of a record of a file says that such records can be left out."""
    from glassformer.answering.answers import answer, refusals

    try:
        yield from answer(opened, verb, ((one.values, one.where) for one in batch), options)
    except DataError as error:
        of_files = ((one.values, one.where) for one in batch if one.where)
        if any(str(why) == str(error) for why in refusals(opened, verb, of_files, options)):
            error.left_out_by = "rejects"
        raise
