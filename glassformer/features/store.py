"""Vectors of any number of texts in a file: in bounded memory, each text exactly once, the file whole or absent.

While they are made they are in the folder OUT.partial, one file of raw numbers for each feature, and `state.json` says
how many texts are whole, how long each file is at this point, and what its checksum is. What a killed command wrote
after this point is cut off by the next one. At the end OUT is written from these files and the folder removed.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glassformer.base.atomic import atomic_write, flush_one, lock
from glassformer.base.errors import DataError
from glassformer.base.json_text import read_sealed_json
from glassformer.base.outputs import not_left_here, refuse_another_request, written_by_another
from glassformer.base.paths import check_path, follow_links
from glassformer.features.streams import MADE_FOR, STATE, WRITERS, Format, VectorsFile

_LOCK = "lock"


def kind_of(out: Path, features: Sequence[str], *, words: bool) -> str:
    """The format of a file by its name; raises DataError for one that cannot hold these vectors."""
    kind = out.suffix.lower().removeprefix(".")
    if kind not in WRITERS:
        raise DataError(
            "vectors are written to a .npy, .parquet or .safetensors file, with --json to any file as JSON Lines",
            got=str(out),
        )
    if kind == "npy" and words:
        raise DataError(
            "a .npy file holds only an array, without the word of each vector",
            got=str(out),
            do="write to .parquet or .safetensors",
        )
    if kind == "npy" and len(features) > 1:
        raise DataError(
            "a .npy file holds one kind of vector",
            got=f"{len(features)}: {', '.join(features)}",
            do="write to .parquet or .safetensors, or choose one strategy and one pooling",
        )
    return kind


@contextmanager
def vectors_file(
    out: Path,
    features: Sequence[str],
    widths: Sequence[int],
    request: Mapping[str, Any] | None,
    *,
    words: bool,
    resume: bool,
    format: Format | None = None,
) -> Iterator[VectorsFile]:
    """Inside, add the vectors; at the end they are in `out`, whatever was there before.

    Vectors of a command that was stopped or killed are kept, and with `resume` the same request continues after them.
    `request` is what the vectors depend on, as JSON: what has changed is named; None where nothing can be resumed, so
    that nothing is kept. `format` is by default that of the name of `out`. Raises DataError where the vectors cannot be
    written, are of another request or damaged, and without `resume` when there are some.
    """
    check_path(out, DataError)
    out = follow_links(out, DataError)
    format = Format(WRITERS[kind_of(out, features, words=words)]) if format is None else format
    folder = out.with_name(f"{out.name}.partial")
    try:
        plain = json.loads(json.dumps(request))
        writing = VectorsFile(folder, tuple(features), tuple(widths), words, plain, format)
        _begin(writing, out, resume=resume)
        with _locked(folder, out):
            try:
                yield from _written(writing, out)
            except KeyboardInterrupt as stopped:
                if _clean(folder, keep=request is not None):
                    stopped.add_note(f"{writing.kept:,} texts are kept in {folder}")
                raise
            except BaseException:
                _clean(folder, keep=request is not None)
                raise
        shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        kept = "what is written is kept: free disk space, then add --resume" if (folder / STATE).is_file() else ""
        raise DataError(
            f"cannot write {format.what} to {out}", got=error.strerror or str(error), do=kept or "choose another path"
        ) from None


def _written(writing: VectorsFile, out: Path) -> Iterator[VectorsFile]:
    """The file to put vectors into, and then what is written from them."""
    for stream in writing.streams.values():
        stream.open()
    try:
        yield writing
    finally:
        for stream in writing.streams.values():
            stream.close()
    if not writing.texts:
        raise DataError("at least one text is needed", got="none")
    with atomic_write(out) as draft:
        try:
            writing.format.write(draft, writing)
        except DataError:  # nothing can be made of these texts: there is nothing to continue
            (writing.folder / STATE).unlink(missing_ok=True)
            raise
    flush_one(out.parent)


def _clean(folder: Path, *, keep: bool) -> bool:
    """Remove the folder where no text in it is whole, or is to be kept; whether there are some."""
    if keep and (folder / STATE).is_file():
        return True
    if (folder / _LOCK).is_file():
        shutil.rmtree(folder, ignore_errors=True)
    return False


@contextmanager
def _locked(folder: Path, out: Path) -> Iterator[None]:
    with (folder / _LOCK).open("wb") as handle:
        if not lock(handle.fileno()):
            raise written_by_another(out, "vectors")
        yield


def _begin(new: VectorsFile, out: Path, *, resume: bool) -> None:
    """Go on from what is whole; raises DataError where that is not possible, or was not asked for."""
    if out.exists() and not (new.format.is_folder or out.is_file()):
        raise DataError("vectors need a file", got=f"{out}, which is something else", do="choose another --out")
    folder = new.folder
    if not (folder / STATE).exists():
        if folder.exists() and not (folder / _LOCK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise not_left_here(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return
    try:
        known = read_sealed_json(folder / STATE)
        if known.get("made_for") != MADE_FOR:
            raise ValueError("another file")
        texts, rows, files = int(known["texts"]), int(known["rows"]), dict(known["files"])
        was = dict(known["request"] or {})
    except (OSError, ValueError, KeyError, TypeError):
        raise not_left_here(folder) from None
    if known["request"] is None:  # of a command that was killed and cannot go on
        return
    if not resume:
        raise DataError(
            f"vectors for {out} must not replace those of another command",
            got=f"{texts:,} texts of a stopped command, in {folder}",
            do="add --resume to continue with them, delete that folder to start over, or choose another --out",
        )
    refuse_another_request(was, new.request or {}, folder)
    if files.keys() != new.streams.keys():
        raise not_left_here(folder)
    for name, stream in new.streams.items():
        stream.size, stream.checksum = files[name]
        if not stream.is_whole():
            raise not_left_here(folder)
    new.texts, new.rows, new.kept, new.with_ids = texts, rows, texts, bool(known["with_ids"])
