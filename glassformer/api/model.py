"""The class `Model`: a saved model with the verbs that users call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
import torch
from torch import Tensor

from glassformer.answering.answers import Texts, answers, listed, numbered, options_for, records_for, texts_and_words
from glassformer.api.writing import Writing
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.html import page, table
from glassformer.base.paths import refuse_no_path
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.info import describe

if TYPE_CHECKING:
    from glassformer.api.trace import Trace
    from glassformer.features.strategies import Mix
    from glassformer.look.trace.interventions import Intervention
    from glassformer.run.exports import Export
    from glassformer.tasks.labels.answer.answers import Answer
    from glassformer.tasks.labels.choose.answers import Choice
    from glassformer.tasks.labels.tag.answers import Tagging
    from glassformer.tasks.words.masked_lm.fill import Filled


class Model(Writing):
    """A saved or trained model that takes raw text and answers questions about it."""

    @classmethod
    def of(cls, record: Artefact) -> Self:
        """The model of a record, with the same weights."""
        model = cls.__new__(cls)
        model.__dict__.update(record.__dict__)
        return model

    def ask(
        self,
        verb: str,
        text: str | Texts,
        pair: str | Texts | None = None,
        *,
        target: str | Texts | None = None,
        choices: Sequence[str] | Sequence[Sequence[str]] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        """The answer of any verb of `glassformer.tasks.VERBS` by its name, or a list of the answers to several texts.

        `pair` is the second text of each, or one for all, `target` and `choices` are as of `score` and `choose`.
        `options` are those of the verb by name: `top`, or those of `WritingOptions` for one that writes. Raises
        ConfigError for an unknown verb, for what the verb does not read, and for a model that does not answer it;
        DataError for a text that cannot be used.
        """
        records = records_for(verb, text, {"pair": pair, "target": target, "choices": choices})
        if target is not None and None in (self.config.encoder, self.config.decoder):
            got = f"{self.config.family}, which has one stack"
            raise ConfigError("a target is that of an encoder–decoder", got=got, do="leave it out")
        found = answers(self, verb, records, options_for(verb, options or {}))
        return found[0] if isinstance(text, str) else found

    @overload
    def fill(self, text: str, *, top: int = 5, expect: Sequence[str] = ()) -> Filled: ...
    @overload
    def fill(self, text: Texts, *, top: int = 5, expect: Sequence[str] = ()) -> list[Filled]: ...
    def fill(self, text: str | Texts, *, top: int = 5, expect: Sequence[str] = ()) -> Filled | list[Filled]:
        """The `top` best predictions for each [MASK] in a text, or in each of many texts.

        `expect` are the words that were hidden, one for each [MASK]: each is hidden as all of its tokens, whose
        probabilities and ranks are in `Filled.expected`. Masked words are predicted independently of one another. A
        text longer than the model's `max_text_tokens` is read in windows. Raises DataError for a text without [MASK],
        ConfigError for a model that cannot fill.
        """
        return self.ask("fill", text, options={"top": top, "expect": [expect] if isinstance(expect, str) else expect})

    @overload
    def score(self, text: str, target: str | None = None) -> Any: ...
    @overload
    def score(self, text: Texts, target: str | Texts | None = None) -> list[Any]: ...
    def score(self, text: str | Texts, target: str | Texts | None = None) -> Any:
        """The pseudo-log-likelihood of a text, or of each of many, token by token: a `Scored`.

        Of a decoder, the probability of each token after those before it: a `ScoredText`. Of a model that translates,
        that of a given `target` for each text: a `ScoredPair`. Raises DataError for a text of only blanks and for a
        missing target, ConfigError for a model that does neither, and for a target of a model with one stack.
        """
        return self.ask("score", text, target=target)

    @overload
    def classify(self, text: str, pair: str | None = None) -> Any: ...
    @overload
    def classify(self, text: Texts, pair: str | Texts | None = None) -> list[Any]: ...
    def classify(self, text: str | Texts, pair: str | Texts | None = None) -> Any:
        """The label of a text, or of a pair of texts, with the probability of each label; or of each of many.

        A `Class`; `Classes` from a model of several labels, a `Number` from one that was trained to answer with it.

        A text longer than the model reads at once is read in windows whose probabilities are averaged. Raises DataError
        for a text of only blanks, ConfigError for a model that was not trained to classify.
        """
        return self.ask("classify", text, pair)

    @overload
    def choose(self, text: str, choices: Sequence[str]) -> Choice: ...
    @overload
    def choose(self, text: Texts, choices: Sequence[Sequence[str]]) -> list[Choice]: ...
    def choose(self, text: str | Texts, choices: Sequence[str] | Sequence[Sequence[str]]) -> Choice | list[Choice]:
        """Which of its candidates belongs to a text, with the probability of each; or for each of many texts, which may
        have different numbers of candidates.

        A text longer than the model reads at once is read in windows whose probabilities are averaged. Raises DataError
        for fewer than two candidates and for blanks, ConfigError for a model that was not trained to choose.
        """
        return self.ask("choose", text, choices=choices)

    @overload
    def tag(self, text: str) -> Tagging: ...
    @overload
    def tag(self, text: Texts) -> list[Tagging]: ...
    @overload
    def tag(self, *, words: Sequence[Sequence[str]]) -> list[Tagging]: ...
    def tag(self, text: str | Texts = (), *, words: Sequence[Sequence[str]] = ()) -> Tagging | list[Tagging]:
        """The spans that a model marks in a text, or in each of many, with character offsets in it.

        Words are split at blanks and punctuation, unless sentences are given as `words`. A long text is read in
        windows. Raises DataError for a text without words, ConfigError for a model that was not trained to tag.
        """
        found: list[Tagging] = answers(self, "tag", texts_and_words(text, words), {})
        return found[0] if isinstance(text, str) and len(found) == 1 else found

    @overload
    def answer(self, question: str, context: str, *, top: int = 5) -> Answer: ...
    @overload
    def answer(self, question: Texts, context: str | Texts, *, top: int = 5) -> list[Answer]: ...
    def answer(self, question: str | Texts, context: str | Texts, *, top: int = 5) -> Answer | list[Answer]:
        """The answer to a question as a part of a passage, with the `top` best spans; or to each of many, about one
        passage or each about its own.

        A passage longer than the model reads at once is read in windows. Raises DataError for a question or passage of
        only blanks, ConfigError for a model that was not trained to answer.
        """
        return self.ask("answer", question, context, options={"top": top})

    def evaluate(self, *files: str | Path) -> dict[str, float]:
        """The task's scores on these files, compared with baselines.

        Without files: on the text that was held out in training.
        """
        from glassformer.run.evaluate import evaluate

        return evaluate(self, files).flat()

    def trace(
        self,
        text: str | Texts,
        pair: str | Texts | None = None,
        *,
        scored_at: Tensor | Sequence[int] | None = None,
        labels: Tensor | None = None,
        keep: Iterable[str] | str | None = None,
        dtype: torch.dtype | None = None,
        predicts_in: torch.dtype | None = None,
        interventions: Sequence[Intervention] = (),
        gradients: str | None = None,
        choices: Sequence[str] | None = None,
        target_ids: Sequence[int] | Sequence[Sequence[int]] | None = None,
    ) -> Trace:
        """Run a text, a pair of texts, or the source and the target of an encoder–decoder, and give access to every
        tensor; several texts are run as one batch, and so is a text with each of its candidates (`choices`).

        Always in float32 or float64 (`dtype`), whatever type the model predicts in. The options are those of
        `glassformer.trace`. Without a target an encoder–decoder reads its own translation; `target_ids` are what its
        decoder reads as tokens, its start token first, for each text. Raises DataError for blanks.
        """
        from glassformer.api.trace import Trace
        from glassformer.look.texts.trace import trace
        from glassformer.look.trace.run import Options
        from glassformer.runtime.device import check_float64

        check_float64(self.device, dtype)
        options = Options(scored_at, labels, keep=keep, dtype=dtype, predicts_in=predicts_in, gradients=gradients)
        found = trace(
            self, text, pair, choices=choices, target_ids=target_ids, interventions=interventions, options=options
        )
        return Trace.of(found)

    def embed(
        self,
        text: str | Texts = (),
        *,
        strategy: str | Mix | Sequence[str | Mix] = "last",
        pooling: str | Sequence[str] | None = None,
        words: bool | Sequence[Sequence[str]] = False,
        fast: bool | None = None,
    ) -> Any:
        """The vector [F] of a text as an array, or the vectors [N, F] of many; a dictionary of such arrays by
        `strategy.pooling` where several strategies or poolings are asked for, made in one pass through the model.

        With `words` a `Vectors` for each text: its words, their offsets, and the vectors [P, F] of each feature. Words
        are split at blanks and punctuation, unless sentences are given as `words`, each a list of words. The strategies
        are those of `glassformer.features.strategies`, the poolings `first`, `mean`, `max`, `last-token`; by
        default that of the model for texts (`mean`, or as an imported model of sentence-transformers says), and `mean`
        for words. With `fast`
        in bfloat16 where the machine is faster with it (`fast_told` says what that changes; None: as the model was
        opened). Raises ConfigError for a strategy that needs layers which the model does not have, DataError for
        anything but texts or words.
        """
        from glassformer.features.embed import alone

        if words is False and (vector := alone(self, text, strategy, pooling, fast=fast)) is not None:
            return vector
        from glassformer.features.embed import embed, vectors_of
        from glassformer.features.strategies import Mix
        from glassformer.features.strategies import listed as listed_features

        several = not (isinstance(strategy, str | Mix) and isinstance(pooling, str | None))
        poolings = None if pooling is None else listed_features(pooling)
        maker = vectors_of(self, listed_features(strategy), poolings, words=words is not False)
        records = numbered(texts_and_words(text, () if isinstance(words, bool) else words))
        found = list(embed(self, maker, records, fast=fast))
        if maker.words:
            return found[0] if isinstance(text, str) and len(found) == 1 else found
        arrays = {
            feature.name: np.stack([each.vectors[feature.name] for each in found])
            if found
            else np.zeros((0, width), np.float32)
            for feature, width in zip(maker.features, maker.widths, strict=True)
        }  # [N, F] each
        if isinstance(text, str):
            arrays = {name: of[0] for name, of in arrays.items()}
        return arrays if several else next(iter(arrays.values()))

    def info(self) -> dict[str, Any]:
        """Family, sizes, parameters by part, tokenizer, task, precision, data: plain lists and strings."""
        return describe(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return of_model(self)

    def export(
        self,
        directory: str | Path,
        to: str = "huggingface",
        *,
        features: bool = False,
        pooling: str | None = None,
        int8: bool = False,
        texts: str | Sequence[str] = (),
        data: str | Path | Sequence[str | Path] = (),
    ) -> Export:
        """Write the model to a folder for other programs: `huggingface` for transformers, `onnx` for onnxruntime.

        An export to ONNX has the heads of an encoder: its answers or, with `features`, its states and the vector of a
        text by `pooling` (mean, first, max; by default the model's own). It is compared with the model, on `texts` or
        on bundled ones, before it is kept. `int8` adds a graph with matrices of 8 bits, and what they cost: on labelled
        `data` the scores of all with intervals, else the share of answers that change.

        Raises ConfigError for a model that the format does not have, MissingExtraError without onnx and onnxruntime,
        CheckpointError where it cannot be written or does not give what the model gives.
        """
        from glassformer.run.exports import ExportOptions, export

        files = [data] if isinstance(data, str | Path) else data
        options = ExportOptions(features, pooling, int8, tuple(listed(texts)), tuple(files))
        return export(self, directory, to, options)

    def save(self, directory: str | Path) -> Path:
        """Write the model to a directory, atomically: a new one, one with a model of glassformer, which is replaced, or
        one without a model, a tokenizer and a recipe, whose files stay.

        Raises CheckpointError when that is impossible, and where the directory has the run of another model.
        """
        refuse_no_path(directory, CheckpointError)
        store.refuse_a_run(Path(directory), self.source)
        if not store.is_ours(directory):
            store.refuse_a_model(directory, "a saved model", (*store.FILES, *store.TOKENIZERS))
        return store.write(directory, self)


# Labels that are named.
_LABELS = 8


def of_model(model: Artefact) -> str:
    """Its task, sizes, parameters by part, and its scores next to the baseline's."""
    facts = describe(model)
    rows = [("task", facts["task"] or "none"), ("parameters", f"{facts['parameters']['all']:,}")]
    for side, sizes in facts["sizes"].items():
        heads = f"{sizes['layers']} layers of width {sizes['width']}, {sizes['heads']} heads"
        rows.append((side, f"{heads}, positions: {sizes['positions']}"))
    if facts["tokenizer"] is not None:
        rows.append(("tokenizer", f"{facts['tokenizer']['tokens']:,} tokens"))
    rows.append(("reads at most", f"{facts['reads_at_once'] or 'any number of'} tokens"))
    if labels := facts["labels"]:
        rows.append(("labels", ", ".join(labels[:_LABELS]) + (" …" if len(labels) > _LABELS else "")))
    rows.append(("predicts", f"in {facts['prediction']['precision']} on {facts['prediction']['device']}"))
    if model.source is not None:
        rows.append(("folder", str(model.source)))
    scores = [
        (name.replace("_", " "), f"{value:,.4g}")
        for name, value in (facts["scores"] or {}).items()
        if isinstance(value, int | float)
    ]
    measured = f"measured on {model.metrics.get('measured_on', 'unknown text')}"
    return page(
        f"{facts['family']} model", table(rows), table(scores, head=("score", measured), right=(1,)) if scores else ""
    )
