"""Answers about a file outlive their command: stopped or killed anywhere, the next one gives the same bytes as one
that was not.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import DataError
from glassformer.cli.terminal.partial import Mark, Partial, partial_files, resumable
from tests.refusals import refused

Run = Callable[..., Any]
ROWS = 110  # in two batches of answers: 64, and the rest
WORDS = ["She", "likes", "the", "summer", "better", "than", "winter", "He", "loves", "to", "cook", "day", "ended"]

# Stops itself at each of these results, in the middle of the one after it: half of it is in the file.
STOPPED = """
import json, os, signal, sys
import typer, torch
import glassformer.api.model, glassformer.saved.artefact, glassformer.training.progress, glassformer.look.trace.saved
import glassformer.cli.ask.asked, glassformer.data.readers.files, glassformer.tasks.words.masked_lm.fill
from glassformer.cli.__main__ import main
from glassformer.cli.terminal.partial import Partial

whole = Partial.whole

def stop(at, by):
    def stopping(self):
        if self.results == at:
            self.handle.flush()
            os.truncate(self._raw.fileno(), self._raw.size - 7)
            os.kill(os.getpid(), by)
        whole(self)
    return stopping

for at, by, words in json.loads(sys.argv[1]):
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        Partial.whole = stop(at, by)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
        sys.argv = ["glassformer", *words]
        code = main(words)
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = random.Random(0)
    path = tmp_path_factory.mktemp("asked") / "asked.txt"
    rows = (" ".join(chance.choices(WORDS, k=chance.randint(3, 14))) + f" [MASK] {number}" for number in range(ROWS))
    path.write_text("\n".join(rows) + "\n")
    return path


def stopped(run: Run, monkeypatch: pytest.MonkeyPatch, at: int, *words: str | Path) -> Any:
    """The command, with a Ctrl-C in the middle of the result after this one."""
    whole = Partial.whole

    def stopping(self: Partial) -> None:
        if self.results == at:
            raise KeyboardInterrupt
        whole(self)

    with monkeypatch.context() as patched:
        patched.setattr(Partial, "whole", stopping)
        patched.setattr(sys, "argv", ["glassformer", *map(str, words)])
        return run(*words)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="one start of Python for all of these needs fork")
def test_the_bytes_are_those_of_a_command_that_was_not_stopped(
    run: Run, trained: Path, asked: Path, tmp_path: Path
) -> None:
    words: dict[str, list[str | Path]] = {
        "lines": ["fill", trained, "--file", asked, "--json", "--top", "2", "--threads", "1"]
    }
    words["tables"] = [word for word in words["lines"] if word != "--json"]
    kill, stop = signal.SIGKILL, signal.SIGINT
    points = [("lines", 0, kill), ("lines", 64, kill), ("lines", 100, stop), ("tables", 70, kill)]
    cases = [(name, at, by, tmp_path / f"{at}-{name}") for name, at, by in points]
    found = [(at, int(by), [*map(str, words[name]), "--out", str(out)]) for name, at, by, out in cases]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", STOPPED, json.dumps(found)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "OMP_NUM_THREADS": "1"},
    )
    assert done.stdout.split() == [str(-9 if by == kill else 130) for _, _, by, _ in cases], done.stderr
    assert "Traceback" not in done.stderr
    for name in words:
        assert run(*words[name], "--out", tmp_path / name).code == 0
    for name, at, _, out in cases:
        partial, note = partial_files(out)
        assert not out.exists()
        again = run(*words[name], "--out", out, "--resume")
        assert again.code == 0, again.err
        assert (f"after {at:,} " in again.err) is (at > 0)
        assert out.read_bytes() == (tmp_path / name).read_bytes()
        assert not partial.exists()
        assert not note.exists()


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(
    run: Run, trained: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "answers"
    words: list[str | Path] = ["fill", trained, "--file", asked, "--json", "--out", out]
    done = stopped(run, monkeypatch, 70, *words)
    assert (done.code, done.out) == (130, "")
    kept, again = done.err.splitlines()[-2:]
    assert "70 " in kept
    assert str(partial_files(out)[0]) in kept
    assert again.endswith("--resume")
    refused = run(*words)  # without --resume nothing of what is there is replaced
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--resume" in refused.err
    assert len(partial_files(out)[0].read_text().splitlines()) >= 70
    assert run(*again.removeprefix("continue with: glassformer").split()).code == 0
    assert len(out.read_text().splitlines()) == ROWS


def test_what_differs_is_named(
    run: Run, trained: Path, drawn: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, out = tmp_path / "asked.txt", tmp_path / "answers"
    mine.write_text(asked.read_text())
    words: list[str | Path] = ["--file", mine, "--out", out]
    assert stopped(run, monkeypatch, 70, "fill", trained, *words, "--json").code == 130
    before = [path.read_bytes() for path in partial_files(out)]
    named: dict[str, list[str | Path]] = {
        "model": ["fill", drawn, *words, "--json"],
        "top": ["fill", trained, *words, "--json", "--top", "2"],
        "json": ["fill", trained, *words],
        "fast": ["fill", trained, *words, "--json", "--fast"],
        "verb": ["score", trained, *words, "--json"],
        "input": ["fill", trained, "one [MASK] more", *words, "--json"],
    }
    for name, asks in named.items():
        done = run(*asks, "--resume")
        assert (done.code, name in done.err.splitlines()[-1]) == (2, True), done.err
    mine.write_text(asked.read_text().replace(" 109", " 110"))
    done = run("fill", trained, *words, "--json", "--resume")
    assert (done.code, "asked.txt" in done.err) == (2, True)
    assert [path.read_bytes() for path in partial_files(out)] == before
    mine.write_text(asked.read_text())
    assert run("fill", trained, *words, "--json", "--resume").code == 0
    whole = out.read_bytes()
    done = run("fill", trained, *words, "--json", "--resume")  # nothing is left to do, or it is of another command
    assert (done.code, done.out, out.read_bytes(), "--overwrite" in done.err) == (2, "", whole, True)
    assert run("fill", trained, *words, "--json").code == 2


def test_results_that_have_changed_are_refused(
    run: Run, trained: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "answers"
    words: list[str | Path] = ["fill", trained, "--file", asked, "--json", "--out", out]
    assert stopped(run, monkeypatch, 70, *words).code == 130
    partial, note = partial_files(out)
    whole = partial.read_bytes(), note.read_bytes()

    def refusal() -> str:
        done = run(*words, "--resume")
        assert (done.code, done.err.count("\n")) == (2, 1)
        return str(done.err)

    for place in (10, 5000):
        partial.write_bytes(whole[0][:place] + b"X" + whole[0][place + 1 :])
        assert str(partial) in refusal()
    partial.write_bytes(whole[0][:100])
    assert str(partial) in refusal()
    partial.write_bytes(whole[0])
    note.write_bytes(whole[1].replace(b'"top": 5', b'"top": 6'))
    assert str(partial) in refusal()
    note.unlink()
    assert str(partial) in refusal()
    assert partial.read_bytes() == whole[0]


def test_files_of_others_are_never_overwritten(run: Run, trained: Path, asked: Path, tmp_path: Path) -> None:
    """`--out cv` where there is a file cv.resume, or cv.partial, that has nothing to do with us."""
    for number, mine in enumerate(partial_files(tmp_path / "cv")):
        mine.write_text("mine")
        for more in ([], ["--resume"]):
            done = run("fill", trained, "--file", asked, "--json", "--out", tmp_path / "cv", *more)
            assert (done.code, str(mine) in done.err, mine.read_text()) == (2, True, "mine"), number
        assert [path.name for path in tmp_path.iterdir()] == [mine.name]
        mine.unlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_what_a_command_has_left_is_not_waited_for(tmp_path: Path) -> None:
    out = tmp_path / "answers"
    for path in partial_files(out):
        os.mkfifo(path)
        with refused(DataError, wanted=str(path)), resumable(out, {}, resume=False):
            pass
        path.unlink()


def test_only_one_command_writes_to_a_file(run: Run, trained: Path, asked: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="the other command is simulated with it")
    import fcntl

    out = tmp_path / "answers"
    with partial_files(out)[1].open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        done = run("fill", trained, "--file", asked, "--json", "--out", out)
        assert (done.code, str(out) in done.err) == (2, True)
    assert run("fill", trained, "--file", asked, "--json", "--out", out).code == 0


@pytest.mark.parametrize(
    ("words", "stdin"),
    [(["a [MASK]", "--out", "answers"], b""), (["-", "--out", "answers"], b"a [MASK]"), (["--file", "asked"], b"")],
    ids=["no file", "standard input", "no out"],
)
def test_what_cannot_be_resumed_is_refused(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], stdin: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("asked").write_text("a [MASK]\n")
    done = run("fill", trained, *words, "--resume", stdin=stdin)
    assert (done.code, "--resume" in done.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["asked"]


def test_resuming_where_nothing_is_begins_and_a_bad_line_keeps_what_is_before_it(
    run: Run, trained: Path, asked: Path, tmp_path: Path
) -> None:
    out, mine = tmp_path / "answers", tmp_path / "asked.txt"
    assert run("fill", trained, "--file", asked, "--json", "--out", out, "--resume").code == 0
    before = out.read_bytes()
    mine.write_text(asked.read_text() + "no mask here\n")
    done = run("fill", trained, "--file", mine, "--json", "--out", out, "--overwrite")
    kept = len(partial_files(out)[0].read_text().splitlines())
    assert (done.code, "line 111" in done.err, f"{kept} " in done.err, kept) == (2, True, True, 64)
    assert out.read_bytes() == before


def test_a_mark_that_is_torn_is_none() -> None:
    mark = Mark(12, 3456, 0xDEAD)
    assert Mark.read(mark.line()) == mark
    assert Mark.read(mark.line().replace(b"3456", b"3457")) is None
    assert Mark.read(mark.line()[:30]) is None
    assert Mark.read(b"") is None


def test_resuming_what_is_finished_does_not_deny_its_answers(
    run: Run, trained: Path, asked: Path, tmp_path: Path
) -> None:
    words = ["fill", trained, "--file", asked, "--json", "--out", tmp_path / "answers", "--resume"]
    for more in ([], ["--overwrite"]):
        done = run(*words, *more)
        assert (done.code, "unfinished" in done.err) == (0, True)
