"""The page on ONNX: each command and the Python, with a small classifier."""

import json
from pathlib import Path

import numpy as np
import pytest

from glassformer.api.load import load
from tests.docs.pages import run_commands, run_python
from tests.run.heads import TEXTS, model_for


@pytest.mark.long
def test_the_page_on_onnx(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model_for("classify", {"labels": ("ham", "spam")}).save("runs/mails")
    rows = "".join(f'"{TEXTS[n % 2]} {n}",{("ham", "spam")[n % 3 > 0]}\n' for n in range(12))
    Path("test.csv").write_text("text,label\n" + rows)
    run_commands(repository / "docs" / "do" / "onnx.md", results=False)
    shown = capsys.readouterr().out.splitlines()
    assert "mails-onnx" in shown
    assert any("accuracy" in line for line in shown)
    record = json.loads(shown[-1])
    assert record["outputs"] == ["last_hidden_state", "sentence_embedding"]
    assert all(each["onnxruntime"] <= each["allowed"] for each in record["checked"]["deviations"])
    assert {path.name for path in Path("mails-onnx").iterdir()} >= {"model.onnx", "model_int8.onnx", "README.md"}
    names = run_python(repository / "docs" / "do" / "onnx.md", {})
    model = load("runs/mails")
    texts = ["Two dogs run.", "Transfer a huge inheritance to Prince Mayuko"]
    logarithms = [list(found.logarithms) for found in model.classify(texts)]
    shifted = names["logits"] - np.logaddexp.reduce(names["logits"], axis=1, keepdims=True)
    np.testing.assert_allclose(shifted, logarithms, atol=1e-5)
