"""What a page gets besides the tensors: from a server that computes it, and inside an exported page."""

import json
from typing import Any

import pytest

from glassformer.api.load import load
from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import slides, slides_model
from glassformer.look.summaries.attributions import attributions
from glassformer.look.summaries.lens import logit_lens
from glassformer.look.texts.importance import head_importance
from glassformer.page.page import page
from glassformer.page.sections import gradients, sections, summed
from glassformer.page.sections.summed import held_out
from tests.look.rows import ALL, row_named
from tests.page.test_page import blocks


@pytest.fixture
def run() -> Trace:
    return load(slides_model()).trace([slides().sentences[0].masked])


def test_an_exported_page_carries_the_sections_it_is_given(run: Trace) -> None:
    stated: dict[str, Any] = {"rows": [1, 0.5], "text": "<b> é"}
    assert json.loads(blocks(page(run, sections={"made": stated}))["section-made"]) == stated
    assert not [name for name in blocks(page(run)) if name.startswith("section-")]


def test_sections_are_worked_out_from_the_run(run: Trace) -> None:
    assert sections.sections_of(run, {"count": lambda trace: len(trace)}) == {"count": len(run)}


FAMILIES = ("slides", "bert", "gpt2", "t5", "bert, pooler alone", "bert, tags")


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_each_section_or_says_why_not(name: str) -> None:
    row = next(row for row in ALL if row.name == name)
    inputs, decoder_inputs = row.batch()
    found = sections.sections_of(trace(row.model(), inputs, decoder_inputs))
    assert (
        set(found) == set(sections.CARRIED) == set(sections.MAKERS) - {gradients.NAME, "shuffled", *sections.INTEGRATED}
    )
    json.dumps(found, allow_nan=False)
    missing = {section for section, each in found.items() if "reason" in each}
    assert missing == ({"lens"} if name.startswith("bert, ") else set()) | ({"attributions"} & missing)
    assert ("attributions" in missing) == (name == "bert, pooler alone")


def test_sections_are_what_the_functions_give() -> None:
    row = row_named("t5")
    inputs, decoder_inputs = row.batch(padding="right")
    run = trace(row.model(), inputs, decoder_inputs)
    found = sections.sections_of(run)
    lens = logit_lens(run)
    for place in found["lens"]["places"]:
        at = lens.places.index((place["at"]["sentence"], place["at"]["token"]))
        assert [layer["rank"] for layer in place["layers"]] == lens.rank[:, at].tolist()
        assert place["layers"][-1]["top"][0] == place["answer"]
    for each in found["attributions"]["goals"]:
        total = each["constant"] + sum(part["value"] for part in each["added"])
        assert total == pytest.approx(each["value"], abs=1e-4)  # five digits of each part are sent
        assert all(
            part["value"] == pytest.approx(sum(part["words"]) + part["bias"], abs=1e-4) for part in each["added"]
        )
    way = sections.INTEGRATED["integrated-1"](run)
    shares_of = sum(sum(side) for side in way["shares"].values())
    assert way["value"] - way["baseline"] == pytest.approx(shares_of + way["missing"], abs=1e-4)
    goal = found["attributions"]["goals"][1]
    cell = ",".join(f"{axis}={index}" for axis, index in zip(run.axes(goal["name"]), goal["cell"], strict=True))
    mine = attributions(run, f"{goal['name']}[{cell}]")
    assert [each["side"] for each in goal["of"]] == ["inputs", "decoder_inputs"]
    for each, expected in zip(goal["of"], mine.of, strict=True):
        assert each["product"] == pytest.approx(expected.product[goal["sentence"]].tolist(), rel=1e-4, abs=1e-9)


def test_what_is_lost_is_sent_of_the_model_and_of_no_model_that_reads_nothing_new(
    run: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summed, "LIVE_TEXTS", 2)
    model = load("en-fr")
    found = sections.MODEL_MAKERS["importance"](model)
    assert found is sections.MODEL_MAKERS["importance"](model)  # measured once
    expected = head_importance(model, [one for one, _ in held_out()[:2]], [two for _, two in held_out()[:2]])
    assert (found["measure"], found["rows"], found["scored"]) == (expected.measure, 2, expected.scored)
    for row, head in zip(found["heads"], expected.heads, strict=True):
        assert (row["attention"], row["head"]) == (head.attention, head.head)
        assert row["difference"] == pytest.approx(head.difference, rel=1e-5, abs=1e-9)
    json.dumps(found, allow_nan=False)
    assert "no text that it has not learned from" in sections.MODEL_MAKERS["importance"](load(slides_model()))["reason"]
