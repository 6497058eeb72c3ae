"""The errors a user can get. Each says what was wanted, what was found, and what to do."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pickle import PicklingError
from typing import ClassVar, Self

from glassformer.base.wrapping import in_one_line


class GlassformerError(Exception):
    """One clear sentence instead of a traceback. `wanted` is what was needed, `got` what was found instead (with file
    and line where there is one), `do` the next step a user can take. If `wanted` begins with "cannot", `got` is the
    reason. `exit_code` is that of the command line: 2 means that the request is impossible.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, wanted: str, *, got: str = "", do: str = "") -> None:
        self.wanted, self.got, self.do = wanted, got, do
        found = f"got {got}" if got else ""
        parts = [f"{wanted}: {got}", do] if got and wanted.startswith("cannot ") else [wanted, found, do]
        super().__init__("; ".join(in_one_line(_shortened(_without_stop(part))) for part in parts if part))


def _without_stop(part: str) -> str:
    """The part without a full stop at its end; an ellipsis stays, and so does the name of a folder."""
    return part if part.endswith(("...", " .", " ..")) else part.rstrip(".;")


def _shortened(part: str) -> str:
    """The part unchanged, or its two ends: what was found may be millions of characters on one line."""
    return part if len(part) <= 1000 else f"{part[:300]} ... {part[-100:]}"


@contextmanager
def from_system(
    kind: type[GlassformerError], wanted: str, *, do: str = "", also: type[Exception] = OSError
) -> Iterator[None]:
    """Inside, an error of the operating system, or one `also` of a library, is raised as this kind, with its reason."""
    try:
        yield
    except (OSError, also) as error:
        raise kind(wanted, got=getattr(error, "strerror", None) or str(error), do=do) from None


class ConfigError(GlassformerError):
    """A setting is unknown, impossible, or contradicts another one."""


class ShapeError(GlassformerError):
    """A tensor has another shape than the one needed."""


class DataError(GlassformerError):
    """A file or a row of it cannot be used. `where` and `row` are its file, line and content, where known;
    `left_out_by` is the setting of `[data]` by which such rows are left out: only the error of a row has it. `ends`:
    the rest of the file cannot be read.
    """

    where: str = ""
    row: object = None
    left_out_by: str = ""
    ends: bool = False

    def about(self, where: str, row: object) -> Self:
        """The same error, with the row that it is about, for a file of rejects."""
        self.where, self.row = where, row
        return self


class MissingColumnError(DataError):
    """A table or a row has no column of the name or number that was asked for."""


class TokenizerError(GlassformerError):
    """A tokenizer cannot be read, or does not fit its model."""


class CheckpointError(GlassformerError):
    """A saved model is missing, cut short, of another version, or unsafe to open."""


class PickleRefusedError(GlassformerError, PicklingError):
    """A model is never written by pickle, or by anything that uses it."""


class DeviceError(GlassformerError):
    """The device or precision asked for is not available."""


class TrainingError(GlassformerError):
    """Training had to stop: numbers that are not finite, a full disk."""


class NotFiniteError(TrainingError):
    """A loss or gradient is not finite. The request was possible, but it failed: exit code 1."""

    exit_code: ClassVar[int] = 1


class PackageError(GlassformerError):
    """A package is missing or too old; `needs` is the range of its versions, such as `>=2.6`."""

    def __init__(self, package: str, *, needs: str, got: str | None) -> None:
        super().__init__(
            f"glassformer needs the package {package}{needs}" + (", which is not installed" if got is None else ""),
            got=got or "",
            do=f"install it with: pip install '{package}{needs}'",
        )


EXTRAS = {
    "hub": "fetching a model of the Hugging Face hub",
    "tensorboard": "--track tensorboard",
    "mlflow": "--track mlflow",
    "serve": "a server",
    "notebook": "a live page in a notebook",
    "faiss": "searching with faiss",
    "sentencepiece": "reading a sentencepiece model",
    "ray": "--ray",
    "fast": "an engine other than torch",
    "onnx": "an export to ONNX",
}
"""What each extra is for: `doctor` and the commands that need it say the same sentence."""


class MissingExtraError(PackageError):
    """An optional package is needed for what was asked."""

    def __init__(self, package: str, *, extra: str) -> None:
        GlassformerError.__init__(
            self,
            f"{EXTRAS[extra]} needs the package {package}, which is not installed",
            do=f"install it with: pip install 'glassformer[{extra}]'",
        )


class UnknownNameError(GlassformerError, KeyError):
    """A tensor, word or cell was asked for by a name that does not exist."""

    __str__ = Exception.__str__


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, or the known names when none is near."""
    known = list(known)
    near = difflib.get_close_matches(name[:200], known, n=1, cutoff=0.6)  # of millions of characters it takes seconds
    if near:
        return f"did you mean {near[0]!r}?"
    return f"choose from: {', '.join(sorted(known))}" if len(known) <= 40 else ""
