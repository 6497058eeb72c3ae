"""Folders that cannot be read, or places that cannot be written: one sentence, and nothing lost."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

from glassformer.base.errors import CheckpointError, ConfigError, MissingExtraError, TokenizerError
from glassformer.convert import fetch, files, read_huggingface, write_huggingface
from glassformer.text.train import train_tokenizer
from tests.contracts.families import Row
from tests.convert.sources import change_settings, change_tensors, save, tensors_of
from tests.refusals import refused

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
WORD = "bert.embeddings.word_embeddings.weight"
HEAD = "cls.predictions.decoder.weight"


def cut_short(folder: Path) -> None:
    path = folder / WEIGHTS
    path.write_bytes(path.read_bytes()[:-100])


def only_a_pickle(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    torch.save({}, folder / "pytorch_model.bin")


def a_pickle_by_another_name(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    torch.save({}, folder / WEIGHTS)


def whole_numbers(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({WORD: tensors[WORD].to(torch.int8)}))


def another_shape(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({WORD: torch.zeros(24, 12)}))


def one_missing(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.__delitem__("bert.encoder.layer.1.output.dense.bias"))


def one_too_many(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({"classifier.weight": torch.zeros(2, 12)}))


def another_tied_matrix(folder: Path) -> None:
    change_tensors(folder, lambda tensors: tensors.update({"cls.predictions.decoder.weight": tensors[WORD] + 1}))


def a_shard_gone(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "model-00001-of-00002.safetensors")
    places = dict.fromkeys(tensors_of_shard(folder), "model-00001-of-00002.safetensors")
    places["more"] = "model-00002-of-00002.safetensors"
    (folder / INDEX).write_text(json.dumps({"weight_map": places}))


def an_index_that_lies(folder: Path) -> None:
    a_shard_gone(folder)
    (folder / INDEX).write_text(json.dumps({"weight_map": {"more": "model-00001-of-00002.safetensors"}}))


def an_index_that_climbs(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / INDEX).write_text(json.dumps({"weight_map": {"more": "../elsewhere.safetensors"}}))


def an_index_of_nothing(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / INDEX).write_text("{}")


def tensors_of_shard(folder: Path) -> list[str]:
    from safetensors.torch import load_file

    return list(load_file(folder / "model-00001-of-00002.safetensors"))


# What damages the folder, then the values that `wanted` and `got` carry.
BROKEN: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "cut short": (cut_short, WEIGHTS, "damaged"),
    "only a pickle": (only_a_pickle, "safetensors", "pytorch_model.bin, a pickle"),
    "a pickle by another name": (a_pickle_by_another_name, "safetensors", "model.safetensors, a pickle"),
    "whole numbers": (whole_numbers, WORD, "int8"),
    "another shape": (another_shape, f"{WORD} must be [23, 12]", "[24, 12]"),
    "one missing": (one_missing, "bert.encoder.layer.1.output.dense.bias", "none"),
    "one too many": (one_too_many, "bert", "classifier.weight [2, 12]"),
    "another tied matrix": (another_tied_matrix, f"{HEAD} must repeat {WORD}", "numbers"),
    "untied without a head": (lambda folder: change_settings(folder, tie_word_embeddings=False), HEAD, "none"),
    "a shard gone": (a_shard_gone, INDEX, "model-00002-of-00002.safetensors"),
    "an index that lies": (an_index_that_lies, INDEX, "model-00001-of-00002.safetensors"),
    "an index that climbs": (an_index_that_climbs, INDEX, "'../elsewhere.safetensors'"),
    "an index of nothing": (an_index_of_nothing, "weight_map", "none"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "weights", INDEX),
    "no settings": (lambda folder: (folder / "config.json").unlink(), "config.json", "no such file"),
    "half of the settings": (lambda folder: (folder / "config.json").write_text("{"), "config.json", "column 2"),
    "settings as a list": (lambda folder: (folder / "config.json").write_text("[]"), "config.json", "list"),
    "another family": (lambda folder: change_settings(folder, model_type="brt"), "model_type", "'brt'"),
    "no family": (lambda folder: change_settings(folder, model_type=...), "model_type", "None"),
}


@pytest.mark.parametrize(("damage", "wanted", "got"), BROKEN.values(), ids=BROKEN)
def test_a_broken_folder_is_reported_in_a_sentence(
    damage: Callable[[Path], object], wanted: str, got: str, tmp_path: Path
) -> None:
    save("BertForMaskedLM", tmp_path)
    damage(tmp_path)
    with refused(CheckpointError, wanted=wanted, got=got):
        read_huggingface(tmp_path)


def test_a_family_that_is_nearly_known_is_suggested(tmp_path: Path) -> None:
    save("BertForMaskedLM", tmp_path)
    change_settings(tmp_path, model_type="electra")
    with pytest.raises(CheckpointError) as error:
        read_huggingface(tmp_path)
    assert str(error.value).count("modernbert") == 1  # the families are listed once
    change_settings(tmp_path, model_type="brt")
    with refused(CheckpointError, wanted="model_type", got="'brt'", do="'bert'"):
        read_huggingface(tmp_path)


def test_a_broken_tokenizer_is_reported_by_its_path(tmp_path: Path) -> None:
    save("BertForMaskedLM", tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(TokenizerError) as caught:
        read_huggingface(tmp_path)
    assert str(tmp_path / "tokenizer.json") in caught.value.wanted


TIED = {
    "BertForMaskedLM": "cls.predictions.decoder.weight",
    "BartForConditionalGeneration": "lm_head.weight",
    "T5ForConditionalGeneration": "encoder.embed_tokens.weight",
    "DistilBertForMaskedLM": "vocab_projector.weight",
    "GPT2LMHeadModel": "lm_head.weight",
}


@pytest.mark.parametrize("name", TIED)
def test_to_untie_is_advised_only_where_it_helps(name: str, tmp_path: Path) -> None:
    save(name, tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.update({TIED[name]: torch.ones(23, 12)}))
    with pytest.raises(CheckpointError) as caught:
        read_huggingface(tmp_path)
    assert TIED[name] in caught.value.wanted
    change_settings(tmp_path, tie_word_embeddings=False)
    if "tie_word_embeddings" in caught.value.do:
        head = read_huggingface(tmp_path).config.head
        assert head is not None
        assert not head.tied
    else:
        with pytest.raises(CheckpointError):
            read_huggingface(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with refused(CheckpointError, wanted=str(tmp_path / "nowhere")):
        read_huggingface(tmp_path / "nowhere")


def test_other_sines_are_no_sines(tmp_path: Path) -> None:
    save("MarianMTModel", tmp_path)
    wrong = {"model.decoder.embed_positions.weight": torch.zeros(16, 12)}
    change_tensors(tmp_path, lambda tensors: tensors.update(wrong))
    with refused(CheckpointError, wanted=(str(tmp_path), "model.decoder.embed_positions.weight"), got="numbers"):
        read_huggingface(tmp_path)


# --------------------------------------------------------------------------- writing


def test_tensors_that_do_not_fit_are_not_written(tmp_path: Path) -> None:
    model = Row("bert", "bert").model()
    state = dict(model.state_dict())
    name = "encoder.embed.word.weight"
    with refused(CheckpointError, wanted=(name, "[23, 12]"), got="[5, 12]"):
        write_huggingface(tmp_path / "out", model.config, {**state, name: state[name][:5]})
    del state[name]
    with refused(CheckpointError, wanted=(name, "[23, 12]"), got="none"):
        write_huggingface(tmp_path / "out", model.config, state)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Row("bert", "bert").model()
    write_huggingface(tmp_path / "out", model.config, model.state_dict())
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(tensors: object, path: Path, metadata: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "save_file", full)
    other = Row("bert", "bert").model(seed=1)
    for place in ("out", "new"):
        with refused(CheckpointError, wanted=str(tmp_path / place), got="No space left on device"):
            write_huggingface(tmp_path / place, other.config, other.state_dict())
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_older_export_is_replaced(tmp_path: Path) -> None:
    for seed in (0, 1):
        model = Row("bert", "bert").model(seed=seed)
        write_huggingface(tmp_path, model.config, model.state_dict())
    assert torch.equal(tensors_of(tmp_path)[WORD], model.state_dict()["encoder.embed.word.weight"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", WEIGHTS]


def test_nothing_of_an_older_export_is_read_with_the_new_weights(tmp_path: Path) -> None:
    tokenizer = train_tokenizer("wordpiece", ["she likes summer better than winter"] * 3, vocabulary=60)
    model = Row("bert", "bert", {"vocabulary": tokenizer.vocabulary_size}).model()
    write_huggingface(tmp_path, model.config, model.state_dict(), tokenizer)
    assert read_huggingface(tmp_path).tokenizer is not None
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / INDEX).write_text("{}")
    write_huggingface(tmp_path, model.config, model.state_dict())
    assert read_huggingface(tmp_path).tokenizer is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", WEIGHTS, "notes.md"]


def test_an_export_that_was_cut_off_is_the_old_or_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """The process ends here."""

    models = [Row("bert", "bert", {"epsilon": epsilon}).model(seed=seed) for seed, epsilon in ((0, 1e-12), (1, 1e-6))]
    real, seen = os.replace, []
    for moment in range(9):
        folder = tmp_path / str(moment)
        write_huggingface(folder, models[0].config, models[0].state_dict())
        changes = iter(range(moment))

        def dying(source: object, target: object, left: Iterator[int] = changes) -> None:
            if next(left, None) is None:
                raise Killed
            real(str(source), str(target))

        monkeypatch.setattr(os, "replace", dying)
        try:
            write_huggingface(folder, models[1].config, models[1].state_dict())
            finished = True
        except Killed:
            finished = False
        monkeypatch.setattr(os, "replace", real)
        found = read_huggingface(folder)
        word = found.state["encoder.embed.word.weight"]
        same = [torch.equal(word, model.state_dict()["encoder.embed.word.weight"]) for model in models]
        assert [found.config == model.config for model in models] == same
        seen.append(same)
        if finished:
            break
    assert finished
    assert len(seen) > 2
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == [True, False]
    assert seen[-1] == [False, True]


def test_robertas_padding_cannot_be_chosen_twice(tmp_path: Path) -> None:
    tokenizer = train_tokenizer("bpe", ["she likes summer better than winter"] * 3, vocabulary=300)
    assert tokenizer.pad_id is not None
    fits = {"position_offset": tokenizer.pad_id + 1, "vocabulary": tokenizer.vocabulary_size}
    model = Row("roberta", "roberta", fits).model()
    write_huggingface(tmp_path / "fits", model.config, model.state_dict(), tokenizer)
    model = Row("roberta", "roberta", {**fits, "position_offset": tokenizer.pad_id + 3}).model()
    with refused(ConfigError, wanted=("pad_token_id", str(tokenizer.pad_id + 2)), got=str(tokenizer.pad_id)):
        write_huggingface(tmp_path / "not", model.config, model.state_dict(), tokenizer)


# --------------------------------------------------------------------------- the hub


@pytest.mark.parametrize(
    "error", [LocalEntryNotFoundError("offline"), HFValidationError("odd id"), OSError("no route")]
)
def test_an_unreachable_hub_is_one_sentence(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with refused(CheckpointError, wanted="google-bert/bert-base-uncased", got=str(error)):
        fetch("google-bert/bert-base-uncased")


def test_what_is_fetched_is_neither_pickle_nor_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, object] = {}

    def download(hub_id: str, *, allow_patterns: list[str]) -> str:
        asked.update(hub_id=hub_id, allow_patterns=allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert fetch("owner/name") == tmp_path
    patterns = asked["allow_patterns"]
    assert isinstance(patterns, list)
    assert not any(pattern.endswith((".bin", ".pt", ".py", ".pkl", "*")) for pattern in patterns)


def test_without_the_hubs_package_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with refused(MissingExtraError, wanted="huggingface_hub", do="glassformer[hub]"):
        fetch("owner/name")
