"""Taggers that read the case of words: rows, first weights, runs of before, and what fits no such model."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.look.texts.importance import windows_of
from glassformer.look.texts.reader import Given, Reader
from glassformer.models.families import FAMILIES
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.run.first_weights import adapt
from glassformer.tasks.labels.tag.settings import TagSection
from glassformer.tasks.labels.tag.task import Tag
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import CASES
from tests.refusals import refused
from tests.tasks.test_tag import PARTS_OF_SPEECH, trained


@pytest.mark.parametrize("length", [12, None])
def test_the_segment_of_a_token_is_the_case_of_its_word(tokenizer: Tokenizer, length: int | None) -> None:
    words = ["She", "UNQUESTIONABLY", "I", "likes", "eBay", "3", "Über"] * 4
    cases = [1, 2, 1, 0, 3, 0, 1] * 4
    task = Tag(TagSection(labels=("X", "Y"), case=True), tokenizer, length=length)
    example = task.example({"words": words, "tags": ["X"] * 28}, "here")
    found, seen = [], 0
    for row in task.rows(example):
        assert row.segments is not None
        assert len(row.segments) == len(row.ids)
        assert (row.segments[0], row.segments[-1]) == (0, 0)
        firsts = [place for place, label in enumerate(row.labels["tag"]) if label != IGNORED]
        found += [row.segments[place] for place in firsts]
        for first, end in pairwise([*firsts, len(row.ids) - 1]):  # all tokens of a word have its case
            if end in firsts:
                assert set(row.segments[first:end]) == {row.segments[first]}
                seen += end - first > 1
    assert found == cases
    assert seen > 0
    plain = task.with_settings(case=False)
    assert all(row.segments is None for row in plain.rows(example))


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_tagger_that_reads_case_starts_with_what_its_start_computes(tokenizer: Tokenizer, family: str) -> None:
    size = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 16, "vocabulary": tokenizer.vocabulary_size}
    start = build(FAMILIES[family](**size), seed=1).double().eval()
    task = Tag(TagSection(labels=("X", "Y"), case=True), tokenizer, length=None)
    model, _ = adapt(start, task.model(start.config), seed=2, same_labels=False)
    ids = torch.tensor([[1, 5, 6, 7, 2]])
    for case in range(CASES):
        states = model.double().eval()(Inputs(ids=ids, segments=torch.full_like(ids, case)), heads=()).states
        torch.testing.assert_close(states, start(Inputs(ids=ids), heads=()).states, rtol=0, atol=1e-15)


def test_only_a_tagger_whose_tokenizer_drops_case_reads_it(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, PARTS_OF_SPEECH)
    assert isinstance(model.task, TagSection)
    assert model.task.case is True
    assert model.config.encoder is not None
    assert model.config.encoder.embed.segments == CASES
    small, capital = (model.tag(f"the {word} call").spans[1].probability for word in ("eu", "EU"))
    assert small != capital
    assert gf.load(tmp_path / "run").tag("the EU call").spans[1].probability == capital
    cased, _ = trained(tmp_path / "cased", PARTS_OF_SPEECH, tokenizer={"lowercase": False})
    assert isinstance(cased.task, TagSection)
    assert cased.task.case is False
    assert cased.config.encoder is not None
    assert cased.config.encoder.embed.segments == 2


@pytest.mark.long
def test_a_run_that_reads_case_and_one_of_before_it_are_resumed(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, PARTS_OF_SPEECH)
    assert isinstance(model.task, TagSection)
    run = tmp_path / "run"
    more = gf.train(out=run, resume=True, set={"train.steps": 8})
    assert more.task == model.task
    earlier, _ = trained(tmp_path / "earlier", PARTS_OF_SPEECH, task={"case": False})
    recipe = tmp_path / "earlier" / "run" / "recipe.toml"
    lines = recipe.read_text().splitlines(keepends=True)[:-1]  # but for the checksum
    kept = [line for line in lines if not line.startswith("case = ")]
    assert len(kept) == len(lines) - 1
    recipe.write_text("".join(kept))  # as a version wrote it that had no such setting
    again = gf.train(out=recipe.parent, resume=True, set={"train.steps": 8})
    assert isinstance(again.task, TagSection)
    assert again.task.case is False
    assert again.config == earlier.config


def test_a_student_reads_the_case_as_its_teacher_does() -> None:
    for case, expected in ((None, False), (False, False), (True, True)):
        teacher = TagSection(labels=("X", "Y"), case=case)
        assert TagSection().taught_by(teacher).case is expected


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "fixed", [{"tune.adapters.rank": 2}, {"tune.freeze": ["encoder.embed.*"]}, {"tune.freeze": ["all-but-head"]}]
)
def test_a_run_that_trains_no_embedding_reads_no_case(tmp_path: Path, fixed: dict[str, Any]) -> None:
    trained(tmp_path, PARTS_OF_SPEECH, task={"case": False})
    files = {"data.files": [str(tmp_path / "a.conll")], "data.length": 24, "model.start": str(tmp_path / "run")}
    tuned = gf.train("tag", out=tmp_path / "tuned", set={**files, "train.steps": 2, **fixed})
    assert isinstance(tuned.task, TagSection)
    assert tuned.task.case is False


def test_only_onnx_can_have_a_tagger_that_reads_case(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, PARTS_OF_SPEECH)
    with refused(ConfigError, wanted="transformers", got="case"):
        model.export(tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def test_windows_of_a_long_text_have_the_cases_of_its_words(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, PARTS_OF_SPEECH)
    text = "the EU call German " * 30
    rows = windows_of(Reader.of(model), Given((text,))).rows
    assert len(rows) > 1
    assert {case for row in rows for case in row.segments or ()} == {0, 1, 2}
