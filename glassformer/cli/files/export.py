from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from glassformer.base.errors import ConfigError
from glassformer.cli.terminal.options import DATA_FILES, INT8, POOLING, Json, ModelFolder
from glassformer.cli.terminal.screen import console, escaped, note, print_table, record

if TYPE_CHECKING:
    from glassformer.run.exports import OnnxExport
    from glassformer.run.onnx_check import Int8Loss

_FEATURES = "For onnx: output hidden states and text vectors instead of predictions."
_POOLING = f"{POOLING}  Needs --features; last-token cannot be exported.  [default: the model's own]"
_TEXT = "For onnx: text on which the graph and the model are compared (repeatable).  [default: bundled texts]"
_DATA = (
    f"For onnx: labelled file on which the graph and the model are scored (repeatable): {DATA_FILES}.  [default: none]"
)


def export(
    model: ModelFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write.", show_default=False)],
    to: Annotated[Literal["huggingface", "onnx"], typer.Option("--to", help="Output format.")] = "huggingface",
    features: Annotated[bool, typer.Option("--features", help=_FEATURES)] = False,
    pooling: Annotated[list[str] | None, typer.Option("--pooling", "-p", metavar="POOLING", help=_POOLING)] = None,
    int8: Annotated[bool, typer.Option("--int8", help=f"{INT8}  Needs --to onnx.")] = False,
    text: Annotated[list[str] | None, typer.Option("--text", help=_TEXT)] = None,
    data: Annotated[list[str] | None, typer.Option("--data", metavar="FILE", help=_DATA)] = None,
    json: Json = False,
) -> None:
    """Write a model for other programs: a Hugging Face folder whose model gives the same outputs, or an encoder as an
    ONNX graph. The graph is compared with the model before it is saved.
    """
    from glassformer.run.exports import ExportOptions
    from glassformer.run.exports import export as write
    from glassformer.saved.artefact import Artefact
    from glassformer.saved.opening import open_as_saved
    from glassformer.training.progress import ConsoleProgress

    if pooling is not None and not features:
        raise ConfigError("--pooling makes the vector of --features", got="no --features", do="add it, or leave it out")
    if len(pooling or ()) > 1:
        raise ConfigError("a graph has one pooling", got=", ".join(pooling or ()), do="choose one")
    if to == "huggingface" and out.suffix == ".onnx":
        raise ConfigError("a graph needs --to onnx", got=str(out), do="add it; OUT is the name of a folder")
    options = ExportOptions(features, pooling[0] if pooling else None, int8, tuple(text or ()), tuple(data or ()))
    found = write(open_as_saved(model, Artefact), out, to, options, ConsoleProgress())
    if json:
        more = {} if found.onnx is None else found.onnx.to_dict()
        record({"model": str(out), "format": to, **more, "left_behind": list(found.left_behind)}, sys.stdout)
        return
    for sentence in found.left_behind:
        note(sentence)
    if found.onnx is not None:
        _show(found.onnx)
    print(out)


def _show(found: OnnxExport) -> None:
    from glassformer.run.onnx_check import REASON

    screen = console()
    heads = ("output", "largest difference", "from float64", "glassformer's own", "allowed")
    checked = found.checked
    rows = [
        (each.output, *(f"{of:.1e}" for of in (each.largest, each.onnxruntime, each.glassformer, each.allowed)))
        for each in checked.deviations
    ]
    print_table(screen, heads, rows, slice(1, None))
    screen.print(
        f"onnxruntime and glassformer in float32, on {checked.rows} rows of {checked.shortest} to {checked.longest} "
        "tokens, alone and padded to batches" + _same(checked.answers - checked.same, checked.answers)
    )
    screen.print(f"Allowed: {REASON}.")
    if found.int8 is not None:
        _show_int8(found.int8, scored=bool(found.scores))
    if found.scores:
        _show_scores(found)
    screen.print(", ".join(f"{name} {size / 1e6:,.1f} MB" for name, size in found.bytes.items()))


def _same(changed: int, answers: int) -> str:
    return f"; {answers - changed} of {answers} answers are the same." if answers else "."


def _show_int8(lost: Int8Loss, *, scored: bool) -> None:
    far = ", ".join(
        f"{name} by at most {apart:.2g} (the largest number is {scale:.2g})"
        for name, (apart, scale) in lost.largest.items()
    )
    cosine = "" if lost.least_cosine is None else f"; least cosine of a text's vector {lost.least_cosine:.5f}"
    screen = console()
    screen.print(f"8 bits change {far}{cosine}" + _same(lost.changed, lost.answers))
    screen.print("In 8 bits an answer also depends on the rest of its batch: one scale rounds all its numbers.")
    if not scored:
        screen.print("Too few texts to show what 8 bits cost: --data FILE scores both on labelled records.")


def _show_scores(found: OnnxExport) -> None:
    from glassformer.scoring.verdict import difference, shown

    graphs = ["float32", *(["int8", "int8 − float32"] if found.int8 is not None else [])]
    rows = []
    for each in found.scores:
        cells = ["" if its is None else shown(each.name, its[0]) for its in (each.glassformer, each.float32, each.int8)]
        if each.lost is not None:
            value, low, high = (difference(each.name, number) for number in each.lost)
            cells.append(f"{value} ({low} … {high})")
        rows.append((escaped(each.name.replace("_", " ")), *cells[: 1 + len(graphs)]))
    print_table(console(), ("", "glassformer", *graphs), rows, slice(1, None))
    remarks = ["float32 and int8: onnxruntime"]
    if found.int8 is not None:
        remarks.append("in brackets 95 % intervals by paired bootstrap over the examples")
    console().print(f"{'; '.join(remarks)}. --json has the interval of each score.")
