"""The formats that a model can be exported to."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from glassformer.base.errors import ConfigError, did_you_mean
from glassformer.run.onnx_folder import ExportOptions, OnnxExport, write_onnx
from glassformer.saved.artefact import Artefact
from glassformer.saved.foreign import write_foreign
from glassformer.training.progress import NoProgress, Progress


class Export(NamedTuple):
    """A folder that was written: its format, what is not exported, in sentences, and what an export to ONNX found."""

    folder: Path
    format: str
    left_behind: tuple[str, ...]
    onnx: OnnxExport | None = None


OPTIONS: Mapping[str, tuple[str, ...]] = {"huggingface": (), "onnx": ("features", "pooling", "int8", "texts", "data")}
"""The formats, each with the options that it has."""


def export(
    model: Artefact, folder: str | Path, to: str, options: ExportOptions, progress: Progress | None = None
) -> Export:
    """Write a model in a format; raises ConfigError for an unknown format or option."""
    if to not in OPTIONS:
        raise ConfigError(f"there is no format {to!r}", do=did_you_mean(to, OPTIONS))
    for name in options.chosen:
        if name not in OPTIONS[to]:
            having = " or ".join(other for other, its in OPTIONS.items() if name in its)
            wanted = f"{name} is an option of an export to {having}"
            raise ConfigError(wanted, got=f"an export to {to}", do="leave it out")
    folder = Path(folder)
    if to == "huggingface":
        return Export(folder, to, write_foreign(model, folder))
    found = write_onnx(model, folder, options, progress or NoProgress())
    return Export(folder, to, found.left_behind, found)
