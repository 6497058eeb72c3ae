"""A small model that translates, as training here leaves it, and what both sides answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from glassformer.api.model import Model
from glassformer.decode.loop import decode
from glassformer.decode.request import Request
from glassformer.decode.settings import SearchDefaults
from glassformer.decode.step import Wanted
from glassformer.models.families import marian
from glassformer.models.transformer import Transformer
from glassformer.tasks.writing.translate.settings import TranslateSection
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.convert.sources import random_from

TEXTS = [
    "I am a student.",
    "Je suis étudiant.",
    "The cat sleeps on the table.",
    "Le chat dort sur la table.",
    "Where is the station, please?",
    "Où est la gare, s'il vous plaît ?",
]
LONGEST = 26


def translator(section: TranslateSection | None = None, *, layers: int = 1) -> Model:
    """Random weights that are large enough for answers of many kinds; the word vector of padding is not zero."""
    tokenizer = train_tokenizer("bpe", TEXTS, vocabulary=300, lowercase=False, special=MARIAN)
    end = tokenizer.end_id
    assert end is not None
    with random_from(5):
        config = marian(
            vocabulary=tokenizer.vocabulary_size, layers=layers, width=16, heads=2, feed_forward=32, max_length=LONGEST
        )
        module = Transformer(config).double()
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if "norm" not in name:
                    parameter.normal_(0.0, 0.7)
            assert module.head is not None
            assert module.head.bias is not None
            module.head.bias[end] += 8.0  # so that answers have several lengths
    return Model(module, tokenizer, task=section or TranslateSection(beams=4, length_penalty=1.0), length=LONGEST)


def answered(model: Transformer, sources: Sequence[Sequence[int]], search: SearchDefaults) -> list[list[list[int]]]:
    """What our loop answers to each source, best first, with the end where there is one."""
    assert search.ids is not None
    asked = [
        Request(number, source=source, prefix=search.prefix, forbidden=search.forbidden)
        for number, source in enumerate(sources)
    ]
    found: dict[int, list[list[int]]] = {}
    for step in decode(model, asked, Wanted(search.settings, ids=search.ids, slots=3)):
        for each in step.finished:
            found[each.number] = [
                [*answer.ids, search.ids.end[0]] if answer.ended else [*answer.ids] for answer in each.hypotheses
            ]
    return [found[number] for number in range(len(sources))]


def generated(model: Any, source: Sequence[int], **said: Any) -> list[list[int]]:
    """What transformers answers with the settings of its folder, without the start and what follows the end."""
    given = torch.tensor([list(source)])
    end = model.generation_config.eos_token_id
    rows = model.generate(given, attention_mask=torch.ones_like(given), **said)[:, 1:].tolist()
    return [row[: row.index(end) + 1] if end in row else row for row in rows]


def written(model: Model, folder: Path) -> Path:
    """The model exported."""
    from glassformer.saved.foreign import write_foreign

    write_foreign(model, folder)
    return folder


def ids_of(tokenizer: Tokenizer) -> list[list[int]]:
    """The tokens of all texts, as the encoder reads them."""
    return [tokenizer.encode(text).ids for text in TEXTS]
