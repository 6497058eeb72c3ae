"""The verbs import and export; no model is written over."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glassformer.api.load import load
from glassformer.models.inputs import Inputs
from tests.writers import writing

Run = Callable[..., Any]

TEXT = "She [MASK] the summer [MASK]."


def test_a_graph_is_asked_for_by_its_option(run: Run, trained: Path, tmp_path: Path) -> None:
    done = run("export", trained, tmp_path / "d.onnx")
    assert (done.code, "--to onnx" in done.err) == (2, True)
    assert not (tmp_path / "d.onnx").exists()


def test_out_to_hugging_face_and_back_to_the_bit(run: Run, trained: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "theirs", tmp_path / "ours"
    assert run("export", trained, there).out == f"{there}\n"
    done = run("import", there, back)
    assert done.out == f"{back}\n"
    assert "not used" not in done.err
    settings = json.loads((there / "config.json").read_text())
    (there / "config.json").write_text(json.dumps({**settings, "initializer_range": 0.02}))
    foreign = run("import", there, tmp_path / "with more")
    assert [line for line in foreign.err.splitlines() if "not used" in line] == [
        "not used: setting initializer_range: says only how fresh weights are drawn"
    ]
    said = run("export", trained, tmp_path / "theirs too", "--json")
    assert said.records == [{"model": str(tmp_path / "theirs too"), "format": "huggingface", "left_behind": []}]
    (record,) = run("import", there, tmp_path / "ours too", "--json").records
    assert (record["model"], record["family"]) == (str(tmp_path / "ours too"), "modernbert")
    assert record["architecture"] == "ModernBertForMaskedLM"
    assert all(isinstance(reason, str) for reason in {**record["settings_aside"], **record["tensors_aside"]}.values())
    card = (back / "README.md").read_text(encoding="utf-8")
    assert 'gf.load("ours")' in card
    assert str(tmp_path) not in card
    before, after = load(trained), load(back)
    state = dict(after.module.named_parameters())
    assert all(torch.equal(parameter, state[name]) for name, parameter in before.module.named_parameters())
    assert after.config == before.config
    assert load(there).config == before.config  # read as it is, too
    one, two = run("fill", trained, TEXT, "--json"), run("fill", there, TEXT, "--json")
    assert [mask["guesses"] for mask in one.records[0]["masks"]] == [
        mask["guesses"] for mask in two.records[0]["masks"]
    ]


def test_a_note_says_by_which_settings_of_generation_a_model_writes(run: Run, tmp_path: Path) -> None:
    there = tmp_path / "theirs"
    run("export", writing().save(tmp_path / "writer"), there)
    generation = {"do_sample": True, "temperature": 0.5, "max_new_tokens": 7}
    (there / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    stated = run("import", there, tmp_path / "ours")
    assert all(name in stated.err for name in generation)
    (record,) = run("import", there, tmp_path / "again", "--json").records
    assert record["generation_used"] == sorted(generation)
    assert record["generation_aside"] == {}
    found = load(tmp_path / "ours").search[0]
    assert found is not None
    assert (found.settings.temperature, found.settings.max_tokens) == (0.5, 7)
    (record,) = run("generate", tmp_path / "ours", "She", "--json").records
    assert len(record["tokens"]) <= 7


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_an_export_reads_what_its_model_reads_before_a_text(run: Run, family: str, tmp_path: Path) -> None:
    """A model of a stream of texts reads the token between two of them: transformers and an import do too."""
    transformers = pytest.importorskip("transformers", reason="transformers is the reference of an export")
    model, text = writing(family), "She likes the summer."
    run("export", model.save(tmp_path / "writer"), tmp_path / "theirs")
    ids = [model.tokenizer.begin_id, *model.tokenizer.ids(text)]
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")(text)["input_ids"] == ids
    back = load(tmp_path / "theirs", dtype="float64")
    assert back.score(text) == model.score(text)
    assert back.generate(text, beams=2).tokens == model.generate(text, beams=2).tokens


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_a_roberta_of_ours_can_be_exported(run: Run, text_file: Path, tmp_path: Path, kind: str) -> None:
    """Hugging Face's begins its positions after the padding, whose id is the tokenizer's choice."""
    words = ["--family", "roberta", "--steps", "1", "--length", "24", "--vocabulary", "300"]
    words += [f"--set=tokenizer.kind={kind}", "--set=train.compile=off", "--set=model.settings.layers=1"]
    words += ["--set=model.settings.width=16", "--set=model.settings.heads=2", "--set=model.settings.feed_forward=32"]
    assert run("train", "masked-lm", text_file, *words, "--out", tmp_path / "run").code == 0
    assert run("export", tmp_path / "run", tmp_path / "theirs").code == 0
    ours, theirs = load(tmp_path / "run"), transformers.RobertaForMaskedLM.from_pretrained(tmp_path / "theirs").eval()
    assert theirs.config.pad_token_id == ours.tokenizer.pad_id
    ids = torch.tensor([ours.tokenizer.encode("She likes the summer").ids])
    with torch.no_grad():
        mine, his = ours.module(Inputs(ids=ids)).logits, theirs(ids).logits
    assert mine is not None
    assert float((mine - his).abs().max()) < 1e-5  # float32, sums in another order


@pytest.mark.parametrize("target", ["trained", "imported", "theirs"])
@pytest.mark.parametrize("verb", ["import", "export", "train", "train --resume"])
def test_nothing_is_written_over_a_model(
    run: Run, trained: Path, text_file: Path, tmp_path: Path, verb: str, target: str
) -> None:
    theirs, out = tmp_path / "theirs", tmp_path / target
    assert run("export", trained, theirs).code == 0
    if target == "trained":  # without its checkpoints: nothing that a training could go on from
        shutil.copytree(trained, out, ignore=shutil.ignore_patterns("checkpoints"))
    elif target == "imported":
        assert run("import", theirs, out).code == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    training = ["train", "masked-lm", text_file, "--steps", "1", "--size", "tiny", "--out", out]
    words: dict[str, list[object]] = {
        "import": ["import", theirs, out],
        "export": ["export", trained, out],
        "train": training,
        "train --resume": [*training, "--resume"],
    }
    done = run(*words[verb])
    assert (done.code, done.out) == (2, "")
    assert f"needs a folder without a model; got {out}, which holds a model; choose another folder" in done.err
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_family_that_hugging_face_does_not_have(run: Run, drawn: Path, tmp_path: Path) -> None:
    done = run("export", drawn, tmp_path / "theirs")
    assert done.code == 2
    assert "'slides'" in done.err
    assert not (tmp_path / "theirs").exists()
