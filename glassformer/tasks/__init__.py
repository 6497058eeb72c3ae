"""Tasks, which a model learns, and verbs, which a model answers: one small file for each, and two tables that name
them.

The tables hold strings only, so that --help does not have to import torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from glassformer.base.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from glassformer.config import ModelConfig
    from glassformer.tasks.task import Predictor, Task


class TaskEntry(NamedTuple):
    """Module and class of a task, its line of help, the recipes that `train TASK FILES` uses without and with a start
    model, the options that name columns of its tables, the class of its `[data]` table in `data.settings`, whether
    the sizes are chosen by text and time, and whether it learns pairs of a source and a target. `alone`: module, class
    and recipe where the model is a decoder alone and learns it in another way.
    """

    module: str
    kind: str
    help: str
    recipe: str
    tuning: str
    columns: tuple[str, ...] = ()
    data: str = "CorpusSection"
    sized: bool = False
    pairs: bool = False
    alone: tuple[str, str, str] | None = None


class VerbEntry(NamedTuple):
    """Module and class of a verb's predictor, its line of help, the roles of the columns that it reads, the tasks whose
    model in the package answers where none is named, by task the module and class of another predictor, and the files
    that it reads beside running text. `only`: roles that are read for models of these tasks alone. `blank`: a text of
    only blanks has an answer. `turns`: what is answered is a conversation, whose text may be a list of turns. `alone`:
    the module and class of the predictor of models that are a decoder alone.
    """

    module: str
    kind: str
    help: str
    columns: tuple[str, ...] = ("text",)
    tasks: tuple[str, ...] = ("masked-lm",)
    others: Mapping[str, tuple[str, str]] = MappingProxyType({})
    files: str = ".jsonl, .csv, .tsv, .parquet"
    only: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    blank: bool = False
    turns: bool = False
    alone: tuple[str, str] | None = None


TASKS: dict[str, TaskEntry] = {
    "masked-lm": TaskEntry(
        "words.masked_lm.task",
        "MaskedLM",
        "guess masked words, from running text",
        "masked-lm-mini",
        "masked-lm-mini",
        sized=True,
    ),
    "language-model": TaskEntry(
        "writing.language_model.task",
        "LanguageModel",
        "tell each token from those before it, from running text",
        "language-model",
        "language-model",
        sized=True,
    ),
    "annotated-masks": TaskEntry(
        "words.annotated_masks.task",
        "AnnotatedMasks",
        "guess masked words, with masks and answers from a table",
        "annotated-masks",
        "annotated-masks",
        ("text", "answers"),
        "AnnotatedMasksData",
    ),
    "bert": TaskEntry(
        "words.bert.task",
        "Bert",
        "masked words and next sentence together, from running text",
        "bert-mini",
        "bert-mini",
    ),
    "classify": TaskEntry(
        "labels.classify.task",
        "Classify",
        "one label, or several, for a text or a pair, from a table",
        "classify-from-scratch",
        "classify",
        ("text", "pair", "label"),
        "ClassifyData",
    ),
    "regress": TaskEntry(
        "labels.regress.task",
        "Regress",
        "a number for a text or a pair, from a table",
        "regress-from-scratch",
        "regress",
        ("text", "pair", "label"),
        "TextPairData",
    ),
    "choose": TaskEntry(
        "labels.choose.task",
        "Choose",
        "one of several candidates for a text, from a table",
        "choose-from-scratch",
        "choose",
        ("text", "choices", "label"),
        "ChooseData",
    ),
    "sentence-order": TaskEntry(
        "words.sentence_order.task",
        "SentenceOrder",
        "does a sentence follow another, from running text",
        "sentence-order-mini",
        "sentence-order",
    ),
    "tag": TaskEntry(
        "labels.tag.task",
        "Tag",
        "a tag for each word: names, parts of speech; from CoNLL, CoNLL-U or JSON lines",
        "tag-from-scratch",
        "tag",
        ("text", "words", "tags", "spans"),
        "TagData",
    ),
    "answer": TaskEntry(
        "labels.answer.task",
        "AnswerQuestions",
        "answer questions with a part of a passage",
        "answer-from-scratch",
        "answer",
        ("text", "pair", "answers"),
        "AnswerData",
    ),
    "translate": TaskEntry(
        "writing.translate.task",
        "Translate",
        "translate a text, from pairs in a table or in two files",
        "translate",
        "translate",
        ("text", "target"),
        "TranslateData",
        sized=True,
        pairs=True,
    ),
    "chat": TaskEntry(
        "writing.chat.task",
        "Chat",
        "reply to the turns of a conversation, from dialogues",
        "chat",
        "chat",
        ("text",),
        "ChatData",
        sized=True,
        pairs=True,
        alone=("writing.chat.alone", "ChatAlone", "chat-decoder"),
    ),
}

VERBS: dict[str, VerbEntry] = {
    "fill": VerbEntry("words.masked_lm.fill", "Fill", "guess the words behind [MASK]"),
    "score": VerbEntry(
        "words.masked_lm.score",
        "PseudoLikelihood",
        "how likely a text is, or the translation of a text, token by token",
        ("text", "target"),
        others={
            "translate": ("writing.likelihood", "PairLikelihood"),
            "chat": ("writing.likelihood", "PairLikelihood"),
            "language-model": ("writing.likelihood", "Likelihood"),
        },
        only={"target": ("translate", "chat")},
        alone=("writing.likelihood", "Likelihood"),
    ),
    "classify": VerbEntry(
        "labels.classify.task",
        "Classify",
        "the label, the labels or the number of a text or a pair",
        ("text", "pair"),
        ("classify",),
        {"regress": ("labels.regress.task", "Regress")},
    ),
    "choose": VerbEntry(
        "labels.choose.task", "Choose", "which candidate belongs to a text", ("text", "choices"), ("choose",)
    ),
    "tag": VerbEntry(
        "labels.tag.task",
        "Tag",
        "the tags of a text's words, as spans of characters",
        ("text", "words"),
        ("tag",),
        files=".conll, .conllu, .jsonl, .csv, .tsv, .parquet",
    ),
    "answer": VerbEntry(
        "labels.answer.task",
        "AnswerQuestions",
        "the answer to a question, from a passage",
        ("text", "pair"),
        ("answer",),
        files=".json as SQuAD has it, .jsonl, .csv, .tsv, .parquet",
    ),
    "generate": VerbEntry(
        "writing.generator",
        "Generate",
        "the text that goes on behind a prompt",
        tasks=("language-model",),
        blank=True,
    ),
    "chat": VerbEntry(
        "writing.chat.chatter",
        "Chatter",
        "the reply to a conversation, or a conversation",
        tasks=("chat",),
        turns=True,
        alone=("writing.chat.talker", "Talker"),
    ),
    "translate": VerbEntry(
        "writing.translator", "Translator", "the translation of a text", tasks=("translate",), blank=True
    ),
}


def task_named(name: str) -> type[Task]:
    """The task of this name; raises ConfigError with the nearest one, or the list."""
    return cast("type[Task]", _found(TASKS, name, "task"))


def task_of(name: str, model: ModelConfig) -> type[Task]:
    """The task of this name as such a model learns it; raises as `task_named` does."""
    kind, entry = task_named(name), TASKS[name]
    if entry.alone is None or not is_alone(model):
        return kind
    return cast("type[Task]", getattr(importlib.import_module(f"glassformer.tasks.{entry.alone[0]}"), entry.alone[1]))


def verb_of(task: str) -> str:
    """The verb that shows what models of this task have learned, "" where none does; raises as `task_named` does."""
    return next(iter(task_named(task).verbs.values()), "")


def is_alone(model: ModelConfig) -> bool:
    """Whether a model is a decoder alone."""
    return model.encoder is None and model.decoder is not None


def predictor_of(verb: str, task: str | None = None, model: ModelConfig | None = None) -> type[Predictor[Any, Any]]:
    """The predictor of a verb, for models of this task, or such a model; raises ConfigError for an unknown verb."""
    alone = VERBS[verb].alone if verb in VERBS and model is not None and is_alone(model) else None
    if alone is not None:
        module, kind = alone
        return cast("type[Predictor[Any, Any]]", getattr(importlib.import_module(f"glassformer.tasks.{module}"), kind))
    if verb in VERBS and task is not None and task in VERBS[verb].others:
        module, kind = VERBS[verb].others[task]
        return cast("type[Predictor[Any, Any]]", getattr(importlib.import_module(f"glassformer.tasks.{module}"), kind))
    return cast("type[Predictor[Any, Any]]", _found(VERBS, verb, "verb"))


def _found(table: Mapping[str, TaskEntry] | Mapping[str, VerbEntry], name: str, what: str) -> object:
    if name not in table:
        raise ConfigError(f"there is no {what} {name!r}", do=did_you_mean(name, table))
    entry = table[name]
    return getattr(importlib.import_module(f"glassformer.tasks.{entry.module}"), entry.kind)
