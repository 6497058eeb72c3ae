"""Masked language modelling: words are masked, and the model learns to predict them (Devlin et al. 2019, §3.1).

B rows · S tokens of a row · N masked words, padded to the same number in each batch · V vocabulary
"""

from typing import Any, Self

from glassformer.data.batches.corrupt import MaskingSection
from glassformer.data.batches.pack import BucketedRows, Frame, PackedRows
from glassformer.data.batches.passages import passages
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.split import Split
from glassformer.data.stores.store import TokenStore
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import compared
from glassformer.scoring.score import Scores, Unigram, loss_and_accuracy
from glassformer.tasks.task import Preparation, Source
from glassformer.tasks.words.corpus import CorpusTask, MaskedRows
from glassformer.tasks.words.masked_lm.settings import MaskedLMSection
from glassformer.tasks.words.masked_words import MaskedRowScores, MaskedWordsTask, answered, by_row, unigram_of
from glassformer.text.tokenizer import Tokenizer

__all__ = ["MaskedLM", "MaskedLMSection"]


class MaskedLM(MaskedWordsTask, CorpusTask):
    """Predicting masked words."""

    Section = MaskedLMSection
    of_imported = "encoder"

    def __init__(self, section: MaskedLMSection, unigram: Unigram, text_fingerprint: str = "") -> None:
        self.section, self.unigram, self.text_fingerprint = section, unigram, text_fingerprint

    @classmethod
    def prepared(cls, section: MaskedLMSection, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        corpus, data = cls.stores(preparation), preparation.data
        assert isinstance(data, CorpusSection)

        learned = section
        if section.training_rate is not None and not preparation.measuring:
            learned = section.model_copy(update={"rate": section.training_rate})

        def source(split: Split, store: TokenStore) -> MaskedRows:
            if split == "train":
                return masked_rows(data, store, preparation.tokenizer, learned, seed=preparation.seed)
            return masked_rows(data, store, preparation.tokenizer, section, seed=data.seed)

        # The words that are masked in evaluation depend on the data's seed alone, so that models of other training
        # seeds are measured on the same words.
        sources: dict[Split, Source] = {
            split: source(split, store) for split, store in corpus.stores.items() if store.documents
        }
        unigram = unigram_of(preparation, sources)
        return cls(section, unigram, corpus.stores["train"].fingerprint), sources

    def facts(self) -> dict[str, Any]:
        return {"text_fingerprint": self.text_fingerprint, **self.unigram.facts}

    def evaluate(self, model: Transformer, source: MaskedRows, *, limit: int | None = None) -> Scores:
        rows = MaskedRowScores(self.unigram)
        for batch, output in answered(model, source, heads=("head",), limit=limit):
            labels = batch.labels["masked_words"]
            rows.add(*by_row(batch), *compared(output.logits, labels.to(output.states.device)))
        return rows.scores(loss_and_accuracy)


def masked_rows(
    data: CorpusSection, store: TokenStore, tokenizer: Tokenizer, masking: MaskingSection, *, seed: int
) -> MaskedRows:
    frame, pad_id = Frame.encoder(tokenizer), tokenizer.pad_id or 0
    if not data.pack:
        return MaskedRows(BucketedRows(store, data.length, frame=frame, pad_id=pad_id), tokenizer, masking, seed=seed)
    # An encoder attends in both directions: without this mask it would also use other documents of the row.
    document_mask = True if data.document_mask is None else data.document_mask
    begins, cut = (passages(store, data.joined, seed), f"passages {data.joined}") if data.passages else (None, "")
    rows = PackedRows(store, data.length, frame=frame, document_mask=document_mask, pad_id=pad_id, begins=begins)
    return MaskedRows(rows, tokenizer, masking, seed=seed, document_mask=document_mask, cut=cut)
