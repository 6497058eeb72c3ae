"""A saved model: one directory that holds all of it, whole or not at all.

`glassformer.json` says how to rebuild the model, and that the directory is ours; `model.safetensors` holds the
weights, each shared one once; `tokenizer.json`, `recipe.toml`, `metrics.json` and a model card stand beside them.
There is no pickle: opening a model never runs code that came with it.

`glassformer.json` carries a checksum of its own, and those of the weights and the metrics: damage is refused. Whoever
changes it by hand deletes its line "checksum". A model that was saved without checksums is opened as it is.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from glassformer.artefact.weights import Header, blocks_in, build_with, read_weights_header, write_weights
from glassformer.checksum import check_seal, check_sealed_text, file_checksum, sealed_json, sealed_text
from glassformer.config import (
    DataSection,
    ModelConfig,
    Recipe,
    Settings,
    TaskSection,
    read_settings,
    read_toml,
    toml_of,
)
from glassformer.errors import CheckpointError, ConfigError
from glassformer.json_text import read_json
from glassformer.models.transformer import Transformer
from glassformer.pickles import refuse_pickles
from glassformer.text.fit import check_fit
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.whole import drafted, replacing, settled

FORMAT = 1
SETTINGS, WEIGHTS, TOKENIZER, RECIPE, METRICS, CARD = (
    "glassformer.json",
    "model.safetensors",
    "tokenizer.json",
    "recipe.toml",
    "metrics.json",
    "README.md",
)
FILES = (SETTINGS, WEIGHTS, TOKENIZER, RECIPE, METRICS, CARD)
# What tells that a folder holds a model, ours or anybody's, in one file or in shards.
_OF_A_MODEL = (SETTINGS, "config.json", "*model*.safetensors", "*model*.bin")
# More than a glassformer.json can have: for labels and tokens, and for each tensor that its blocks have. A larger one
# is refused unread, as it would take gigabytes to read.
_LARGEST, _LARGEST_PER_TENSOR = 1 << 24, 1 << 13


class TokenizerFacts(Settings):
    """Which tokenizer belongs to the model: the SHA-256 of its file, and which piece plays which role."""

    sha256: str
    roles: SpecialTokens


class Facts(Settings):
    """What `glassformer.json` holds: all that is needed to rebuild the model and to find its held-out text again.

    `checksums` are the CRC-32 of files beside it, by name.
    """

    format: int
    made_by: str = ""
    family: str
    model: ModelConfig
    task: TaskSection | None = None
    labels: tuple[str, ...] = ()
    length: int | None = Field(default=None, ge=1)
    data: DataSection | None = None
    tokenizer: TokenizerFacts | None = None
    tokens: dict[str, Any] = Field(default_factory=dict)
    checksums: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A saved model in memory. Only the module is needed; what is not known is None or empty.

    `length`: pieces in the longest row the model has learned from. `data`: how its text was cut and split. `tokens`:
    Hugging Face's pieces with a role, where the model came from there. `notes`: what could not be read and is not
    needed, a sentence each.
    """

    module: Transformer
    tokenizer: Tokenizer | None = None
    task: TaskSection | None = None
    labels: tuple[str, ...] = ()
    length: int | None = None
    data: DataSection | None = None
    recipe: Recipe | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    tokens: Mapping[str, Any] = field(default_factory=dict)
    card: str = ""
    notes: tuple[str, ...] = ()


def write(directory: str | Path, saved: Saved) -> Path:
    """Save a model. An older one at this place stays whole until the new one is complete.

    Raises CheckpointError when the place cannot be written to or is full.
    """
    directory = Path(directory)
    try:
        with replacing(directory, FILES) as folder:
            _write_files(folder, saved)
    except OSError as error:
        raise CheckpointError(
            f"a model must be saved to {directory}",
            got=error.strerror or str(error),
            do="what was there before is unharmed: make room, or choose another place",
        ) from None
    return directory


def read(directory: str | Path) -> Saved:
    """Read a model back, on the CPU, its weights as they were saved; the recipe is left to `read_recipe`.

    Metrics that are damaged are left out and told of in `notes`: the model is as good without them. Raises
    CheckpointError when the directory is none of ours, lacks a file, was cut short, is damaged, or of another version.
    """
    directory = settled(Path(directory))
    if not (directory / SETTINGS).is_file():
        refuse_pickles(directory)
        raise CheckpointError(f"a saved model is needed at {directory}", got=f"no {SETTINGS} there")
    header = read_weights_header(directory / WEIGHTS)
    facts = read_facts(directory / SETTINGS, header)
    module = build_with(facts.model, directory / WEIGHTS, header, checksum=facts.checksums.get(WEIGHTS))
    tokenizer = None if facts.tokenizer is None else _tokenizer(directory / TOKENIZER, facts.tokenizer, facts.model)
    metrics, notes = _metrics(directory / METRICS, facts.checksums.get(METRICS))
    card = directory / CARD
    return Saved(
        module=module,
        tokenizer=tokenizer,
        task=facts.task,
        labels=facts.labels,
        length=facts.length,
        data=facts.data,
        tokens=facts.tokens,
        metrics=metrics,
        # People edit the card as they like: no byte of it keeps a model from being opened.
        card=card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
        notes=notes,
    )


def write_recipe(directory: Path, recipe: Recipe) -> None:
    """Write what a model or a run is made from; raises OSError when the disk does not take it."""
    with drafted(directory / RECIPE) as draft:
        draft.write_text(sealed_text(toml_of(recipe)), encoding="utf-8")


def read_recipe(directory: str | Path) -> Recipe | None:
    """What a model or a run was made from, None where that is not known; raises ConfigError when it is damaged."""
    path = settled(Path(directory)) / RECIPE
    if not os.path.isfile(path):  # not path.is_file(), which raises for a name that is too long
        return None
    values = read_toml(path)
    try:
        check_sealed_text(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(
            f"{path} must be as it was written",
            got=str(error),
            do="copy it again; after a change of your own, delete its last line",
        ) from None
    return read_settings(Recipe, values, where=str(path))


def is_ours(directory: str | Path) -> bool:
    """Whether a directory holds a saved model of ours."""
    return os.path.isfile(settled(Path(directory)) / SETTINGS)


def refuse_a_model(directory: str | Path, what: str) -> None:
    """Raise CheckpointError when a directory holds a model: nothing that a person makes takes its place unasked."""
    directory = Path(directory)
    if any(any(folder.glob(name)) for folder in (directory, settled(directory)) for name in _OF_A_MODEL):
        raise CheckpointError(
            f"{what} needs a folder of its own",
            got=f"{directory}, which holds a model",
            do="choose another folder, or remove that one first",
        )


def read_facts(path: Path, header: Header) -> Facts:
    """What `glassformer.json` says, compared with the weights beside it before anything is built.

    Raises CheckpointError for another version, a damaged file, or a model of other blocks than there are weights of.
    """
    size, largest = path.stat().st_size, _LARGEST + len(header) * _LARGEST_PER_TENSOR
    if size > largest:
        raise CheckpointError(f"{path} must describe the {len(header)} weights beside it", got=f"{size:,} bytes")
    values = _json(path)
    if values.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} must be of format {FORMAT}, which this glassformer reads",
            got=f"format {values.get('format')!r}",
            do="open it with the glassformer that saved it"
            + (f" ({values['made_by']})" if values.get("made_by") else ""),
        )
    _compare_blocks(path, values, header)
    try:
        facts = read_settings(
            Facts, {name: value for name, value in values.items() if name != "checksum"}, where=str(path)
        )
        if "checksum" in values:
            check_seal(values)
    except (ConfigError, ValueError) as error:
        raise CheckpointError(
            f"{path} must describe a model as it was saved",
            got=str(error),
            do='copy or download it again; after a change of your own, delete its line "checksum"',
        ) from None
    return facts


def _compare_blocks(path: Path, values: Mapping[str, Any], header: Header) -> None:
    """Before the settings of each block are looked at: there may be any number of them."""
    model = values.get("model")
    for name in ("encoder", "decoder"):
        stack = model.get(name) if isinstance(model, dict) else None
        blocks = stack.get("blocks") if isinstance(stack, dict) else None
        if isinstance(blocks, list) and len(blocks) != blocks_in(header, name):
            raise CheckpointError(
                f"{path} must describe the weights beside it, with {blocks_in(header, name)} blocks in the {name}",
                got=f"{len(blocks)}",
            )


# --------------------------------------------------------------------------- writing


def _write_files(directory: Path, saved: Saved) -> None:
    write_weights(directory / WEIGHTS, saved.module)
    tokenizer = None
    if saved.tokenizer is not None:
        path = saved.tokenizer.save(directory)
        tokenizer = TokenizerFacts(sha256=_sha256(path), roles=saved.tokenizer.special)
    if saved.recipe is not None:
        write_recipe(directory, saved.recipe)
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in _finite(saved.metrics).items()]
    (directory / METRICS).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")  # a line for each
    (directory / CARD).write_text(saved.card, encoding="utf-8")
    from glassformer import __version__

    facts = Facts(
        format=FORMAT,
        made_by=f"glassformer {__version__}",
        family=saved.module.config.family,
        model=saved.module.config,
        task=saved.task,
        labels=saved.labels,
        length=saved.length,
        data=saved.data,
        tokenizer=tokenizer,
        tokens=dict(saved.tokens),
        checksums={name: file_checksum(directory / name) for name in (WEIGHTS, METRICS)},
    )
    (directory / SETTINGS).write_text(sealed_json(json.loads(facts.model_dump_json())), encoding="utf-8")


def _finite(value: Any) -> Any:
    """JSON knows no infinity and no NaN: they become null."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --------------------------------------------------------------------------- reading


def _json(path: Path) -> dict[str, Any]:
    try:
        values = read_json(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} must be a JSON file", got=f"one that cannot be read ({error})", do="copy or download it again"
        ) from None
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object", got=type(values).__name__)
    return values


def _metrics(path: Path, checksum: str | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metrics, {} when they are damaged, and what is to be said then."""
    if not path.is_file():
        return {}, ()
    try:
        if checksum is not None and file_checksum(path) != checksum:
            raise ValueError("its checksum does not fit")
        return _json(path), ()
    except (OSError, ValueError, CheckpointError):
        return {}, (f"{path} is damaged and was not read: the model is whole, its scores are not known",)


def _tokenizer(path: Path, facts: TokenizerFacts, model: ModelConfig) -> Tokenizer:
    if not path.is_file():
        raise CheckpointError(f"the model's tokenizer is needed at {path}", got="no such file")
    tokenizer = Tokenizer.load(path)
    check_fit(tokenizer, model.output_stack.embed.vocabulary)
    if _sha256(path) != facts.sha256:
        raise CheckpointError(
            f"{path} must be the tokenizer that was saved with the model",
            got="another one",
            do="put the original back: other pieces would give the words other meanings",
        )
    if facts.roles == tokenizer.special:
        return tokenizer
    return Tokenizer(path.read_text(encoding="utf-8"), facts.roles)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
