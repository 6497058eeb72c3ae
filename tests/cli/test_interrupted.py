"""A command that is stopped says in one sentence what is saved and how to go on."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.training.loop import fit
from glassformer.training.record import Step
from glassformer.training.stopping import Interrupted
from tests.cli.conftest import Done, Run

STOPS = pytest.mark.parametrize(("wish", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


def small_training(text_file: Path) -> list[str]:
    words = ["train", "masked-lm", str(text_file), "--steps", "1000", "--size", "tiny", "--vocabulary", "160"]
    return [*words, "--length", "24", "--batch", "2", "--threads", "1", "--set", "train.compile=off"]


def is_saved_and_says_how_to_go_on(done: Done, code: int, folder: Path) -> None:
    assert (done.code, done.out) == (code, "")
    assert "everything is saved in runs/masked-lm" in done.err
    assert "Traceback" not in done.err
    again = done.err.splitlines()[-1].removeprefix("continue with: ")
    assert again.startswith("glassformer train masked-lm")
    assert again.endswith("--out runs/masked-lm --resume")
    assert list((folder / "checkpoints").glob("step-*"))
    assert not (folder / "glassformer.json").exists()


@STOPS
def test_ctrl_c_saves_and_says_how_to_go_on(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wish: signal.Signals, code: int
) -> None:
    def sent_one(*arguments: Any, **options: Any) -> Iterator[Step]:
        for step in fit(*arguments, **options):
            yield step
            if step.step == 1:
                signal.raise_signal(wish)

    words = small_training(text_file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["glassformer", *words])
    monkeypatch.setattr("glassformer.run.train.fit", sent_one)
    before = signal.getsignal(wish)
    is_saved_and_says_how_to_go_on(run(*words), code, tmp_path / "runs" / "masked-lm")
    assert signal.getsignal(wish) == before


@pytest.mark.long
@STOPS
def test_so_does_a_process_of_its_own(text_file: Path, tmp_path: Path, wish: signal.Signals, code: int) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "glassformer", *small_training(text_file)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    for line in started.stderr:
        if line.startswith("step 1:"):
            started.send_signal(wish)
            break
    out, err = started.communicate(timeout=600)
    is_saved_and_says_how_to_go_on(Done(started.returncode, out, err), code, tmp_path / "runs" / "masked-lm")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "moment",
    [
        "glassformer.run.vocabulary.train_tokenizer",
        "glassformer.tasks.words.corpus.prepare",
        "glassformer.run.train.fit",
        "glassformer.run.train.write_card",
    ],
)
def test_ctrl_c_outside_of_the_steps_says_how_to_go_on_too(
    run: Run, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def stopping(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "a run"
    words = ["train", "masked-lm", str(text_file), "--steps", "2", "--size", "tiny", "--vocabulary", "160"]
    words += ["--length", "24", "--out", str(folder)]
    monkeypatch.setattr(sys, "argv", ["glassformer", *words])
    with monkeypatch.context() as patched:
        patched.setattr(moment, stopping)
        done = run(*words)
    assert (done.code, done.out) == (130, "")
    stopped, again = done.err.splitlines()[-2:]
    assert stopped == "glassformer: stopped"
    assert again == f"continue with: {shlex.join(['glassformer', *words, '--resume'])}"
    done = run(*shlex.split(again.removeprefix("continue with: glassformer")))
    assert (done.code, done.out.strip()) == (0, str(folder))


@pytest.mark.parametrize(
    ("stopped", "code", "said"),
    [
        (Interrupted("everything is saved", signal_number=15), 143, "everything is saved"),
        (Interrupted("everything is saved", signal_number=2), 130, "everything is saved"),
        (KeyboardInterrupt(), 130, "stopped"),  # before a training has begun
    ],
)
def test_a_demo_that_is_stopped_says_what_is_saved_and_how_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: KeyboardInterrupt, code: int, said: str
) -> None:
    def stopping(out: Path) -> list[str]:
        raise stopped

    monkeypatch.setattr("glassformer.cli.train.demo_run.run", stopping)
    done = run("demo", "--out", tmp_path / "my runs")
    again = f"continue with: glassformer demo --out '{tmp_path / 'my runs'}'"
    assert (done.code, done.out, done.err.splitlines()) == (code, "", [f"glassformer: {said}", again])


def test_a_verb_that_is_stopped_says_so(run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("glassformer.api.load.load", stopping)
    done = run("fill", trained, "a [MASK]", "--engine", "torch")
    assert (done.code, done.out, done.err) == (130, "", "glassformer: stopped\n")


TWICE = """
import signal, time
from glassformer.cli.terminal import interrupts
interrupts.one_at_a_time()
stops = []
for number in range(6):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        stops.append(number)
    if number == 2:
        time.sleep(1.1)
    if number == 4:
        interrupts.goes_on()
for number in range(6, 11):
    time.sleep(0.3)
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        stops.append("again")
print(stops)
"""


def test_a_second_ctrl_c_within_a_second_changes_nothing_unless_the_command_goes_on() -> None:
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0, 3, 5, 'again']"
