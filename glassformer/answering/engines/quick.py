"""A saved model whose few texts are answered in numpy: torch is not imported, which takes longer than the answers."""

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from glassformer.answering.engines.arrays import ArrayModel
from glassformer.base.atomic import current
from glassformer.base.errors import CheckpointError, GlassformerError
from glassformer.bundled.travelling import located
from glassformer.saved.described import Described
from glassformer.saved.facts import WEIGHTS, Header, read_with
from glassformer.tasks import predictor_of
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row

# Characters times bytes of weights up to which numpy answers before torch is imported: 0.2 to 0.8 s
# (decisions/2026-11-26-cold-start.md).
_MOST = 3e10


class Quick(Described):
    """A model that answers texts one by one. It is only read: what needs weights or gradients opens the model."""

    module: ArrayModel

    def rows_by(
        self, predictor: Predictor[Any, Any], module: Any, rows: Sequence[Row], fast: bool
    ) -> Generator[tuple[int, Any], None, None]:
        for place, row in enumerate(rows):
            yield place, predictor.found(row, self.module.answers(row, predictor.head))


def opened(path: str | Path, verb: str, characters: int) -> Quick | None:
    """The model at this path or of this name; None where torch must answer, or say what is wrong."""
    folder = current(Path(located(path)))
    try:
        if not predictor_of(verb).head or (folder / WEIGHTS).stat().st_size * characters > _MOST:
            return None
        model = read_with(
            folder, Quick, _header, lambda config, path, header, *, checksum: ArrayModel(config, path, checksum)
        )
        head = predictor_of(verb, model.task_name, model.config).head
    except (GlassformerError, OSError, ValueError):  # ValueError: a name that no file can have
        return None
    return model if head in model.module.heads else None


def _header(path: Path) -> Header:
    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
            return {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices.items()}
    except SafetensorError as error:
        raise CheckpointError(f"{path} must be a whole safetensors file", got=str(error)) from None
