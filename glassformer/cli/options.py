"""Options that several verbs share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a saved model.", show_default=False)]
Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="Texts; - reads one a line from standard input.", show_default=False),
]
OneText = Annotated[
    str, typer.Argument(metavar="TEXT", help="A text; - reads one a line from standard input.", show_default=False)
]
Pair = Annotated[str | None, typer.Option("--pair", help="The second text of a pair.  [default: none]")]
TextFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        "-f",
        help="A file of texts, one a line, or a .jsonl, .csv, .tsv, .parquet (repeatable).  [default: none]",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the results here.  [default: the screen]")]
Json = Annotated[bool, typer.Option("--json", help="One JSON record a line.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1 ...")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Processor threads.  [default: all]")]
Fast = Annotated[bool, typer.Option("--fast", help="Predict in bfloat16.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting (repeatable).  [default: none]"),
]
