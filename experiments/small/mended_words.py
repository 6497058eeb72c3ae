"""Teach `en-fr` the single words whose answers it invents, and nothing else.

    python -m experiments.small.mended_words en-fr runs/small/en-fr-mended 400 1e-4

The trained model is its own teacher: on sentences the Kullback–Leibler divergence from its probabilities is learned, on
each word in each form its own answer, where that is not invented (Hinton et al. 2015; Li and Hoiem 2016).
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from experiments.small.word_pairs import WORD, frequent_words, sentence_pairs
from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.data.batches.batch import Texts
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.readers.parallel import TARGET
from glassformer.models.inputs import Batch
from glassformer.tasks.writing.pair_source import PairSource, TextPairs

WORDS = Path("tests/bundled/english_words.txt")
# Ends of a typed word, each with that of its answer, and whether the word is asked for without a capital too.
ENDS = (("", "", True), (".", ".", True), ("!", " !", False), ("?", " ?", False))
LONGEST, TOKENS, WARMUP = 64, 2048, 20
OF_SENTENCES, OF_WORDS, OF_INVENTED = 1.5, 0.7, 0.3

Pair = tuple[str, str]


def asked(words: Sequence[str], french: Mapping[str, str]) -> list[Pair]:
    """Each word as a person types it, with the French word that goes best with it."""
    return [
        (form(word) + end, form(french.get(word, word)) + its_end)
        for word in words
        for end, its_end, small in ENDS
        for form in ((str, str.capitalize) if small else (str.capitalize,))
    ]


def targets(model: Model, pairs: Sequence[Pair], known: set[str]) -> tuple[list[Pair], list[Pair]]:
    """Each word with the model's own answer, or with that of the pair where it is invented; and the invented alone."""
    answers = [each.translation for each in model.translate([word for word, _ in pairs])]
    wrong = [not known.issuperset(WORD.findall(answer.lower())) for answer in answers]
    found = [pair if bad else (pair[0], own) for pair, own, bad in zip(pairs, answers, wrong, strict=True)]
    return found, [pair for pair, bad in zip(pairs, wrong, strict=True) if bad]


def batches(pairs: Sequence[Sequence[str]], model: Model, rng: np.random.Generator) -> Iterator[Batch]:
    """Rows of one shape each, in another order in each epoch, without end."""
    begin = model.tokenizer.pad_id
    assert begin is not None
    source = PairSource(TextPairs(*map(Texts, zip(*pairs, strict=True))), model.tokenizer, start=begin, longest=LONGEST)
    while True:
        some = []
        for number, shape in enumerate(source.packed.shapes.tolist()):
            rows, most = rng.permutation(np.flatnonzero(source.packed.shape_of == number)), TOKENS // max(shape)
            some += [(rows[at : at + most], shape) for at in range(0, len(rows), most)]
        for rows, shape in (some[place] for place in rng.permutation(len(some))):
            yield source.batch(rows, np.zeros_like(rows), shape=(len(rows), *shape))


def logits(model: Model, batch: Batch) -> Tensor:
    """Of each token of the targets, [N, V]."""
    found: Tensor = model.module(batch.inputs, batch.decoder_inputs).logits.flatten(0, -2)  # [B·T, V]
    return found[batch.labels[TARGET].flatten() != IGNORED]  # [N, V]


def mend(model: Model, teacher: Model, sentences: Sequence[Sequence[str]], words: list[Pair], wrong: list[Pair],
         *, steps: int, rate: float) -> None:  # fmt: skip
    rng = np.random.default_rng(0)
    read, single, invented = (batches(pairs, model, rng) for pairs in (sentences, words, wrong or words))
    parameters = [parameter.requires_grad_() for parameter in model.module.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=rate, betas=(0.9, 0.98))
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / WARMUP) * (1 - step / steps)
        optimizer.zero_grad()
        for batch in (next(read), next(read)):
            with torch.no_grad():
                its = logits(teacher, batch).log_softmax(-1)  # [N, V]
            mine = logits(model, batch).log_softmax(-1)  # [N, V]
            (OF_SENTENCES * F.kl_div(mine, its, log_target=True, reduction="batchmean")).backward()
        for share, batch in ((OF_WORDS, next(single)), (OF_INVENTED, next(invented))):
            labels = batch.labels[TARGET].flatten()
            (share * F.cross_entropy(logits(model, batch), labels[labels != IGNORED].long())).backward()
        optimizer.step()
    with torch.no_grad():
        for parameter in parameters:
            parameter.copy_(parameter.bfloat16())  # as it will be packed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.small.mended_words")
    for name, kind in (("start", str), ("out", Path), ("steps", int), ("rate", float)):
        parser.add_argument(name, type=kind)
    given = parser.parse_args()
    model, pairs = load(given.start), sentence_pairs()
    known = {word for pair in pairs for side in pair for word in WORD.findall(side.lower())}
    words = asked(WORDS.read_text().split(), dict(frequent_words(pairs)))
    found, wrong = targets(model, words, known)
    mend(model, load("en-fr"), pairs, found, wrong, steps=given.steps, rate=given.rate)
    model.save(given.out)
    print([[pair[0] for pair in some] for some in (wrong, targets(load(given.out), words, known)[1])])
