"""Folders of Hugging Face in and out. Each source tensor and setting is used once, or left aside with a reason.
The files of a tokenizer there, and the tokens with a role that its settings name.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.base.atomic import current
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.paths import check_path
from glassformer.base.settings import MOST_TOKENS
from glassformer.config import ModelConfig
from glassformer.convert import files, heads
from glassformer.convert.families import FAMILY_TABLES, family_of, full_names, parameter_shapes, read_config
from glassformer.convert.family import GENERATION, TOKEN_SETTINGS, Family
from glassformer.convert.settings import differences, write_values
from glassformer.convert.table import read_tensors, write_tensors
from glassformer.text.chat_template import ChatTemplates, read_templates, write_templates
from glassformer.text.load import (
    SOURCE,
    TARGET,
    TARGET_IDS,
    TOKENIZER_FILES,
    as_vocabulary_file,
    load_tokenizer,
    read_object,
)
from glassformer.text.special import FOREIGN_ROLES
from glassformer.text.tokenizer import Tokenizer

GENERATION_FILE = "generation_config.json"
# Tokens with a role in generation, which transformers takes from config.json where there is no file.
_TOKENS = (
    *("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"),
    *("forced_bos_token_id", "forced_eos_token_id"),
)
# The name of the library that wrote a file is no setting.
_BOOKKEEPING = ("transformers_version", "_commit_hash")
# An old word for: the first token is forced to be that of the beginning.
_FORCED = "force_bos_token_to_be_generated"


def read_generation(directory: Path, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings of generation, and why those in `config.json` are left aside where they are. As in transformers, the
    file is believed where there is one, else `config.json`. Raises CheckpointError for a file that is damaged.
    """
    said = {key: values[key] for key in GENERATION.keys if values.get(key) is not None}
    if (directory / GENERATION_FILE).is_file():
        found = files.read_object(directory / GENERATION_FILE)
        kept = {key: value for key, value in found.items() if key not in _BOOKKEEPING}
        return kept, dict.fromkeys(said, f"{GENERATION_FILE} says how to search for a text")
    if not said:
        return {}, {}
    assert set(_TOKENS) <= set(TOKEN_SETTINGS.keys)
    said |= {key: values[key] for key in _TOKENS if values.get(key) is not None}
    if said.pop(_FORCED, False) and "bos_token_id" in said:
        said["forced_bos_token_id"] = said["bos_token_id"]
    return said, {}


# What names the labels of a classifier.
_OF_LABELS = ("id2label", "label2id", "problem_type", "_num_labels")


@dataclass(frozen=True)
class Report:
    """What was left aside and why, and what is no part of the model's numbers but travels with it: tokens with a role
    (`pad_token_id` …), settings of generation, the `use` of a head for labels, and the `length` of the texts that the
    model is for, as its tokenizer or, where no table limits it, its settings tell it.
    """

    architecture: str
    settings_aside: Mapping[str, str] = field(default_factory=dict)
    tensors_aside: Mapping[str, str] = field(default_factory=dict)
    token_settings: Mapping[str, Any] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    use: heads.LabelUse = heads.NO_LABELS
    length: int | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return self.use.labels


class Imported(NamedTuple):
    """A model of Hugging Face as ours: `state` fills `Transformer(config)` whole, in the types it was stored in."""

    config: ModelConfig
    state: dict[str, Tensor]
    tokenizer: Tokenizer | None
    report: Report
    templates: ChatTemplates | None = None


def read_huggingface(directory: str | Path) -> Imported:
    """Read a folder with `config.json` and safetensors; nothing in it is run, nothing is downloaded. Where the
    tensors cannot tell whether there is a vocabulary head (a tied one stores none) the class decides that `config.json`
    names. Raises CheckpointError for what is missing, unknown, of another shape or type, damaged, or a pickle.
    """
    check_path(directory, CheckpointError)
    directory = Path(directory)
    if not directory.is_dir():
        raise CheckpointError(f"a folder is needed at {directory}", got="no such folder")
    directory = current(directory)
    files.refuse_other_than_files(directory)
    where = str(directory / files.SETTINGS)
    values = files.read_object(directory / files.SETTINGS)
    names = files.read_shapes(directory)
    family = heads.table_of_source(family_of(values, where), values, names, where)
    stored = full_names(family, names)
    config, settings_aside = read_config(family, values, stored, where=where)
    use = heads.read_use(family, config, values, where)
    generation, ignored = read_generation(directory, values)
    settings_aside = {key: reason for key, reason in settings_aside.items() if key not in GENERATION.keys} | ignored
    settings_aside |= left_unread(directory)
    shapes = parameter_shapes(config)
    read_tensors(family.tensors, shapes, stored, config, where=str(directory))  # before a number is read
    source = full_names(family, files.read_weights(directory))
    start = values.get("decoder_start_token_id")
    if family.unfold is not None and isinstance(start, int):
        source = family.unfold(config, source, start)
    state, tensors_aside = read_tensors(family.tensors, shapes, source, config, where=str(directory))
    report = Report(
        architecture=", ".join(name[:80] for name in heads.architectures(values)[:3]),
        settings_aside={
            key: reason for key, reason in settings_aside.items() if use.head is None or key not in _OF_LABELS
        },
        tensors_aside=tensors_aside,
        token_settings={key: values[key] for key in TOKEN_SETTINGS.keys if values.get(key) is not None},
        generation=generation,
        use=use,
        length=heads.free_length(family, config, values, where) if family.free_length else stated_length(directory),
    )
    tokenizer = load_tokenizer(directory) if has_tokenizer(directory) else None
    alone = config.encoder is None and config.decoder is not None
    templates = read_templates(directory, tokenizer) if alone and tokenizer is not None else None
    # The state under all names that `load_state_dict` asks for: shared tables stand twice.
    if config.share_embeddings:
        state["decoder.embed.word.weight"] = state["encoder.embed.word.weight"]
    return Imported(heads.with_use(config, use), state, tokenizer, report, templates)


class Described(NamedTuple):
    """A model as Hugging Face says it: config.json, tensors by their names there; what is left out, in sentences."""

    settings: dict[str, Any]
    tensors: dict[str, Tensor]
    left: tuple[str, ...]


def write_huggingface(
    directory: str | Path,
    config: ModelConfig,
    state: Mapping[str, Tensor],
    tokenizer: Tokenizer | None = None,
    *,
    token_settings: Mapping[str, Any] | None = None,
    generation: Mapping[str, Any] | None = None,
    use: heads.LabelUse = heads.NO_LABELS,
    length: int | None = None,
    start: int | None = None,
    templates: ChatTemplates | None = None,
) -> tuple[str, ...]:
    """Write a folder that `transformers` loads and that computes the same; it is whole or absent.

    `token_settings` are tokens with a role (`decoder_start_token_id` …) that the tokenizer does not know; `generation`
    becomes generation_config.json; `use` is what its labels are for; `length` is the number of tokens in a text
    that the model is for: the tokenizer's settings state it, and without a table of positions the model's too.
    The decoder begins with the token
    `start`, which no answer has: where programs begin with zeros (Marian), its vector is folded into the first
    position. `templates` are those by which it chats. Returns what is left out, in sentences.
    Raises ConfigError for a model that the family of Hugging Face cannot say, CheckpointError for unfit tensors.
    """
    described = describe(config, state, tokenizer, token_settings=token_settings, use=use, length=length, start=start)

    def fill(folder: Path) -> None:
        files.save_tensors(folder / files.WEIGHTS, described.tensors, {"format": "pt"})
        write_json(folder / files.SETTINGS, described.settings)
        if generation:
            write_json(folder / GENERATION_FILE, generation)
        if tokenizer is not None:
            write_tokenizer_of(folder, config, tokenizer, length)
            if templates is not None:
                write_templates(folder, templates)

    files.write_whole(Path(directory), fill)
    return described.left


def write_tokenizer_of(folder: Path, config: ModelConfig, tokenizer: Tokenizer, length: int | None) -> None:
    """Write the tokenizer of a model for texts of this length, or of as many tokens as it has positions."""
    segments = config.encoder is not None and config.encoder.embed.segments > 1
    limits = [each for each in (config.output_stack.max_length, length) if each is not None]
    write_tokenizer(folder, tokenizer, min(limits, default=None), segments=segments)


def describe(
    config: ModelConfig,
    state: Mapping[str, Tensor],
    tokenizer: Tokenizer | None = None,
    *,
    token_settings: Mapping[str, Any] | None = None,
    use: heads.LabelUse = heads.NO_LABELS,
    length: int | None = None,
    start: int | None = None,
) -> Described:
    """A model in Hugging Face's words, with the options of `write_huggingface`; raises ConfigError as it does."""
    if config.family not in FAMILY_TABLES:
        raise ConfigError(
            f"a Hugging Face folder has one of the families {', '.join(FAMILY_TABLES)}",
            got=f"the family {config.family!r}",
        )  # fmt: skip
    family = heads.table_for(FAMILY_TABLES[config.family], config, use)
    whole, config = config, heads.without_crf(config)
    named, values = family.class_of(config), write_values(family.settings, config)
    shapes = parameter_shapes(config)
    tensors = write_tensors(family.tensors, {name: state[name] for name in shapes if name in state}, shapes)
    back = _check_nothing_lost(family, config, values, tensors)
    if family.fold is not None and start is not None:
        tensors = family.fold(config, tensors, start)
    if family.bare(config):
        tensors = {name.removeprefix(family.prefix): tensor for name, tensor in tensors.items()}
    if family.free_length and length is not None:
        values = {"max_position_embeddings": length, **values}  # a stretch may have said it
    values |= heads.write_use(family, config, use)
    roles = {**role_ids(None if tokenizer is None else tokenizer.target), **(token_settings or {})}
    # RoBERTa's positions start after the id of its padding: there a tokenizer has no choice.
    for key, id_ in roles.items():
        if values.get(key, id_) != id_:
            raise ConfigError(
                f"{key} must be {values[key]} in Hugging Face's {family.name}, which numbers its positions from there",
                got=f"{id_} in the tokenizer",
                do="train with a position_offset of one more than the id of the padding",
            )
    settings = {
        "architectures": [named],
        "model_type": family.name,
        # In which transformers computes; weights of less precision are only kept in it.
        "dtype": str(torch.promote_types(tensors[next(iter(tensors))].dtype, torch.float32)).removeprefix("torch."),
        # Their defaults may lie outside this vocabulary, so what nobody knows is said to be unknown.
        **dict.fromkeys(f"{role}_token_id" for role in ("pad", "bos", "eos", "cls", "sep")),
        **values,
        **roles,
    }
    return Described(settings, tensors, heads.left_behind(whole, back))


def _check_nothing_lost(
    family: Family, config: ModelConfig, values: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> ModelConfig:
    """The model as it would come back; refuses one that would be another: the tree says more than their settings."""
    try:
        back, _ = read_config(
            family, {**values, "architectures": [family.class_of(config)]}, tensors, where="what was written"
        )
    except (KeyError, CheckpointError) as error:
        raise ConfigError(f"Hugging Face's {family.name} must be able to say this model", got=str(error)) from None
    # How weights were once drawn is no part of the model they have become.
    config = heads.with_unstated(config, back)
    lost = sorted(differences(config.model_dump(exclude={"initial"}), back.model_dump(exclude={"initial"})))
    if lost:
        raise ConfigError(
            f"Hugging Face's {family.name} must be able to say this model",
            got=f"a difference it has no setting for, at {lost[0]}",
            do=f"train the task again: its head is then that of {family.class_of(config)}"
            if "_head." in lost[0]
            else "",
        )
    return back


TOKENIZER_SETTINGS = "tokenizer_config.json"


def has_tokenizer(directory: Path) -> bool:
    return any(all((directory / name).is_file() for name in names) for names in TOKENIZER_FILES)


def left_unread(directory: Path) -> dict[str, str]:
    """The files of a tokenizer that say more than ours can, and what."""
    read = next((names for names in TOKENIZER_FILES if all((directory / name).is_file() for name in names)), ())
    if (
        TARGET not in read
        or (directory / TARGET_IDS).is_file()
        or (directory / SOURCE).read_bytes() == (directory / TARGET).read_bytes()
    ):
        return {}
    return {TARGET: f"all texts are divided as {SOURCE} does it: a target that is given may be divided otherwise there"}


def stated_length(directory: Path) -> int | None:
    """`model_max_length` of a folder's tokenizer, None where it is missing or transformers' huge stand-in."""
    path = directory / TOKENIZER_SETTINGS
    length = read_object(path).get("model_max_length") if path.is_file() else None
    return length if type(length) is int and 0 < length <= MOST_TOKENS else None


def role_ids(tokenizer: Tokenizer | None) -> dict[str, int]:
    """`pad_token_id` and its like, for the tokens this tokenizer has."""
    if tokenizer is None:
        return {}
    tokens = {theirs: getattr(tokenizer.special, ours) for theirs, ours in FOREIGN_ROLES.items()}
    ids = {f"{theirs}_id": tokenizer.id(token) for theirs, token in tokens.items() if token is not None}
    return {key: id_ for key, id_ in ids.items() if id_ is not None}


def write_tokenizer(folder: Path, tokenizer: Tokenizer, length: int | None, *, segments: bool) -> None:
    """Write a tokenizer with its settings: the longest row, and whether segments distinguish the texts of a pair."""
    tokenizer.save(folder)
    vocabulary = as_vocabulary_file(tokenizer)  # for programs that know BERT and no tokenizer.json
    if vocabulary is not None:
        (folder / "vocab.txt").write_bytes(vocabulary.text.encode())
    roles = {theirs: getattr(tokenizer.special, ours) for theirs, ours in FOREIGN_ROLES.items()}
    # This class has defaults of its own, which differ between versions: without the segments (`token_type_ids`) a pair
    # is read as one text, and a model that has none refuses them.
    inputs = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": inputs,
        **{theirs: token for theirs, token in roles.items() if token is not None},
        **({} if length is None else {"model_max_length": length}),
    }
    write_json(folder / TOKENIZER_SETTINGS, {**settings, **({} if vocabulary is None else vocabulary.settings)})


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
