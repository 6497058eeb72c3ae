"""Models in the package: found by their names, in bfloat16, and a folder of the user's comes before them."""

from pathlib import Path

import pytest
import torch

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.bundled import travelling
from glassformer.convert.files import read_header
from glassformer.run.card import write_card
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_as_saved
from glassformer.saved.recipe import resolve
from tests.refusals import refused
from tests.run.runs import Listener, recipe, same_weights

TEXT = "She [MASK] the summer better than the winter."


@pytest.fixture
def english(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the model in the package, saved in bfloat16; the current folder is another, empty one."""
    monkeypatch.setattr(travelling, "PLACE", tmp_path / "small")
    whole = model.save(tmp_path / "whole")
    folder = load(whole, dtype="bfloat16").save(tmp_path / "small" / "english")
    (tmp_path / "small" / "README.md").write_text("no model")
    (tmp_path / "small" / "__pycache__").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


def test_a_name_opens_the_model_in_the_package(english: Path, model: Model) -> None:
    assert travelling.travelling() == {"english": english}
    named = load("english")
    assert named.source == english
    assert same_weights(named, load(english))
    assert named.fill(TEXT) == load(english).fill(TEXT)


def test_weights_are_halved_on_the_disk_and_widened_when_opened(english: Path, model: Model) -> None:
    header = read_header(english / store.WEIGHTS)
    assert {kind for _, kind in header.values()} == {"BF16"}
    named = load("english")
    for name, parameter in model.module.named_parameters():
        widened = named.module.get_parameter(name)
        assert widened.dtype == torch.float32
        assert torch.equal(widened, parameter.to(torch.bfloat16).float())
    said = named.info()["prediction"]
    assert (said["precision"], said["saved_in"]) == ("float32", "bfloat16")
    said = load(english.parent.parent / "whole").info()["prediction"]
    assert (said["precision"], said["saved_in"]) == ("float32", "float32")
    assert model.info()["prediction"]["saved_in"] is None
    again = open_as_saved("english", Artefact)
    assert next(again.module.parameters()).dtype == torch.bfloat16
    assert "bfloat16" in write_card(again, english)
    assert "bfloat16" not in write_card(model, english)


def test_a_model_of_the_users_comes_before_one_of_the_same_name(english: Path, model: Model) -> None:
    Path("english").mkdir()
    Path("english/notes.txt").write_text("a text, no model")
    assert load("english").source == english
    with refused(CheckpointError, wanted=("english", store.SETTINGS)):
        load(Path("english"))  # a Path is a folder
    with refused(CheckpointError, wanted=("english", store.SETTINGS)):
        load("./english")
    model.save("english")
    assert load("english").source == Path("english")
    assert same_weights(load("english"), model)


def test_an_unknown_name_gets_the_nearest(english: Path) -> None:
    with refused(CheckpointError, wanted="englsh", do="'english'"):
        load("englsh")
    with pytest.raises(CheckpointError) as path:
        load("runs/englsh")
    assert path.value.do == ""


def test_a_training_may_begin_from_it(english: Path, text_file: Path, tmp_path: Path, model: Model) -> None:
    values = {**recipe(text_file), "model": {"start": "english"}}
    values["data"]["length"] = 16
    del values["tokenizer"]
    assert resolve(values).model.start == "english"
    tuned = train(values, out=tmp_path / "tuned", set={"train.steps": 1}, progress=Listener())
    assert tuned.tokenizer.fingerprint == model.tokenizer.fingerprint
    assert next(tuned.module.parameters()).dtype == torch.float32
    assert load(tmp_path / "tuned").info()["prediction"]["saved_in"] == "float32"
    model.save("english")
    assert resolve(values).model.start == str(Path.cwd() / "english")


def test_what_is_known_of_it_is_read_without_torch(english: Path, model: Model) -> None:
    found = travelling.described("english")
    assert found.parameters == sum(parameter.numel() for parameter in model.module.parameters())
    assert found.size == sum(path.stat().st_size for path in english.iterdir())
    assert (found.name, found.folder, found.task) == ("english", english, "masked-lm")
    assert travelling.answering(("masked-lm", "classify")) == "english"
    assert travelling.answering(("classify",)) is None
    (english / store.SETTINGS).write_text("{")
    with refused(CheckpointError, wanted=str(english / store.SETTINGS)):
        travelling.described("english")


def test_without_models_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(travelling, "PLACE", tmp_path / "nowhere")
    assert travelling.travelling() == {}
    assert travelling.answering(("masked-lm",)) is None
    with refused(CheckpointError, wanted="english"):
        load("english")


def test_a_model_without_its_text_asks_for_files(english: Path, model: Model) -> None:
    packed: Artefact = load("english")
    packed.data = resolve(recipe(Path("x.txt"))).data.model_copy(update={"files": ("text_books/*.txt",)})
    with pytest.raises(ConfigError):
        Model.evaluate(packed)  # type: ignore[arg-type]  # an Artefact has all it needs
    assert "text_books/*.txt" in write_card(packed, english)


# --------------------------------------------------------------------------- what stands in the package


def test_each_model_in_the_package_is_fit_to_travel() -> None:
    page = (travelling.PLACE / "README.md").read_text(encoding="utf-8")
    for name, folder in travelling.travelling().items():
        assert f"`{name}`" in page
        if name == "slides":  # the slides' 516 weights, of the three sentences that the package has
            continue
        assert {path.name for path in folder.iterdir()} == set(store.FILES)
        assert {kind for _, kind in read_header(folder / store.WEIGHTS).values()} == {"BF16"}
        found, model = travelling.described(name), load(name)
        assert found.size < 9.5e6
        assert found.parameters <= 4_500_000
        assert found.text_licence
        larger = {
            "translate": ("bleu", "copy_source_bleu"),
            "chat": ("unigram_loss", "loss"),
            "sentence-order": ("accuracy", "most_frequent_accuracy"),
        }
        best, baseline = larger.get(found.task or "", ("accuracy", "unigram_accuracy"))
        assert found.scores[best] > found.scores[baseline]
        assert model.notes == ()
        assert model.card.startswith(f"# {name}\n")
        assert f'gf.load("{name}")' in model.card
        assert model.data is not None
        assert not any(Path(file).is_absolute() for file in model.data.files)
        assert model.recipe is not None
        assert model.recipe.data.files == model.data.files
        for path in folder.iterdir():
            content = path.read_bytes()
            assert not any(place in content for place in (b"/work/", b"/home/", b"/tmp/")), path
    assert (travelling.PLACE / "README.md").is_file()
