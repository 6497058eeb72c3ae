"""A server whose clients act at once, and folders that change while it runs."""

import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from glassformer.base.errors import CheckpointError
from glassformer.page.server import desk
from glassformer.page.server.asked import Asked
from glassformer.page.server.desk import begin
from glassformer.page.server.home import AskedModel, Home
from glassformer.page.server.offers import Models, Offer
from glassformer.run.serving.refusals import TooLargeError
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from tests.page.serving import ATTENTION, SENTENCES, TOKEN, desk_of, served, small_model
from tests.refusals import refused


def test_models_that_are_opened_at_once_have_names_of_their_own(tmp_path: Path) -> None:
    first = small_model(tmp_path / "0")
    places = [first, *(Path(shutil.copytree(first, tmp_path / str(n) / "small")) for n in range(1, 8))]
    home = Home(Models([]))
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda place: home.open(AskedModel(place=str(place))), places))
    assert len(set(names)) == len(places)
    assert {name: Path(home.models.offers[name].place) for name in names} == dict(zip(names, places, strict=True))


def test_files_that_are_dropped_at_once_all_come(tmp_path: Path) -> None:
    for _ in range(20):
        home = Home(Models([]))
        keys = [f"{number:032x}" for number in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda key, home=home: home.receive(key, "config.json", 0, b"{}"), keys))
        assert all((home.folder_of(key) / "config.json").read_bytes() == b"{}" for key in keys)
        home.close()


def test_other_weights_in_the_folder_of_a_model_are_refused(tmp_path: Path) -> None:
    places = [small_model(tmp_path / name) for name in ("one", "two")]
    models = Models([Offer(place.parent.name, place, ("a",)) for place in places], most_open=1)
    opened = models["one"]
    assert models["one"] is opened
    assert models["two"] is not opened  # which closes the first
    assert models["one"] is not opened
    assert models["two"] is not opened
    weights = load_file(places[0] / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in weights.items()}, places[0] / "model.safetensors")
    with refused(CheckpointError, wanted="one"):
        models["one"]


def test_targets_count_as_tokens_of_a_run() -> None:
    model = open_model("en-fr", Artefact, "cpu")
    asked = Asked(model="en-fr", texts=("A dog.",) * 3, target_ids=((1, *[9] * 2_000),) * 3)
    with refused(TooLargeError, got="2,001"):
        begin(model, asked, [])


def test_patches_of_a_run_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(desk_of()) as page:
        name = f"{ATTENTION}.weights"
        other = page.overview("slides", SENTENCES[1:2])
        size = math.prod(other["shapes"][name])
        steps = [{"kind": "patch", "where": name, "run": other["run"]}] * 3
        monkeypatch.setattr(desk, "MOST_PATCHED", 3 * size - 1)
        answer = page.post({"model": "slides", "texts": SENTENCES[:1], "steps": steps})
        assert page.error(answer, 413)["got"] == f"{3 * size:,}"
        monkeypatch.setattr(desk, "MOST_PATCHED", 3 * size)
        page.overview("slides", SENTENCES[:1], steps=steps)


def test_a_start_model_that_is_gone_hinders_no_other(tmp_path: Path) -> None:
    start, other = (small_model(tmp_path / name) for name in ("start", "other"))
    models = Models([Offer("start", start, ("She likes.",))], device="cpu", most_open=1)
    with served(desk.Desk(models), Asked(model="start", texts=("She likes.",))) as page:
        assert page.overview("start", ("She likes.",))
        for folder in (other, small_model(tmp_path / "third")):
            answer = page.client.post(f"/{TOKEN}/api/models", json={"place": str(folder)})
            assert answer.status_code == 200, answer.text
            shutil.rmtree(start, ignore_errors=True)
