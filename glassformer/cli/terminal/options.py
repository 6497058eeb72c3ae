"""Options that several verbs share, each declared once."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from glassformer.base.errors import ConfigError
from glassformer.decode.options import OPTIONS, WritingOptions
from glassformer.tasks import TASKS

WHICH = "a folder, a name that `glassformer models` lists, or hub:owner/name from Hugging Face"
ModelFolder = Annotated[str, typer.Argument(metavar="MODEL", help=f"The model: {WHICH}.", show_default=False)]
STDIN = "Use - to read from standard input, one text per line."


def texts_argument(what: str) -> Any:
    """The words of a command, of which the first may be the model: see `split_model` in opened.py."""
    return typer.Argument(metavar="[MODEL] TEXT", help=f"One or more {what}. {STDIN}", show_default=False)


Texts = Annotated[list[str] | None, texts_argument("texts")]
MODEL = "The model."
_NAMED = f"{MODEL}  Use this option if the first text or file could be taken for a model."
NamedModel = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help=f"{_NAMED}  [default: the argument MODEL]")
]
_PAIR = "Second text of a pair, or the passage with the answer.  [default: none]"
Pair = Annotated[str | None, typer.Option("--pair", help=_PAIR)]


def target_option(more: str) -> Any:
    """The option --target; `more` is what a verb does with it, and its default."""
    help_ = "Target of an encoder–decoder: the translation, or the reply of a chat model."
    return typer.Option("--target", help=f"{help_}  {more}")


Target = Annotated[str | None, target_option("[default: the one that the model generates]")]
_CHOICE = "A candidate for the text (repeatable).  [default: none]"
Choices = Annotated[list[str] | None, typer.Option("--choice", help=_CHOICE)]
TABLES = ".jsonl, .csv, .tsv, .parquet"


def text_files(more: str = "") -> Any:
    """The option --file; `more` names the other formats that a verb reads."""
    help_ = "File to read (repeatable), or - for standard input."
    formats = f"One text per line, or a table with one record per row: {TABLES}{more}; all also as .gz."
    kind = "Standard input has one text or one JSON object per line."
    return typer.Option("--file", "-f", metavar="FILE", help=f"{help_}  {formats} {kind}  [default: none]")


TextFiles = Annotated[list[str] | None, text_files()]


def top_option(what: str) -> Any:
    """The option --top; `what` says what the results of a verb are."""
    return typer.Option("--top", "-k", min=1, help=f"Maximum number of results.  {what}")


Words = Annotated[bool, typer.Option("--per-word", help="Compute a vector for each word instead of each text.")]
_NOTES = "Add notes that correct mistakes in four tutorials (see docs/measured/imprecise.md)."
Notes = Annotated[bool, typer.Option("--notes", help=_NOTES)]
_MEGABYTES = (
    "Maximum size of the page in MB. The page lists the tensors that are left out.  [default: 2; 8 if the first block "
    "of the model does not fit in 2]"
)
Megabytes = Annotated[int | None, typer.Option("--megabytes", min=1, help=_MEGABYTES)]
PageLanguage = Annotated[
    str,
    typer.Option("--language", metavar="CODE", help="Language of the written page or site, en or de."),
]
HTML = (
    "Write an HTML page that traces every number back to its inputs. An existing file is replaced only if glassformer "
    "wrote it, or with --overwrite.  [default: none]"
)
WRITE = "Number of tokens to generate."
ROWS = "Maximum number of texts to use."
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Random seed.")]
# The files of tables that a training or a measurement reads.
DATA_FILES = f"{TABLES}; for tag also .conll and .conllu; for answer also SQuAD's .json; all also as .gz"
OUT = "Where to write the output."


def out_option(more: str = "") -> Any:
    """The option --out for a file; `more` names the other formats that a verb writes."""
    formats = f"The file extension sets the format: {TABLES}{more}; any other extension gives plain text, except those "
    formats += "of other formats, such as .json, .conll, .xlsx and .gz, which are refused."
    return typer.Option("--out", "-o", writable=True, help=f"{OUT}  {formats}  [default: standard output]")


Out = Annotated[Path | None, out_option()]
_FOLDER = f"{OUT}  [default: a new folder in runs/]"
RunFolder = Annotated[Path | None, typer.Option("--out", "-o", metavar="FOLDER", help=_FOLDER)]
EXPECT = "Expected word; the output shows the probability and rank of its tokens. Repeat it for each [MASK], in order."
Expect = Annotated[list[str] | None, typer.Option("--expect", metavar="WORD", help=f"{EXPECT}  [default: none]")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a stopped command from the partial output in --out.")]
REJECTS = "Write invalid records to this file, as JSON Lines with file, line, reason and row, and skip them."
STOPS = "stop at the first invalid record"
SUITS = "chosen to suit the size of the text and --minutes"
ENDS = ("train.steps", "train.epochs", "train.minutes")
START = f"Model that fine-tuning starts from: {WHICH}."
Rejects = Annotated[Path | None, typer.Option("--rejects", writable=True, help=f"{REJECTS}  [default: {STOPS}]")]
KEEP = "Column of a table that comes back with each answer (repeatable); a column id always does."
Keep = Annotated[list[str] | None, typer.Option("--keep", metavar="COLUMN", help=f"{KEEP}  [default: none]")]
COLUMNS = {
    "text": "Column with the text: a name, or a number counted from 0.",
    "pair": "Column with the second text of a pair, or the passage.",
    "choices": "Column with the list of candidates, or a column for each candidate (repeatable).",
    "label": "Column with the label.",
    "answers": "Column with the answers (annotated-masks: with the masked words).",
    "words": "Column with the words of a sentence.",
    "tags": "Column with the tags of the words.",
    "target": "Column with the translation.",
}
"""The help of the option that names the column of a role, --ROLE-column."""
DECIMAL = "What separates the decimals of numbers in tables."
OF_TAGGED = {
    "words": "FORM (CoNLL-U), the first column (CoNLL) or words (JSON Lines)",
    "tags": "UPOS (CoNLL-U), the last column (CoNLL) or tags (JSON Lines)",
}
"""What is read of files of tagged words where no column is named."""
TextColumn = Annotated[str, typer.Option("--text-column", help=COLUMNS["text"])]
TARGET_FILES = (
    "File with the translations of one of FILES, line by line. Repeat it for each of FILES, in the same order."
)
VALIDATION_FILES = "File to hold out, instead of a fraction of FILES (repeatable)."


def check_megabytes(megabytes: int | None, html: Path | None) -> None:
    if megabytes is not None and html is None:
        raise ConfigError("--megabytes limits a page", got="no page", do="add --html FILE")


def check_page(megabytes: int | None, language: str, html: Path | None) -> None:
    check_megabytes(megabytes, html)
    if language != "en" and html is None:
        raise ConfigError("--language is that of a page", got="no page", do="add --html FILE")


def _having(role: str) -> str:
    """The tasks whose tables have a role; empty for texts, which all have."""
    having = sorted(name for name, of in TASKS.items() if role in of.columns)
    return "" if role == "text" else f"For {', '.join(having)}."


def column_option(role: str, default: str = "", more: str = "") -> Any:
    """The option that names the column of a role; `default` says in --help what is read without it, `more` the rest."""
    ends = (f"  {more}" if more else "") + (f"  [default: {default}]" if default else "")
    kind = list[str] if role == "choices" else str
    return Annotated[kind | None, typer.Option(f"--{role}-column", help=f"{COLUMNS[role]}{ends}")]


def refuse_given(options: Mapping[str, object], wanted: str, *, got: str, do: str) -> None:
    """Raise ConfigError for the first of these options that was given: `{}` in the sentences is what was typed."""
    for name, value in options.items():
        if value is not None and value is not False and value != []:
            typed = f"--{name.replace('_', '-')}"
            raise ConfigError(wanted.format(typed), got=got.format(typed), do=do.format(typed))


TYPED = {
    name: option.flags[0].split("/")[0] if option.flags else f"--{name.replace('_', '-')}"
    for name, option in OPTIONS.items()
}
"""What is typed for each of the options of a verb that writes."""


def check_decoding(options: Mapping[str, Any], verb: str) -> WritingOptions:
    """What was typed as one object; raises ConfigError for options that exclude each other."""
    from glassformer.decode.asked import search_settings  # not at the top: --help must not import it

    asked = WritingOptions(**options)
    search_settings(asked, called=TYPED, where=verb)
    return asked


def keyword(name: str, annotation: Any, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def signed(
    function: Callable[..., Any], command: Callable[..., Any], parameters: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """The function with a command's name and help, and these parameters."""
    every = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    function.__name__, function.__doc__ = command.__name__, command.__doc__
    function.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]  # typer reads it
    function.__annotations__ = {each.name: each.annotation for each in every}
    return function


def with_column_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `columns` by --target-file, --decimal and an option for each role, with its tasks."""
    target_file = typer.Option("--target-file", metavar="FILE", help=f"{TARGET_FILES}  For translate.  [default: none]")
    options = [keyword(f"{role}_column", column_option(role, "as in training", _having(role))) for role in COLUMNS]
    mark = typer.Option("--decimal", help=f"{DECIMAL}  For regress.  [default: found in each table]")
    options.append(keyword("decimal", Annotated[Literal[".", ","] | None, mark]))
    options.append(keyword("target_file", Annotated[list[str] | None, target_file]))
    others = inspect.signature(command, eval_str=True).parameters.values()

    def gathered(**values: Any) -> None:
        named = {role: values.pop(f"{role}_column") for role in COLUMNS}
        named |= {"target_files": values.pop("target_file"), "decimal": values.pop("decimal")}
        given = {role: its for role, its in named.items() if its not in (None, [])}
        command(columns={role: its if isinstance(its, str) else tuple(its) for role, its in given.items()}, **values)

    return signed(gathered, command, [*(each for each in others if each.name != "columns"), *options])


_SPLIT = "Held-out split to use if no files are given.  [default: validation]"
HeldOut = Annotated[Literal["validation", "test"] | None, typer.Option("--split", help=_SPLIT)]


def held_out_texts(default: str) -> Any:
    """The option --held-out; `default` is what a verb reads without it."""
    help_ = (
        "File of texts not seen in training (repeatable). The loss on them is measured with each attention head "
        "switched off in turn. One text per line, or a table with a column text and, for an encoder–decoder, a column "
        "target."
    )
    return typer.Option("--held-out", metavar="FILE", help=f"{help_}  {default}")


LAYERS = (
    "Strategy: the layers that make the vectors. word (the word vectors, without positions); embedding "
    "(the input of the first block); last; second-to-last; sum-all; sum-last-4; concat-last-4; a layer number (0 is "
    "the input of the first block, 1 the output of the first block, -1 that of the last); layers joined by sum, mean "
    "or concat, such as sum:1..4, mean:5,6 or concat:-4..-1; mix:FILE (a file that embed compare --mix-out wrote)."
)
POOLING = "Pooling of token vectors: first, mean, max or last-token."
Strategies = Annotated[
    list[str] | None,
    typer.Option("--strategy", "-s", metavar="STRATEGY", help=f"{LAYERS}  Repeatable.  [default: last]"),
]
Poolings = Annotated[
    list[str] | None,
    typer.Option(
        "--pooling", "-p", metavar="POOLING", help=f"{POOLING}  Repeatable.  [default: the model's own, else mean]"
    ),
]
# Of commands that take one and refuse several.
OneStrategy = Annotated[
    list[str] | None, typer.Option("--strategy", "-s", metavar="STRATEGY", help=f"{LAYERS}  [default: last]")
]
OnePooling = Annotated[
    list[str] | None,
    typer.Option("--pooling", "-p", metavar="POOLING", help=f"{POOLING}  [default: the model's own, else mean]"),
]


def json_option(more: str = "") -> Any:
    """The option --json; `more` says what is in the record of a verb that has only one."""
    return typer.Option("--json", help=f"Write JSON, one record per line.{f'  {more}' * bool(more)}")


Json = Annotated[bool, json_option()]
DEVICE, THREADS = "Device: auto, cpu, cuda, or cuda:N for GPU number N.", "Number of CPU threads."
Device = Annotated[str, typer.Option("--device", metavar="DEVICE", help=DEVICE)]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help=f"{THREADS}  [default: all]")]
FAST = "Use bfloat16 if this machine is faster with it."
Fast = Annotated[bool, typer.Option("--fast", help=FAST)]
PRECISION = "Precision of the computation."
_ENGINE = (
    "Inference engine: torch, ctranslate2, ctranslate2-int8, onnxruntime, onnxruntime-int8, or auto (the fastest one "
    "that gives the same answers as torch)."
)
Engine = Annotated[str, typer.Option("--engine", metavar="NAME", help=_ENGINE)]
INT8 = "Use 8-bit weight matrices: smaller and faster, less accurate."
Int8 = Annotated[bool, typer.Option("--int8", help=INT8)]
LOCAL = "local"
"""The address of a Ray that is started on this machine, for this command."""
RAY = (
    f"Run with Ray: {LOCAL} (start Ray on this machine for this command; also without ADDRESS), auto (use the Ray that "
    "runs on this machine) or HOST:PORT of a cluster. Reads --file and writes --out; serve starts --replicas processes."
)
Ray = Annotated[str | None, typer.Option("--ray", metavar="[ADDRESS]", help=f"{RAY}  [default: none]")]
_SET = "Change a setting of the recipe (repeatable). The file recipe.toml in a run's folder lists all settings."
Set = Annotated[list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help=f"{_SET}  [default: none]")]
