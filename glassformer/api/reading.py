"""The verbs of a model that reads: masked words, labels, candidates, tags and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from glassformer.answering.answers import Texts, answers, options_for, records_for, texts_and_words
from glassformer.saved.artefact import Artefact

if TYPE_CHECKING:
    from glassformer.tasks.labels.answer.answers import Answer
    from glassformer.tasks.labels.choose.answers import Choice
    from glassformer.tasks.labels.tag.answers import Tagging
    from glassformer.tasks.words.masked_lm.fill import Filled


class Answering(Artefact):
    """Answers about texts."""

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
        roles = {"pair": pair, "target": target, "choices": choices}
        found = answers(self, verb, records_for(verb, text, roles), options_for(verb, options or {}))
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
        return self.ask("fill", text, options={"top": top, "expect": expect})

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
