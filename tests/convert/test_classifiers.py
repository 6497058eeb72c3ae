"""Sentence classifiers come in with their labels, answer as in `transformers`, and go out again."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError
from glassformer.convert import read_huggingface
from glassformer.models.inputs import Inputs
from glassformer.saved.artefact import Artefact
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.saved.opening import open_as_saved
from glassformer.text.train import Kind, train_tokenizer
from tests.convert.sources import SOURCES, change_settings, change_tensors, save
from tests.refusals import refused

CLASSIFIERS = [name for name in SOURCES if name.endswith("ForSequenceClassification")]
TEXTS = ["She likes summer better than winter.", "The quick brown fox jumps over the lazy dog; it never rests!"]
ROOM: dict[str, Any] = {"max_position_embeddings": 80}
# float32 through two to four layers, sums in another order
FLOAT32 = 1e-4


def classifier(name: str, folder: Path, **settings: Any) -> None:
    """A folder with weights, labels and a tokenizer."""
    kind: Kind = "bpe" if name.startswith("Roberta") else "wordpiece"
    tokenizer = train_tokenizer(kind, TEXTS * 5, vocabulary=300, lowercase=True)
    save(name, folder, **ROOM, vocab_size=tokenizer.vocabulary_size, pad_token_id=tokenizer.pad_id, **settings)
    tokenizer.save(folder)
    roles = {"pad_token": tokenizer.special.pad, "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(roles))


def logits_there(name: str, folder: Path, texts: list[str]) -> torch.Tensor:
    model = getattr(transformers, name).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        found: torch.Tensor = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "settings"),
    [*((name, {}) for name in CLASSIFIERS), ("ModernBertForSequenceClassification", {"classifier_pooling": "mean"})],
    ids=str,
)
def test_in_saved_and_out_it_gives_the_same_probabilities(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    classifier(name, tmp_path / "theirs", **settings)
    model, report = read_foreign(tmp_path / "theirs", Model)
    assert (model.labels, report.labels) == (("bad", "fair", "good"),) * 2
    model.save(tmp_path / "ours")
    write_foreign(open_as_saved(tmp_path / "ours", Artefact), tmp_path / "again")
    wanted = logits_there(name, tmp_path / "theirs", TEXTS)
    torch.testing.assert_close(logits_there(name, tmp_path / "again", TEXTS), wanted, rtol=0, atol=0)
    for row, answer in enumerate(load(tmp_path / "ours").classify(TEXTS)):
        assert answer.labels[int(wanted[row].argmax())] == answer.label
        found = torch.tensor(answer.logarithms)
        torch.testing.assert_close(found, wanted[row].log_softmax(dim=-1), rtol=FLOAT32, atol=FLOAT32)
    said = json.loads((tmp_path / "again" / "config.json").read_text())
    assert said["architectures"] == [name]
    assert said["id2label"] == {"0": "bad", "1": "fair", "2": "good"}
    assert model.trace(TEXTS[0]).verify().holds


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_where_no_class_is_named_the_tensors_tell(name: str, tmp_path: Path) -> None:
    save(name, tmp_path)
    change_settings(tmp_path, architectures=...)
    assert read_huggingface(tmp_path).report.labels == ("bad", "fair", "good")


def test_labels_without_names_are_numbered_as_there(tmp_path: Path) -> None:
    save("BertForSequenceClassification", tmp_path, id2label={0: "LABEL_0", 1: "LABEL_1"}, label2id=None)
    change_settings(tmp_path, id2label=..., label2id=...)
    assert read_huggingface(tmp_path).report.labels == ("LABEL_0", "LABEL_1")


def test_a_pooler_in_addition_to_robertas_own_layer_is_left_aside(tmp_path: Path) -> None:
    save("RobertaForSequenceClassification", tmp_path)
    more = {"roberta.pooler.dense.weight": torch.ones(12, 12), "roberta.pooler.dense.bias": torch.ones(12)}
    change_tensors(tmp_path, lambda tensors: tensors.update(more))
    assert read_huggingface(tmp_path).report.tensors_aside.keys() == more.keys()


@pytest.mark.parametrize(
    "said",
    [
        {"id2label": {"0": "bad", "1": "good"}},
        {"id2label": {"0": "bad", "1": "fair", "2": "bad"}},
        {"id2label": {"0": "bad", "1": "fair", "2": " "}},
        {"id2label": {"0": "bad", "1": "fair", "3": "good"}},
        {"id2label": {"0": "bad", "1": "fair", "2": 3}},
        {"id2label": ["bad", "fair", "good"]},
        {"problem_type": "regression"},
        {"problem_type": "ranking"},
        {"problem_type": ["regression"]},
    ],
    ids=json.dumps,
)
def test_labels_that_are_none_are_refused(said: dict[str, object], tmp_path: Path) -> None:
    save("BertForSequenceClassification", tmp_path)
    change_settings(tmp_path, **said)
    with refused(CheckpointError, wanted=str(tmp_path / "config.json")):
        read_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ("GPT2", "GPT2ForSequenceClassification"), ("GPT2", "GPT2ForTokenClassification"),
        ("GPT2", "GPT2DoubleHeadsModel"), ("Bart", "BartForSequenceClassification"),
        ("Bart", "BartForQuestionAnswering"), ("Llama", "LlamaForSequenceClassification"),
    ],
)  # fmt: skip
def test_a_head_that_cannot_be_taken_is_named(
    config: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = next(settings for kind, settings in SOURCES.values() if kind == config)
    monkeypatch.setitem(SOURCES, name, (config, known))
    save(name, tmp_path)
    with refused(CheckpointError, wanted=str(tmp_path / "config.json"), got=name):
        read_huggingface(tmp_path)


def test_a_head_is_named_by_its_tensors_too(tmp_path: Path) -> None:
    save("BertForMaskedLM", tmp_path)
    change_tensors(tmp_path, lambda tensors: tensors.update({"qa_outputs.weight": torch.zeros(2, 12)}))
    with refused(CheckpointError, got="qa_outputs.weight [2, 12]", do="question answering"):
        read_huggingface(tmp_path)


def test_the_mean_leaves_padding_out(tmp_path: Path) -> None:
    save("ModernBertForSequenceClassification", tmp_path, classifier_pooling="mean")
    found = read_huggingface(tmp_path)
    from glassformer.models.transformer import Transformer

    model = Transformer(found.config).eval()
    model.load_state_dict(found.state)
    ids, real = torch.tensor([[4, 5, 6, 0, 0]]), torch.tensor([[True, True, True, False, False]])
    alone = model(Inputs(ids=ids[:, :3])).sentence_logits
    torch.testing.assert_close(model(Inputs(ids=ids, real=real)).sentence_logits, alone)
