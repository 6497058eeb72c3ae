"""Settings of generation travel: what an exported model generates is what its source generates."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError
from glassformer.convert import read_huggingface
from glassformer.saved.artefact import Artefact
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.saved.opening import open_as_saved
from tests.convert.sources import change_settings, save, send_out
from tests.refusals import refused

FILE = "generation_config.json"
IDS = torch.tensor([[5, 9, 12, 7, 1]])


def generated(folder: Path) -> list[int]:
    model = transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float64)
    found: list[int] = model.generate(IDS)[0].tolist()
    return found


def marian(folder: Path, **said: Any) -> None:
    """A Marian whose likeliest words are forbidden, so that it generates others."""
    save("MarianMTModel", folder, eos_token_id=1)
    plain = {
        "max_length": 8,
        "min_length": 6,
        "num_beams": 2,
        "decoder_start_token_id": 2,
        "eos_token_id": 1,
        "pad_token_id": 0,
    }
    (folder / FILE).write_text(json.dumps(plain))
    forbidden = [[word] for word in sorted({*generated(folder)} - {0, 1})]
    assert forbidden
    (folder / FILE).write_text(json.dumps({**plain, "bad_words_ids": forbidden, **said}))


def test_a_marian_with_forbidden_words_generates_the_same_text_after_a_round_trip(tmp_path: Path) -> None:
    marian(tmp_path / "theirs", transformers_version="4.1.0", length_penalty=0.7, something_new=[1, {"a": None}])
    model, report = read_foreign(tmp_path / "theirs", Model)
    said = json.loads((tmp_path / "theirs" / FILE).read_text())
    del said["transformers_version"]
    assert report.generation == said
    model.save(tmp_path / "ours")
    write_foreign(open_as_saved(tmp_path / "ours", Artefact), tmp_path / "again")
    assert json.loads((tmp_path / "again" / FILE).read_text()) == said
    before = generated(tmp_path / "theirs")
    assert generated(tmp_path / "again") == before
    del said["bad_words_ids"]
    (tmp_path / "again" / FILE).write_text(json.dumps(said))
    assert generated(tmp_path / "again") != before  # else the settings would not matter here


def test_an_older_folder_says_the_same_in_its_settings(tmp_path: Path) -> None:
    marian(tmp_path / "theirs")
    said = json.loads((tmp_path / "theirs" / FILE).read_text())
    (tmp_path / "theirs" / FILE).unlink()
    change_settings(tmp_path / "theirs", **said)
    found = read_huggingface(tmp_path / "theirs")
    assert {key: found.report.generation[key] for key in said} == said
    assert not said.keys() & found.report.settings_aside.keys() - found.report.token_settings.keys()
    send_out(found, tmp_path / "ours")
    assert generated(tmp_path / "ours") == generated(tmp_path / "theirs")


def test_the_file_is_believed_and_the_older_settings_are_listed(tmp_path: Path) -> None:
    marian(tmp_path)
    change_settings(tmp_path, num_beams=5, no_repeat_ngram_size=3)
    report = read_huggingface(tmp_path).report
    assert report.generation["num_beams"] == 2
    assert {"num_beams", "no_repeat_ngram_size"} <= report.settings_aside.keys()
    assert FILE in report.settings_aside["num_beams"]


def test_an_old_word_of_bart_is_understood(tmp_path: Path) -> None:
    save("BartForConditionalGeneration", tmp_path)
    (tmp_path / FILE).unlink()
    change_settings(tmp_path, force_bos_token_to_be_generated=True, bos_token_id=4)
    assert read_huggingface(tmp_path).report.generation["forced_bos_token_id"] == 4
    theirs = transformers.BartForConditionalGeneration.from_pretrained(tmp_path).generation_config
    assert theirs is not None
    assert theirs.forced_bos_token_id == 4


@pytest.mark.parametrize("text", ["{", "[]", '{"a": ' + "1" * 5000 + "}"])
def test_a_damaged_file_is_refused(text: str, tmp_path: Path) -> None:
    save("GPT2LMHeadModel", tmp_path)
    (tmp_path / FILE).write_text(text)
    with refused(CheckpointError, wanted=str(tmp_path / FILE)):
        read_huggingface(tmp_path)


def test_whole_layers_that_are_dropped_in_training_change_nothing(tmp_path: Path) -> None:
    model = save("BartForConditionalGeneration", tmp_path, encoder_layerdrop=0.9, decoder_layerdrop=0.9)
    found = read_huggingface(tmp_path)
    assert {"encoder_layerdrop", "decoder_layerdrop"} <= found.report.settings_aside.keys()
    from glassformer.models.inputs import Inputs
    from glassformer.models.transformer import Transformer

    ours = Transformer(found.config).eval()
    ours.load_state_dict(found.state)
    start = torch.tensor([[2, 6, 8]])
    logits = ours(Inputs(ids=IDS), Inputs(ids=start)).logits
    wanted = model(input_ids=IDS, decoder_input_ids=start).logits
    torch.testing.assert_close(logits, wanted, rtol=1e-4, atol=1e-4)
