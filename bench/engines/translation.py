"""1,000 sentences of multi30k, greedy and with 5 beams, by the model `en-fr` of the package: from text to text.

All search alike: scores divided by the number of tokens, and an end at as many answers as beams. CTranslate2 is used as
its manual advises: sentences sorted by length, batches by tokens, and the threads divided among batches or within each.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import glassformer as gf
from bench.engines.row import Answer, Array, Case, Row, place
from bench.translation.pairs import texts

MODEL, PART = "en-fr", "test_2016_flickr"
BEAMS = {"greedy": 1, "5 beams": 5}
MOST = 96  # tokens of a translation
BATCH = 2048  # tokens of a batch of CTranslate2
FLOAT32, INT8 = "CTranslate2 float32", "CTranslate2 int8"
TORCH = "ours, torch"


def prepare(folder: Path) -> None:
    """The model as transformers and CTranslate2 read it."""
    from ctranslate2.converters import TransformersConverter

    if not (folder / "exported").exists():
        from glassformer.saved.foreign import write_foreign

        write_foreign(gf.load(MODEL), folder / "exported")
    if not (folder / "converted").exists():
        TransformersConverter(str(folder / "exported")).convert(str(folder / "converted"))


def sources(count: int) -> list[str]:
    """The first sentences."""
    return texts(PART)[0][:count]


def ours(engine: str) -> Callable[[Path, int], Answer]:
    """`Model.translate` by an engine."""

    def opened(folder: Path, count: int) -> Answer:
        model, given = gf.load(MODEL, engine=engine, device="cpu"), sources(count)

        def answer(case: str) -> Array:
            beams = BEAMS[case]
            beam = {"beams": beams, "early_stopping": "full", "length_penalty": 1.0, "length_penalty_form": "power"}
            how = {"method": "beam", **beam} if beams > 1 else {"method": "greedy"}
            search = gf.DecodeSettings.model_validate({**how, "max_tokens": MOST})
            return np.array([each.translation for each in model.translate(given, search=search)])

        return answer

    return opened


def peer(numbers: str, *, within: bool) -> Callable[[Path, int], Answer]:
    """CTranslate2, with the tokenizer of transformers."""

    def opened(folder: Path, count: int) -> Answer:
        import ctranslate2
        import transformers

        tokenizer, threads = transformers.AutoTokenizer.from_pretrained(folder / "exported"), torch.get_num_threads()
        translator: Any = ctranslate2.Translator(
            str(folder / "converted"),
            device="cpu",
            compute_type=numbers,
            inter_threads=1 if within else threads,
            intra_threads=threads if within else 1,
        )
        given = sources(count)

        def answer(case: str) -> Array:
            tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in tokenizer(given).input_ids]
            order = sorted(range(len(tokens)), key=lambda place: -len(tokens[place]))
            found = translator.translate_batch(
                [tokens[place] for place in order],
                beam_size=BEAMS[case],
                length_penalty=1.0,
                min_decoding_length=0,  # as ours, which may give an empty translation
                max_decoding_length=MOST,
                max_batch_size=BATCH,
                batch_type="tokens",
            )
            ids = [tokenizer.convert_tokens_to_ids(each.hypotheses[0]) for each in found]
            written = tokenizer.batch_decode(ids, skip_special_tokens=True)
            return np.array([text for _, text in sorted(zip(order, written, strict=True))])

        return answer

    return opened


def cases(folder: Path, count: int) -> dict[str, Case]:
    """The products of each token with the weights that it meets, without attention."""
    model = gf.load(MODEL, device="cpu")
    module, head = model.module, model.module.word_table.numel()
    assert module.encoder is not None
    assert module.decoder is not None
    stacks = (module.encoder, module.decoder)
    read, written = (sum(weight.numel() for weight in each.blocks.parameters()) for each in stacks)
    given = sum(len(row.ids) for row in model.tokenizer.encode_batch(sources(count)))
    found = {}
    for case, beams in BEAMS.items():
        answers = [str(text) for text in np.load(place(folder, TORCH, case))]
        tokens = sum(len(row.ids) + 1 for row in model.tokenizer.encode_batch(answers))
        found[case] = Case(count, "sentences", operations=2.0 * (read * given + (written + head) * tokens * beams))
    return found


ROW = Row(
    title="translate, multi30k, `en-fr`",
    count=(1000, 24),
    names=tuple(BEAMS),
    sides={
        TORCH: ours("torch"),
        "ours, auto": ours("auto"),
        "ours, ctranslate2-int8": ours("ctranslate2-int8"),
        f"{FLOAT32}, batches in parallel": peer("float32", within=False),
        f"{FLOAT32}, one batch": peer("float32", within=True),
        f"{INT8}, batches in parallel": peer("int8", within=False),
        f"{INT8}, one batch": peer("int8", within=True),
    },
    compared={TORCH: (FLOAT32,), "ours, auto": (FLOAT32,), "ours, ctranslate2-int8": (INT8,)},
    judge=TORCH,
    prepare=prepare,
    cases=cases,
    turns=9,  # of one second each where nothing else runs: ratios within a turn differ by a third
)
