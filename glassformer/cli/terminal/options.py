"""Options that several verbs share, each declared once."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

_WHICH = "a folder, hub:owner/name, or a name that `glassformer models` lists"
ModelFolder = Annotated[str, typer.Argument(metavar="MODEL", help=f"A saved model: {_WHICH}.", show_default=False)]
# The words of a command, of which the first may be the model: `split_model` in opened.py tells.
Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL] TEXT",
        help=f"The model, {_WHICH}; without one, a model of the package answers. "
        "Then texts; - reads one a line from standard input.",
        show_default=False,
    ),
]
NamedModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The model.  [default: the first word, else one of the package; all other words are then texts, or files]",
    ),
]
Pair = Annotated[
    str | None,
    typer.Option("--pair", help="The second text: that of a pair, or the passage of a question.  [default: none]"),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", help="The translation of the text; explain and verify else read the model's own.  [default: none]"
    ),
]
Choices = Annotated[
    list[str] | None, typer.Option("--choice", help="A candidate for the text (repeatable).  [default: none]")
]
TextFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        "-f",
        help="A file of texts, one a line, or .jsonl, .csv, .tsv, .parquet, of words .conll, .conllu, of questions "
        "SQuAD's .json; - and pipes too: texts or JSON (repeatable).  [default: none]",
    ),
]
Top = Annotated[int, typer.Option("--top", "-k", min=1, help="So many answers at most: words, spans or texts.")]
Words = Annotated[bool, typer.Option("--words", help="Of each word, instead of each text.")]
Notes = Annotated[bool, typer.Option("--notes", help="Add where the sources are imprecise.")]
Word = Annotated[
    str | None,
    typer.Option(
        "--word",
        help="The word to look at: explain shows its row (word, word@3 or its position from 0), embed compares it in "
        "all texts.  [default: none; of explain the first]",
    ),
]
HTML = "Write a page that shows every number and what it was made of: one file for the browser.  [default: none]"
WRITE = (
    "Write so many tokens after the text (of a model that chats: the reply), and show each step (explain), or check "
    "that with the cache and in one run it has the same numbers (verify)."
)
ROWS = "At most so many texts or words, drawn at random."
SEED = "Seed of all random choices."
# The files of tables that a training or a measurement reads.
DATA_FILES = ".jsonl, .csv, .tsv, .parquet, to tag also .conll and .conllu, to answer also SQuAD's .json; each also .gz"
OUT = "Write here: a run or an index as a folder, results as a file (.jsonl, .csv, .tsv, .parquet, else text)."
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        writable=True,
        help=f"{OUT}  [default: the screen]",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what a command that was stopped left in --out.")]
REJECTS = "Set records that cannot be used aside in this file (JSON lines: file, line, reason, record), and go on."
START = "The model that this one begins from, or was tuned from."
Rejects = Annotated[
    Path | None,
    typer.Option(
        "--rejects",
        writable=True,
        help=f"{REJECTS}  [default: stop at the first]",
    ),
]
COLUMNS = {
    "text": "Column of a table with the text: a name, or a number from 0.",
    "pair": "Column with the second text of a pair, or the passage.",
    "choices": "Column with the list of candidates, or one for each candidate (repeatable).",
    "label": "Column with the label.",
    "answers": "Column with the words behind the masks, or the answers.",
    "words": "Column with the words of a sentence.",
    "tags": "Column with the tags of these words.",
    "target": "Column with the translation.",
}
"""The help of the option that names the column of a role, --ROLE-column."""
TextColumn = Annotated[str, typer.Option("--text-column", help=COLUMNS["text"])]
TARGET_FILES = "File whose line n translates line n of the other file (repeatable)."


def column_option(role: str, default: str = "") -> Any:
    """The option that names the column of a role; `default` says in --help what is read without it."""
    told = f"  [default: {default}]" if default else ""
    kind = list[str] if role == "choices" else str
    return Annotated[kind | None, typer.Option(f"--{role}-column", help=f"{COLUMNS[role]}{told}")]


def signed(function: Callable[..., Any], command: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> Any:
    """The function with the name and help of a command, and with these parameters."""
    every = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    function.__name__, function.__doc__ = command.__name__, command.__doc__
    function.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in every}
    return function


def with_column_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its parameter `columns` replaced by an option for each role, and --target-file."""
    files = Annotated[list[str] | None, typer.Option("--target-file", help=f"{TARGET_FILES}  [default: none]")]
    kinds = {f"{role}_column": column_option(role, "as in training") for role in COLUMNS} | {"target_file": files}
    others = inspect.signature(command, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in kinds.items()]

    def gathered(**values: Any) -> None:
        named = {role: values.pop(f"{role}_column") for role in COLUMNS} | {"target_files": values.pop("target_file")}
        command(columns=columns_named(named), **values)

    result: Callable[..., None] = signed(
        gathered, command, [*(each for each in others if each.name != "columns"), *options]
    )
    return result


HeldOut = Annotated[
    Literal["validation", "test"] | None,
    typer.Option("--split", help="Which held-out split, without files.  [default: validation]"),
]
HeldOutTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--held-out",
        help="Measure what is lost without each attention head on this file (.txt, a text a line; or a table with the "
        "column text, and target for a model that translates), from which the model must not have learned "
        "(repeatable).  [default: none]",
    ),
]
LAYERS = (
    "Layers of the vectors: word, embedding, last, second-to-last, sum-all, sum-last-4, concat-last-4, a layer (3, "
    "-2), sum:1..4, mean:5,6, concat:-4..-1, mix:FILE, of embed compare also mix, which is learned (repeatable)."
)
POOLING = "How tokens become one vector: first, mean, max, last-token (repeatable)."
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        "-s",
        help=f"{LAYERS}  [default: last]",
    ),
]
Poolings = Annotated[
    list[str] | None,
    typer.Option(
        "--pooling",
        "-p",
        help=f"{POOLING}  [default: mean]",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON record a line, also in a file of another suffix.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1 ...")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Processor threads.  [default: all]")]
Fast = Annotated[bool, typer.Option("--fast", help="Predict in bfloat16, where the machine is faster in it.")]
Int8 = Annotated[bool, typer.Option("--int8", help="Matrices in 8 bits: smaller and faster, less exact.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting (repeatable).  [default: none]"),
]


def columns_named(named: Mapping[str, str | Sequence[str] | None]) -> dict[str, str | tuple[str, ...]]:
    return {role: its if isinstance(its, str) else tuple(its) for role, its in named.items() if its not in (None, [])}
