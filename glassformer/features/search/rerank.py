"""Ordering texts by how well a model of pairs finds that they fit a question, with which it reads each of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.answering.answers import answers, predictor_for
from glassformer.base.errors import ConfigError, DataError, did_you_mean
from glassformer.saved.artefact import Artefact
from glassformer.tasks import task_named
from glassformer.tasks.labels.choose.answers import Choice
from glassformer.tasks.labels.labels import Labels, TextPairTask

# Labels of pairs that fit, in small letters: the default where a model has exactly one of them.
_FITS = ("1", "yes", "true", "relevant", "isnext")


class Reranker:
    """A model that was trained on pairs of texts, as a judge of how well texts fit a question.

    A model trained with `classify` says how likely `label` is, by default the one that is called 1, yes, true, relevant
    or IsNext; one trained with `regress` gives its number, one trained with `choose` how likely each text is among all
    of them. `score` names which of them it is.
    """

    def __init__(self, model: Artefact | str | Path, *, label: str | None = None) -> None:
        """By an opened model or one that is named. Raises ConfigError for one that does not read pairs, and for labels
        of which none is asked for, or one that the model does not have.
        """
        from glassformer.saved.opening import open_model

        self.model = model if isinstance(model, Artefact) else open_model(model, Artefact)
        task = None if self.model.task is None else task_named(self.model.task.name)
        if task is None or "sentence_head" not in task.verbs:
            raise _not_of_pairs(f"a model for {self.model.task_name or 'no task'}")
        self.verb, self.among = task.verbs["sentence_head"], task.head_use == "candidates"
        self.label, self.score = "", "number"
        try:
            predictor = predictor_for(self.model, self.verb, {})
        except ConfigError as error:
            raise _not_of_pairs(error.got) from None
        pairs = predictor.pairs if isinstance(predictor, TextPairTask) else True
        if pairs is False:
            raise _not_of_pairs("one that was trained on single texts")
        self.known = pairs is True  # of an imported model nothing says that it reads pairs
        labels = tuple(self.model.labels)
        if label is not None and label not in labels:
            raise ConfigError(
                "a label of the re-ranking model is needed", got=repr(label)[:60], do=did_you_mean(label, labels)
            )
        if self.among:
            self.score = "probability"
        elif labels:
            likely = [each for each in labels if each.lower() in _FITS] if label is None else [label]
            if len(likely) != 1:
                raise ConfigError(
                    "the label of a text that fits is needed",
                    got=f"none, of a model with the labels {', '.join(labels)}"[:200],
                    do="give it with --rerank-label, in Python Reranker(model, label=...)",
                )
            self.label, self.score = likely[0], "probability"

    def records(self, question: str, texts: Sequence[str]) -> list[dict[str, object]]:
        """What the verb reads for a question and its texts; no record where there is nothing to compare."""
        if self.among:
            return [{"text": question, "choices": list(texts)}] if len(texts) > 1 else []
        return [{"text": question, "pair": each} for each in texts]

    def scores(self, found: Iterable[Any], texts: int) -> list[float]:
        """How well each of so many texts fits, larger is better, from the answers to their `records`."""
        if self.among:
            choices: list[Choice] = list(found)
            return list(choices[0].probabilities) if choices else [1.0] * texts
        return [each.probabilities[self.label] if isinstance(each, Labels) else float(each.number) for each in found]

    def rank(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[tuple[int, float]]]:
        """For each question the places of its texts, the best first, each with its score; equal ones stay in order.
        Raises DataError unless each question has its list of texts.
        """
        if isinstance(questions, str) or len(questions) != len(texts) or any(isinstance(its, str) for its in texts):
            raise DataError("a list of questions, and for each its list of texts, are needed", got=repr(texts)[:60])
        asked: list[Mapping[str, object]] = []
        ends = []
        for question, its in zip(questions, texts, strict=True):
            asked += self.records(question, its)
            ends.append(len(asked))
        found, ranked, begin = answers(self.model, self.verb, asked, {}), [], 0
        for its, end in zip(texts, ends, strict=True):
            ranked.append(best_first(self.scores(found[begin:end], len(its))))
            begin = end
        return ranked


def judge_of(model: Artefact) -> Reranker | None:
    """The judge that a model is without further words; None for one that is none, or of which that is not known."""
    try:
        judge = Reranker(model)
    except ConfigError:
        return None
    return judge if judge.known else None


def best_first(scores: Sequence[float]) -> list[tuple[int, float]]:
    """The place of each score with it, the largest first, equal ones in their order."""
    return sorted(enumerate(scores), key=lambda each: -each[1])


def _not_of_pairs(got: str) -> ConfigError:
    return ConfigError(
        "re-ranking needs a model that was trained on pairs of texts",
        got=got,
        do="train one: glassformer train choose, or train classify with --pair-column",
    )
