"""The three kinds of heads come in and go out: `transformers` computes the same from what either side wrote."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

import glassformer as gf
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.config import HeadUse, ModelConfig, SentenceHeadConfig
from glassformer.convert import read_huggingface, write_huggingface
from glassformer.convert.heads import LabelUse
from glassformer.models.families import FAMILIES
from glassformer.models.families.heads import sentence_head_of, token_head_of
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.contracts.families import random_weights
from tests.convert.sources import SOURCES, change_settings, change_tensors, save
from tests.refusals import refused
from tests.run.heads import TEXTS, model_for

CLASSES: dict[str, HeadUse] = {
    "ForSequenceClassification": "sentence labels",
    "ForMultipleChoice": "candidates",
    "ForTokenClassification": "token labels",
    "ForQuestionAnswering": "span",
}
WITH_LABELS = [name for name in SOURCES if name.endswith(tuple(CLASSES))]
ENCODERS = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta", "modernbert": "ModernBert"}
NAMES = ("bad", "fair", "good")
NAMED = LabelUse("sentence labels", NAMES)
# Two sentences of different lengths, for two questions of two choices each where these are chosen from.
IDS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 0, 0], [15, 16, 17, 0, 0, 0], [18, 19, 5, 6, 7, 0]])
REAL = IDS != 0
# float32 through four layers, sums in another order; the largest logits are about 30
FLOAT32 = 1e-4


def here(config: ModelConfig, state: dict[str, Tensor]) -> Tensor:
    """The labels' scores by our model: [B, L] or [B, S, L]."""
    model = Transformer(config).eval()
    model.load_state_dict(state)
    with torch.no_grad():
        output = model(Inputs(ids=IDS, real=REAL))
    found = output.token_logits if output.sentence_logits is None else output.sentence_logits
    assert found is not None
    return found


def there(name: str, folder: Path) -> Tensor:
    """The same by theirs, which must find each of its tensors, and no other."""
    model, stated = getattr(transformers, name).from_pretrained(folder, output_loading_info=True)
    assert not any(stated[what] for what in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    choices = name.endswith("ForMultipleChoice")
    ids, mask = (each.view(2, 2, -1) if choices else each for each in (IDS, REAL.long()))
    with torch.no_grad():
        output = model.eval()(input_ids=ids, attention_mask=mask)
    if name.endswith("ForQuestionAnswering"):
        return torch.stack([output.start_logits, output.end_logits], dim=-1)
    found: Tensor = output.logits
    return found.reshape(4, 1) if choices else found


def same(ours: Tensor, theirs: Tensor) -> None:
    """Equal where something was read; padding has scores that nobody reads."""
    real = REAL if ours.dim() == 3 else slice(None)
    torch.testing.assert_close(ours[real], theirs[real], rtol=FLOAT32, atol=FLOAT32)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", WITH_LABELS)
def test_what_they_wrote_gives_the_same_scores_here(name: str, tmp_path: Path) -> None:
    save(name, tmp_path, pad_token_id=0)
    found = read_huggingface(tmp_path)
    head = next(head for ending, head in CLASSES.items() if name.endswith(ending))
    assert found.report.use == LabelUse(head, NAMES if head.endswith("labels") else ())
    same(here(found.config, found.state), there(name, tmp_path))


def body(family: str) -> ModelConfig:
    """A small body of a family, with another activation than the usual one where the head has it too."""
    sizes: dict[str, Any] = {"layers": 2, "width": 12, "heads": 3, "feed_forward": 20, "vocabulary": 23}
    more: dict[str, dict[str, Any]] = {
        "modernbert": {"reach": 2, "activation": "silu"},
        "roberta": {"max_length": 14, "position_offset": 1},
    }
    return FAMILIES[family](**{**sizes, **more.get(family, {"max_length": 14})}, vocabulary_head=False)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("use", "ending", "problem"),
    [
        (LabelUse("sentence labels", NAMES), "ForSequenceClassification", "single_label_classification"),
        (LabelUse("sentence labels", NAMES, several=True), "ForSequenceClassification", "multi_label_classification"),
        (LabelUse("number"), "ForSequenceClassification", "regression"),
        (LabelUse("candidates"), "ForMultipleChoice", None),
        (LabelUse("token labels", NAMES), "ForTokenClassification", None),
        (LabelUse("span"), "ForQuestionAnswering", None),
    ],
    ids=lambda use: str(getattr(use, "head", use)),
)
@pytest.mark.parametrize("family", ENCODERS)
def test_what_is_trained_here_gives_the_same_scores_there(
    family: str, use: LabelUse, ending: str, problem: str | None, tmp_path: Path
) -> None:
    """With the head that the tasks give to a body of each family."""
    bare, count = body(family), {"number": 1, "candidates": 1, "span": 2}.get(str(use.head), 3)
    if use.head in ("token labels", "span"):
        config = bare.model_copy(update={"token_head": token_head_of(bare, labels=count, dropout=0.3)})
    else:
        config = bare.model_copy(update={"sentence_head": sentence_head_of(bare, labels=count, dropout=0.3)})
    state = random_weights(Transformer(config), seed=1).state_dict()
    write_huggingface(tmp_path / "out", config, state, use=use, token_settings={"pad_token_id": 0})
    same(here(config, state), there(ENCODERS[family] + ending, tmp_path / "out"))
    said = json.loads((tmp_path / "out" / "config.json").read_text())
    assert said.get("problem_type") == problem
    if use.labels:
        assert said["id2label"] == {"0": "bad", "1": "fair", "2": "good"}
    assert read_huggingface(tmp_path / "out").report.use == use


def test_the_mean_of_modernbert_is_its_class_s_mean(tmp_path: Path) -> None:
    bare = body("modernbert")
    config = bare.model_copy(update={"sentence_head": sentence_head_of(bare, labels=3, pooling="mean_pooler")})
    state = random_weights(Transformer(config), seed=1).state_dict()
    write_huggingface(tmp_path / "out", config, state, use=LabelUse("sentence labels", NAMES))
    same(here(config, state), there("ModernBertForSequenceClassification", tmp_path / "out"))


@pytest.mark.parametrize(
    ("family", "pooling"), [*((family, "first") for family in ENCODERS), ("bert", "mean"), ("distilbert", "mean")]
)
def test_a_pooling_that_the_class_does_not_have_is_refused(family: str, pooling: str, tmp_path: Path) -> None:
    bare = body(family)
    config = bare.model_copy(update={"sentence_head": sentence_head_of(bare, labels=3, pooling=pooling)})
    with refused(ConfigError, wanted=f"{ENCODERS[family]}ForSequenceClassification", got=pooling, do="pooler"):
        write_huggingface(tmp_path / "out", config, Transformer(config).state_dict(), use=NAMED)
    assert not (tmp_path / "out").exists()


def test_a_layer_that_the_class_does_not_have_is_refused(tmp_path: Path) -> None:
    """DistilBERT's classifier has ReLU, not tanh."""
    config = body("distilbert").model_copy(update={"sentence_head": SentenceHeadConfig(labels=3)})
    with refused(ConfigError, wanted="distilbert", got="sentence_head.activation", do="train"):
        write_huggingface(tmp_path / "out", config, Transformer(config).state_dict(), use=NAMED)


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_crf_goes_out_as_its_tagger_without_its_steps(family: str, tmp_path: Path) -> None:
    bare = body(family)
    config = bare.model_copy(update={"token_head": token_head_of(bare, labels=3, crf=True)})
    state = random_weights(Transformer(config), seed=1).state_dict()
    left = write_huggingface(tmp_path / "out", config, state, use=LabelUse("token labels", NAMES))
    assert ["CRF" in sentence for sentence in left] == [True]
    same(here(config, state), there(f"{ENCODERS[family]}ForTokenClassification", tmp_path / "out"))


@pytest.mark.parametrize(
    ("name", "record"),
    [("BertForQuestionAnswering", {}), ("RobertaForMultipleChoice", {}), ("ModernBertForQuestionAnswering", {}),
     ("BertForSequenceClassification", {"id2label": {0: "a", 1: "b", 2: "c"}, "problem_type": "regression"})],
)  # fmt: skip
def test_a_wrong_number_of_labels_is_refused(name: str, record: dict[str, Any], tmp_path: Path) -> None:
    save(name, tmp_path, **record)
    if not record:
        output = "qa_outputs" if name == "BertForQuestionAnswering" else "classifier"
        more = {f"{output}.weight": torch.zeros(3, 12), f"{output}.bias": torch.zeros(3)}
        change_tensors(tmp_path, lambda tensors: tensors.update(more))
    with refused(CheckpointError, wanted=str(tmp_path / "config.json"), got="3 labels"):
        read_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("BertForTokenClassification", LabelUse("token labels", NAMES)),
        ("BertForQuestionAnswering", LabelUse("span")),
        ("DistilBertForTokenClassification", LabelUse("token labels", NAMES)),
        ("RobertaForQuestionAnswering", LabelUse("span")),
    ],
)
def test_where_no_class_is_named_the_tensors_tell(name: str, use: LabelUse, tmp_path: Path) -> None:
    save(name, tmp_path)
    change_settings(tmp_path, architectures=...)
    assert read_huggingface(tmp_path).report.use == use


def test_a_classifier_of_one_label_stays_here(tmp_path: Path) -> None:
    with refused(ConfigError, got="'yes'"):
        model_for("classify", {"labels": ("yes",)}).export(tmp_path / "out", "huggingface")


def test_numbers_of_a_model_in_bfloat16_go_out_exactly(tmp_path: Path) -> None:
    model = model_for("regress", {"mean": 1001.3, "deviation": 0.5})
    model.module.bfloat16()
    model.save(tmp_path / "kept")
    gf.load(tmp_path / "kept").export(tmp_path / "out", "huggingface")
    ours, theirs = (
        [each.number for each in gf.load(tmp_path / name, dtype="float64").classify(TEXTS)] for name in ("kept", "out")
    )
    assert ours == pytest.approx(theirs, abs=1e-4)  # mean and deviation are rounded to float32


def test_an_idle_pooler_of_an_old_file_is_left_aside(tmp_path: Path) -> None:
    save("BertForQuestionAnswering", tmp_path)
    more = {"bert.pooler.dense.weight": torch.ones(12, 12), "bert.pooler.dense.bias": torch.ones(12)}
    change_tensors(tmp_path, lambda tensors: tensors.update(more))
    assert read_huggingface(tmp_path).report.tensors_aside.keys() == more.keys()


@pytest.mark.parametrize(
    ("said", "use"),
    [
        ({"problem_type": "multi_label_classification"}, LabelUse("sentence labels", NAMES, several=True)),
        ({"id2label": {0: "LABEL_0"}, "label2id": None}, LabelUse("number")),
        ({"id2label": {0: "LABEL_0"}, "label2id": None, "problem_type": "regression"}, LabelUse("number")),
    ],
    ids=str,
)
def test_what_a_classifier_is_for(said: dict[str, Any], use: LabelUse, tmp_path: Path) -> None:
    save("DistilBertForSequenceClassification", tmp_path, **said)
    assert read_huggingface(tmp_path).report.use == use
