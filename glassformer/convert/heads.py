"""What a source is for: the table that reads its head, a refusal that names it, its labels, the length of its texts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.config import HeadUse, ModelConfig
from glassformer.convert.family import Family
from glassformer.convert.rotary import dynamic_length

# The endings of the classes whose heads are not built here for every family, and what these heads give.
_HEADS = {
    "ForTokenClassification": "a label for each token",
    "ForQuestionAnswering": "the start and the end of an answer",
    "ForMultipleChoice": "a choice among texts",
    "ForSequenceClassification": "labels for a text",
    "DoubleHeadsModel": "a choice among texts and the next word",
}
_ONE_LABEL, _SEVERAL, _NUMBER = "single_label_classification", "multi_label_classification", "regression"
_UNSTATED = ("dropout", "several", "spans")


@dataclass(frozen=True)
class LabelUse:
    """What the head's labels are for (None where nobody says), their names, whether `several` hold at once, and of tags
    whether spans are known to have `begun` with B-.
    """

    head: HeadUse | None = None
    labels: tuple[str, ...] = ()
    several: bool = False
    begun: bool = False


NO_LABELS = LabelUse()
# Where an export says that spans begin with B-: transformers keeps these settings, and does not read them.
_TAGS, _BEGUN = "token-classification", "spans_begin_with_b"


def table_of_source(family: Family, values: Mapping[str, Any], stored: Collection[str], where: str) -> Family:
    """The table for what a folder holds: the family's own, or that of a class that gives labels. The class that
    `config.json` names decides; where it names none, the tensors do. Raises CheckpointError, with the name of the head,
    for a class whose head is not built here.
    """
    named = architectures(values)
    for table in family.label_heads.values():
        if set(table.classes.values()) & set(named):
            return table
    if not named:
        marked = [table for table in family.label_heads.values() if table.marks and set(table.marks) <= set(stored)]
        return marked[0] if marked else family
    for name in named:
        gives = next((gives for ending, gives in _HEADS.items() if name.endswith(ending)), None)
        if gives is not None:
            known = [name for table in (family, *family.label_heads.values()) for name in table.classes.values()]
            raise CheckpointError(
                f"{where}: the head must be one that glassformer has",
                got=f"{name[:80]}, whose head gives {gives}",
                do=f"these can be read: {', '.join(known)}",
            )
    return family


def table_for(family: Family, config: ModelConfig, use: LabelUse) -> Family:
    """The table to write a model by: that of a class that gives labels where `use` says what its head answers, where
    its labels have names, or where the family has no other class with labels. Raises ConfigError for a pooling or
    scores of words that this class does not compute.
    """
    answers = _answers(family, config, use)
    table = family if answers is None else family.label_heads.get(answers, family)
    head = config.sentence_head
    if table.answers is not None and head is not None and head.labels and head.pooling not in table.poolings:
        name = next(iter(table.classes.values()))
        plain = ", words = false" if head.words else ""
        known = [each for each in table.poolings if answers != "candidates" or each != "mean_pooler"]
        raise ConfigError(
            f"{name} must compute a text's vector as this model does",
            got=f"the pooling {head.pooling!r}",
            do=f"train the task with pooling = {' or '.join(map(repr, known))}{plain}",
        )
    if head is not None and head.words:
        raise ConfigError(
            "the head must be one that transformers has",
            got="scores of tokens and their neighbours in addition",
            do="train the task with words = false",
        )
    return table


def _answers(family: Family, config: ModelConfig, use: LabelUse) -> HeadUse | None:
    """What a model's head for labels answers, None for the family's own class."""
    head = config.sentence_head
    if config.token_head is not None:
        return "span" if use.head == "span" else "token labels"
    if head is None or not head.labels:
        return None
    if use.head in ("sentence labels", "number", "candidates"):
        return "candidates" if use.head == "candidates" else "sentence labels"
    next_sentence = head.labels == 2 and (False, True) in family.classes
    return "sentence labels" if use.labels or (config.head is None and not next_sentence) else None


def architectures(values: Mapping[str, Any]) -> list[str]:
    named = values.get("architectures")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def read_use(family: Family, config: ModelConfig, values: Mapping[str, Any], where: str) -> LabelUse:
    """What the labels of a folder are for; raises CheckpointError where their number or their names do not fit it."""
    head = config.sentence_head or config.token_head
    if family.answers is None or head is None:
        return NO_LABELS
    wanted = {"span": 2, "candidates": 1}.get(family.answers)
    if wanted is not None:
        if head.labels != wanted:
            gives = "the start and the end of an answer" if wanted == 2 else "one number for each of several texts"
            raise CheckpointError(f"{where}: this head must give {gives}", got=f"{head.labels} labels")
        return LabelUse(family.answers)
    if family.answers == "token labels":
        own = values.get("task_specific_params")
        own = own.get(_TAGS) if isinstance(own, Mapping) else None
        begun = isinstance(own, Mapping) and own.get(_BEGUN) is True
        return LabelUse("token labels", _names(values, head.labels, where), begun=begun)
    problem = values.get("problem_type")
    if problem is None:
        problem = _NUMBER if head.labels == 1 else _ONE_LABEL
    fits = {_ONE_LABEL: head.labels > 1, _SEVERAL: True, _NUMBER: head.labels == 1}
    if not isinstance(problem, str) or not fits.get(problem, False):
        raise CheckpointError(
            f"{where}: a classifier must give one of several labels, several of them, or one number",
            got=f"a head for {head.labels} label{'' if head.labels == 1 else 's'}, problem_type = {problem!r}",
        )
    if problem == _NUMBER:
        return LabelUse("number")
    return LabelUse("sentence labels", _names(values, head.labels, where), several=problem == _SEVERAL)


def _names(values: Mapping[str, Any], count: int, where: str) -> tuple[str, ...]:
    """The names of the labels; raises CheckpointError where they are not one name for each row of the head."""
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


def write_use(family: Family, config: ModelConfig, use: LabelUse) -> dict[str, Any]:
    """The names of the labels and what they are for, as `config.json` holds them; LABEL_0 … where they have none."""
    head = config.sentence_head or config.token_head
    if family.answers not in ("sentence labels", "token labels") or head is None:
        return {}
    names = list(use.labels) or [f"LABEL_{number}" for number in range(head.labels)]
    number = head.labels == 1 and use.head in (None, "number")
    problem = _NUMBER if number else _SEVERAL if use.several else _ONE_LABEL
    if problem == _ONE_LABEL and head.labels == 1 and family.answers == "sentence labels":
        wanted, do = "a classifier of transformers has at least two labels", "export it to onnx"
        raise ConfigError(wanted, got=repr(names[0])[:60], do=do)
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
        **({"problem_type": problem} if family.answers == "sentence labels" else {}),
        **({"task_specific_params": {_TAGS: {_BEGUN: True}}} if use.begun else {}),
    }


def without_crf(config: ModelConfig) -> ModelConfig:
    """The model without the scores of a CRF's steps, which no class of theirs has: its tagger."""
    if config.token_head is None or not config.token_head.crf:
        return config
    return config.model_copy(update={"token_head": config.token_head.model_copy(update={"crf": False})})


def left_behind(config: ModelConfig, back: ModelConfig) -> tuple[str, ...]:
    """What an export leaves out of a model's head, as it comes back as another: sentences."""
    left = []
    if config != without_crf(config):
        left.append(
            "the CRF's scores of label after label are left out: the export is its tagger, which labels a token alone"
        )
    for name in ("sentence_head", "token_head"):
        head, other = getattr(config, name), getattr(back, name)
        if head is not None and other is not None and head.dropout != other.dropout:
            left.append(
                f"the dropout before the labels is {other.dropout:g} there and {head.dropout:g} here: it matters in "
                "training alone"
            )
    return tuple(left)


def with_use(config: ModelConfig, use: LabelUse) -> ModelConfig:
    """The model of a folder whose labels are for this."""
    update: dict[str, object] = {}
    if config.sentence_head is not None:
        update["sentence_head"] = config.sentence_head.model_copy(update={"several": use.several})
    if config.token_head is not None:
        update["token_head"] = config.token_head.model_copy(update={"spans": use.head == "span"})
    return config.model_copy(update=update)


def with_unstated(config: ModelConfig, like: ModelConfig) -> ModelConfig:
    """The config with what the tensors' settings do not say of a head, as another one has it: the dropout before the
    labels, which several of their classes have no setting for, and what the labels are for.
    """
    update = {
        name: head.model_copy(update={key: getattr(other, key) for key in _UNSTATED if hasattr(other, key)})
        for name in ("sentence_head", "token_head")
        if (head := getattr(config, name)) is not None and (other := getattr(like, name)) is not None
    }
    return config.model_copy(update=update)


def free_length(family: Family, config: ModelConfig, values: Mapping[str, Any], where: str) -> int | None:
    """How long a text the model is for, where no table of positions limits it and no stretch reads on from there."""
    length = values.get("max_position_embeddings")
    rotary = [block.self_attention.body.rotary for block in config.output_stack.blocks]
    if not family.free_length or length is None or dynamic_length(*rotary) is not None:
        return None
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise CheckpointError(f"{where}: max_position_embeddings must be a number of tokens", got=repr(length)[:80])
    return length
