"""Standard streams that are closed, full, or read by nobody: a sentence or silence, never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.cli.terminal.screen import record
from glassformer.cli.terminal.streams import is_utf8
from glassformer.cli.verbs import VERBS
from tests.cli.conftest import STORY, Done, Run
from tests.cli.forked import Case

KNOWN = [verb for group in VERBS.values() for verb in group]
TINY = ["--steps", "1", "--size", "tiny", "--vocabulary", "160", "--length", "24", "--set", "train.compile=off"]
STREAMS = {"closed": "Bad file descriptor", "full": "No space left on device", "gone": ""}


def case(
    *words: str | Path, stdin: str = "", stdout: str = "file", stderr: str = "file", encoding: str = "utf-8"
) -> Case:
    return Case(words=[str(word) for word in words], stdin=stdin, stdout=stdout, stderr=stderr, encoding=encoding)


def output_cases(trained: Path, text: Path, folder: Path) -> dict[str, Case]:
    """Each verb with an output that takes nothing: closed, full or gone in turn; what ends at once with all three.

    The demo, which takes minutes, is asked for its help alone.
    """
    commands: list[tuple[str | Path, ...]] = [
        ("demo", "--help"),
        ("plan", "masked-lm", text, *TINY),
        ("train", "masked-lm", text, *TINY, "--out", folder / "run"),
        ("evaluate", trained, text),
        ("fill", trained, "a [MASK]"),
        ("score", trained, "a b"),
        ("explain", trained, "a [MASK]"),
        ("verify", trained, "a [MASK]"),
        ("info", trained),
        ("export", trained, folder / "exported"),
        ("import", folder / "exported", folder / "imported"),
    ]
    shown = {str(words[0]) for words in commands}
    commands += [(verb, "--help") for verb in KNOWN if verb not in shown]  # and whatever verb is new
    kinds = list(STREAMS)
    cases = [case(*words, stdout=kinds[place % 3]) for place, words in enumerate(commands)]
    cases += [case(*words, stdout=kind) for words in (("--version",), ("fill", "--help")) for kind in kinds]
    return {f"{case['words'][0]} to {case['stdout']} {number}": case for number, case in enumerate(cases)}


def other_cases(trained: Path, folder: Path) -> dict[str, Case]:
    noted = ("fill", trained, f"{STORY} [MASK]")  # longer than the model reads, which is noted
    fill = ("fill", trained, "a [MASK] ж")
    every = [("--help",), ("fill", trained, "a [MASK]", "--json")]
    return {
        **{f"{words[0]} to {kind}": case(*words, stdout=kind) for words in every for kind in STREAMS},
        "whole": case(*noted),
        "no notes": case(*noted, stderr="closed"),
        "full notes": case(*noted, stderr="full"),
        "nothing": case(*noted, stderr="gone", stdout="full"),
        "to a file": case(*fill, "--json", "--out", folder / "a", stdin="closed", stdout="closed", stderr="closed"),
        "from nowhere": case("fill", trained, "-", stdin="closed"),
        "plain ascii": case(*fill, encoding="ascii"),
        "ascii": case(*fill, "--json", encoding="ascii"),
        "utf-8": case(*fill, "--json"),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


def run_all(named: dict[str, Case], folder: Path) -> dict[str, tuple[Case, Done]]:
    """What came of all cases, both streams as they were written."""
    folder.mkdir()
    (folder / "cases.json").write_text(json.dumps(list(named.values())))
    script = str(Path(__file__).with_name("forked.py"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-W", "ignore", script, str(folder)]
    subprocess.run(command, check=True, cwd=folder, env=environment, timeout=600)

    def read(number: int, suffix: str) -> str:
        path = folder / f"{number}{suffix}"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    found = [
        Done(int(read(number, ".code")), read(number, ".out"), read(number, ".err")) for number in range(len(named))
    ]
    return {name: (case, one) for (name, case), one in zip(named.items(), found, strict=True)}


@pytest.fixture(scope="module")
def done(trained: Path, folder: Path) -> dict[str, tuple[Case, Done]]:
    return run_all(other_cases(trained, folder), folder / "others")


def refusal_of(done: Done) -> str:
    """The one sentence at the end of standard error."""
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err
    sentences = [line for line in done.err.splitlines() if line.startswith("glassformer: ")]
    assert len(sentences) == 1, done.err
    assert done.err.endswith(f"{sentences[0]}\n")
    return sentences[0]


def check_outputs(found: list[tuple[Case, Done]]) -> None:
    for asked, one in found:
        if asked["stdout"] == "gone":
            assert one.code == 141, asked
            assert "glassformer: " not in one.err
            assert "Traceback" not in one.err
            assert "Exception ignored" not in one.err
        else:
            assert one.code == 2, asked
            assert STREAMS[asked["stdout"]] in refusal_of(one)


def test_an_output_that_takes_nothing(done: dict[str, tuple[Case, Done]]) -> None:
    found = [one for name, one in done.items() if name.partition(" to ")[2] in STREAMS]
    assert len(found) == 6
    check_outputs(found)


@pytest.mark.long
def test_every_verb_with_an_output_that_takes_nothing(trained: Path, text_file: Path, folder: Path) -> None:
    found = [*run_all(output_cases(trained, text_file, folder), folder / "outputs").values()]
    assert {asked["words"][0] for asked, _ in found} >= set(KNOWN)
    check_outputs(found)


def test_notes_that_nobody_can_read_stop_nothing(done: dict[str, tuple[Case, Done]]) -> None:
    whole = done["whole"][1]
    assert (whole.code, bool(whole.err)) == (0, True)
    assert done["no notes"][1] == done["full notes"][1] == Done(0, whole.out, "")
    assert done["nothing"][1] == Done(2, "", "")


def test_a_closed_output_is_no_hindrance_where_a_file_takes_the_results(
    done: dict[str, tuple[Case, Done]], folder: Path
) -> None:
    assert done["to a file"][1] == Done(0, "", "")
    assert (folder / "a").read_text(encoding="utf-8") == done["utf-8"][1].out


def test_a_closed_input(done: dict[str, tuple[Case, Done]]) -> None:
    one = done["from nowhere"][1]
    assert one.code == 2
    assert "Bad file descriptor" in refusal_of(one)


def test_letters_that_the_output_cannot_show(done: dict[str, tuple[Case, Done]]) -> None:
    plain, escaped, whole = (done[name][1] for name in ("plain ascii", "ascii", "utf-8"))
    assert [one.code for one in (plain, escaped, whole)] == [0, 0, 0]
    assert plain.out.startswith("a [MASK] ?\n")
    assert plain.out.isascii()
    assert escaped.out.isascii()
    assert escaped.records == whole.records
    assert "ж" in whole.out


def test_half_letters_are_reported_by_their_codes(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w", encoding="utf-8", errors="backslashreplace") as handle:
        record({"model": "runs/\udcff"}, handle)
    assert json.loads((tmp_path / "out").read_bytes()) == {"model": "runs/\udcff"}


def test_a_text_that_is_not_utf8(run: Run, trained: Path) -> None:
    for verb in ("fill", "score", "verify", "explain"):
        one = run(verb, trained, "a \udcfe [MASK]")
        assert (one.code, one.out) == (2, "")
        assert "0xfe" in refusal_of(one)
    in_a_locale_of_ascii = "a \udcd0\udcb6 [MASK]"  # what Python makes of a ж there
    assert run("fill", trained, in_a_locale_of_ascii, "--json").records[0]["text"] == "a ж [MASK]"


def test_a_name_that_would_end_the_line(run: Run, tmp_path: Path) -> None:
    one = run("info", tmp_path / "a\nb\x1b[31m\u2028")
    assert one.code == 2
    assert r"a\nb\x1b[31m\u2028'" in refusal_of(one)


@pytest.mark.parametrize(("name", "is_one"), [("utf-8", True), ("UTF8", True), ("utf_8", True), ("ascii", False)])
def test_names_of_utf8(name: str, is_one: bool) -> None:
    assert is_utf8(name) == is_one
    assert not is_utf8(None)
