"""Files as values of JSON: tensors and tables by names, shapes and checksums."""

import base64
import gzip
import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_DATA = re.compile(r'<script type="(application/(?:json|gzip))" id="([^"]*)">(.*?)</script>', re.DOTALL)
# Parts of a page that are texts of the documents, the same for every model.
_WORDING, _OWN = {"tour", "pictures", "quiz", "documents"}, re.compile(r"page-style|part-.*")


def digest(content: bytes) -> str:
    """A checksum of bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def numbers(array: npt.NDArray[Any]) -> dict[str, Any]:
    """An array: its bits by a checksum, and what another processor must nearly reach."""
    found: dict[str, Any] = {"shape": list(array.shape), "bits": digest(np.ascontiguousarray(array).tobytes())}
    if array.dtype.kind in "fiub" and array.size:
        flat = array.astype(np.float64).ravel()
        kept = flat[np.isfinite(flat)]
        found["size"] = float(np.abs(kept).sum())
        found["sum"] = float(kept.sum())
        found["first"] = [float(value) for value in flat[:4]]
        found["infinite"] = int(flat.size - kept.size)
    return found


def tensors(path: Path) -> dict[str, Any]:
    """Each tensor of a safetensors file, and the file's own checksum."""
    import torch
    from safetensors.torch import load_file

    found: dict[str, Any] = {}
    for name, tensor in sorted(load_file(path).items()):
        exact = tensor.to(torch.float64) if tensor.is_floating_point() else tensor
        found[name] = {"dtype": str(tensor.dtype), **numbers(exact.numpy())}
    return found


def graph(path: Path) -> dict[str, Any]:
    """An ONNX graph: inputs, outputs, operations by number, weights by checksum."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    weights = sorted(digest(numpy_helper.to_array(each).tobytes()) for each in model.graph.initializer)
    return {
        "inputs": [each.name for each in model.graph.input],
        "outputs": [each.name for each in model.graph.output],
        "operations": dict(sorted(Counter(node.op_type for node in model.graph.node).items())),
        "weights": {"count": len(weights), "bits": digest("".join(weights).encode())},
    }


def page(text: str) -> dict[str, Any]:
    """The sections of data in a page; not its script and style."""
    found: dict[str, Any] = {}
    for kind, name, content in _DATA.findall(text):
        if _OWN.fullmatch(name):
            continue
        if name in _WORDING:
            found[name] = None
            continue
        raw = gzip.decompress(base64.b64decode(content)) if kind.endswith("gzip") else content.encode()
        try:
            found[name] = json.loads(raw)
        except ValueError:
            found[name] = {"bytes": len(raw), "bits": digest(raw)}
    return found


def _parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    # Without threads: a command that is forked later would wait for those of this process.
    return pq.read_table(path, use_threads=False, pre_buffer=False).to_pydict()


def _safe_json(text: str) -> Any:
    return json.loads(text) if text.strip() else None


def _vectors(path: Path) -> Any:
    return numbers(np.load(path, allow_pickle=False))


READERS: dict[str, Callable[[Path], Any]] = {
    ".json": lambda path: _safe_json(path.read_text(encoding="utf-8")),
    ".jsonl": lambda path: lines(path.read_text(encoding="utf-8")),
    ".toml": lambda path: tomllib.loads(path.read_text(encoding="utf-8")),
    ".txt": lambda path: path.read_text(encoding="utf-8").splitlines(),
    ".html": lambda path: page(path.read_text(encoding="utf-8")),
    ".safetensors": tensors,
    ".npy": _vectors,
    ".parquet": _parquet,
    ".onnx": graph,
}


def lines(text: str) -> list[Any]:
    """JSON lines; a line that is none stays a text."""
    found: list[Any] = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append(line)
    return found


def read(path: Path) -> Any:
    """The value of a file; of a kind without a reader, a checksum."""
    reader = READERS.get(path.suffix)
    try:
        return reader(path) if reader else {"bits": digest(path.read_bytes())}
    except ValueError as error:
        return {"unreadable": type(error).__name__, "bits": digest(path.read_bytes())}
