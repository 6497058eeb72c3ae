"""Atomic writes: a process is killed between any two steps, and the next one finds the old files or the new ones."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glassformer.base.atomic import atomic_write, clear_drafts, current, remove, replace_files

NAMES = ("key", "one", "two")
OLD = {"key": "old key", "one": "old one", "two": "old two"}
NEW = {"key": "new key", "one": "new one"}  # and no "two" any more
OTHERS = {"mine": "not of this kind"}

# For each line of standard input a process forked from this one, so that none has to start Python: it dies before the
# n-th thing it does to the file system, as if it was switched off. Python reports each beforehand.
PROGRAM = """
import json, os, sys, traceback
from pathlib import Path
from glassformer.base.atomic import atomic_write, remove, replace_files

seen = 0

def fill(folder):
    for name in ("key", "one"):
        (folder / name).write_text(f"new {name}")

def live(does, place, moment):
    def step(event, arguments):
        global seen
        if event == "open" or event.startswith("os.") and event not in ("os.listdir", "os.scandir"):
            if seen == moment:
                os._exit(9)
            seen += 1

    program, names = compile(does, "does", "exec"), {**globals(), "place": Path(place)}
    sys.addaudithook(step)
    exec(program, names)

for line in sys.stdin:
    process = os.fork() if hasattr(os, "fork") else 0
    if process == 0:
        try:
            live(*json.loads(line))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
KilledAt = Callable[[int, Path, str], bool]


@pytest.fixture(scope="module")
def killed_at() -> Iterator[KilledAt]:
    """Whether a process that is to die at a moment has lived to its end, by the place and what it does there."""
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        asks, answers = program.stdin, program.stdout

        def killed(moment: int, place: Path, does: str) -> bool:
            line = json.dumps([does, str(place), moment]) + "\n"
            if hasattr(os, "fork"):
                asks.write(line)
                asks.flush()
                code = int(answers.readline())
            else:
                code = subprocess.run(command, input=line, text=True, check=False).returncode
            assert code in (0, 9)
            return code == 0

        yield killed


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def test_the_files_of_a_folder_are_replaced_all_at_once(killed_at: KilledAt, tmp_path: Path) -> None:
    seen = []
    for moment in range(100):
        folder = tmp_path / str(moment)
        write(folder, OLD | OTHERS)
        lived = killed_at(moment, folder, f"with replace_files(place, {NAMES!r}) as folder: fill(folder)")
        # A reader that uses `current` finds the old files or the new ones.
        files = {name: text for name, text in contents(current(folder)).items() if name in NAMES}
        assert files in (OLD, NEW)
        seen.append(files == NEW)
        # Who does not finds the same, or a folder that is none of this kind.
        plain = {name: text for name, text in contents(folder).items() if name in NAMES}
        assert plain in (OLD, NEW) or "key" not in plain
        assert contents(folder)["mine"] == OTHERS["mine"]
        # And the next one to write here clears whatever is left.
        with replace_files(folder, NAMES) as draft:
            write(draft, NEW)
        assert contents(folder) == NEW | OTHERS
        assert {path.name for path in folder.iterdir()} == {*NEW, *OTHERS}
        if lived:
            break
    assert lived
    assert len(seen) > 15
    assert seen == sorted(seen)  # once the new one counts, it does so for ever
    assert {False, True} == set(seen)


def test_one_that_is_killed_while_it_mends_what_another_left_loses_nothing(killed_at: KilledAt, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write(folder, OLD)
    does = f"with replace_files(place, {NAMES!r}) as folder: fill(folder)"
    for moment in range(100):  # each finds what the one before has left, and dies a step later
        lived = killed_at(moment, folder, does)
        assert contents(current(folder)) in (OLD, NEW)
        if lived:
            break
    assert lived
    assert contents(folder) == NEW
    assert {path.name for path in folder.iterdir()} == {*NEW}


def test_a_new_folder_is_there_whole_or_not_at_all(killed_at: KilledAt, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    seen = set()
    for moment in range(100):
        lived = killed_at(moment, folder, f"with replace_files(place, {NAMES!r}) as folder: fill(folder)")
        seen.add(folder.exists())
        if folder.exists():
            assert contents(folder) == NEW
            remove(folder)
        if lived:
            break
    assert lived
    assert seen == {False, True}
    with replace_files(folder, NAMES) as draft:
        write(draft, NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_older_file_stays_until_the_new_one_is_whole(killed_at: KilledAt, tmp_path: Path) -> None:
    target = tmp_path / "file"
    for moment in range(100):
        target.write_text("old")
        lived = killed_at(moment, target, "with atomic_write(place) as draft: draft.write_text('new')")
        assert target.read_text() in ("old", "new")
        if lived:
            break
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_exception_leaves_all_as_it_was(tmp_path: Path) -> None:
    folder, file, fresh = tmp_path / "folder", tmp_path / "file", tmp_path / "fresh"
    write(folder, OLD | OTHERS)
    file.write_text("old")

    def broken(draft: Path) -> None:
        draft.write_text("half") if not draft.is_dir() else write(draft, NEW)
        raise ZeroDivisionError

    for target in (folder, fresh):
        with pytest.raises(ZeroDivisionError), replace_files(target, NAMES) as draft:
            broken(draft)
    with pytest.raises(ZeroDivisionError), atomic_write(file) as draft:
        broken(draft)
    assert contents(folder) == OLD | OTHERS
    assert {path.name for path in folder.iterdir()} == {*OLD, *OTHERS}
    assert file.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


def test_drafts_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    living = tmp_path / f".file.{os.getppid()}-1.draft"
    foreign = tmp_path / f".another.{ended.pid}-1.draft"
    dead = [tmp_path / f".file.{ended.pid}-1.draft", tmp_path / f".file.{ended.pid}-2.removed"]
    for path in (living, foreign, *dead):
        path.mkdir()
        (path / "half").write_text("written")
    with atomic_write(tmp_path / "file") as draft:
        draft.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"file", living.name, foreign.name}
    clear_drafts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"file", living.name}


def test_drafts_of_another_container_stay_for_a_day(tmp_path: Path) -> None:
    """Its processes have ids of their own, such as this one's."""
    own = f"{os.getpid()}-{threading.get_native_id()}"
    new, old = (tmp_path / f".{name}.{own}-00000000.draft" for name in ("new", "old"))
    for path in (new, old):
        path.write_text("written")
    os.utime(old, (0, 0))
    clear_drafts(tmp_path)
    assert list(tmp_path.iterdir()) == [new]
    with atomic_write(tmp_path / "new") as draft:
        draft.write_text("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"new", new.name}


@pytest.mark.parametrize("name", ["n" * 250, "é" * 120])
def test_a_name_may_be_as_long_as_the_file_system_has_it(name: str, tmp_path: Path) -> None:
    with atomic_write(tmp_path / name) as draft:
        draft.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_current_folder_is_not_replaced() -> None:
    with pytest.raises(OSError, match="cannot be replaced"), atomic_write(Path()):
        raise AssertionError("there is nothing to write to")


def test_a_folder_that_holds_something_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path / "folder", OTHERS)
    with pytest.raises(OSError, match="not empty"), atomic_write(tmp_path / "folder") as draft:
        write(draft, NEW)
    assert contents(tmp_path / "folder") == OTHERS
    remove(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_second_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError

    write(tmp_path, OLD)
    monkeypatch.setattr(os, "link", refuse)
    with replace_files(tmp_path, NAMES) as draft:
        write(draft, NEW)
    assert contents(tmp_path) == NEW
