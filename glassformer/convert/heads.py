"""What a source is for: the table that reads its head, a refusal that names it, its labels, the length of its texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from glassformer.config import ModelConfig
from glassformer.convert.family import Family
from glassformer.convert.rotary import dynamic_length
from glassformer.errors import CheckpointError

# The endings of the classes whose heads are not built here, and what these heads give.
_HEADS = {
    "ForTokenClassification": "a label for each token",
    "ForQuestionAnswering": "the start and the end of an answer",
    "ForMultipleChoice": "a choice among texts",
    "ForSequenceClassification": "labels for a text",
    "DoubleHeadsModel": "a choice among texts beside the next word",
}
_ONE_LABEL = "single_label_classification"


def table_of_source(family: Family, values: Mapping[str, Any], stored: Collection[str], where: str) -> Family:
    """The table for what a folder holds: the family's own, or that of its sentence classifier.

    The class that `config.json` names decides; where it names none, the tensors do. Raises CheckpointError, with the
    name of the head, for a class whose head is not built here.
    """
    classifier, named = family.classifier, architectures(values)
    if classifier is not None:
        wanted = set(classifier.classes.values())
        if wanted & set(named) or (not named and set(classifier.marks) <= set(stored)):
            return classifier
    for name in named:
        gives = next((gives for ending, gives in _HEADS.items() if name.endswith(ending)), None)
        if gives is not None:
            known = [*family.classes.values(), *(classifier.classes.values() if classifier else ())]
            raise CheckpointError(
                f"{where}: the head must be one that glassformer has",
                got=f"{name[:80]}, whose head gives {gives}",
                do=f"these can be read: {', '.join(known)}",
            )
    return family


def table_for(family: Family, config: ModelConfig, labels: Sequence[str]) -> Family:
    """The table to write a model by: that of a sentence classifier where its labels have names, or where the family
    has no other class with labels.
    """
    head = config.sentence_head
    if family.classifier is None or head is None or not head.labels or (config.head is not None and not labels):
        return family
    next_sentence = head.labels == 2 and (False, True) in family.classes
    return family if next_sentence and not labels else family.classifier


def architectures(values: Mapping[str, Any]) -> list[str]:
    """The classes that `config.json` names."""
    named = values.get("architectures")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def read_labels(values: Mapping[str, Any], count: int, where: str) -> tuple[str, ...]:
    """The names of a classifier's labels; raises CheckpointError where they are not one name for each of its rows."""
    problem = values.get("problem_type")
    if problem not in (None, _ONE_LABEL) or count < 2:
        raise CheckpointError(
            f"{where}: a classifier must choose one of several labels",
            got=f"a head for {count} label{'' if count == 1 else 's'}"
            + ("" if problem is None else f", problem_type = {problem!r}"),
        )
    named = values.get("id2label")
    if named is None:
        return tuple(f"LABEL_{number}" for number in range(count))
    names = [named.get(str(number)) for number in range(count)] if isinstance(named, Mapping) else []
    words = [name for name in names if isinstance(name, str) and name.strip()]
    if not isinstance(named, Mapping) or len(named) != count or len(set(words)) != count:
        raise CheckpointError(
            f"{where}: id2label must name each of the {count} labels, and no two alike", got=repr(named)[:200]
        )
    return tuple(words)


def write_labels(config: ModelConfig, labels: Sequence[str]) -> dict[str, Any]:
    """The names of the labels as `config.json` holds them; LABEL_0 … where they have none."""
    count = 0 if config.sentence_head is None else config.sentence_head.labels
    names = list(labels) or [f"LABEL_{number}" for number in range(count)]
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
        "problem_type": _ONE_LABEL,
    }


def free_length(family: Family, config: ModelConfig, values: Mapping[str, Any], where: str) -> int | None:
    """How long a text the model is for, where no table of positions tells it and no stretch reads on from there."""
    length = values.get("max_position_embeddings")
    rotary = [block.self_attention.body.rotary for block in config.output_stack.blocks]
    if not family.free_length or length is None or dynamic_length(*rotary) is not None:
        return None
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise CheckpointError(f"{where}: max_position_embeddings must be a number of tokens", got=repr(length)[:80])
    return length
