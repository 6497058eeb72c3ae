"""Options that several verbs share, each declared once."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from glassformer.base.errors import ConfigError

WHICH = "a folder, hub:owner/name from Hugging Face, or a name that `glassformer models` lists"
THE_MODEL = f"The model ({WHICH}; default: a bundled model), then"
ModelFolder = Annotated[str, typer.Argument(metavar="MODEL", help=f"A saved model: {WHICH}.", show_default=False)]
# The words of a command, of which the first may be the model: `split_model` in opened.py tells.
Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL] TEXT",
        help=f"{THE_MODEL} texts; with --model, only texts. Use - to read texts from standard input, one per line.",
        show_default=False,
    ),
]
NamedModel = Annotated[
    str | None,
    typer.Option("--model", help="The model.  [default: the first argument if it is one, else a bundled one]"),
]
Pair = Annotated[
    str | None, typer.Option("--pair", help="Second text of a pair, or the passage with the answer.  [default: none]")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="Translation of the text; score needs it for a translator.  [default: the model's own; for score none]",
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
        help="File with one text per line, or a table: .jsonl, .csv, .tsv, .parquet; for tag also .conll and .conllu, "
        "for answer also SQuAD's .json; - for texts or JSON lines on standard input (repeatable).  [default: none]",
    ),
]
Top = Annotated[int, typer.Option("--top", "-k", min=1, help="Maximum number of answers: words, spans or texts.")]
Words = Annotated[bool, typer.Option("--words", help="Compute vectors of words instead of texts.")]
Notes = Annotated[bool, typer.Option("--notes", help="Add corrections of four tutorials (see docs/imprecise.md).")]
Word = Annotated[
    str | None,
    typer.Option(
        "--word",
        help="Word whose vectors are compared between the texts (embed), or whose numbers are shown (explain: WORD, "
        "WORD@POSITION or POSITION, counted from 0).  [default: none; for explain the first]",
    ),
]
Megabytes = Annotated[
    int | None,
    typer.Option(
        "--megabytes",
        min=1,
        help="Maximum size of the page in MB; the page lists the numbers that are left out.  "
        "[default: 2, or 8 if the model's first block needs more]",
    ),
]
HTML = (
    "Write an HTML page that traces every number back to its inputs. An existing file is replaced only if glassformer "
    "wrote it, or with --overwrite.  [default: none]"
)
WRITE = (
    "Number of tokens to generate, as a continuation or a chat model's reply: to show each step (explain), or to check "
    "that the numbers with and without the key–value cache are equal (verify)."
)
ROWS = "Maximum number of texts or words, drawn at random."
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Random seed.")]
# The files of tables that a training or a measurement reads.
DATA_FILES = (
    ".jsonl, .csv, .tsv, .parquet, for tag also .conll and .conllu, for answer also SQuAD's .json; each also as .gz"
)
OUT = "Where to write the output."
_FORMATS = "A file: .jsonl, .csv, .tsv, .parquet, for embed also .npy and .safetensors; else text."
Out = Annotated[
    Path | None, typer.Option("--out", "-o", writable=True, help=f"{OUT}  {_FORMATS}  [default: the screen]")
]
RunFolder = Annotated[
    Path | None, typer.Option("--out", "-o", help=f"{OUT}  A folder.  [default: a new folder in runs/]")
]
EXPECT = "Expected word, to show the probability and rank of its tokens; repeat it for each [MASK], in order."
Expect = Annotated[list[str] | None, typer.Option("--expect", help=f"{EXPECT}  [default: none]")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a stopped command from the partial output in --out.")]
REJECTS = "File for invalid records (JSON lines: file, line, reason, record), which are then skipped."
START = f"Model to start from ({WHICH}); for explain and explore, the model before fine-tuning, to show what changed."
Rejects = Annotated[
    Path | None, typer.Option("--rejects", writable=True, help=f"{REJECTS}  [default: stop at the first]")
]
COLUMNS = {
    "text": "Column with the text: a name, or a number counted from 0.",
    "pair": "Column with the second text of a pair, or the passage.",
    "choices": "Column with the list of candidates, or a column for each candidate (repeatable).",
    "label": "Column with the label.",
    "answers": "Column with the answers, or for annotated-masks with the masked words.",
    "words": "Column with the words of a sentence.",
    "tags": "Column with the tags of the words.",
    "target": "Column with the translation.",
}
"""The help of the option that names the column of a role, --ROLE-column."""
TextColumn = Annotated[str, typer.Option("--text-column", help=COLUMNS["text"])]
TARGET_FILES = "File of translations of one of FILES, line by line; repeat it for each of FILES, in the same order."


def check_megabytes(megabytes: int | None, html: Path | None) -> None:
    if megabytes is not None and html is None:
        raise ConfigError("--megabytes limits a page", got="no page", do="add --html FILE")


def column_option(role: str, default: str = "") -> Any:
    """The option that names the column of a role; `default` says in --help what is read without it."""
    told = f"  [default: {default}]" if default else ""
    kind = list[str] if role == "choices" else str
    return Annotated[kind | None, typer.Option(f"--{role}-column", help=f"{COLUMNS[role]}{told}")]


def signed(function: Callable[..., Any], command: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> Any:
    """The function with a command's name and help, and these parameters."""
    every = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    function.__name__, function.__doc__ = command.__name__, command.__doc__
    function.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]  # typer reads it
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
    typer.Option("--split", help="The held-out split to use when no files are given.  [default: validation]"),
]
HeldOutTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--held-out",
        help="File of held-out texts, not seen in training, for measuring the loss without each attention head: .txt "
        "with one text per line, or a table with the column text, for translation also target (repeatable).  "
        "[default: none; for heads the texts, else bundled ones]",
    ),
]
LAYERS = (
    "Layers to use: word (word vectors alone), embedding (input of the first block), last, second-to-last, sum-all, "
    "sum-last-4, concat-last-4; a number such as 3 or -2; sum:1..4, mean:5,6, concat:-4..-1; mix:FILE (see --mix-out); "
    "for embed compare also mix, a learned mix of all layers (repeatable)."
)
POOLING = "Pooling of token vectors: first, mean, max or last-token (repeatable)."
Strategies = Annotated[list[str] | None, typer.Option("--strategy", "-s", help=f"{LAYERS}  [default: last]")]
Poolings = Annotated[list[str] | None, typer.Option("--pooling", "-p", help=f"{POOLING}  [default: mean]")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, one record per line.")]
DEVICE, THREADS = "Device: auto, cpu, cuda, cuda:1 ...", "Number of CPU threads."
Device = Annotated[str, typer.Option("--device", help=DEVICE)]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help=f"{THREADS}  [default: all]")]
Fast = Annotated[bool, typer.Option("--fast", help="Predict in bfloat16 if this machine is faster with it.")]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Library that answers: torch, ctranslate2, ctranslate2-int8, onnxruntime, or auto, which is exact.",
    ),
]
Int8 = Annotated[bool, typer.Option("--int8", help="Use 8-bit weight matrices: smaller and faster, less accurate.")]
_SET = "Change a setting of the recipe (repeatable); recipe.toml in the folder of a run lists them."
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help=f"{_SET}  [default: none]"),
]


def columns_named(named: Mapping[str, str | Sequence[str] | None]) -> dict[str, str | tuple[str, ...]]:
    return {role: its if isinstance(its, str) else tuple(its) for role, its in named.items() if its not in (None, [])}
