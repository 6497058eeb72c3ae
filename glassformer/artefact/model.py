"""The class `Model`: a saved model with the verbs that users call."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor

from glassformer.artefact import store
from glassformer.artefact.artefact import Artefact
from glassformer.artefact.texts import beside, listed, several
from glassformer.artefact.verbs import answer, stream_translation, stream_written

if TYPE_CHECKING:
    from glassformer.decode.settings import DecodeSettings
    from glassformer.features.mix import Mix
    from glassformer.look.interventions import Intervention
    from glassformer.look.search_tree import SearchTree
    from glassformer.look.trace import Trace
    from glassformer.tasks.candidates import Choice
    from glassformer.tasks.fill import Filled
    from glassformer.tasks.generation import Generation
    from glassformer.tasks.reply import Reply
    from glassformer.tasks.spans import Answer
    from glassformer.tasks.tagging import Tagging
    from glassformer.tasks.translation import Translation

Texts = list[str] | tuple[str, ...]
Pair = tuple[str, str]
Turns = str | Sequence[str] | Sequence[Mapping[str, str]]


class Model(Artefact):
    """A saved or trained model that takes raw text and answers about this text."""

    @overload
    def fill(self, text: str, *, top: int = 5) -> Filled: ...
    @overload
    def fill(self, text: Texts, *, top: int = 5) -> list[Filled]: ...
    def fill(self, text: str | Texts, *, top: int = 5) -> Filled | list[Filled]:
        """The `top` best guesses for each [MASK] in a text, or in each of many texts.

        Masked words are guessed independently of one another. A text longer than the model's `max_text_tokens` is read
        in windows. Raises DataError for a text without [MASK], ConfigError for a model that cannot fill.
        """
        found: list[Filled] = self._answers("fill", _texts(text), {"top": top})
        return found[0] if isinstance(text, str) else found

    @overload
    def score(self, text: str, target: str | None = None) -> Any: ...
    @overload
    def score(self, text: Texts, target: str | Texts | None = None) -> list[Any]: ...
    def score(self, text: str | Texts, target: str | Texts | None = None) -> Any:
        """The pseudo-log-likelihood of a text, or of each of many, token by token: a `Scored`.

        Of a decoder, the probability of each token after those before it: a `ScoredText`. Of a model that translates,
        that of a given `target` for each text: a `ScoredPair`. Raises DataError for a text of only blanks and for a
        missing target, ConfigError for a model that does neither.
        """
        if target is None:
            records = _texts(text)
        else:
            records = [{"text": one, "target": two} for one, two in beside(text, target, "target")]
        found: list[Any] = self._answers("score", records, {})
        return found[0] if isinstance(text, str) else found

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
        if pair is None:
            records: list[dict[str, object]] = _texts(text)
        else:
            records = [{"text": one, "pair": two} for one, two in beside(text, pair, "pair")]
        found: list[Any] = self._answers("classify", records, {})
        return found[0] if isinstance(text, str) else found

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
        each = [(text, choices)] if isinstance(text, str) else beside(text, choices, "list of candidates")
        records = [{"text": one, "choices": _list(its)} for one, its in each]
        found: list[Choice] = self._answers("choose", records, {})
        return found[0] if isinstance(text, str) else found

    @overload
    def tag(self, text: str) -> Tagging: ...
    @overload
    def tag(self, text: Texts) -> list[Tagging]: ...
    @overload
    def tag(self, *, words: Sequence[Sequence[str]]) -> list[Tagging]: ...
    def tag(self, text: str | Texts = (), *, words: Sequence[Sequence[str]] = ()) -> Tagging | list[Tagging]:
        """The spans that a model marks in a text, or in each of many, with character offsets in it.

        Words are parted by blanks and punctuation, unless sentences are given as `words`. A long text is read in
        windows. Raises DataError for a text without words, ConfigError for a model that was not trained to tag.
        """
        # A string is refused as a sentence: its characters would be taken for words.
        sentences = several(words, "a list of sentences, each a list of words, is needed")
        given: list[dict[str, object]] = [{"words": _list(each)} for each in sentences]
        found: list[Tagging] = self._answers("tag", [*_texts(text), *given], {})
        return found[0] if isinstance(text, str) else found

    @overload
    def answer(self, question: str, context: str, *, top: int = 5) -> Answer: ...
    @overload
    def answer(self, question: Texts, context: str | Texts, *, top: int = 5) -> list[Answer]: ...
    def answer(self, question: str | Texts, context: str | Texts, *, top: int = 5) -> Answer | list[Answer]:
        """The answer to a question as a part of a passage, with the `top` best spans; or to each of many, of
        one passage or each of its own.

        A passage longer than the model reads at once is read in windows. Raises DataError for a question or passage of
        only blanks, ConfigError for a model that was not trained to answer.
        """
        records = [{"text": one, "pair": two} for one, two in beside(question, context, "passage")]
        found: list[Answer] = self._answers("answer", records, {"top": top})
        return found[0] if isinstance(question, str) else found

    @overload
    def translate(
        self,
        text: str,
        *,
        beams: int | None = None,
        n_best: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        paragraphs: bool = False,
        alignment: bool = False,
        search: DecodeSettings | None = None,
    ) -> Translation: ...
    @overload
    def translate(
        self,
        text: Texts,
        *,
        beams: int | None = None,
        n_best: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        paragraphs: bool = False,
        alignment: bool = False,
        search: DecodeSettings | None = None,
    ) -> list[Translation]: ...
    def translate(
        self,
        text: str | Texts,
        *,
        beams: int | None = None,
        n_best: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        paragraphs: bool = False,
        alignment: bool = False,
        search: DecodeSettings | None = None,
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each of many, by the beams and length penalty of its training,
        unless `beams` or `search`, all settings of the search at once, ask for another one.

        With `n_best` the best translations with their scores, with `alignment` the words that belong together. Each
        translation begins with `prefix`. With `paragraphs` each sentence of a text is translated by itself, else only
        those of a text that is longer than the model reads at once; of only blanks it is empty. Raises ConfigError for
        a model that does not translate and for options that exclude each other, DataError where words that are asked
        for cannot be had.
        """
        options = {
            "beams": beams,
            "n_best": n_best,
            "max_tokens": max_tokens,
            "prefix": prefix,
            "paragraphs": paragraphs,
            "alignment": alignment,
            "search": search,
        }
        found: list[Translation] = self._answers("translate", _texts(text), options)
        return found[0] if isinstance(text, str) else found

    def stream_translation(
        self,
        text: str,
        *,
        beams: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        paragraphs: bool = False,
        search: DecodeSettings | None = None,
    ) -> Generator[str, None, Translation]:
        """The words of the translation of a text as soon as no later one can change them; joined they are what
        `translate` gives for the same options.

        Of beams, that is what all have in common: with `beams=1` words come sooner. What the generator returns is the
        whole `Translation`. Raises as `translate` does, and ConfigError where several translations are asked for.
        """
        options = {
            "beams": beams,
            "max_tokens": max_tokens,
            "prefix": prefix,
            "paragraphs": paragraphs,
            "search": search,
        }
        return stream_translation(self, {"text": text}, "", options)

    @overload
    def generate(
        self,
        prompt: str = "",
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        n_best: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Generation: ...
    @overload
    def generate(
        self,
        prompt: Texts,
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        n_best: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> list[Generation]: ...
    def generate(
        self,
        prompt: str | Texts = "",
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        n_best: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Generation | list[Generation]:
        """The text that goes on behind a prompt, or behind each of many.

        Tokens are drawn, by default with temperature 0.8 from those that together have a probability of 0.9, or as an
        imported model says; the same `seed` draws the same. `beams=1` takes the likeliest token each time, more search
        together. At most `max_tokens` (256) are written, no more than the model reads at once with the prompt; of a
        longer prompt the end is read. Raises ConfigError for a model that is no decoder, and for options that exclude
        each other.
        """
        options = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "beams": beams,
            "n_best": n_best,
            "stop": list(stop) or None,
            "seed": seed,
            "search": search,
        }
        found: list[Generation] = self._answers("generate", _texts(prompt), options)
        return found[0] if isinstance(prompt, str) else found

    def chat(
        self,
        turns: Turns,
        *,
        system: str | None = None,
        history: int | None = None,
        template: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        n_best: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Reply:
        """The reply to a turn, or to the last of several turns of a conversation; of these at most `history` are read,
        and no more than fit. Turns are texts of two people in turn, or of a decoder also objects with `role` and
        `content`.

        A decoder reads them as its chat template says, by default that called "default"; `system` is said before all
        turns. Tokens are drawn as by `generate`, and the other options are the same. Raises DataError where there is
        no turn and where the template refuses the conversation, CheckpointError for a template that is wrong,
        ConfigError for a model that does not chat, and for options that exclude each other.
        """
        options = {
            "system": system,
            "history": history,
            "template": template,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "beams": beams,
            "n_best": n_best,
            "stop": list(stop) or None,
            "seed": seed,
            "search": search,
        }
        found: Reply = self._answers("chat", [{"turns": _turns(turns)}], options)[0]
        return found

    def stream_chat(
        self,
        turns: Turns,
        *,
        system: str | None = None,
        history: int | None = None,
        template: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Generator[str, None, Reply]:
        """The characters of a reply as soon as no later token can change them; joined they are what `chat` gives for
        the same options. What the generator returns is the whole `Reply`. Raises as `chat` does.
        """
        options = {
            "system": system,
            "history": history,
            "template": template,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "beams": beams,
            "stop": list(stop) or None,
            "seed": seed,
            "search": search,
        }
        return stream_written(self, "chat", {"turns": _turns(turns)}, "", options)

    def stream_generation(
        self,
        prompt: str = "",
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Generator[str, None, Generation]:
        """The characters behind a prompt as soon as no later token can change them; joined they are what `generate`
        gives for the same options. What the generator returns is the whole `Generation`. Raises as `generate` does.
        """
        options = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "beams": beams,
            "stop": list(stop) or None,
            "seed": seed,
            "search": search,
        }
        return stream_written(self, "generate", {"text": prompt}, "", options)

    def search_tree(
        self,
        text: str | Sequence[str],
        *,
        beams: int | None = None,
        n_best: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
        attention: bool = False,
    ) -> SearchTree:
        """How `translate`, `generate` or `chat` writes with these options, as a tree: what went on at each step, what
        did not, and why. `text` is a source, a prompt, or the turns of a conversation, as the model reads them.
        `tree.best` is the end of the best answer, `tree.path(node)` leads to it, `print(tree)` shows all.

        With `attention` it keeps where each step looked, of every head, as `tree.attention`: 4 bytes × blocks × heads ×
        (P² + the lengths at which each token behind the P of the prompt was read), 12 blocks of 12 heads 9 MB for
        64 + 128 tokens; beyond 256 MB it is refused.
        `model.trace(tree.text, target_ids=tree.decoder_ids(node))` has the same numbers, and those behind them. Raises
        as the verb does, ConfigError for a model without a decoder, and DataError for a text of several parts and for
        blanks.
        """
        from glassformer.artefact.search_tree import search_tree

        options = {
            "beams": beams,
            "n_best": n_best,
            "max_tokens": max_tokens,
            "prefix": prefix,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "stop": list(stop) or None,
            "seed": seed,
            "search": search,
        }
        return search_tree(self, text, options, attention=attention)

    def evaluate(self, *files: str | Path) -> dict[str, float]:
        """The task's scores on these files, beside baselines.

        Without files: on what was held out when the model was trained.
        """
        from glassformer.artefact.evaluate import evaluate

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
        from glassformer.artefact.trace import trace
        from glassformer.runtime.device import check_float64

        check_float64(self.device, dtype)
        return trace(
            self,
            text,
            pair,
            scored_at=scored_at,
            labels=labels,
            keep=keep,
            dtype=dtype,
            predicts_in=predicts_in,
            interventions=interventions,
            gradients=gradients,
            choices=choices,
            target_ids=target_ids,
        )

    def embed(
        self,
        text: str | Texts,
        *,
        strategy: str | Mix | Sequence[str | Mix] = "last",
        pooling: str | Sequence[str] = "mean",
        words: bool = False,
    ) -> Any:
        """The vector [F] of a text as an array, or the vectors [N, F] of many; a dictionary of such arrays by
        `strategy.pooling` where several strategies or poolings are asked for, made in one pass through the model.

        With `words` a `Vectors` for each text: its words, and the vectors [P, F] of each feature. The strategies are
        those of `glassformer.features.strategies`, the poolings `first`, `mean`, `max`, `last-token`. Raises
        ConfigError for a strategy that needs layers which the model does not have.
        """
        from glassformer.artefact.embed import embed, vectors_of
        from glassformer.features.mix import Mix

        several = not (isinstance(strategy, str | Mix) and isinstance(pooling, str))
        maker = vectors_of(
            self,
            [strategy] if isinstance(strategy, str | Mix) else list(strategy),
            [pooling] if isinstance(pooling, str) else list(pooling),
            words=words,
        )
        found = list(embed(self, maker, ((values, "") for values in _texts(text))))
        if words:
            return found[0] if isinstance(text, str) else found
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
        from glassformer.artefact.info import describe

        return describe(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from glassformer.artefact.html import of_model

        return of_model(self)

    def save(self, directory: str | Path) -> Path:
        """Write the model to a directory, atomically; raises CheckpointError when that is impossible."""
        return store.write(directory, self)

    def _answers(self, verb: str, records: Sequence[Mapping[str, object]], options: Mapping[str, Any]) -> list[Any]:
        return list(answer(self, verb, ((values, "") for values in records), options))


def _texts(text: str | Texts) -> list[dict[str, object]]:
    return [{"text": each} for each in listed(text)]


def _turns(turns: Turns) -> list[object]:
    return [turns] if isinstance(turns, str) else list(turns)


def _list(given: object) -> object:
    """A text in place of several is left as it is, to be refused."""
    return given if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
