"""Imported encoder–decoders write what `transformers` writes with the settings of generation in their folder."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.convert.search_settings import search_of
from glassformer.decode.settings import DecodeSettings, SearchDefaults, SpecialIds
from glassformer.saved.foreign import read_foreign
from tests.convert.sources import change_tensors, save
from tests.convert.translators import answered, generated
from tests.refusals import refused

CLASSES = ("MarianMTModel", "BartForConditionalGeneration", "T5ForConditionalGeneration")
TOKENS = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 2}
SOURCES = [[5, 9, 12, 7, 1], [20, 3, 1], [8, 8, 4, 15, 11, 6, 1], [17, 1]]

# Settings as they stand in a folder.
FOLDERS: dict[str, dict[str, Any]] = {
    "greedy": {"max_length": 9, "num_beams": 1},
    "greedy, forced and suppressed": {
        "max_length": 9, "num_beams": 1, "forced_bos_token_id": 6, "forced_eos_token_id": 1, "suppress_tokens": [4, 9],
        "no_repeat_ngram_size": 1, "repetition_penalty": 1.3,
    },
    "opus-mt": {
        "max_length": 9, "num_beams": 4, "bad_words_ids": [[0]], "forced_eos_token_id": 1, "renormalize_logits": False,
    },
    "bart-cnn": {
        "max_length": 12, "min_length": 5, "num_beams": 4, "length_penalty": 2.0, "early_stopping": True,
        "no_repeat_ngram_size": 3, "forced_bos_token_id": 4, "forced_eos_token_id": 1,
    },
    "t5": {"max_new_tokens": 8, "min_new_tokens": 3, "num_beams": 3, "length_penalty": 0.6, "early_stopping": "never"},
    "n best": {
        "max_length": 7, "num_beams": 5, "num_return_sequences": 5, "bad_words_ids": [[0], [3, 4], [1]],
        "repetition_penalty": 0.8,
    },
}  # fmt: skip


def decided(name: str, folder: Path, **more: Any) -> None:
    """A model whose answers differ in score by more than the rounding of transformers, which adds up in float32."""
    save(name, folder, **more)

    def larger(tensors: dict[str, Tensor]) -> None:
        for key, tensor in tensors.items():
            if key.endswith("norm.weight"):
                tensors[key] = torch.ones_like(tensor)
            elif tensor.dim() > 1:
                tensors[key] = 2 * tensor

    change_tensors(folder, larger)


@pytest.mark.long
@pytest.mark.parametrize("name", CLASSES)
def test_transformers_writes_the_same(name: str, tmp_path: Path) -> None:
    decided(name, tmp_path)
    lengths = set()
    for said in FOLDERS.values():
        (tmp_path / "generation_config.json").write_text(json.dumps({**TOKENS, **said}))
        theirs: Any = getattr(transformers, name).from_pretrained(tmp_path, dtype=torch.float64)
        model, report = read_foreign(tmp_path, Model)
        search, aside = model.search
        assert not aside
        assert search == search_of(report.generation, {})[0]
        found = answered(model.module.double(), SOURCES, search)
        # transformers gives the decoder of T5 a cache of as many layers as the encoder has.
        caches = (False,) if name.startswith("T5") else (False, True)
        for source, answers in zip(SOURCES, found, strict=True):
            for cached in caches:
                assert generated(theirs, source, use_cache=cached) == answers
            lengths |= {len(answer) for answer in answers}
    assert len(lengths) > 2


@pytest.mark.long
def test_a_t5_of_equal_stacks_writes_the_same_with_a_cache(tmp_path: Path) -> None:
    decided("T5ForConditionalGeneration", tmp_path, num_decoder_layers=2)
    for said in FOLDERS.values():
        (tmp_path / "generation_config.json").write_text(json.dumps({**TOKENS, **said}))
        theirs: Any = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64)
        model, _ = read_foreign(tmp_path, Model)
        search = model.search[0]
        assert search is not None
        found = answered(model.module.double(), SOURCES, search)
        assert [generated(theirs, source) for source in SOURCES] == found


def test_settings_of_samples_are_understood() -> None:
    said = {"do_sample": True, "temperature": 0.7, "top_p": 0.9, "num_return_sequences": 3, "max_new_tokens": 5}
    expected = DecodeSettings(method="sample", temperature=0.7, top_p=0.9, top_k=50, n_best=3, max_tokens=5)
    assert search_of(said, TOKENS) == (SearchDefaults(expected, SpecialIds(2, (1,))), {})
    assert search_of({**said, "top_k": 0}, TOKENS)[0].settings.top_k is None


def test_groups_and_stop_strings_are_understood() -> None:
    said = {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5, "stop_strings": "."}
    settings = search_of(said, {})[0].settings
    assert (settings.beams, settings.groups, settings.diversity, settings.stop) == (4, 2, 0.5, (".",))


def test_several_ends_and_a_start_that_is_the_beginning() -> None:
    found, _ = search_of({"eos_token_id": [1, 7], "bos_token_id": 3}, {"eos_token_id": 9})
    assert found.ids == SpecialIds(3, (1, 7))
    assert search_of({}, {"eos_token_id": 9})[0].ids is None


def test_a_first_token_that_a_decoder_alone_is_forced_to_write_is_reported() -> None:
    said = {"forced_bos_token_id": 3}
    assert search_of(said, TOKENS)[0].prefix == (3,)
    found, aside = search_of(said, TOKENS, alone=True)
    assert found.prefix == ()
    assert aside.keys() == said.keys()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("encoder_no_repeat_ngram_size", 2),
        ("renormalize_logits", True),
        ("force_words_ids", [[3]]),
        ("sequence_bias", [[[3], 1.0]]),
        ("exponential_decay_length_penalty", [2, 1.1]),
        ("begin_suppress_tokens", [4]),
        ("forced_eos_token_id", 5),
        ("do_sample", True),
        ("something_new", {"a": 1}),
    ],
)
def test_what_has_no_counterpart_is_reported(key: str, value: object) -> None:
    found, aside = search_of({"num_beams": 2, key: value}, TOKENS)
    assert aside.keys() == {key}
    assert found == search_of({"num_beams": 2}, TOKENS)[0]


@pytest.mark.parametrize(
    "said",
    [
        {"num_beams": "four"},
        {"num_beams": True},
        {"num_beams": 2, "early_stopping": "soon"},
        {"bad_words_ids": [3]},
        {"bad_words_ids": [[]]},
        {"eos_token_id": "</s>"},
        {"forced_bos_token_id": [-1]},
        {"max_length": 1.5},
    ],
    ids=str,
)
def test_values_that_cannot_be_are_refused(said: dict[str, Any]) -> None:
    key = list(said)[-1]
    with refused(CheckpointError, wanted=key):
        search_of(said, TOKENS)


def test_settings_that_exclude_each_other_are_refused() -> None:
    with refused(ConfigError, wanted="length_penalty"):
        search_of({"num_beams": 2, "length_penalty": "long"}, TOKENS)
