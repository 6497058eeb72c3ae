"""A saved model: one directory that holds all of it, whole or not at all.

`glassformer.json` says how to rebuild the model, and that the directory is ours; `model.safetensors` holds the
weights, each shared one once; `tokenizer.json`, `recipe.toml`, `metrics.json` and a model card stand beside them.
There is no pickle: opening a model never runs code that came with it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from glassformer.artefact.weights import build_with, write_weights
from glassformer.config import (
    DataSection,
    ModelConfig,
    Recipe,
    Settings,
    TaskSection,
    read_settings,
    read_toml,
    write_toml,
)
from glassformer.errors import CheckpointError, ConfigError
from glassformer.models.transformer import Transformer
from glassformer.paths import check_path
from glassformer.pickles import refuse_pickles
from glassformer.text.fit import check_fit
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.whole import replacing, settled

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


class TokenizerFacts(Settings):
    """Which tokenizer belongs to the model: the SHA-256 of its file, and which piece plays which role."""

    sha256: str
    roles: SpecialTokens


class Facts(Settings):
    """What `glassformer.json` holds: all that is needed to rebuild the model and to find its held-out text again."""

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


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A saved model in memory. Only the module is needed; what is not known is None or empty.

    `length`: pieces in the longest row the model has learned from. `data`: how its text was cut and split. `tokens`:
    Hugging Face's pieces with a role, where the model came from there.
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

    Raises CheckpointError when the directory is none of ours, lacks a file, was cut short, or is of another version.
    """
    directory = settled(Path(directory))
    facts = read_facts(directory)
    module = build_with(facts.model, directory / WEIGHTS)
    tokenizer = None if facts.tokenizer is None else _tokenizer(directory / TOKENIZER, facts.tokenizer, facts.model)
    metrics, card = directory / METRICS, directory / CARD
    return Saved(
        module=module,
        tokenizer=tokenizer,
        task=facts.task,
        labels=facts.labels,
        length=facts.length,
        data=facts.data,
        tokens=facts.tokens,
        metrics=_json(metrics) if metrics.is_file() else {},
        # People edit the card as they like: no byte of it keeps a model from being opened.
        card=card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
    )


def read_recipe(directory: str | Path) -> Recipe | None:
    """The recipe a model was made from, None where there is none; raises ConfigError when it cannot be read."""
    path = settled(Path(directory)) / RECIPE
    return read_settings(Recipe, read_toml(path), where=str(path)) if path.is_file() else None


def is_ours(directory: str | Path) -> bool:
    """Whether a directory holds a saved model of ours."""
    return (settled(Path(directory)) / SETTINGS).is_file()


def refuse_a_model(directory: str | Path, what: str) -> None:
    """Raise CheckpointError when a directory holds a model: nothing that a person makes takes its place unasked."""
    check_path(directory, CheckpointError, utf8=True)
    directory = Path(directory)
    if any(any(folder.glob(name)) for folder in (directory, settled(directory)) for name in _OF_A_MODEL):
        raise CheckpointError(
            f"{what} needs a folder of its own",
            got=f"{directory}, which holds a model",
            do="choose another folder, or remove that one first",
        )


def read_facts(directory: Path) -> Facts:
    """What `glassformer.json` says; raises CheckpointError for another version or a damaged file."""
    path = directory / SETTINGS
    if not path.is_file():
        refuse_pickles(directory)
        raise CheckpointError(f"a saved model is needed at {directory}", got=f"no {SETTINGS} there")
    values = _json(path)
    if values.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} must be of format {FORMAT}, which this glassformer reads",
            got=f"format {values.get('format')!r}",
            do="open it with the glassformer that saved it"
            + (f" ({values['made_by']})" if values.get("made_by") else ""),
        )
    try:
        return read_settings(Facts, values, where=str(path))
    except ConfigError as error:
        raise CheckpointError(f"{path} must describe a model", got=str(error)) from None


# --------------------------------------------------------------------------- writing


def _write_files(directory: Path, saved: Saved) -> None:
    write_weights(directory / WEIGHTS, saved.module)
    tokenizer = None
    if saved.tokenizer is not None:
        path = saved.tokenizer.save(directory)
        tokenizer = TokenizerFacts(sha256=_sha256(path), roles=saved.tokenizer.special)
    if saved.recipe is not None:
        write_toml(saved.recipe, directory / RECIPE)
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
    )
    (directory / SETTINGS).write_text(facts.model_dump_json(indent=2) + "\n", encoding="utf-8")


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
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} must be a JSON file", got=f"one that cannot be read ({error})") from None
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object", got=type(values).__name__)
    return values


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
