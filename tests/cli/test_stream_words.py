"""glassformer translate --stream: the same words as without it, each as it comes; readers that leave, Ctrl-C."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.cli.ask.show import Job, stream_words
from glassformer.cli.terminal.partial import Answers
from glassformer.cli.terminal.readers import Text
from glassformer.decode.options import WritingOptions
from tests.translators import ENGLISH, translating

Run = Callable[..., Any]
FEW = ("--max-tokens", "9")


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return translating(double=False).save(tmp_path_factory.mktemp("models") / "en-fr")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "words",
    [("--beams", "1"), ("--beams", "3"), ("--sample", "--seed", "2"), ("--paragraphs",), ("--stop", "is")],
    ids=" ".join,
)
def test_the_same_is_written(run: Run, translator: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    source = tmp_path / "source.en"
    source.write_text(f"{ENGLISH[0]}\n\n{ENGLISH[1]}\n", encoding="utf-8")
    text = f"{ENGLISH[0]}\n {ENGLISH[1]}\u2028He"
    command = ("translate", translator, text, "--file", source, *words, *FEW)
    streamed, whole = run(*command, "--stream"), run(*command)
    assert (streamed.code, streamed.out) == (whole.code, whole.out)
    assert streamed.code == 0


def test_notes_follow_their_translation(run: Run, translator: Path) -> None:
    done = run("translate", translator, "She likes 冬", " ".join(ENGLISH), "--stream", *FEW)
    assert "冬" in done.err
    assert "2 " in done.err


class Parts(io.StringIO):
    """What is written, flush by flush."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def flush(self) -> None:
        self.seen.append(self.getvalue())


def test_each_word_is_shown_when_it_is_there(translator: Path) -> None:
    """And a typed line is answered before the next one is read."""
    shown, answered = Parts(), []

    def typed() -> Iterator[Text]:
        for line in ENGLISH:
            answered.append(shown.getvalue().count("\n"))
            yield Text({"text": line})

    options = WritingOptions(beams=1, max_tokens=9)
    stream_words(Job(opened=load(translator), verb="translate", texts=typed(), options=options, out=Answers(shown)))
    assert answered == [0, 1]
    assert len({*shown.seen}) > 9
    assert all(after.startswith(before) for before, after in zip(shown.seen, shown.seen[1:], strict=False))


@pytest.mark.parametrize("given", [("--json",), ("--out", "a.fr"), ("--alignment",), ("--n-best", "2")], ids=" ".join)
def test_what_needs_whole_translations_is_refused_before_a_model_is_read(run: Run, given: tuple[str, ...]) -> None:
    done = run("translate", "runs/none", "He", "--stream", *given)
    assert (done.code, done.out) == (2, "")
    assert given[0] in done.err
    assert "there is no model" not in done.err
    assert len(done.err.splitlines()) == 1


def test_ctrl_c_ends_the_line_and_says_so(run: Run, translator: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*given: object) -> Iterator[str]:
        yield "Elle"
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("glassformer.answering.answers.stream_answer", stopped)
        done = run("translate", translator, "She", "--stream")
    assert (done.code, done.out, done.err) == (130, "Elle\n", "glassformer: stopped\n")


def test_where_no_answer_is_found_the_line_ends_and_an_error_says_so(run: Run, translator: Path) -> None:
    done = run("translate", translator, "He", "--stream", "--force", "aime aime", "--no-repeat-ngram", "1", *FEW)
    assert done.code == 2
    assert done.out.count("\n") == 1
    assert done.out.endswith("\n")
    assert len([line for line in done.err.splitlines() if line.startswith("glassformer: ")]) == 1
    nothing = run("translate", translator, "He", "--stream", "--force", "a b c d e f", "--max-tokens", "2")
    assert (nothing.code, nothing.out) == (2, "")


@pytest.mark.long
def test_a_reader_that_leaves_ends_it_quietly(translator: Path) -> None:
    command = [sys.executable, "-m", "glassformer", "translate", str(translator), "-", "--stream", *FEW]
    command += ["--beams", "1", "--quiet"]  # an answer that is cut off is not noted
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdin.write(f"{ENGLISH[0]}\n".encode())
        started.stdin.flush()
        assert started.stdout.readline().strip()  # a typed line is answered while the next one is waited for
        started.stdout.close()
        started.stdin.write(f"{ENGLISH[1]}\n".encode())
        started.stdin.close()
        assert started.wait(timeout=600) == 141
        assert started.stderr.read() == b""
