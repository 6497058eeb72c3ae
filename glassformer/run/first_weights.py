"""The initial weights of a run: those of an existing model where they fit, some layers of a teacher, random ones, and
pretrained vectors.

W width · V vocabulary
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, DataError, ShapeError
from glassformer.config import ModelConfig
from glassformer.data.readers.lines import Line, read_lines
from glassformer.models.transformer import Transformer, build, fingerprint
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.saved.recipe import Recipe
from glassformer.saved.sections import DistilSection
from glassformer.tasks import task_named
from glassformer.tasks.feed import check_taught
from glassformer.tasks.labels.labels import two_segments
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.task import Source, Task, check_encoder
from glassformer.text.tokenizer import Tokenizer

_BLOCK = re.compile(r"encoder\.blocks\.(\d+)\.")


def teacher_of(recipe: Recipe) -> tuple[Recipe, Artefact]:
    """The teacher that a recipe names, and the recipe with the labels that it has, in [task], and its fingerprint, in
    [distil]; raises ConfigError for one of another task, or one that has changed.
    """
    section, task = recipe.distil, recipe.task
    assert section.teacher is not None
    if not section.vectors:
        check_taught(task_named(task.name))
    teacher = open_model(section.teacher, Artefact, "cpu")
    if section.vectors:
        check_encoder(teacher.config, "sentence vectors are learned from an encoder")
    elif teacher.task is None or teacher.task.name != task.name:
        raise ConfigError(
            f"a student of {task.name} needs a teacher of {task.name}",
            got=f"{section.teacher}, a model of {teacher.task_name or 'no task'}",
            do="name a model that was trained for it, or learn its sentence vectors with --vectors 1",
        )
    print_of = fingerprint(teacher.module)
    if section.fingerprint not in ("", print_of):
        raise ConfigError(
            "a resumed student needs the teacher that it started with",
            got=f"other weights in {section.teacher}",
            do="copy the teacher back, or start again in another --out",
        )
    learned = task if section.vectors or teacher.task is None else task.taught_by(teacher.task)
    found = section.model_copy(update={"fingerprint": print_of})
    return recipe.model_copy(update={"distil": found, "task": learned}), teacher


def check_pair(teacher: Artefact, student: Artefact, section: DistilSection, *, pairs: bool) -> None:
    """Raise ConfigError unless a student from `--start` reads the teacher's tokens, pairs and compared width."""
    if student.tokenizer.fingerprint != teacher.tokenizer.fingerprint:
        raise ConfigError(
            "a student and its teacher read the same tokens",
            got=f"another tokenizer in the teacher {section.teacher}",
            do="leave --start out: the student then starts from layers of the teacher, with its tokenizer",
        )
    if pairs and two_segments(teacher.config) and not two_segments(student.config):
        raise ConfigError(
            "a teacher that distinguishes the texts of a pair by segments needs a student that does",
            got=f"a student of the family {student.config.family}, without segments",
            do="leave --start out, or start from a model of the teacher's family",
        )
    widths = [model.config.output_stack.width for model in (student, teacher)]
    if section.cosine and widths[0] != widths[1]:
        raise ConfigError(
            "states are compared between models of one width",
            got=f"a student of width {widths[0]} and a teacher of width {widths[1]}",
            do="leave this loss out with --cosine 0",
        )


def student_of(teacher: Artefact, section: DistilSection) -> tuple[Artefact, str]:
    """A model with some of the teacher's blocks and all else, and which blocks. Raises ConfigError for too many."""
    encoder = teacher.config.encoder
    if encoder is None or teacher.config.decoder is not None:
        raise ConfigError("a student starts from an encoder", got=f"the family {teacher.config.family}")
    count = len(encoder.blocks)
    wanted = max(1, count // 2) if section.layers is None else section.layers
    if not 1 <= wanted <= count:
        raise ConfigError(
            f"a student of {section.teacher} has at most its {count} layers", got=f"distil.layers = {wanted}"
        )
    chosen = spread(count, wanted)
    blocks = tuple(encoder.blocks[number] for number in chosen)
    config = teacher.config.model_copy(update={"encoder": encoder.model_copy(update={"blocks": blocks})})
    config = ModelConfig.model_validate_json(config.model_dump_json())  # once more: blocks depend on each other
    module, theirs = Transformer(config), teacher.module.state_dict()

    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            tensor.copy_(theirs[_BLOCK.sub(lambda found: f"encoder.blocks.{chosen[int(found[1])]}.", name)])
    same = {name: getattr(teacher, name) for name in ("task", "length", "data", "templates", "pooling")}
    student = Artefact(module, teacher.tokenizer, **same)
    layers = ", ".join(str(number) for number in chosen)
    return student, f"the student starts with {wanted} of the teacher's {count} layers: {layers}"


def taught_by(teacher: Artefact, task: Task, source: Source, *, held_out: bool, limit: int) -> dict[str, Any]:
    """A teacher's size and scores on a student's examples. `held_out`: not those of the training; it is fitted."""
    module = teacher.module.eval()
    own = task.fitted(module, source, lambda note: None) if held_out else task
    return {
        "parameters": sum(each.numel() for each in teacher.module.parameters()),
        "layers": len(teacher.config.output_stack.blocks),
        "scores": own.evaluate(module, source, limit=limit).flat(),
    }


def spread(count: int, wanted: int) -> list[int]:
    """So many of `count` layers, evenly spread from first to last: of twelve 0, 2, 4, 7, 9, 11, as in DistilBERT."""
    return [0] if wanted == 1 else [round(place * (count - 1) / (wanted - 1)) for place in range(wanted)]


# Parameters with a row for each label.
LABEL_ROWS = ("sentence_head.output.", "sentence_head.words.", "token_head.output.", "token_head.crf.")

_SEGMENT = "encoder.embed.segment.weight"
"""If it has more rows than the start's, all are the first of these, or zero: the model computes what the start does."""

# How byte-level and unigram tokenizers write the space before a word.
_BLANKS = ("Ġ", "▁")


def has_labels_of(model: Artefact, task: TaskSection) -> bool:
    """Whether a model has a head with the labels of a task; one for numbers, for those of about the same size."""
    known, outputs = model.task, task.head_outputs
    if model.labels or known is None or not has_label_rows(model):
        return model.labels == outputs.labels
    return not outputs.labels and type(known) is type(task) and known.head_outputs.fits(outputs)


def continues(start: Artefact | None, task: TaskSection) -> bool:
    """Whether a task is learned on by a model that has learned it before."""
    return start is not None and type(start.task) is type(task) and has_labels_of(start, task)


def has_label_rows(model: Artefact) -> bool:
    return any(name.startswith(LABEL_ROWS) for name, _ in model.module.named_parameters())


def adapt(start: Transformer, config: ModelConfig, *, seed: int, same_labels: bool) -> tuple[Transformer, str]:
    """A model of `config` with what `start` has in equal name and shape; the rest is drawn from the seed, rows of
    labels too unless they are the `same_labels`. Also returns a sentence about it.
    """
    if config == start.config and same_labels:
        return start, ""
    module = build(config, seed=seed)
    mine, theirs = dict(module.named_parameters()), dict(start.named_parameters())
    taken = [
        name
        for name, parameter in mine.items()
        if name in theirs and theirs[name].shape == parameter.shape and (same_labels or not name.startswith(LABEL_ROWS))
    ]
    with torch.no_grad():
        for name in taken:
            mine[name].copy_(theirs[name])
        if _SEGMENT in mine and _SEGMENT not in taken:
            table = theirs.get(_SEGMENT, torch.zeros_like(mine[_SEGMENT]))  # [rows, W]
            mine[_SEGMENT].copy_(table[:1].expand_as(mine[_SEGMENT]))
    fresh, left = sorted(mine.keys() - set(taken)), sorted(theirs.keys() - set(taken))
    summary = f"{len(taken)} tensors taken from the start model, {len(fresh)} initialized"
    if fresh:
        summary += f": {_short(fresh)}"
    return module, f"{summary}; not used: {_short(left)}" if left else summary


def widened(start: Transformer, config: ModelConfig) -> Transformer:
    """The model to start from, with as many segments as `config` has: it computes the same for each."""
    old, new = start.config.encoder, config.encoder
    if old is None or new is None or old.embed == new.embed:
        return start
    same = start.config.model_copy(update={"encoder": old.model_copy(update={"embed": new.embed})})
    return adapt(start, same, seed=0, same_labels=True)[0].eval()


def _short(names: list[str]) -> str:
    """Names grouped by their common module: `sentence_head.output.{bias,weight}`."""
    by_module: dict[str, list[str]] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        by_module.setdefault(module, []).append(last)
    return ", ".join(
        f"{module}.{{{','.join(lasts)}}}" if len(lasts) > 1 else f"{module}.{lasts[0]}"
        for module, lasts in by_module.items()
    )


def use_vectors(module: Transformer, tokenizer: Tokenizer, path: str | Path, *, freeze: bool) -> str:
    """Copy the vectors of tokens that are words of the file, and return a sentence; with `freeze` no word vector is
    trained. Raises DataError, and ShapeError for vectors of another length.
    """
    sides = _sides(module, tokenizer)
    places: dict[str, list[tuple[int, int]]] = {}  # side and row of its table
    for number, (_, side) in enumerate(sides):
        for id_, token in enumerate(side.vocabulary()):
            if id_ not in side.special_ids and token:
                word = token[1:] if token.startswith(_BLANKS) else token
                places.setdefault(word, []).append((number, id_))
    width = module.word_table.shape[1]
    found: set[tuple[int, int]] = set()
    with torch.no_grad():
        for line, word, numbers in _vectors(Path(path), width):
            if len(numbers) != width:
                raise ShapeError(
                    f"word vectors must have the width of the model, {width}",
                    got=f"{len(numbers)} numbers in {path}, line {line.number}",
                    do=f"set model.settings.width = {len(numbers)}",
                )
            for place in places.get(word, ()):
                if place not in found:
                    table, _ = sides[place[0]]
                    table[place[1]] = _floats(numbers, path, line)
                    found.add(place)
    if not found:
        raise DataError(f"{path} must share words with the vocabulary", got="none in common")
    for table, _ in sides:
        table.requires_grad_(not freeze)
    frozen = ", frozen" if freeze else ""
    tokens = sum(side.vocabulary_size for _, side in sides)
    return f"{len(found):,} of {tokens:,} tokens have a vector in {path}{frozen}"


def _sides(module: Transformer, tokenizer: Tokenizer) -> list[tuple[Tensor, Tokenizer]]:
    """The tables [V, W] of source and target with the tokenizer of each; once where both are one."""
    source = module.output_stack if module.encoder is None else module.encoder
    both = [(source.embed.word.weight, tokenizer), (module.word_table, tokenizer.target)]
    return both[:1] if both[0][0] is both[1][0] else both


def _vectors(path: Path, width: int) -> Iterator[tuple[Line, str, list[str]]]:
    """Word and numbers of each line. A first line of two numbers is a header of word2vec; a word of GloVe may have
    blanks.
    """
    for line in read_lines(path):
        word, *numbers = line.text.rstrip().split(" ")
        if len(numbers) > width and not any(map(_is_number, numbers[:-width])):
            word, numbers = " ".join([word, *numbers[:-width]]), numbers[-width:]
        if line.number == 1 and len(numbers) == 1 and word.isdigit():
            continue
        if word or numbers:
            yield line, word, numbers


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _floats(numbers: list[str], path: str | Path, line: Line) -> Tensor:
    if not all(map(_is_number, numbers)):
        raise DataError(f"{path}, line {line.number} must hold a word and numbers", got=line.text[:60])
    return torch.tensor([float(number) for number in numbers])  # [W]
