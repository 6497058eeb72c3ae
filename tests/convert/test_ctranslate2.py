"""ctranslate2 converts an export and translates as our own loop does."""

from dataclasses import replace
from typing import Any

import pytest

from glassformer.convert.search_settings import search_of
from glassformer.tasks.writing.writers import special_ids
from tests.convert.translators import LONGEST, answered, ids_of, translator, written

SEARCHES = {"greedy": (1, 1.0), "beam": (4, 1.0), "length": (5, 0.6)}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A converted export."""
    ctranslate2 = pytest.importorskip("ctranslate2", reason="ctranslate2 is of the extra bench, not of test")
    folder = tmp_path_factory.mktemp("export")
    model = translator()
    model.module.float()  # it does not read float64
    written(model, folder / "theirs")
    ctranslate2.converters.TransformersConverter(str(folder / "theirs")).convert(str(folder / "converted"))
    return ctranslate2.Translator(str(folder / "converted"), device="cpu", compute_type="float32", intra_threads=1)


@pytest.mark.parametrize("search", SEARCHES)
def test_it_translates_as_we_do(search: str, exported: Any) -> None:
    model, (beams, penalty) = translator(), SEARCHES[search]
    tokenizer = model.tokenizer
    stops = {"num_beams": beams, "length_penalty": penalty, "early_stopping": beams > 1, "max_length": LONGEST}
    said = {**stops, "eos_token_id": tokenizer.end_id, "decoder_start_token_id": tokenizer.pad_id}
    search_here = replace(search_of(said, {})[0], ids=special_ids(tokenizer))
    found = answered(model.module.float().double(), ids_of(tokenizer), search_here)
    for source, answers in zip(ids_of(tokenizer), found, strict=True):
        (answer,) = exported.translate_batch(
            [[tokenizer.token(id_) for id_ in source]],
            beam_size=beams,
            length_penalty=penalty,
            min_decoding_length=0,  # its default refuses an empty translation
            max_decoding_length=LONGEST - 1,  # it does not count the start
        )
        wanted = [id_ for id_ in answers[0] if id_ != tokenizer.end_id]
        assert [tokenizer.id(token) for token in answer.hypotheses[0]] == wanted
