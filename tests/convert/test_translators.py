"""A model that was trained to translate goes out, and answers there what it answers here."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sacrebleu.metrics import BLEU, CHRF
from safetensors.torch import load_file

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.convert.search_settings import search_of
from glassformer.data.batches.batch import Texts
from glassformer.data.batches.corrupt import IGNORED
from glassformer.decode.settings import SpecialIds
from glassformer.models.inputs import Inputs
from glassformer.run.compare import compare
from glassformer.run.evaluate import evaluate
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.scoring.score import THIS_MODEL
from glassformer.tasks.writing.pair_source import PairSource, TextPairs
from glassformer.tasks.writing.translate.settings import TranslateSection
from glassformer.tasks.writing.translate.task import Translate
from glassformer.tasks.writing.writers import special_ids
from glassformer.text.special import MARIAN
from glassformer.text.train import train_tokenizer
from tests.convert.translators import LONGEST, TEXTS, answered, generated, ids_of, translator, written

SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"num_beams": 1},
    "beam": {},
    "all answers": {"num_beams": 3, "num_return_sequences": 3, "length_penalty": 1.7},
}


def theirs_of(folder: Path) -> Any:
    return transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float64)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("cached", [True, False], ids=["cache", "no cache"])
def test_transformers_translates_as_we_do(search: str, cached: bool, tmp_path: Path) -> None:
    model = translator()
    folder = written(model, tmp_path / "theirs")
    theirs = theirs_of(folder)
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    said = {**json.loads((folder / "generation_config.json").read_text()), **SEARCHES[search]}
    said["early_stopping"] = said["num_beams"] > 1  # transformers warns of it in a greedy search
    ours, aside = search_of(said, {})
    assert not aside
    assert ours.ids is not None
    # Padding is no answer: here by the loop itself, there by its bias and as a forbidden word.
    pad = model.tokenizer.pad_id
    assert pad is not None
    assert special_ids(model.tokenizer) == SpecialIds(pad, ours.ids.end, never=(pad,))
    ours = replace(ours, ids=special_ids(model.tokenizer), forbidden=())
    sources = ids_of(model.tokenizer)
    assert [tokens(text)["input_ids"] for text in TEXTS] == sources
    found = answered(model.module, sources, ours)
    assert len({len(answers[0]) for answers in found}) > 2
    for source, answers in zip(sources, found, strict=True):
        changed = {**SEARCHES[search], "early_stopping": said["early_stopping"]}
        assert generated(theirs, source, use_cache=cached, **changed) == answers
        assert tokens.decode(answers[0], skip_special_tokens=True) == model.tokenizer.decode(answers[0])


def test_what_is_written(tmp_path: Path) -> None:
    """What programs need that know no other model than Marian's own."""
    model = translator(TranslateSection(beams=5, length_penalty=0.6))
    found = write_foreign(model, tmp_path / "theirs")
    assert len(found) == 1
    tokenizer, pad = model.tokenizer, model.tokenizer.vocabulary_size - 1
    assert tokenizer.pad_id == pad
    config, generation, roles = (
        json.loads((tmp_path / "theirs" / name).read_text())
        for name in ("config.json", "generation_config.json", "tokenizer_config.json")
    )
    assert config["vocab_size"] == config["decoder_vocab_size"] == pad + 1
    assert config["pad_token_id"] == config["decoder_start_token_id"] == pad
    assert config["eos_token_id"] == tokenizer.end_id
    assert config["bos_token_id"] is config["forced_eos_token_id"] is None
    assert roles["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert (roles["eos_token"], roles["unk_token"], roles["pad_token"]) == ("</s>", "<unk>", "<pad>")
    assert generation == {
        "pad_token_id": pad, "eos_token_id": tokenizer.end_id, "decoder_start_token_id": pad, "bad_words_ids": [[pad]],
        "num_beams": 5, "length_penalty": 0.6, "early_stopping": "never", "max_length": LONGEST,
    }  # fmt: skip
    tensors = load_file(tmp_path / "theirs" / "model.safetensors")
    assert not tensors["model.shared.weight"][pad].any()
    assert model.module.word_table[pad].any()
    assert float(tensors["final_logits_bias"][0, pad]) == -1e4


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_an_export_comes_back_as_it_was(dtype: torch.dtype, tmp_path: Path) -> None:
    """All but the bias of padding, which no answer has."""
    model = translator()
    model.module.to(dtype)
    pad = model.tokenizer.pad_id
    back, _ = read_foreign(written(model, tmp_path / "theirs"), Model)
    before, after = model.module.state_dict(), back.module.state_dict()
    assert float(after["head.bias"][pad]) == pytest.approx(-1e4, rel=1e-2)
    after["head.bias"][pad] = before["head.bias"][pad]
    for name, tensor in before.items():
        if "embed.word" in name:  # √width times it was added to numbers near 1, and taken from these again
            eps = torch.finfo(torch.float32 if dtype == torch.bfloat16 else dtype).eps
            torch.testing.assert_close(after[name][pad], tensor[pad], rtol=torch.finfo(dtype).eps, atol=4 * eps)
            after[name][pad] = tensor[pad]
        assert torch.equal(after[name], tensor), name
    again = written(back, tmp_path / "again")
    one, two = (load_file(folder / "model.safetensors") for folder in (tmp_path / "theirs", again))
    assert not one.keys() - two.keys() - {"model.decoder.embed_positions.weight"}


def test_a_start_that_was_folded_in_is_read(tmp_path: Path) -> None:
    """The logits are those of transformers, which reads the table of positions."""
    model = translator()
    folder = written(model, tmp_path)
    back, _ = read_foreign(folder, Model)
    source, start = torch.tensor(ids_of(model.tokenizer)[:1]), torch.tensor([[model.tokenizer.pad_id, 9, 10]])
    with torch.inference_mode():
        wanted = model.module(Inputs(ids=source), Inputs(ids=start)).logits[..., :-1]
        theirs = theirs_of(folder)(input_ids=source, decoder_input_ids=start).logits[..., :-1]
        ours = back.module(Inputs(ids=source), Inputs(ids=start)).logits[..., :-1]
    torch.testing.assert_close(ours, wanted, rtol=0, atol=1e-12)
    torch.testing.assert_close(theirs, wanted, rtol=0, atol=1e-5)  # its sines are a float32 table


def test_padding_that_is_not_the_last_token_is_reported(tmp_path: Path) -> None:
    before = translator()
    special = replace(MARIAN, begin="</s>")  # trained by an earlier version: padding first
    tokenizer = train_tokenizer("bpe", TEXTS, vocabulary=300, lowercase=False, special=special)
    tokenizer.special = MARIAN
    model = Model(before.module, tokenizer, task=before.task)
    assert tokenizer.pad_id == 0
    assert any("ctranslate2" in sentence for sentence in write_foreign(model, tmp_path))


def test_a_re_imported_translator_is_learned_from_as_its_twin(tmp_path: Path) -> None:
    """Padding is no target of the smoothing: its bias of −10,000 adds nothing to the loss. Of the twin's own loss that
    leaves what padding has of the softmax.
    """
    model = translator()
    back, _ = read_foreign(written(model, tmp_path), Model)
    task = Translate(TranslateSection(), model.tokenizer, length=LONGEST)
    pairs = TextPairs(Texts(TEXTS[::2]), Texts(TEXTS[1::2]))
    pad = special_ids(model.tokenizer).begin
    source = PairSource(pairs, model.tokenizer, start=pad, longest=LONGEST)
    shape = (len(source), *source.lengths.max(axis=0))
    batch = source.batch(np.arange(len(source)), np.zeros(len(source), np.int64), shape=shape)
    of_twin, of_back = (task.losses(each.module, batch)["target"] for each in (model, back))
    with torch.inference_mode():
        logits = model.module(batch.inputs, batch.decoder_inputs).logits[batch.labels["target"] != IGNORED]
    freed = torch.log1p(-logits.softmax(dim=-1)[:, pad]).sum()
    assert of_back.item() == pytest.approx(of_twin.item() + freed.item(), rel=1e-12)
    assert back.module.head is not None
    assert back.module.head.bias is not None
    (of_bias,) = torch.autograd.grad(of_back, [back.module.head.bias])
    assert of_bias[pad] == 0
    assert of_bias.abs().max() > 0


def test_a_re_imported_translator_cuts_the_texts_that_its_twin_cuts(tmp_path: Path) -> None:
    """`data.length` is less than the positions that a model counts."""
    twin = translator()
    twin = Model(twin.module, twin.tokenizer, task=twin.task, length=12)
    back, report = read_foreign(written(twin, tmp_path), Model)
    assert report.length == back.row_tokens == twin.row_tokens == 12
    assert back.config.output_stack.embed.position.max_length == LONGEST
    long = "I am a student. The cat sleeps on the table. Where is the station, please?"
    one, two = (each.translate(long, beams=2, max_tokens=8) for each in (twin, back))
    assert one.windows == two.windows > 1
    again = written(back, tmp_path / "again") / "tokenizer_config.json"
    assert json.loads(again.read_text())["model_max_length"] == 12


@pytest.mark.long
def test_an_imported_translator_is_measured_by_its_translations(tmp_path: Path) -> None:
    """Those of the search that came with it, not by masked words."""
    back, _ = read_foreign(written(translator(), tmp_path / "theirs"), Model)
    assert back.task is None
    table = tmp_path / "pairs.tsv"
    pairs = list(zip(TEXTS[::2], TEXTS[1::2], strict=True))
    table.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    scores = evaluate(back, [table])
    found = [back.translate(source).translation for source, _ in pairs]
    targets = [[target for _, target in pairs]]
    assert scores.of[THIS_MODEL]["bleu"] == pytest.approx(BLEU().corpus_score(found, targets).score)
    assert scores.of[THIS_MODEL]["chrf"] == pytest.approx(CHRF().corpus_score(found, targets).score)
    stated = [back.score(*pair) for pair in pairs]
    loss = -sum(each.total for each in stated) / sum(len(each.tokens) for each in stated)
    assert scores.of[THIS_MODEL]["loss"] == pytest.approx(loss)
    assert compare(back, back, table).judged.verdict
    again = evaluate(load(back.save(tmp_path / "saved"), dtype="float64"), [table])
    assert again.of[THIS_MODEL] == pytest.approx(scores.of[THIS_MODEL])


@pytest.mark.parametrize("expected", [10**30, "512", True, 0, None])
def test_a_length_that_no_text_has_is_not_read(expected: object, tmp_path: Path) -> None:
    settings = written(translator(), tmp_path) / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "model_max_length": expected}))
    assert read_foreign(tmp_path, Model)[1].length is None
