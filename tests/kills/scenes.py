"""What is killed: commands and saves, each with how it is run again and which files it must end with."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from glassformer.cli.__main__ import main

WORDS = "She likes the summer better than winter He loves to cook healthy food They go hiking quite often".split()  # noqa: SIM905
SMALL = ["--size", "tiny", "--vocabulary", "160", "--length", "24", "--batch", "4", "--precision", "float32"]
OFTEN = ["--set", "train.checkpoint_every=2", "--set", "train.evaluate_every=5"]
# What differs between two undisturbed runs: how long they took, and the checksums of files that say so.
TIMES = frozenset({"seconds", "checksum", "checksums"})


@dataclass(frozen=True)
class Scene:
    """Something that is killed.

    `run(inputs, own, again)` is run in a process of its own and returns its exit code; `again` is False at first and
    where the second try is refused. `files(own)` are the files that must be the same in the end, and nothing but them
    may be left that matches `leftovers`. `served`: it answers until it is stopped, so its answers are what is compared.
    """

    name: str
    run: Callable[[Path, Path, bool], int]
    files: Callable[[Path], Mapping[str, str]]
    served: bool = False


def digests(*patterns: str) -> Callable[[Path], dict[str, str]]:
    """The digests of the files of a folder that match, by their names in it."""

    def of(own: Path) -> dict[str, str]:
        found = sorted({path for pattern in patterns for path in own.glob(pattern) if path.is_file()})
        return {str(path.relative_to(own)): sha256(path.read_bytes()).hexdigest() for path in found}

    return of


def a_model(own: Path) -> dict[str, str]:
    """The files of a trained model, its descriptions without times, and whatever was left over."""
    found = digests("out/model.safetensors", "out/tokenizer.json", "out/recipe.toml", *LEFT)(own)
    for name in ("out/glassformer.json", "out/metrics.json"):
        if (own / name).exists():
            facts = json.loads((own / name).read_text())
            found[name] = json.dumps({key: value for key, value in facts.items() if key not in TIMES})
    return found


# Whatever a killed process has left: drafts, partial results, files that are being put in place.
LEFT = ("**/.*", "**/*.partial*")


def command(*words: str, resumable: bool = False) -> Callable[[Path, Path, bool], int]:
    """A command; IN and OUT in its words are the folders of the inputs and of this scene."""

    def run(inputs: Path, own: Path, again: bool) -> int:
        filled = [word.replace("IN/", f"{inputs}/").replace("OUT/", f"{own}/") for word in words]
        return main([*filled, "--quiet", *["--resume"] * (again and resumable)])

    return run


def saves(inputs: Path, own: Path, again: bool) -> int:
    """A model over another: what is found of an interrupted save is one of the two, whole."""
    import glassformer as gf

    out = own / "out"
    models = [gf.load(inputs / name) for name in ("first", "second")]
    if again and out.exists():
        found = _weights(gf.load(out))
        assert found in [_weights(model) for model in models], "neither the model before nor the one after"
    for _ in range(4):
        for model in models:
            model.save(out)
    return 0


def _weights(model: object) -> str:
    digest = sha256()
    for name, tensor in model.module.state_dict().items():  # type: ignore[attr-defined]
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def converts(inputs: Path, own: Path, again: bool) -> int:
    """A model for an engine, kept in a folder of its own; then the answers of the engine."""
    os.environ["GLASSFORMER_CACHE"] = str(own / "cache")
    embed = command(
        "embed", "IN/first", "--file", "IN/few.txt", "--out", "OUT/v.safetensors", "--engine", "onnxruntime"
    )
    return embed(inputs, own, again)


def serves(inputs: Path, own: Path, again: bool) -> int:
    port = (own / "port").read_text()
    return main(["serve", str(inputs / "first"), "--port", port, "--json", *TORCH])


TORCH = ["--engine", "torch", "--threads", "1"]
ANSWER = ["--file", "IN/asked.txt", "--threads", "1"]
SCENES = [
    Scene(
        "train masked-lm",
        command("train", "masked-lm", "IN/notes.txt", *SMALL, *OFTEN, "--steps", "20", "-o", "OUT/out", resumable=True),
        a_model,
    ),
    Scene(
        "train classify",
        command(
            "train", "classify", "IN/labels.jsonl", *SMALL, *OFTEN, "--steps", "16", "--out", "OUT/out", resumable=True
        ),
        a_model,
    ),
    Scene(
        "fill --out",
        command("fill", "IN/first", *ANSWER, "--json", "--top", "2", "--out", "OUT/filled.jsonl", resumable=True),
        digests("filled.jsonl", *LEFT),
    ),
    Scene(
        "embed --out",
        command("embed", "IN/first", *ANSWER, "--out", "OUT/vectors.parquet", "--engine", "torch", resumable=True),
        digests("vectors.parquet", *LEFT),
    ),
    Scene("save", saves, a_model),
    Scene(
        "search build",
        command(
            "search",
            "build",
            "IN/first",
            "IN/asked.txt",
            "--engine",
            "torch",
            "--threads",
            "1",
            "--out",
            "OUT/index",
            resumable=True,
        ),
        digests("index/*", *LEFT),
    ),
    # Without compared.json, in which is how much faster the engine was.
    Scene("convert for an engine", converts, digests("v.safetensors", "cache/engines/*/[!c]*", *LEFT)),
    Scene("export", command("export", "IN/first", "OUT/hf"), digests("hf/*", *LEFT)),
    Scene("serve", serves, lambda own: {}, served=True),
]
