"""The formats that a model can be exported to: one row of a table each."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from glassformer.base.errors import ConfigError, did_you_mean
from glassformer.run.onnx_folder import ExportOptions, OnnxExport, write_onnx
from glassformer.saved.artefact import Artefact
from glassformer.training.progress import NoProgress, Progress


class Export(NamedTuple):
    """A folder that was written: its format, what is not exported, in sentences, and what an export to ONNX found."""

    folder: Path
    format: str
    left_behind: tuple[str, ...]
    onnx: OnnxExport | None = None


class Format(NamedTuple):
    """How a format is written, and which options it has."""

    write: Callable[[Artefact, Path, ExportOptions, Progress], Export]
    options: tuple[str, ...] = ()


def _huggingface(model: Artefact, folder: Path, options: ExportOptions, progress: Progress) -> Export:
    from glassformer.saved.foreign import write_foreign

    return Export(folder, "huggingface", write_foreign(model, folder))


def _onnx(model: Artefact, folder: Path, options: ExportOptions, progress: Progress) -> Export:
    found = write_onnx(model, folder, options, progress)
    return Export(folder, "onnx", found.left_behind, found)


FORMATS: Mapping[str, Format] = {
    "huggingface": Format(_huggingface),
    "onnx": Format(_onnx, ("features", "pooling", "int8", "texts", "data")),
}


def export(
    model: Artefact, folder: str | Path, to: str, options: ExportOptions, progress: Progress | None = None
) -> Export:
    """Write a model in a format; raises ConfigError for an unknown format or option."""
    if to not in FORMATS:
        raise ConfigError(f"there is no format {to!r}", do=did_you_mean(to, FORMATS))
    for name in options.chosen:
        if name not in FORMATS[to].options:
            having = [other for other, its in FORMATS.items() if name in its.options]
            raise ConfigError(
                f"{name} is an option of an export to {' or '.join(having)}",
                got=f"an export to {to}",
                do="leave it out",
            )
    return FORMATS[to].write(model, Path(folder), options, progress or NoProgress())
