"""Commands of random words: each ends with an exit code, and a sentence where it is refused."""

import inspect
import io
import random
import re
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import typer

from glassformer.cli.__main__ import _command, main
from glassformer.cli.verbs import PARTS, VERBS
from glassformer.tasks import VERBS as ANSWERS
from tests.fuzz.conftest import SMALL
from tests.fuzz.hostile import LONG, NUMBERS, SECONDS, TEXTS, Failures, cases, damaged, inside

# `demo` trains for minutes, `explore` waits for a browser, `serve` for requests.
COMMANDS = [
    word
    for verb in (verb for group in VERBS.values() for verb in group if verb not in ("demo", "explore", "serve"))
    for word in (verb, *(f"{verb} {part}" for part in PARTS.get(verb, ())))
]
FILES = ("a.csv", "a.tsv", "a.jsonl", "a.txt", "a.txt.gz", "a.conll", "a.json", "a.parquet", "recipe.toml", "x.bin")
FOLDERS = ("words", "classes", "foreign", "index", "none", "new")
MODELS = ("words", "classes", "foreign", "last")
# Of millions of parameters: looking inside takes seconds.
LARGE = ("english", "en-fr")


class Option(NamedTuple):
    """The names of an option; the values that fit it, none where it is a flag."""

    names: tuple[str, ...]
    fitting: tuple[str, ...]


def options_of(command: str) -> list[Option]:
    app = typer.Typer(add_completion=False)
    app.command()(_command(command))
    kinds = inspect.signature(_command(command), eval_str=True).parameters
    found = []
    for each in typer.main.get_command(app).params:
        # `--processes` begins the command of this process anew, which is that of the tests.
        if each.opts[0].startswith("-") and each.name in kinds and each.name != "processes":
            flag = getattr(each, "is_flag", False)
            found.append(
                Option((*each.opts, *each.secondary_opts), () if flag else fitting(kinds[each.name].annotation))
            )
    return found


def fitting(kind: Any) -> tuple[str, ...]:
    said = str(kind)
    if choices := re.search(r"Literal\[(.*?)\]", said):
        return tuple(re.findall(r"'([^']*)'", choices[1]))
    if "Path" in said:
        return FILES + FOLDERS
    return NUMBERS[:5] if "int" in said else NUMBERS[:8] if "float" in said else FILES + TEXTS


def words(command: str, options: list[Option], chance: random.Random) -> list[str]:
    """A command with some of its options, and values that fit them or not."""
    every = (NUMBERS, TEXTS, FILES, FOLDERS, MODELS)
    models = MODELS + LARGE if command in ANSWERS else MODELS
    found = [chance.choice(models if chance.random() < 0.7 else FILES + FOLDERS)] if chance.random() < 0.9 else []
    found += [chance.choice(chance.choice(every)) for _ in range(chance.choice((0, 1, 1, 1, 2, 4)))]
    for option in chance.sample(options, min(len(options), chance.choice((0, 1, 1, 2, 3, 6)))):
        found.append(chance.choice(option.names))
        if option.fitting:
            found.append(chance.choice(option.fitting if chance.random() < 0.7 else chance.choice(every)))
    if command in ("heads", "embed compare"):  # of hundreds of texts; of all layers, in each fold
        found += ["--model", "words"]
    return [*command.split(), *found, *(SMALL if command in ("train", "distil", "plan") else ())]


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(LONG, marks=pytest.mark.long)])
def test_every_command_ends_with_an_exit_code(
    own: Path, made: Path, seconds: float, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {command: options_of(command) for command in COMMANDS}
    number, failures = 0, Failures()
    for number, chance in cases(seconds):
        command = chance.choice(COMMANDS)
        asked = words(command, known[command], chance)
        if number % 50 == 49:  # what commands have written may not grow
            for each in own.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
            shutil.copytree(made, own, dirs_exist_ok=True)
        (own / "x.bin").write_bytes(damaged((made / "a.jsonl").read_bytes(), chance))
        typed = io.TextIOWrapper(io.BytesIO(chance.choice(TEXTS).encode("utf-8", "surrogatepass")), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", typed)
        torch.set_num_threads(1)  # an earlier `--threads 7` holds on, and threads that wait count as work
        inside(own, asked)
        with failures.limited(f"case {number} {asked!r}"):
            code = main(asked)
            assert code in (0, 1, 2)
            assert "Traceback" not in capfd.readouterr().err
    with capfd.disabled():
        failures.none(number)
