"""--quiet leaves results and errors; `cache` shows what is kept, and deletes nothing that a run goes on with."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from glassformer.api.load import load
from glassformer.cli.__main__ import _command, _quietly
from glassformer.cli.verbs import VERBS
from glassformer.run.caches import caches, hub_models, kernels
from glassformer.saved.recipe import write_recipe
from glassformer.training.stopping import exclusive

Run = Callable[..., Any]
SMALL = ["--steps", "2", "--size", "tiny", "--vocabulary", "160", "--length", "24", "--batch", "4"]

# --------------------------------------------------------------------------- quiet


def test_every_verb_has_quiet() -> None:
    for verb in (verb for group in VERBS.values() for verb in group):
        app = typer.Typer()
        app.command()(_quietly(_command(verb)))
        options = {option for each in typer.main.get_command(app).params for option in each.opts}
        assert {"--quiet", "-q"} <= options, verb


def test_quiet_prints_results_and_errors_alone(run: Run, text_file: Path, tmp_path: Path) -> None:
    for words in (
        ["train", "masked-lm", text_file, *SMALL, "--out", tmp_path / "run"],
        ["evaluate", tmp_path / "run"],
        ["fill", tmp_path / "run", "She likes the summer . " * 20 + "[MASK]"],
        ["explain", tmp_path / "run", "a [MASK]"],
    ):
        quiet = run(*words, "--quiet")
        assert (quiet.code, quiet.err, bool(quiet.out.strip())) == (0, "", True), words[0]
    loud = run("fill", tmp_path / "run", "no mask", "-q")
    assert (loud.code, loud.out, loud.err.count("\n")) == (2, "", 1)
    assert sys.stderr.write("") == 0  # it is there again


def test_what_ctrl_c_has_kept_is_said_also_quietly(run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(*arguments: object, **options: object) -> None:
        stopped = KeyboardInterrupt()
        stopped.add_note("all is kept")
        raise stopped

    monkeypatch.setattr("glassformer.api.load.load", stopping)
    done = run("fill", trained, "a [MASK]", "--engine", "torch", "--quiet")
    assert (done.code, done.err.splitlines()) == (130, ["glassformer: stopped", "all is kept"])


# --------------------------------------------------------------------------- caches


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of whom nothing is known."""
    for name in ("GLASSFORMER_CACHE", "TORCHINDUCTOR_CACHE_DIR", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_where_torch_and_the_hub_keep_theirs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    assert str(kernels()) == default_cache_dir()
    assert hub_models() == home / "home" / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert hub_models() == Path("/x/huggingface/hub")
    monkeypatch.setenv("HF_HOME", "/h")
    assert hub_models() == Path("/h/hub")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/k")
    assert kernels() == Path("/k")


def test_tokens_are_deleted_but_not_those_of_a_run_that_has_not_ended(
    run: Run, trained: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(home / "kernels"))
    (home / "kernels" / "c5").mkdir(parents=True)
    (home / "kernels" / "c5" / "one.so").write_bytes(bytes(1000))
    for name in ("done", "going", "running"):
        shutil.copytree(trained, home / "runs" / name)
    (home / "runs" / "going" / "glassformer.json").unlink()
    shown = run("cache")
    assert (shown.code, shown.err) == (0, "")
    assert str(home / "kernels") in shown.out
    assert all(len(line) <= 80 + len(str(home)) for line in shown.out.splitlines())
    before = {record["path"]: record for record in run("cache", "--json").records}
    assert len(before) == 4
    assert not any(record["deleted"] for record in before.values())
    (store,) = (path for path in (home / "runs" / "done" / "tokens").iterdir())
    assert before[f"runs/done/tokens/{store.name}"]["bytes"] == sum(
        path.stat().st_size for path in store.rglob("*") if path.is_file()
    )
    with exclusive(home / "runs" / "running"):
        cleared = {record["path"]: record["deleted"] for record in run("cache", "--clear", "--json").records}
    assert cleared == {path: "going" not in path and "running" not in path for path in before}
    assert not store.exists()
    assert not (home / "kernels").exists()
    assert load(home / "runs" / "done").fill("a [MASK]")
    for name in ("going", "running"):
        assert list((home / "runs" / name / "tokens").iterdir())
    assert run("evaluate", home / "runs" / "done", "--json").code == 0  # made again where it is needed


def test_converted_models_and_the_list_of_opened_ones_are_shown_and_deleted(run: Run, home: Path) -> None:
    own = home / "home" / ".cache" / "glassformer"
    (own / "engines" / "ctranslate2-1-0").mkdir(parents=True)
    (own / "engines" / "ctranslate2-1-0" / "model.bin").write_bytes(bytes(300))
    (own / "recent.json").write_text('["runs/notes"]', encoding="utf-8")
    (own / "other").write_text("of someone else", encoding="utf-8")
    shown = {Path(each["path"]).name: each["bytes"] for each in run("cache", "--json").records}
    assert shown == {"engines": 300, "recent.json": 14}
    assert all(each["deleted"] for each in run("cache", "--clear", "--json").records)
    assert [path.name for path in own.iterdir()] == ["other"]


def test_tokens_in_the_cache_that_an_unfinished_run_names_are_kept(run: Run, trained: Path, home: Path) -> None:
    going, shared = home / "runs" / "going", home / "shared"
    shutil.copytree(trained, going)
    shutil.move(going / "tokens", shared)
    known = load(going)
    assert known.recipe is not None
    data = known.recipe.data.model_copy(update={"cache": str(shared)})
    recipe = known.recipe.model_copy(update={"data": data})
    write_recipe(going, recipe, known.tokenizer)
    (going / "glassformer.json").unlink()
    (store,) = shared.iterdir()
    for folders in (["."], ["shared", "runs"]):
        cleared = {record["path"]: record["deleted"] for record in run("cache", *folders, "--clear", "--json").records}
        assert [deleted for path, deleted in cleared.items() if store.name in path] == [False]
    assert store.exists()
    shutil.rmtree(going)
    run("cache", "shared", "--clear")
    assert not store.exists()


def test_a_folder_of_kernels_that_holds_other_files_is_kept(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "work"
    (named / "c3").mkdir(parents=True)
    (named / "fxgraph").mkdir()
    (named / "thesis.txt").write_text("years of work")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(named))
    (kept,) = (each for each in caches([tmp_path]) if each.path == named)
    assert "thesis.txt" in kept.why
    assert run("cache", tmp_path, "--clear").code == 0
    assert sorted(each.name for each in named.iterdir()) == ["c3", "fxgraph", "thesis.txt"]
    (named / "thesis.txt").unlink()
    assert run("cache", tmp_path, "--clear").code == 0
    assert not named.exists()


def test_a_folder_that_is_not_there_is_refused(run: Run, home: Path) -> None:
    assert caches() == []
    done = run("cache", home / "nowhere")
    assert (done.code, str(home / "nowhere") in done.err, done.err.count("\n")) == (2, True, 1)


# --------------------------------------------------------------------------- what is left behind

# Each place that is written to, also for a moment: Python reports each beforehand.
SEEN = """
import os, socket, sys
places, asked = set(), []

def see(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if isinstance(path, (str, bytes)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            places.add(os.path.abspath(os.fsdecode(path)))
    elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink"):
        places.add(os.path.abspath(os.fsdecode(arguments[1 if event != "os.mkdir" else 0])))
    elif event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        asked.append(event)

sys.addaudithook(see)
from glassformer.cli.__main__ import main
import json
codes = [main(words) for words in json.loads(sys.argv[1])]
before = len(asked)
socket.getaddrinfo("127.0.0.1", 1)  # asking is noticed
print(json.dumps([codes, sorted(places), before, len(asked)]), file=sys.__stdout__)
"""


@pytest.mark.long
def test_nothing_is_written_elsewhere_and_no_network_is_asked(text_file: Path, tmp_path: Path) -> None:
    """docs/reference/stable.md says so; kernels are compiled where `cache` shows them, temporary files deleted."""
    given, home, temporary, here = (tmp_path / name for name in ("given", "home", "tmp", "here"))
    for folder in (given, home, temporary, here):
        folder.mkdir()
    asked = given / "asked.txt"
    asked.write_text("a [MASK]\n")
    model = str(given / "run")
    commands = [
        ["train", "masked-lm", str(text_file), *SMALL, "--out", model],
        ["evaluate", model, str(text_file)],
        ["fill", model, "--file", str(asked), "--out", str(given / "answers")],
        ["embed", model, "a text", "another"],
        ["search", "build", model, str(asked), "--out", str(given / "index")],
        ["explain", "english", "A [MASK].", "--html", str(given / "page.html")],
        ["export", model, str(given / "exported")],
    ]
    done = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", SEEN, json.dumps(commands)],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
        | {"HOME": str(home), "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"}
        | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    codes, places, before, after = json.loads(done.stdout.splitlines()[-1])
    assert codes == [0] * len(commands), done.stderr
    assert (before, after) == (0, 1)
    outside = [Path(place) for place in places if not Path(place).is_relative_to(given)]
    strange = [path for path in outside if not path.is_relative_to(temporary) and not path.is_relative_to("/dev")]
    # Which of two products is faster is measured once on a machine, and kept next to the compiled kernels.
    assert [path for path in strange if "measured" not in path.parts] == []
    assert list(home.iterdir()) == list(here.iterdir()) == []
    left = [path for path in temporary.rglob("*") if path.is_file()]
    assert [path for path in left if not path.relative_to(temporary).parts[0].startswith("torchinductor_")] == []
