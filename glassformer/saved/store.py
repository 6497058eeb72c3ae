"""A saved model: one directory that holds all of it, written atomically.

`glassformer.json` holds all that is needed to rebuild the model, and marks the directory as one in our format;
`model.safetensors` holds the weights, each shared one once; `tokenizer.json`, `recipe.toml`, `metrics.json` and a model
card are next to them. There is no pickle: opening a model never runs its code.

`glassformer.json` contains its own checksum, and those of weights, metrics, card and recipe. Damaged weights are
refused, damage of the others is shown by `changed_files`. After a change of glassformer.json by hand, its line
"checksum" must be deleted. A model that was saved without checksums is opened unchecked.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from safetensors import SafetensorError

from glassformer import __version__
from glassformer.base.atomic import current, replace_files
from glassformer.base.errors import CheckpointError, from_system
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.base.paths import check_path, refuse_no_path
from glassformer.config import ModelConfig
from glassformer.convert.files import read_header, read_safetensors, save_tensors
from glassformer.models.transformer import Transformer
from glassformer.saved.artefact import Artefact
from glassformer.saved.facts import (
    CARD,
    FORMAT,
    METRICS,
    SETTINGS,
    TOKENIZERS,
    WEIGHTS,
    Header,
    TemplateFacts,
    TokenizerFacts,
    checksum_of,
    facts_class,
    json_of,
    read_with,
)
from glassformer.saved.recipe import RECIPE, write_recipe
from glassformer.text.tokenizer import FILE, TARGET_FILE

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["CARD", "CHECKPOINTS", "FILES", "FORMAT", "METRICS", "PROBE", "SETTINGS", "TOKENIZERS", "WEIGHTS"]

_CHECKED = (WEIGHTS, METRICS, CARD, RECIPE)
# What the training of a model leaves next to it.
CHECKPOINTS, PROBE = "checkpoints", "linear-probe.safetensors"
FILES = (SETTINGS, WEIGHTS, FILE, RECIPE, METRICS, CARD)
"""Of a model with one vocabulary; and TARGET_FILE where translations have their own."""
# Files that identify a folder with a model, of ours or of others, in one file or in shards; and those that saving one
# would replace.
_OF_A_MODEL = (SETTINGS, "config.json", "*model*.safetensors", "*model*.bin", METRICS, CARD)
Kind = TypeVar("Kind", bound=Artefact)


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
    """Read a model on the CPU in its saved type, as `read_with` does."""
    return read_with(directory, kind, read_weights_header, build_with)


def is_ours(directory: str | Path) -> bool:
    return os.path.isfile(current(Path(directory)) / SETTINGS)


def refuse_a_run(directory: Path, source: Path | None) -> None:
    """Raise CheckpointError where a directory has what belongs to the training of another model than that of `source`:
    its checkpoints, its linear probe.
    """
    if source is not None and os.path.realpath(directory) == os.path.realpath(source):
        return
    if held := next((name for name in (CHECKPOINTS, PROBE) if os.path.exists(directory / name)), None):
        wanted, got = "a saved model needs a folder without a run", f"{directory}, which holds {held}"
        raise CheckpointError(wanted, got=got, do="choose another folder")


def changed_files(directory: str | Path) -> tuple[str, ...]:
    """The files without effect on answers (scores, card, recipe) that have changed since the model was saved."""
    directory = current(Path(directory))
    known = json_of(directory / SETTINGS).get("checksums") if (directory / SETTINGS).is_file() else None
    saved = known if isinstance(known, dict) else {}
    return tuple(
        name
        for name in _CHECKED[1:]
        if name in saved and not ((directory / name).is_file() and file_checksum(directory / name) == saved[name])
    )


def refuse_a_model(directory: str | Path, what: str, names: Sequence[str] = ()) -> None:
    """Raise CheckpointError when a directory holds a model, or a file that one would replace: `names` are more such."""
    check_path(directory, CheckpointError, utf8=True)
    directory = Path(directory)
    folders = {directory, current(directory)}
    marks = any(path for folder in folders for name in _OF_A_MODEL[:4] for path in folder.glob(name))
    found = [name for folder in folders for name in (*_OF_A_MODEL[4:], *names) if os.path.lexists(folder / name)]
    if marks or found:
        raise CheckpointError(
            f"{what} needs a folder without a model",
            got=f"{directory}, which holds {'a model' if marks else found[0]}",
            do="choose another folder, or remove this one first"
            if marks
            else "choose another folder, or move this file",
        )


def _write_files(directory: Path, saved: Artefact) -> None:
    write_weights(directory / WEIGHTS, saved.module)
    tokenizer = None
    if saved.has_tokenizer:
        saved.tokenizer.save(directory)
        tokenizer = TokenizerFacts(sha256=checksum_of(directory), roles=saved.tokenizer.special)
    if saved.recipe is not None:
        write_recipe(directory, saved.recipe, saved.tokenizer if saved.has_tokenizer else None)
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in _finite(saved.metrics).items()]
    (directory / METRICS).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")  # one line per metric
    (directory / CARD).write_text(saved.card, encoding="utf-8")
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
        pooling=saved.pooling,
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


# Names of floating-point types in the header of a safetensors file, and the fields of each tensor there.
_FLOATS = ("F16", "BF16", "F32", "F64")


def write_weights(path: Path, module: Transformer) -> None:
    # named_parameters gives a shared parameter once, under its first name.
    state = {name: parameter.detach().cpu().contiguous() for name, parameter in module.named_parameters()}
    try:
        save_tensors(path, state, {"format": "pt"})
    except SafetensorError as error:  # the library wraps the system's error
        raise OSError(str(error)) from None


def read_weights_header(path: Path) -> Header:
    """Shapes and number types in a safetensors file; raises CheckpointError if missing, cut short or a pickle."""
    if not path.is_file():
        raise CheckpointError(f"weights are needed at {path}", got="no such file")
    return read_header(path)


def build_with(config: ModelConfig, path: Path, header: Header, *, checksum: str | None = None) -> Transformer:
    """The model with a file's weights, in eval mode. Raises CheckpointError unless parameters and checksum match."""
    try:
        with torch.device("meta"):  # without memory for weights: they come from the file
            module = Transformer(config)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        raise CheckpointError(
            "a model must have sizes that a tensor can have", got="larger ones in its settings " + str(path)
        ) from None
    named = dict(module.named_parameters())
    _compare(named, header, path)
    if checksum is not None and file_checksum(path) != checksum:
        raise CheckpointError(
            f"{path} must be the weights that were saved with the model",
            got="other bytes: the file is damaged, or belongs to another model",
            do="copy or download it again, or use an earlier one",
        )
    state = read_safetensors(path)
    first_name = {id(parameter): name for name, parameter in named.items()}
    shared = module.named_parameters(remove_duplicate=False)
    module.load_state_dict({name: state[first_name[id(parameter)]] for name, parameter in shared}, assign=True)
    return module.eval()


def _compare(named: Mapping[str, Tensor], header: Header, path: Path) -> None:
    missing, unknown = sorted(named.keys() - header.keys()), sorted(header.keys() - named.keys())
    if missing or unknown:
        what = f"without {missing[0]}" if missing else f"with {unknown[0]}, which the model does not have"
        raise CheckpointError(f"{path} must hold the weights of the model in its folder", got=f"a file {what}")
    for name, parameter in named.items():
        shape, kind = header[name]
        if shape != tuple(parameter.shape):
            raise CheckpointError(f"{name} must have shape {list(parameter.shape)}", got=f"{list(shape)} in {path}")
        if kind not in _FLOATS:
            raise CheckpointError(f"{name} must have floating-point numbers", got=f"{kind} in {path}")
