"""What a trace of texts asks the verbs of its model for: all that the texts alone do not say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from glassformer.answering.answers import answer
from glassformer.saved.artefact import Artefact
from glassformer.tasks import VERBS, predictor_of, verb_of, verb_where
from glassformer.tasks.predictor import Context
from glassformer.tasks.rows import Row
from glassformer.tasks.words.masked_lm.fill import best_words
from glassformer.tasks.writing.chat.chatter import Chatter
from glassformer.tasks.writing.likelihood import Likelihood
from glassformer.tasks.writing.translator import SLOTS, Translator
from glassformer.tasks.writing.writers import number_of, opening_of


@dataclass(frozen=True)
class Verbs:
    """The verbs of one model, asked about texts that are read whole, however long they are."""

    model: Artefact

    @property
    def verb(self) -> str:
        """The verb that shows what the model has learned, "" where none does."""
        return "" if self.model.task is None else verb_of(self.model.task.name)

    @property
    def whole(self) -> Context:
        """What a predictor may know of the model, but for the longest row that it reads at once."""
        return replace(self.model.context({}), length=None)

    @property
    def opening(self) -> tuple[int, ...]:
        """The tokens between texts in training where the tokenizer puts none, as `generate` and `score` read them."""
        return opening_of(self.model.tokenizer, Context(section=self.model.task))

    @property
    def tags(self) -> bool:
        """Whether the model reads a text word by word."""
        return bool(self.verb) and "words" in VERBS[self.verb].columns

    def tagged(self, text: str, *, whole: bool = True) -> list[Row]:
        """The row of a text as `tag` reads it, or those of its windows: labels mark the first token of each word."""
        context = self.whole if whole else replace(self.whole, length=self.model.row_tokens)
        predictor = predictor_of(self.verb).of(self.model.module, self.model.tokenizer, context)
        return list(predictor.rows(predictor.example({"text": text}, "")))

    def scored(self, text: str) -> list[Row]:
        """The windows of a text as `score` reads them in a decoder: labels are the tokens that each answers for."""
        context = replace(self.whole, length=self.model.row_tokens)
        predictor = Likelihood.of(self.model.module, self.model.tokenizer, context)
        return list(predictor.rows(predictor.example({"text": text}, "")))

    def question(self, text: str, choices: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """A text with its candidates, as `choose` reads them; raises ConfigError and DataError as it does."""
        chooser = predictor_of(verb_where(lambda verb: "choices" in verb.columns))
        predictor = chooser.of(self.model.module, self.model.tokenizer, self.whole)
        given = choices if isinstance(choices, str) else list(choices)  # a text in place of several is refused
        found = predictor.example({"text": text, "choices": given}, "")
        return found.text, tuple(found.choices)

    def targets(self, sources: Sequence[Row], start: int) -> list[list[int]]:
        """For each source what the decoder has read when it predicts the last token of its answer: `start`, then the
        answer that `translate`, or of a model of dialogues `chat`, gives without options. Raises ConfigError for a
        model that does not translate.
        """
        module = self.model.module
        of = module, self.model.tokenizer, self.whole
        talks = VERBS[self.verb].turns if self.verb else False
        translator = Chatter.of(*of).translator if talks else Translator.of(*of)
        limit = module.output_stack.max_length
        found: dict[int, list[int]] = {}
        numbers = [number_of(row.ids) for row in sources]  # what is drawn follows from the number, as it does there
        requests = (
            replace(translator.request(ids, limit), prompt=(start,))
            for ids in {number: row.ids for number, row in zip(numbers, sources, strict=True)}.values()
        )
        for step in translator.steps(module, requests, slots=SLOTS):
            for finished in step.finished:
                ids = [start, *finished.hypotheses[0].ids]
                found[finished.number] = ids if limit is None else ids[:limit]
        return [found[number] for number in numbers]

    def guesses(
        self, texts: Sequence[str], masked: Mapping[int, Sequence[int]], logits: Tensor | None = None
    ) -> dict[tuple[int, int], str]:
        """The best guesses at masked positions, by sentence and token: from the run's scores [N, V], else by `fill`."""
        at = [(sentence, place) for sentence, places in masked.items() for place in places]
        if logits is not None and len(logits) == len(at) and not bool(logits.isnan().any()):
            return dict(zip(at, best_words(self.model.tokenizer, logits), strict=True))
        asked = [({"text": texts[sentence]}, "") for sentence in masked]
        filled = answer(self.model, verb_where(lambda verb: verb.masks), asked, {"top": 1})
        return {
            (sentence, place): mask.guesses[0].word
            for (sentence, places), found in zip(masked.items(), filled, strict=True)
            for place, mask in zip(places, found.masks, strict=True)
        }
