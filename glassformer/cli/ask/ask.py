from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from glassformer.base.errors import DataError
from glassformer.cli.ask.conversation import converse, refuse_beside
from glassformer.cli.ask.decoding_options import CHATTING, DECODING, WRITING
from glassformer.cli.ask.in_batches import answer_records
from glassformer.cli.ask.job import Job
from glassformer.cli.ask.request import Request, Way, request_typed
from glassformer.cli.ask.show import show_trees
from glassformer.cli.ask.story import write_story
from glassformer.cli.ask.stream_words import stream_words
from glassformer.cli.terminal import options
from glassformer.cli.terminal.destination import counted, destination, set_aside
from glassformer.cli.terminal.inputs import find_inputs
from glassformer.cli.terminal.opened import second_text
from glassformer.cli.terminal.readers import reader_of
from glassformer.cli.terminal.texts import records
from glassformer.data.readers.lines import stop_unless
from glassformer.decode.options import WritingOptions
from glassformer.tasks import TASKS, VERBS, data_of

# The options of verbs that write, by what they write.
_WRITING = {"reply": CHATTING, "text": WRITING, "translation": DECODING}
_TRAINED = "that of the training table"
# What is read of a table where no column is named, by role.
_UNNAMED = {
    "text": f"{_TRAINED}, else text",
    "pair": f"{_TRAINED}, else none",
    "words": "that of the training files, else the first of CoNLL, FORM of CoNLL-U, words of JSON lines",
}

_WAYS: Mapping[Way, Callable[[Job], None]] = {
    "records": answer_records,
    "stream": stream_words,
    "tree": show_trees,
    "page": write_story,
}


def asking(verb: str) -> Callable[..., None]:
    entry = VERBS[verb]
    own = {
        **({"top": (options.Top, 5)} if entry.top else {}),
        **({"expect": (options.Expect, None)} if entry.masks else {}),
        **({"target": (options.Target, None)} if "target" in entry.of_pairs else {}),
        **_WRITING.get(entry.writes, {}),
    }
    shared: dict[str, tuple[Any, object]] = {
        "text": (options.Texts, None),
        "model": (options.NamedModel, None),
        **({"pair": (options.Pair, None)} if "pair" in entry.columns else {}),
        **({"choice": (options.Choices, None)} if "choices" in entry.columns else {}),
        "file": (options.TextFiles, None),
        **{
            f"{role}_column": (options.column_option(role, _UNNAMED.get(role, _TRAINED)), None)
            for role in entry.columns
        },
        **own,
        "out": (options.Out, None),
        "resume": (options.Resume, False),
        "rejects": (options.Rejects, None),
        "json": (options.Json, False),
        "fast": (options.Fast, False),
        **({"int8": (options.Int8, False)} if entry.writes else {}),
        "device": (options.Device, "auto"),
        "threads": (options.Threads, None),
    }

    def command(**typed: Any) -> None:
        _answer(request_typed(entry, own, typed))

    command.__name__, command.__doc__ = verb, f"{entry.help[0].upper()}{entry.help[1:]}."
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in shared.items()
        ]
    )
    command.__annotations__ = {name: kind for name, (kind, _) in shared.items()}
    return command


def _answer(asked: Request) -> None:
    """Open the model, find what is asked about, and answer, each step with what the one before has found."""
    from glassformer.answering.answers import predictor_for  # not at the top: --help must not import torch

    opened = asked.machine.open(asked.model)
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
    depends = {"verb": verb, **(given if isinstance(given, Mapping) else vars(given)), **asked.machine.options}
    with (
        set_aside(output.rejects, inputs.order) as bad,
        destination(opened, inputs, output, depends) as out,
        counted(output.out, out.done) as advance,
    ):
        job = Job(
            opened=opened, verb=verb, texts=records(inputs, bad=bad or stop_unless("rejects")), options=given, out=out,
            advance=advance, bad=bad, json=output.json, page=asked.page, megabytes=asked.megabytes,
            title=Path(asked.model).name,
        )  # fmt: skip
        _WAYS[asked.way](job)
