"""`train` and `plan` with a part of the model: what is typed, what is said, what is saved."""

import json
from pathlib import Path

import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError
from tests.cli.conftest import Run
from tests.refusals import carries
from tests.run.heads import TEXTS, model_for

SMALL = ("--batch", "8", "--length", "24", "--threads", "1", "--steps", "3", "--set", "train.compile=off")


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """The words of a fine-tuning from a small model."""
    table = tmp_path / "few.jsonl"
    records = ({"text": f"{number} {TEXTS[number % 2]}", "label": number % 2} for number in range(40))
    table.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    model = model_for("classify", {"labels": ("0", "1")}).save(tmp_path / "start")
    return ["classify", str(table), "--start", str(model), *SMALL]


def test_adapters_are_trained_kept_merged_and_seen_by_every_verb(run: Run, asked: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run("train", *asked, "--adapters", "2", "--learning-rate", "0.01", "--out", out)
    assert done.code == 0, done.err
    assert "adapters of 2 layers" in done.err
    assert (out / "adapters.safetensors").exists()
    model = gf.load(out)
    start = gf.load(tmp_path / "start").module
    assert not any("adapter" in name for name, _ in model.module.named_parameters())
    query = "encoder.blocks.0.self_attention.body.query.weight"
    assert not torch.equal(model.module.get_parameter(query), start.get_parameter(query))
    assert run("verify", out, TEXTS[0]).code == 0
    shown = run("explain", out, TEXTS[0], "--json")
    assert shown.code == 0
    assert "adapters.rank = 2" in (out / "README.md").read_text(encoding="utf-8")
    assert run("train", *asked[:-5], "--out", out, "--resume", "--adapters", "3").code == 2


def test_a_plan_and_a_run_tell_the_same(run: Run, asked: list[str], tmp_path: Path) -> None:
    frozen = ("--freeze", "all-but-head", "--layer-decay", "0.9")
    (found,) = run("plan", *asked, *frozen, "--json").records
    done = run("train", *asked, *frozen, "--out", tmp_path / "run", "--json")
    assert done.records[0]["trained_parameters"] == found["trained_parameters"] < found["parameters"]
    assert f"trainable {found['trained_parameters']:,} of" in done.err
    assert "are unchanged, bit for bit" in " ".join(done.err.split())  # lines are wrapped


@pytest.mark.parametrize(
    ("words", "got"),
    [
        (("--freeze", "nothing.*"), "nothing.*"),
        (("--freeze", "*"), "nothing"),
        (("--adapters", "0"), "0"),
        (("--adapters", "2", "--set", "tune.adapters.layers=['*.gate']"), "*.gate"),
        (
            ("--adapters", "2", "--freeze", "encoder.blocks.0.*"),
            "encoder.blocks.0.self_attention.body.query.adapter.down",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_and_leaves_nothing(
    run: Run, asked: list[str], tmp_path: Path, words: tuple[str, ...], got: str
) -> None:
    done = run("train", *asked, *words, "--out", tmp_path / "run")
    assert done.code == ConfigError.exit_code
    assert carries(done.err.replace("\n", " "), got)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [("--freeze", "all-but-head"), ("--adapters", "2")])
def test_random_weights_are_not_frozen(run: Run, asked: list[str], tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run("train", *asked[:2], *SMALL, *words, "--out", tmp_path / "run")
    assert done.code == ConfigError.exit_code
    assert "--start" in done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [((), "glassformer distil {start} FILES"), (("few.jsonl", "--set", "task.name=tag"), "task.name = tag")],
)
def test_a_student_is_asked_for_in_its_own_words(
    run: Run, asked: list[str], tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    start = tmp_path / "start"
    done = run("distil", start, *words, "--out", tmp_path / "run")
    assert done.code == 2
    assert message.format(start=start) in " ".join(done.err.split())
    assert "train classify" not in done.err
