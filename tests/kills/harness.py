"""Processes that are killed at random moments and run again, for the price of one start of Python."""

import http.client
import json
import os
import random
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

from tests.kills.scenes import Scene

KILLED = -signal.SIGKILL
# A process that is not killed must end by then: the machine may be busy, but nothing here takes a minute.
PATIENCE = 300.0
ASKED = [("/v1/first/fill", {"texts": [f"She likes the [MASK] {number}"], "top": 3}) for number in range(8)] + [
    ("/v1/first/embed", {"texts": [f"He loves food {number}"]}) for number in range(8)
]
Answers = dict[int, str]


@dataclass
class Ended:
    """How a process ended: exit code (negative: by a signal), standard error, seconds, and what a server answered."""

    code: int
    said: str
    seconds: float
    answers: Answers = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        """Whether it said in one sentence why not."""
        return self.code == 2 and len(self.said.splitlines()) == 1 and "Traceback" not in self.said


def process(scene: Scene, inputs: Path, own: Path, *, again: bool = False, kill_after: float | None = None) -> Ended:
    """Run a scene in a forked process, which is killed after so many seconds if it still runs."""
    out, errors = own.with_suffix(".out"), own.with_suffix(".err")
    for file in (out, errors):
        file.write_bytes(b"")
    sys.stdout.flush()
    sys.stderr.flush()
    begun = time.monotonic()
    number = os.fork()
    if number == 0:
        code = 1
        try:
            for stream, file in ((1, out), (2, errors)):
                handle = os.open(file, os.O_WRONLY | os.O_TRUNC)
                os.dup2(handle, stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdin, sys.stdout, sys.stderr = (open(n, mode, closefd=False) for n, mode in enumerate("rww"))  # noqa: SIM115
            code = scene.run(inputs, own, again)
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    killer = threading.Timer(PATIENCE if kill_after is None else kill_after, _kill, (number,))
    killer.start()
    answers = _ask(out, number, own) if scene.served else {}
    if scene.served and kill_after is None:
        os.kill(number, signal.SIGTERM)
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    killer.cancel()
    killer.join()  # no thread of ours is left when the next process is forked
    return Ended(status, errors.read_text(errors="replace"), time.monotonic() - begun, answers)


def _kill(number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def _running(number: int) -> bool:
    """Whether a child of ours has not ended; it is not waited for."""
    return os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _ask(out: Path, number: int, own: Path) -> Answers:
    """What a server answers, request by request, until it ends: whole answers only."""
    while _running(number) and not out.read_text().endswith("\n"):
        time.sleep(0.005)
    answers: Answers = {}
    port = int((own / "port").read_text())
    for place, (path, body) in enumerate(ASKED):
        try:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            client.request("POST", path, json.dumps(body))
            answer = client.getresponse()
            answers[place] = f"{answer.status} {answer.read().decode()}"
            client.close()
        except (OSError, http.client.HTTPException):
            break
    return answers


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return str(listening.getsockname()[1])


@dataclass
class Tally:
    """What came of the kills of one scene. `wrong` has a sentence for each that ended otherwise than promised."""

    kills: int = 0
    too_late: int = 0
    same: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


class Killed:
    """One scene, undisturbed once, and then killed as often as one likes."""

    def __init__(self, scene: Scene, inputs: Path, folder: Path) -> None:
        self.scene, self.inputs, self.folder = scene, inputs, folder
        self.tally = Tally()
        whole = self._begun("whole")
        done = process(scene, inputs, whole)
        assert done.code in (0, -signal.SIGTERM, 143), f"{scene.name}: {done.code}, {done.said}"
        self.seconds = done.seconds
        self.files, self.answers = scene.files(whole), done.answers
        assert self.files or len(self.answers) == len(ASKED), f"{scene.name} has no result to compare"

    def _begun(self, name: str) -> Path:
        own = self.folder / name
        rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        if self.scene.served:
            (own / "port").write_text(free_port())
        return own

    def once(self, chance: random.Random) -> None:
        """Kill it at a random moment, sometimes the second try too, and look at what the last try gives."""
        own = self._begun("killed")
        killed = 0
        for try_ in range(chance.choice((1, 1, 1, 2))):
            ended = process(self.scene, self.inputs, own, again=try_ > 0, kill_after=chance.uniform(0.0, self.seconds))
            killed += ended.code == KILLED
            self._compare_answers(ended)
            if ended.code != KILLED:
                break
        self.tally.kills += killed
        if not killed:  # it was done before, on a machine that was less busy than a moment ago
            self.tally.too_late += 1
            self.seconds = min(self.seconds, ended.seconds)
            return
        if ended.code == KILLED:
            ended = process(self.scene, self.inputs, own, again=True)
            self._compare_answers(ended)
            if ended.code in (0, 143):
                self.seconds = ended.seconds
        self._judge(ended, own)

    def _judge(self, ended: Ended, own: Path) -> None:
        said = ended.said.strip()
        if self.scene.served:
            whole = len(ended.answers) == len(ASKED) and "Traceback" not in said
            self._count(whole, f"{len(ended.answers)} answers, exit code {ended.code}: {said[-500:]}")
            return
        if ended.refused and self.scene.files(own) != self.files:  # with --resume; then without
            ended = process(self.scene, self.inputs, own)
            said = ended.said.strip()
        found = self.scene.files(own)
        differing = sorted(name for name in {**found, **self.files} if found.get(name) != self.files.get(name))
        if differing and ended.refused:
            sentence = said.replace(str(own), "OWN")
            self.tally.refused[sentence] = self.tally.refused.get(sentence, 0) + 1
            return
        good = not differing and (ended.code == 0 or ended.refused)
        self._count(good, f"exit code {ended.code}, other files {differing}: {said[-500:]}")

    def _compare_answers(self, ended: Ended) -> None:
        other = [place for place, answer in ended.answers.items() if answer != self.answers[place]]
        if other:
            self.tally.wrong.append(
                f"answers {other} are not those of an undisturbed server: {ended.answers[other[0]]}"
            )

    def _count(self, good: bool, otherwise: str) -> None:
        if good:
            self.tally.same += 1
        else:
            self.tally.wrong.append(f"{otherwise}")
