"""`experiments.small`: packing halves the weights and leaves paths behind; scoring compares what was packed."""

from pathlib import Path

import pytest

from experiments import results
from experiments.small import models
from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.errors import CheckpointError
from glassformer.saved import store
from tests.run.runs import Listener, recipe

ENGLISH = models.SMALL["english"]


def test_a_run_is_packed_and_scored(text_file: Path, tmp_path: Path) -> None:
    values = recipe(text_file)
    values["data"] |= {"test": 0.2, "cache": str(tmp_path / "cache")}
    run, folder = tmp_path / "run", tmp_path / "small" / "english"
    train(values, out=run, progress=Listener())
    packed = models.pack(ENGLISH, run, folder)
    assert {path.name for path in folder.iterdir()} == set(store.FILES)
    before, after = run / store.WEIGHTS, folder / store.WEIGHTS
    assert after.stat().st_size < 0.6 * before.stat().st_size
    assert packed.data is not None
    assert packed.data.files == (f"{text_file.parent.name}/{text_file.name}",)
    for path in folder.iterdir():
        assert str(tmp_path).encode() not in path.read_bytes()

    weights = after.read_bytes()
    row = models.score(ENGLISH, run, folder)
    assert row["split"] == "test"
    assert row["scores"]["targets"] == row["scores_before_packing"]["targets"] > 0
    assert row["scores"]["loss"] == pytest.approx(row["scores_before_packing"]["loss"], abs=0.02)
    assert row["scores"]["loss"] != row["scores_before_packing"]["loss"]
    assert after.read_bytes() == weights
    scored = load(folder)
    assert scored.metrics["scores"] == row["scores"]
    assert f"{row['scores']['loss']:.3f}" in scored.card
    for path in folder.iterdir():
        assert str(tmp_path).encode() not in path.read_bytes()


def test_what_is_too_large_does_not_travel(run: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "PARAMETERS", 100)
    with pytest.raises(CheckpointError):
        models.pack(ENGLISH, tmp_path / "run", tmp_path / "small")
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("english", {"text_books", "text_state_union"}),
        ("en-fr", {"tatoeba_en_fr", "words"}),
        ("writer", {"text_books"}),
        ("chat", {"self_dialogue", "chatterbot_english", "documents"}),
    ],
)
def test_the_recipe_names_text_that_may_be_republished(
    name: str, sets: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSFORMER_DATA", "/data")
    small = models.SMALL[name]
    made = models.resolved(small)
    assert results.data_directory() == Path("/data")
    assert {Path(file).parent.name for file in made.data.files} == sets
    assert made.data.licence
    assert made.data.test > 0 or small.measured
