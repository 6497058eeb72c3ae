"""From a recipe to what a training needs: tokenizer, text as numbers, tasks, a model with fresh weights."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from glassformer.artefact.model import Model, load
from glassformer.artefact.vectors import use_vectors
from glassformer.artefact.witness import Counting, Witness
from glassformer.config import DataSection, ModelConfig, Recipe, TaskSection, TokenizerSection
from glassformer.data.buckets import BucketedRows, BucketOrder
from glassformer.data.corpus import on_bad, prepare, settle_shares, training_texts
from glassformer.data.files import files_of, find_files
from glassformer.data.given import read_all_given
from glassformer.data.lines import Skipped, left_out
from glassformer.data.pack import Frame, PackedRows
from glassformer.data.store import TokenStore
from glassformer.errors import ConfigError, DataError
from glassformer.models.families import FAMILIES, family_config
from glassformer.models.transformer import Transformer, build
from glassformer.tasks.hidden import DrawnMasks, StandingMasks
from glassformer.tasks.masked_lm import MaskedLM
from glassformer.tasks.metrics import Unigram
from glassformer.text.fit import check_fit
from glassformer.text.load import load_tokenizer
from glassformer.text.special import NONE
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.train.machine import choose_device, memory_of, use_threads
from glassformer.train.run import check

# What a recipe can ask for in vain where the masks stand in the data: each text is a row of its own, as it is.
_NOT_FOR_GIVEN_MASKS = (
    ("task", ("rate", "mask", "random", "keep", "whole_words", "max_predictions", "static", "duplicates")),
    ("data", ("documents", "validation", "test", "cache")),
)
# Held-out pieces of which 15 % are too few to tell two models apart.
_FEW = 2000


@dataclass(frozen=True)
class Prepared:
    """All that `fit` needs, and the recipe with everything settled that was left open. `text` names the text, as a
    fingerprint, where it is split by hash.
    """

    recipe: Recipe
    tokenizer: Tokenizer
    module: Transformer
    task: MaskedLM
    held_out: MaskedLM | None
    unigram: Unigram
    text: str | None = None


def prepare_run(recipe: Recipe, folder: Path, witness: Witness, *, tokenizer: Tokenizer | None = None) -> Prepared:
    """Read, tokenize and split the text, and build the model. `folder` takes what is made on the way.

    `tokenizer` is one that an earlier part of the same run has made. Raises DataError, ConfigError, TokenizerError,
    DeviceError.
    """
    if not recipe.data.files:
        raise ConfigError(
            "training needs text", got="no data.files", do="name files: glassformer train masked-lm TEXT.txt"
        )
    for named in filter(None, (recipe.data.files, recipe.data.validation_files)):
        witness.note(str(find_files(named, text=recipe.data.text, tables=recipe.task.given)))
    use_threads(recipe.train.threads)
    given, data = recipe.task.given, recipe.data  # masks that stand in the text are not split by hash
    check(recipe.train, held_out=bool(data.validation_files or (data.validation and not given)))
    going_on = tokenizer is not None
    start = None if recipe.model.start is None else _start(recipe)
    if start is not None:
        tokenizer = start.tokenizer
    elif tokenizer is None and recipe.tokenizer.file is not None:
        tokenizer = load_tokenizer(recipe.tokenizer.file)
    _check_tokenizer(recipe)
    if given:
        return _with_given_masks(recipe, witness, tokenizer, start)
    _check_row(recipe, tokenizer)
    if start is None:  # a model that cannot be must be refused before an hour of reading
        model_config(recipe, recipe.tokenizer.vocabulary if tokenizer is None else tokenizer.vocabulary_size)
        check_memory(recipe, model_config(recipe, 1))  # how many pieces there will be is not known yet
    shares = {"validation": data.validation, "test": data.test}
    if not going_on:  # else the split stays, also where the text has changed since
        shares = settle_shares(data)
    data = data.model_copy(update=shares)
    recipe = recipe.model_copy(update={"data": data})
    if tokenizer is None:
        size = _size(data.files, data.text)
        with witness.reading(f"learning a vocabulary of {recipe.tokenizer.vocabulary:,} pieces", size) as progress:
            tokenizer = _learned(recipe.tokenizer, training_texts(data, shares), progress, witness)
        _note_size(recipe.tokenizer, tokenizer, witness)
    module = _module(recipe, tokenizer, witness) if start is None else start.module
    cache = Path(data.cache) if data.cache is not None else folder / "tokens"
    size = _size([*data.files, *data.validation_files], data.text)
    with witness.reading("cutting the text into pieces", size) as progress:
        corpus = prepare(data, tokenizer, cache, shares=shares, progress=progress)
    for note in corpus.notes():
        witness.note(note)
    trained, kept_aside = corpus.stores["train"], corpus.stores["validation"]
    witness.note(
        f"{len(trained):,} pieces in {trained.documents:,} documents to learn from, {len(kept_aside):,} held out"
    )
    if 0 < len(kept_aside) < _FEW:
        witness.note("so little is held out that its scores say little: give more text, or raise data.validation")
    task = masked_task(recipe, trained, tokenizer)
    if not task.unigram.counts.any():
        raise DataError(
            "text must have words that can be hidden", got="none that the tokenizer knows", do="train a tokenizer on it"
        )
    return Prepared(
        recipe,
        tokenizer,
        module,
        task,
        held_out_task(data, recipe.task, kept_aside, tokenizer, task.unigram) if kept_aside.documents else None,
        task.unigram,
        trained.fingerprint,
    )


def masked_task(recipe: Recipe, store: TokenStore, tokenizer: Tokenizer) -> MaskedLM:
    """Hidden words in the rows of a store, as the recipe cuts and hides them."""
    settings = recipe.train
    rows = _rows(recipe.data, store, tokenizer)
    hidden = DrawnMasks(rows, tokenizer, recipe.task, seed=settings.seed)
    order = None
    if isinstance(rows, BucketedRows):
        order = BucketOrder(rows, settings.batch, fingerprint=hidden.fingerprint, seed=settings.seed)
    return MaskedLM(hidden, batch=settings.batch, seed=settings.seed, order=order)


def held_out_task(
    data: DataSection, task: TaskSection, store: TokenStore, tokenizer: Tokenizer, unigram: Unigram, *, batch: int = 32
) -> MaskedLM:
    """Hidden words to measure a model on, beside the unigram baseline.

    Which words are hidden depends on the data's seed alone, so that models of different training seeds, and the same
    model on another day, are asked the same.
    """
    hidden = DrawnMasks(_rows(data, store, tokenizer), tokenizer, task, seed=data.seed)
    return MaskedLM(hidden, batch=batch, seed=data.seed, baselines=[unigram.without(tokenizer.special_ids)])


def _rows(data: DataSection, store: TokenStore, tokenizer: Tokenizer) -> PackedRows | BucketedRows:
    frame, pad_id = Frame.encoder(tokenizer), tokenizer.pad_id or 0
    if not data.pack:
        return BucketedRows(store, data.length, frame=frame, pad_id=pad_id)
    # An encoder looks both ways: without walls it would answer from the neighbouring document.
    walls = True if data.walls is None else data.walls
    return PackedRows(store, data.length, frame=frame, walls=walls, pad_id=pad_id)


# --------------------------------------------------------------------------- masks that stand in the data


def _with_given_masks(recipe: Recipe, witness: Witness, tokenizer: Tokenizer | None, start: Model | None) -> Prepared:
    if in_vain := ", ".join(_asked_in_vain(recipe)):
        witness.note(f"the masks stand in the data; without effect: {in_vain}")
    data = recipe.data.model_copy(update={"validation": 0.0, "test": 0.0})  # what is held out has files of its own
    recipe = recipe.model_copy(update={"data": data})
    bad = on_bad(data)
    examples = read_all_given(data.files, text=data.text, bad=bad)
    held_out = read_all_given(data.validation_files, text=data.text, bad=bad) if data.validation_files else []
    if isinstance(bad, Skipped) and bad.count:
        witness.note(left_out(bad.count, bad.first[0]))
    if tokenizer is None:
        texts = [example.full()[0] for example in examples]
        tokenizer = _learned(recipe.tokenizer, texts, None, witness)
        _note_size(recipe.tokenizer, tokenizer, witness)
    hidden = StandingMasks(examples, tokenizer, length=data.length)
    kept_aside = StandingMasks(held_out, tokenizer, length=data.length) if held_out else None
    witness.note(f"{len(examples):,} texts with their own masks")
    settings = recipe.train
    task = MaskedLM(hidden, batch=settings.batch, seed=settings.seed)
    return Prepared(
        recipe,
        tokenizer,
        _module(recipe, tokenizer, witness) if start is None else start.module,
        task,
        MaskedLM(kept_aside, batch=settings.batch, baselines=[task.unigram]) if kept_aside else None,
        task.unigram,
    )


def _asked_in_vain(recipe: Recipe) -> Iterator[str]:
    for section, names in _NOT_FOR_GIVEN_MASKS:
        settings = getattr(recipe, section)
        usual = type(settings)()
        yield from (f"{section}.{name}" for name in names if getattr(settings, name) not in (getattr(usual, name), 0.0))


# --------------------------------------------------------------------------- tokenizer


def _check_tokenizer(recipe: Recipe) -> None:
    """Refuse settings for a tokenizer that is not learned: they would do nothing, and recipe.toml would lie."""
    section, usual = recipe.tokenizer, TokenizerSection()
    start = recipe.model.start is not None
    if start or section.file is not None:
        asked = [key for key, value in section if value != getattr(usual, key) and (start or key != "file")]
        if asked:
            brought = "a model to start from" if start else "a tokenizer that is there"
            raise ConfigError(
                f"{brought} brings its own pieces",
                got=f"{'model.start' if start else 'tokenizer.file'} together with tokenizer.{asked[0]}",
                do="leave one of them out",
            )


def _check_row(recipe: Recipe, tokenizer: Tokenizer | None) -> None:
    """Refuse rows without room for text; a tokenizer that is still to be learned will put two pieces around it."""
    around = (2 if recipe.tokenizer.special else 0) if tokenizer is None else sum(tokenizer.frame)
    if recipe.data.length <= around:
        raise ConfigError(
            f"a row must be longer than its {around} special pieces", got=f"data.length = {recipe.data.length}"
        )


def _learned(section: TokenizerSection, texts: Iterable[str], progress: Counting | None, witness: Witness) -> Tokenizer:
    return train_tokenizer(
        section.kind,
        texts,
        vocabulary=section.vocabulary,
        lowercase=section.lowercase,
        special=None if section.special else NONE,
        progress=progress,
        note=witness.note,
    )


def _note_size(section: TokenizerSection, tokenizer: Tokenizer, witness: Witness) -> None:
    size = tokenizer.vocabulary_size
    if section.file is None and size > section.vocabulary:
        witness.note(
            f"a vocabulary of {size:,} pieces, not {section.vocabulary:,}: with fewer the text cannot be written"
        )


def _size(paths: Sequence[str], text: str) -> int:
    """Bytes of the files: about their characters, unless they are compressed."""
    return sum(path.stat().st_size for path in files_of(paths, text=text))


# --------------------------------------------------------------------------- model


def model_config(recipe: Recipe, vocabulary: int, *, pad_id: int | None = None) -> ModelConfig:
    """The model that a recipe asks for, for a vocabulary of this size; raises ConfigError when it cannot be.

    A family that counts positions from its padding on (RoBERTa) begins after `pad_id`: else it could not be exported.
    """
    section, length = recipe.model, recipe.data.length
    settings = dict(section.settings)
    if section.size is not None:
        settings["size"] = section.size
    settings.setdefault("vocabulary", vocabulary)
    if section.family in FAMILIES:
        known = inspect.signature(FAMILIES[section.family]).parameters
        if "position_offset" in known and pad_id is not None:
            settings.setdefault("position_offset", pad_id + 1)
        numbered = known.get("max_length")
        if numbered is not None and "max_length" not in settings and length > numbered.default:
            settings["max_length"] = length
    config = family_config(section.family, settings)
    if config.encoder is None or config.decoder is not None or config.head is None:
        raise ConfigError(
            "masked words are learned by an encoder with a vocabulary head",
            got=f"the family {section.family}",
            do="choose bert, distilbert, roberta, modernbert or slides",
        )
    _check_length(config, length)
    return config


def _check_length(config: ModelConfig, length: int) -> None:
    limit = config.output_stack.max_length
    if limit is not None and length > limit:
        raise ConfigError(
            f"rows of data.length = {length} pieces must fit the model",
            got=f"one that numbers {limit}",
            do=f"lower data.length, or build a model with model.settings.max_length = {length}",
        )


def check_memory(recipe: Recipe, config: ModelConfig) -> None:
    """Raise ConfigError for a model that the machine could not hold while it trains."""
    smaller = "choose a smaller model.size or model.settings.width"
    try:
        with torch.device("meta"):  # shapes alone
            count = sum(parameter.numel() for parameter in Transformer(config).parameters())
    except (RuntimeError, TypeError, OverflowError):  # as torch refuses what does not fit into 63 bits
        raise ConfigError("a model needs sizes that a machine can hold", got="2^63 or more", do=smaller) from None
    memory = memory_of(choose_device(recipe.train.device))
    # Weights, gradients and Adam's two moments, in float32; frozen vectors, the most of such a model, need the first.
    needed = 4 * count * (1 if recipe.model.freeze_vectors else 4)
    if memory is not None and needed > memory:
        raise ConfigError(
            f"to train {count:,} parameters a machine needs {needed / 1e9:,.1f} GB",
            got=f"one with {memory / 1e9:,.1f} GB",
            do=smaller,
        )


def _module(recipe: Recipe, tokenizer: Tokenizer, witness: Witness) -> Transformer:
    config = model_config(recipe, tokenizer.vocabulary_size, pad_id=tokenizer.pad_id)
    check_fit(tokenizer, config.output_stack.embed.vocabulary)
    check_memory(recipe, config)
    module = build(config, seed=recipe.train.seed)
    if recipe.model.vectors is not None:
        freeze = recipe.model.freeze_vectors
        witness.note(use_vectors(module, tokenizer, recipe.model.vectors, freeze=freeze))
    return module


def _start(recipe: Recipe) -> Model:
    section = recipe.model
    if section.size is not None or section.settings or section.vectors is not None:
        raise ConfigError(
            "a model to start from brings its own sizes and vectors",
            got="model.start together with model.size, model.settings or model.vectors",
            do="leave one of them out",
        )
    assert section.start is not None
    model = load(section.start, device="cpu")
    if model.config.head is None or model.config.decoder is not None:
        raise ConfigError(
            "masked words are learned by an encoder with a vocabulary head", got=f"{section.start} without"
        )
    _check_length(model.config, recipe.data.length)
    return model
