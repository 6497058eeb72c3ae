"""Options that several verbs share, each declared once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

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
        help="The model; all other words are then texts, or files.  [default: the first word, else one of the package]",
    ),
]
Pair = Annotated[str | None, typer.Option("--pair", help="The second text of a pair.  [default: none]")]
PairOrPassage = Annotated[
    str | None, typer.Option("--pair", "--context", help="The second text of a pair, or the passage.  [default: none]")
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
Passage = Annotated[str | None, typer.Option("--context", "--pair", help="The passage.  [default: none]")]
# The files of tables that a training or a measurement reads.
DATA_FILES = ".jsonl, .csv, .tsv, .parquet, to tag also .conll and .conllu, to answer also SQuAD's .json; each also .gz"
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the results here.  [default: the screen]")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the results of a command that was stopped, in --out.")
]
Rejects = Annotated[
    Path | None,
    typer.Option(
        "--rejects",
        help="Set records that cannot be used aside in this file (JSON lines with file, line, reason and the record) "
        "and go on.  [default: stop at the first]",
    ),
]
_AS = "[default: as in training]"
TextColumn = Annotated[str | None, typer.Option("--text", "--column", help=f"Column with the text.  {_AS}")]
PairColumn = Annotated[str | None, typer.Option("--pair", "--pair-column", help=f"With the second text.  {_AS}")]
LabelColumn = Annotated[str | None, typer.Option("--label", "--label-column", help=f"With the label.  {_AS}")]
AnswersColumn = Annotated[
    str | None, typer.Option("--answers", "--answers-column", help=f"With the words behind the masks.  {_AS}")
]
ChoicesColumn = Annotated[
    list[str] | None, typer.Option("--choices", "--choices-column", help=f"With the candidates (repeatable).  {_AS}")
]
WordsColumn = Annotated[str | None, typer.Option("--words", "--words-column", help=f"With the words.  {_AS}")]
TagsColumn = Annotated[str | None, typer.Option("--tags", "--tags-column", help=f"With their tags.  {_AS}")]
TargetColumn = Annotated[str | None, typer.Option("--target-column", help=f"With the translation.  {_AS}")]
TargetFiles = Annotated[
    list[str] | None,
    typer.Option("--target", help="Files whose line n translates line n of the others (repeatable).  [default: none]"),
]
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
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        "-s",
        help="Layers of the vectors: word, embedding, last, second-to-last, sum-all, sum-last-4, concat-last-4, a "
        "layer (3, -2), sum:1..4, mean:5,6, concat:-4..-1, mix:FILE (repeatable).  [default: last]",
    ),
]
Poolings = Annotated[
    list[str] | None,
    typer.Option(
        "--pooling",
        "-p",
        help="How tokens become one vector: first, mean, max, last-token (repeatable).  [default: mean]",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON record a line.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1 ...")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Processor threads.  [default: all]")]
Fast = Annotated[bool, typer.Option("--fast", help="Predict in bfloat16, where the machine is faster in it.")]
Int8 = Annotated[
    bool, typer.Option("--int8", help="Hold matrices in 8 bits: one text at a time is written faster, less exactly.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting (repeatable).  [default: none]"),
]


def columns_named(named: Mapping[str, str | Sequence[str] | None]) -> dict[str, str | tuple[str, ...]]:
    return {role: its if isinstance(its, str) else tuple(its) for role, its in named.items() if its not in (None, [])}
