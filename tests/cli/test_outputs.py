"""No option that names a file to write overwrites a file of a model, an index or a run, an input, or a user's file."""

import inspect
import shutil
import typing
from pathlib import Path

import pytest

import glassformer as gf
from glassformer.base.outputs import held, output_file
from glassformer.cli.__main__ import _command
from glassformer.cli.terminal.outputs import outputs_of
from glassformer.cli.verbs import PARTS, VERBS
from glassformer.features.search.building import INDEX, VECTORS
from glassformer.run.exports import FACTS, GRAPH
from glassformer.saved.recipe import RECIPE
from glassformer.saved.store import CHECKPOINTS, SETTINGS
from tests.cli.conftest import Run

COMMANDS = [verb for group in VERBS.values() for verb in group]
COMMANDS += [f"{verb} {part}" for verb, parts in PARTS.items() for part in parts]
PARAMETERS = {verb: dict(inspect.signature(_command(verb), eval_str=True).parameters) for verb in COMMANDS}
WALK = [(verb, of.default) for verb in COMMANDS for of in outputs_of(PARAMETERS[verb]).values()]
# Options and arguments of a path that is read, and those of a folder, which is made or refused as a whole.
READ = {(verb, name) for verb in ("explain", "explore") for name in ("probe", "index")} | {
    ("search ask", "index"),
    ("search build", "extend"),
}
FOLDERS = {(verb, "out") for verb in ("demo", "train", "distil", "import", "export", "search build")} | {
    ("claims", "runs_folder"),
    ("explore", "publish"),
}


@pytest.fixture
def places(trained: Path, tmp_path: Path) -> Path:
    """A folder with a run, an index, a model of transformers, inputs and a user's file."""
    shutil.copytree(trained, tmp_path / "run")
    for name, holds in {"index": (INDEX, VECTORS), "foreign": ("config.json", "model.safetensors")}.items():
        (tmp_path / name).mkdir()
        for file in holds:
            (tmp_path / name / file).write_bytes(b"in use")
    for name in ("input.txt", "folder/inside.txt", "mine.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"words")
    (tmp_path / "link.html").symlink_to(tmp_path / "run" / "model.safetensors")
    return tmp_path


def content(places: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in places.rglob("*") if path.is_file()}


def words_of(verb: str, places: Path) -> list[str | Path]:
    """What the command reads: the run where an argument is needed, then files and a folder."""
    parameters = PARAMETERS[verb]
    needed = [places / "run" for each in parameters.values() if each.default is inspect.Parameter.empty]
    inputs = [places / "input.txt", places / "folder"]
    file = [word for each in inputs for word in ("--file", each)] if "file" in parameters else inputs
    return [*verb.split(), *needed, *file]


def test_each_path_of_the_command_line_is_known_as_read_or_written() -> None:
    for verb, parameters in PARAMETERS.items():
        for name, each in parameters.items():
            kinds = typing.get_args(typing.get_args(each.annotation)[0]) or typing.get_args(each.annotation)[:1]
            if Path in kinds and name not in outputs_of(parameters):
                assert (verb, name) in READ | FOLDERS


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("verb", "option"), WALK)
def test_nothing_in_use_is_overwritten(run: Run, places: Path, verb: str, option: str) -> None:
    before = content(places)
    run_file = max((places / "run" / CHECKPOINTS).rglob("*.safetensors"))
    used = [
        *(path for path in (places / "run").iterdir() if path.is_file()),
        run_file,
        places / "run" / "new.jsonl",
        places / "index" / INDEX,
        places / "foreign" / "model.safetensors",
        places / "link.html",
        places,
    ]
    has_overwrite = any(flag != "--rejects" and flag != "--save" for its, flag in WALK if its == verb)
    for target in [*used, places / "input.txt", places / "folder" / "inside.txt", places / "mine.md"]:
        for more in ([], ["--overwrite"])[: 1 + has_overwrite]:
            if (option == "--save" and target not in used) or (more and target.name == "mine.md"):
                continue
            done = run(*words_of(verb, places), option, target, *more)
            assert done.code == 2, (target, more, done.err)
            assert "Traceback" not in done.err
    assert content(places) == before


@pytest.mark.parametrize("verb", sorted(verb for verb, _ in FOLDERS - {("demo", "out")}))
def test_no_folder_of_a_model_or_an_index_is_written_into(run: Run, places: Path, verb: str) -> None:
    before = content(places)
    source: dict[str, list[str | Path]] = {
        "train": ["masked-lm"],
        "distil": [places / "run"],
        "import": [],
        "export": [places / "run"],
    }
    for folder in ("run", "foreign", "index"):
        if folder == "index" and verb not in ("search build",):
            continue
        words = {"import": [places / "foreign"], "export": []}.get(verb, [places / "input.txt"])
        option = [] if verb in ("import", "export") else ["--out"]
        done = run(*verb.split(), *source.get(verb, [places / "run"]), *words, *option, places / folder)
        assert done.code == 2, done.err
    assert content(places) == before


def test_a_file_of_the_user_is_replaced_only_on_purpose(run: Run, places: Path) -> None:
    words = ("fill", places / "run", "She [MASK] summer", "-o", places / "mine.md")
    assert run(*words).code == 2
    assert run(*words, "--overwrite").code == 0
    assert (places / "mine.md").read_bytes() != b"words"


def test_the_data_of_a_training_are_not_overwritten(run: Run, trained: Path, text_file: Path) -> None:
    before = text_file.read_bytes()
    for words in (("evaluate", trained), ("compare", trained, trained)):
        assert run(*words, "--out", text_file, "--overwrite").code == 2
    assert text_file.read_bytes() == before


@pytest.mark.long
def test_python_overwrites_nothing_in_use(places: Path) -> None:
    model = gf.load(places / "run")
    trace, before = model.trace("She [MASK] summer"), content(places)
    for target in [*(path for path in before if path.parent.name in ("run", "index", "foreign")), places]:
        with pytest.raises(gf.GlassformerError):
            trace.save(target, overwrite=True)
        with pytest.raises(gf.GlassformerError):
            trace.to_html(target, overwrite=True)
    for write in (trace.save, trace.to_html):
        with pytest.raises(gf.GlassformerError):
            write(places / "mine.md")
    (places / "README.md").write_bytes(b"mine")
    for folder in ("foreign", "."):
        with pytest.raises(gf.GlassformerError):
            model.save(places / folder)
        with pytest.raises(gf.GlassformerError):
            model.export(places / folder)
    (places / "README.md").unlink()
    assert content(places) == before
    for write, name in ((trace.save, "trace.safetensors"), (trace.to_html, "page.html")):
        write(places / name)
        write(places / name)  # what glassformer wrote is replaced
    trace.to_html(places / "run" / "page.html")
    trace.to_html(places / "mine.md", overwrite=True)


def test_what_holds_what(trained: Path, tmp_path: Path) -> None:
    assert held(trained) == "a model"
    for number, (names, what) in enumerate(
        (
            ((SETTINGS,), "a model"),
            ((GRAPH, FACTS), "a model"),
            ((INDEX, VECTORS), "an index"),
            ((RECIPE, CHECKPOINTS), "a run"),
            ((RECIPE, "README.md"), ""),
        )
    ):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        for name in names:
            (folder / name).touch()
        assert held(folder) == what
    assert output_file(tmp_path / "new.txt", gf.GlassformerError) == tmp_path / "new.txt"
