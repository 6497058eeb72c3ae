"""A saved model: one directory that holds all of it, written atomically.

`glassformer.json` holds all that is needed to rebuild the model, and marks the directory as one in our format;
`model.safetensors` holds the weights, each shared one once; `tokenizer.json`, `recipe.toml`, `metrics.json` and a model
card are next to them. There is no pickle: opening a model never runs its code.

`glassformer.json` contains its own checksum, and those of weights, metrics, card and recipe. Damaged weights are
refused, damage of the others is shown by `changed_files`. After a change of glassformer.json by hand, its line
"checksum" must be deleted. A model that was saved without checksums is opened unchecked.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Optional, TypeVar

from pydantic import Field, create_model

from glassformer.base.atomic import current, replace_files
from glassformer.base.errors import CheckpointError, ConfigError, from_system
from glassformer.base.json_text import check_seal, file_checksum, read_json, sealed_json
from glassformer.base.paths import check_path, refuse_no_path
from glassformer.base.pickles import refuse_pickles
from glassformer.base.settings import Settings, read_settings
from glassformer.config import ModelConfig
from glassformer.data.settings import DataSection
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import RECIPE, write_recipe
from glassformer.saved.weights import Header, blocks_in, build_with, read_weights_header, write_weights
from glassformer.tasks import task_named
from glassformer.tasks.settings import TaskSection
from glassformer.text.chat_template import ChatTemplates
from glassformer.text.compatible import check_compatible
from glassformer.text.load import load_tokenizer
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import FILE, TARGET_FILE, Tokenizer

FORMAT = 2
SETTINGS, WEIGHTS, METRICS, CARD = "glassformer.json", "model.safetensors", "metrics.json", "README.md"
TOKENIZERS = (FILE, TARGET_FILE)
_CHECKED = (WEIGHTS, METRICS, CARD, RECIPE)
FILES = (SETTINGS, WEIGHTS, FILE, RECIPE, METRICS, CARD)
"""Of a model with one vocabulary; TARGET_FILE beside them where translations have their own."""
# Files that identify a folder with a model, of ours or of others, in one file or in shards; and those that saving one
# would replace.
_OF_A_MODEL = (SETTINGS, "config.json", "*model*.safetensors", "*model*.bin", METRICS, CARD)
Kind = TypeVar("Kind", bound=Artefact)
# Bytes that no glassformer.json exceeds: for labels and tokens, and for each tensor of its blocks. A larger one is
# refused unread, as reading it could take gigabytes.
_LARGEST, _LARGEST_PER_TENSOR = 1 << 24, 1 << 13


class TokenizerFacts(Settings):
    """The model's tokenizer: the SHA-256 of its file, or of its two, and which token has which role."""

    sha256: str
    roles: SpecialTokens


class TemplateFacts(Settings):
    """How a decoder writes the turns of a conversation: its templates by name, and the tokens that they may write."""

    texts: dict[str, str]
    tokens: dict[str, str] = Field(default_factory=dict)


class Facts(Settings):
    """What `glassformer.json` holds, to rebuild the model and find its held-out text; `checksums` are CRC-32."""

    format: int
    made_by: str = ""
    family: str
    model: ModelConfig
    task: TaskSection | None = None
    length: int | None = Field(default=None, ge=1)
    data: DataSection | None = None
    tokenizer: TokenizerFacts | None = None
    token_settings: dict[str, Any] = Field(default_factory=dict)
    generation: dict[str, Any] = Field(default_factory=dict)
    chat_templates: TemplateFacts | None = None
    checksums: dict[str, str] = Field(default_factory=dict)


@cache
def facts_class(task: str | None) -> type[Facts]:
    if task is None:
        return create_model("Facts", __base__=Facts, task=(None, None))
    kind = task_named(task)
    return create_model("Facts", __base__=Facts, task=(kind.Section, ...), data=(Optional[kind.Data], None))  # type: ignore[arg-type]  # noqa: UP045 - a type that is made here


def write(directory: str | Path, saved: Artefact) -> Path:
    """Save a model; an older one stays whole until the new one is complete. Raises CheckpointError."""
    refuse_no_path(directory, CheckpointError)
    saved.needs_weights("a saved model")
    directory = Path(directory)
    do = "what was there before is unchanged: free disk space, or choose another folder"
    failing = from_system(CheckpointError, f"cannot save a model to {directory}", do=do)
    with failing, replace_files(directory, (*FILES, TARGET_FILE)) as folder:
        _write_files(folder, saved)
    return directory


def read(directory: str | Path, kind: type[Kind]) -> Kind:
    """Read a model on the CPU in its saved type; the recipe is read on first access, and damaged metrics are a note.
    Raises CheckpointError.
    """
    given = Path(directory)
    directory = current(given)
    if not (directory / SETTINGS).is_file():
        refuse_pickles(directory)
        raise CheckpointError(f"{directory} is not a saved model: it has no {SETTINGS}")
    header = read_weights_header(directory / WEIGHTS)
    facts = read_facts(directory / SETTINGS, header)
    module = build_with(facts.model, directory / WEIGHTS, header, checksum=facts.checksums.get(WEIGHTS))
    tokenizer = None if facts.tokenizer is None else _tokenizer(directory, facts.tokenizer, facts.model)
    metrics, notes = _metrics(directory / METRICS, facts.checksums.get(METRICS))
    card = directory / CARD
    said = facts.chat_templates
    return kind(
        module,
        tokenizer,
        task=facts.task,
        length=facts.length,
        data=facts.data,
        token_settings=facts.token_settings,
        generation=facts.generation,
        templates=None if said is None else ChatTemplates(said.texts, said.tokens),
        metrics=metrics,
        # Users may edit the card in any way: nothing in it must keep a model from being opened.
        card=card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
        notes=notes,
        source=given,
    )


def is_ours(directory: str | Path) -> bool:
    return os.path.isfile(current(Path(directory)) / SETTINGS)


def changed_files(directory: str | Path) -> tuple[str, ...]:
    """The files of a saved model that no answer depends on (scores, card, recipe) and that have changed since it was
    saved; none of a model that was saved without their checksums.
    """
    directory = current(Path(directory))
    known = _json(directory / SETTINGS).get("checksums") if (directory / SETTINGS).is_file() else None
    saved = known if isinstance(known, dict) else {}
    return tuple(
        name
        for name in _CHECKED[1:]
        if name in saved and not ((directory / name).is_file() and file_checksum(directory / name) == saved[name])
    )


def refuse_a_model(directory: str | Path, what: str) -> None:
    """Raise CheckpointError when a directory holds a model, or a file that one would replace."""
    check_path(directory, CheckpointError, utf8=True)
    directory = Path(directory)
    folders = {directory, current(directory)}
    if found := sorted(path.name for folder in folders for name in _OF_A_MODEL for path in folder.glob(name)):
        raise CheckpointError(
            f"{what} needs a folder without a model",
            got=f"{directory}, which holds {'a model' if set(found) - {METRICS, CARD} else found[0]}",
            do="choose another folder, or remove this one first",
        )


def read_facts(path: Path, header: Header) -> Facts:
    """`glassformer.json`, compared with the weights before anything is built. Raises CheckpointError."""
    size, largest = path.stat().st_size, _LARGEST + len(header) * _LARGEST_PER_TENSOR
    if size > largest:
        raise CheckpointError(f"{path} must describe the {len(header)} weights next to it", got=f"{size:,} bytes")
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
        if "checksum" in values:
            check_seal(values)
        said = {name: value for name, value in values.items() if name != "checksum"}
        task = said["task"].get("name") if isinstance(said.get("task"), dict) else None
        if task is not None and not isinstance(task, str):
            raise ConfigError("task.name must be a word", got=repr(task)[:60])
        facts = read_settings(facts_class(task), said, where=str(path))
    except (ConfigError, ValueError) as error:
        raise CheckpointError(
            f"{path} must describe a model as it was saved",
            got=str(error),
            do='copy or download it again; if you changed it yourself, delete its line "checksum"',
        ) from None
    return facts


def _compare_blocks(path: Path, values: Mapping[str, Any], header: Header) -> None:
    """Compare the number of blocks before the settings of each are read: a file may claim any number of them."""
    model = values.get("model")
    for name in ("encoder", "decoder"):
        stack = model.get(name) if isinstance(model, dict) else None
        blocks = stack.get("blocks") if isinstance(stack, dict) else None
        if isinstance(blocks, list) and len(blocks) != blocks_in(header, name):
            raise CheckpointError(
                f"{path} must describe the weights next to it, with {blocks_in(header, name)} blocks in the {name}",
                got=f"{len(blocks)}",
            )


def _write_files(directory: Path, saved: Artefact) -> None:
    write_weights(directory / WEIGHTS, saved.module)
    tokenizer = None
    if saved.has_tokenizer:
        saved.tokenizer.save(directory)
        tokenizer = TokenizerFacts(sha256=_sha256(directory), roles=saved.tokenizer.special)
    if saved.recipe is not None:
        write_recipe(directory, saved.recipe, saved.tokenizer if saved.has_tokenizer else None)
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in _finite(saved.metrics).items()]
    (directory / METRICS).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")  # one line per metric
    (directory / CARD).write_text(saved.card, encoding="utf-8")
    from glassformer import __version__

    facts = facts_class(None if saved.task is None else saved.task.name)(
        format=FORMAT,
        made_by=f"glassformer {__version__}",
        family=saved.module.config.family,
        model=saved.module.config,
        task=saved.task,
        length=saved.length,
        data=saved.data,
        tokenizer=tokenizer,
        token_settings=dict(saved.token_settings),
        generation=dict(saved.generation),
        chat_templates=None
        if saved.templates is None
        else TemplateFacts(texts=dict(saved.templates.texts), tokens=dict(saved.templates.tokens)),
        checksums={name: file_checksum(directory / name) for name in _CHECKED if (directory / name).is_file()},
    )
    (directory / SETTINGS).write_text(sealed_json(json.loads(facts.model_dump_json())), encoding="utf-8")


def _finite(value: Any) -> Any:
    """The values with null for infinity and NaN, which JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
    """The metrics, {} when they are damaged, and a note in this case."""
    if not path.is_file():
        return {}, ()
    try:
        if checksum is not None and file_checksum(path) != checksum:
            raise ValueError("its checksum does not match")
        return _json(path), ()
    except (OSError, ValueError, CheckpointError):
        return {}, (f"{path} is damaged and was not read: the model is whole, but its scores are unknown",)


def _tokenizer(directory: Path, facts: TokenizerFacts, model: ModelConfig) -> Tokenizer:
    path = directory / FILE
    if not path.is_file():
        raise CheckpointError(
            f"the model's tokenizer is needed at {path}",
            got="no such file",
            do="copy it from where the model was saved, or save the model again",
        )
    tokenizer = load_tokenizer(directory)
    check_compatible(tokenizer, model)
    if _sha256(directory) != facts.sha256:
        raise CheckpointError(
            f"{path} must be the tokenizer that was saved with the model",
            got="another one",
            do="put the original back: the model's ids belong to its tokens",
        )
    return tokenizer if facts.roles == tokenizer.special else tokenizer.with_roles(facts.roles)


def _sha256(directory: Path) -> str:
    there = (directory / name for name in TOKENIZERS if (directory / name).is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in there)).hexdigest()
