"""What the server sends of a run is what the trace holds: sizes, parts, pictures, heads, explanations."""

import itertools
import json
import math
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.base.errors import UnknownNameError
from glassformer.base.json_text import in_json
from glassformer.look.summaries.head_measures import MEASURES, measure
from glassformer.page.sections.carried import lossless
from glassformer.page.server import answers, overview, pictures
from glassformer.page.server.pictures import full_strength, picture, pooled, ranked, signed, small
from glassformer.page.server.sizes import shapes
from tests.contracts.families import Row
from tests.look.rows import ALL
from tests.page.serving import ATTENTION, SENTENCES, TEXTS, Page, desk_of, served, small_model


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with served(desk_of(small_model(tmp_path_factory.mktemp("models")))) as page:
        yield page


def asked_trace(page: Page, model: str, texts: tuple[str, ...]) -> tuple[str, Trace]:
    """The key and the trace of a run."""
    key = page.overview(model, texts)["run"]
    return key, Trace.of(page.desk.run(key).trace)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ALL, ids=str)
@pytest.mark.parametrize("padding", ["none", "uneven"])
def test_sizes_are_known_before_anything_is_computed(row: Row, padding: str) -> None:
    inputs, decoder_inputs = row.batch(padding="none" if padding == "none" else "uneven")
    found = trace(row.model(), inputs, decoder_inputs)
    stated = shapes(found)
    assert list(stated) == list(found)
    for name, tensor in found.items():
        axes = found.described(name, tensor)
        whole = tuple(axes.shared.get(axis, size) for axis, size in zip(axes.names, axes.sizes, strict=True))
        # A tensor that is the same for all sentences is stored once without being called shared where it is no mask.
        assert all(size in (1, other) for size, other in zip(tensor.shape, stated[name], strict=True)), name
        assert len(whole) == len(stated[name])
        differs = [axis for axis, one, two in zip(axes.names, whole, stated[name], strict=True) if one != two]
        assert set(differs) <= {"sentence"}, name


# --------------------------------------------------------------------------- the run


def test_the_overview_is_the_record_of_the_trace(page: Page) -> None:
    stated = page.overview()
    _, found = asked_trace(page, "slides", SENTENCES)
    assert [formula["name"] for formula in stated["formulas"]] == list(found)
    assert stated["words"]["inputs"] == [text.split() for text in SENTENCES]
    assert stated["words"]["vocabulary"] == []
    assert page.get("api/models/slides/vocabulary").json() == list(found.words.vocabulary)
    assert stated["attentions"] == {ATTENTION: 2}
    assert stated["shapes"][f"{ATTENTION}.weights"] == [3, 2, 5, 5]
    assert (stated["whole"], stated["whole_weights"], stated["left_out"], stated["honesty"]) == (True, True, {}, None)
    for text, spans in zip(SENTENCES, stated["spans"]["inputs"], strict=True):
        assert [text[start:end] for _, start, end in spans] == text.split()
    assert stated["spans"]["decoder_inputs"] is None


def test_spans_of_pairs_lead_into_both_texts(page: Page) -> None:
    first, second = "She likes the summer", "He loves to cook"
    found = page.overview("small", (first,), seconds=(second,))
    (spans,) = found["spans"]["inputs"]
    assert len(spans) == len(found["words"]["inputs"][0])
    kinds = [None if span is None else span[0] for span in spans]
    assert [kind for kind, _ in itertools.groupby(kinds)] == [None, 0, None, 1, None]
    texts = (first, second)
    for span, word in zip(spans, found["words"]["inputs"][0], strict=True):
        if span is not None:
            assert texts[span[0]][span[1] : span[2]].casefold() == word.removeprefix("##")


def test_the_honesty_gate_is_measured_when_it_is_asked_for(page: Page) -> None:
    key, found = asked_trace(page, "slides", SENTENCES)
    stated = page.get(f"api/runs/{key}/honesty").json()
    assert stated["holds"] is True
    assert stated["watched"] == found.honesty.watched
    assert stated["text"] == str(found.honesty)


def test_a_small_run_and_small_weights_come_whole(page: Page) -> None:
    key, found = asked_trace(page, "slides", SENTENCES)
    sent = page.tensors(f"api/runs/{key}/numbers")
    assert set(sent) == {*found, *found.facts}
    for name, tensor in sent.items():
        assert torch.equal(tensor.to(found.tensor(name).dtype), found.tensor(name).cpu())
    weights = page.tensors("api/models/slides/weights")
    assert set(weights) == set(found.parameters)
    for name, tensor in weights.items():
        assert torch.equal(tensor.float(), found.parameters[name])
        assert tensor.dtype == lossless(found.parameters[name]).dtype


def test_a_large_run_comes_in_parts(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (overview, pictures):
        monkeypatch.setattr(module, "MOST_WHOLE", 100)
    found = page.overview("slides", SENTENCES[:2])
    assert (found["whole"], found["whole_weights"]) == (False, False)
    page.error(page.get(f"api/runs/{found['run']}/numbers"), 413)
    page.error(page.get("api/models/slides/weights"), 413)
    name = f"{ATTENTION}.weights"
    sent = page.tensors(f"api/runs/{found['run']}/tensor", name=name)["numbers"]
    assert torch.equal(sent, page.desk.run(found["run"]).trace[name])
    monkeypatch.setattr(pictures, "MOST_NUMBERS", 99)
    assert "99" in page.error(page.get(f"api/runs/{found['run']}/tensor", name=name), 413)["wanted"]
    monkeypatch.setattr(pictures, "MOST_DOTS", 99)
    assert "99" in page.error(page.get(f"api/runs/{found['run']}/picture", name=name), 413)["wanted"]
    assert "99" in page.error(page.get(f"api/runs/{found['run']}/pictures", names=name), 413)["wanted"]
    page.desk.forget(found["run"])


# --------------------------------------------------------------------------- parts and pictures


@pytest.mark.parametrize(
    ("part", "index"),
    [
        ("", ()),
        ("1", (slice(1, 2),)),
        ("0,1,2:4", (slice(0, 1), slice(1, 2), slice(2, 4))),
        (":,:,:3,4:", (slice(None), slice(None), slice(3), slice(4, None))),
    ],
)
def test_a_part_is_that_part(page: Page, part: str, index: tuple[slice, ...]) -> None:
    key, found = asked_trace(page, "slides", SENTENCES)
    name = f"{ATTENTION}.scores"
    assert torch.equal(page.tensors(f"api/runs/{key}/tensor", name=name, part=part)["numbers"], found[name][index])


def test_weights_and_facts_have_parts_too(page: Page) -> None:
    key, found = asked_trace(page, "slides", SENTENCES)
    for name in ("parameters.encoder.embed.word.weight", "inputs.ids", "inputs.masked_words"):
        sent = page.tensors(f"api/runs/{key}/tensor", name=name, part="1:3")["numbers"]
        assert torch.equal(sent, found.tensor(name)[1:3])


def test_what_is_shared_by_heads_is_asked_for_by_any_head(page: Page) -> None:
    key, found = asked_trace(page, "slides", SENTENCES)
    name = f"{ATTENTION}.may_look"
    assert found.described(name).shared["head"] == 2
    one, two = (page.tensors(f"api/runs/{key}/tensor", name=name, part=f"0,{head}")["numbers"] for head in (0, 1))
    assert torch.equal(one, two)
    stated = page.get(f"api/runs/{key}/explain", name=name, cell="2,1,4,3").json()
    assert stated["value"] == float(found[name][2, 0, 0, 3])


WRONG_PARTS = [
    "3",
    "0,2",
    "0,0,5",
    "0,0,0:6",
    "1:1",
    "2:1",
    "0,0,0,0,0",
    ",",
    "0,,1",
    ":,:,:,:,:",
    "1 0",
    "999999999",
    "::",
]


@pytest.mark.parametrize("part", WRONG_PARTS)
@pytest.mark.parametrize("kind", ["tensor", "picture"])
def test_parts_that_are_none_are_refused(page: Page, part: str, kind: str) -> None:
    key = page.overview()["run"]
    page.error(page.get(f"api/runs/{key}/{kind}", name=f"{ATTENTION}.scores", part=part), 404)


def test_a_logarithmic_picture_keeps_small_shares_apart() -> None:
    values = torch.tensor([[1.0, 1e-2, 1e-4, 1e-6, 1e-9, 0.0]])
    dots, limits = picture(values, (8, 8))
    assert dots.flatten().tolist() == [255, 170, 86, 1, 1, 0]
    assert (float(limits["lowest"]), float(limits["highest"])) == (1e-6, 1.0)


@pytest.mark.parametrize("value", [0.0, -2.5, 2.5, math.inf])
def test_a_picture_of_one_number(value: float) -> None:
    for shape in ((), (4,), (2, 3)):
        dots, _ = picture(torch.full(shape, value), (8, 8))
        assert dots.dim() == 2 if len(shape) < 2 else dots.shape == shape
        assert (dots > 0).all().item() is (value == 2.5)


def test_a_dot_shows_the_number_farthest_from_zero() -> None:
    values = torch.randn(2, 7, 10)
    values[0, :2, :3] = -math.inf
    small = pooled(values, (3, 4))
    for head, row, column in itertools.product(range(2), range(3), range(4)):
        top, bottom = row * 7 // 3, -(-(row + 1) * 7 // 3)
        left, right = column * 10 // 4, -(-(column + 1) * 10 // 4)
        block = values[head, top:bottom, left:right]
        finite = block[block.isfinite()]
        if len(finite):
            assert small[head, row, column].abs() == finite.abs().max()
            assert small[head, row, column] in block
        else:
            assert small[head, row, column] == -math.inf


# --------------------------------------------------------------------------- heads


def by_hand(
    weights: Tensor, may_look: list[bool], real: list[bool], separators: list[bool], same: Tensor, *, crossing: bool
) -> dict[str, float]:
    """The measures of one head, one query after the other."""
    found = dict.fromkeys(MEASURES, 0.0)
    queries = [query for query, there in enumerate(real) if there]
    for query in queries:
        row = [float(weight) for weight in weights[query]]
        found["entropy"] -= sum(weight * math.log(weight) for weight in row if weight > 0)
        found["distance"] += sum(weight * abs(key - query) for key, weight in enumerate(row))
        found["previous"] += row[query - 1] if query > 0 else 0.0
        found["self"] += row[query] if query < len(row) else 0.0
        found["next"] += row[query + 1] if query + 1 < len(row) else 0.0
        found["first"] += row[0]
        found["separator"] += sum(weight for weight, is_one in zip(row, separators, strict=True) if is_one)
        found["same_word"] += sum(weight for weight, is_one in zip(row, same[query], strict=True) if is_one)
        found["largest"] += max(row)
        found["even"] += 1 / sum(may_look)
    return {
        name: math.nan if crossing and name in ("distance", "previous", "self", "next") else value / len(queries)
        for name, value in found.items()
    }


@pytest.mark.parametrize("crossing", [False, True])
def test_measures_of_heads_are_those_counted_by_hand(crossing: bool) -> None:
    weights = torch.softmax(3 * torch.randn(3, 6, 6, dtype=torch.float64), -1)
    weights[:, :, 5] = 0.0
    real, separators = [True, True, False, True, True, False], [False, False, True, False, True, False]
    may_look = [True, True, True, True, False, False]
    allowed = torch.tensor(may_look).expand(1, 6, 6)
    same = torch.rand(6, 6) < 0.3
    found = measure(weights, allowed, torch.tensor(real), torch.tensor(separators), same, crossing=crossing)
    for head in range(3):
        expected = by_hand(weights[head], may_look, real, separators, same, crossing=crossing)
        assert found[head].tolist() == pytest.approx(list(expected.values()), rel=1e-12, nan_ok=True)


def test_heads_come_with_thumbnails(page: Page) -> None:
    key, found = asked_trace(page, "small", (TEXTS[0],))
    weights = found[f"{ATTENTION}.weights"]
    other = ATTENTION.replace("0", "1")
    both = page.tensors(f"api/runs/{key}/heads", attention=f"{ATTENTION},{other}")
    assert both.keys() == {f"{name}.{kind}" for name in (ATTENTION, other) for kind in ("thumbnails", "statistics")}
    sent = {kind: both[f"{ATTENTION}.{kind}"] for kind in ("thumbnails", "statistics")}
    heads, queries, keys = weights.shape[1:]
    assert sent["thumbnails"].shape == (heads, min(queries, 32), min(keys, 32))
    assert torch.equal(sent["thumbnails"], picture(weights[0], (32, 32))[0])
    separator_id = page.desk.models["small"].tokenizer.separator_id
    assert separator_id is not None
    separator = torch.eq(found.facts["inputs.ids"][0], separator_id)
    may_look = found[f"{ATTENTION}.may_look"][0].bool()
    ids = found.facts["inputs.ids"][0]
    same = (ids[:, None] == ids[None]) & ~torch.eye(len(ids), dtype=torch.bool)
    expected = measure(weights[0], may_look, None, separator, same, crossing=False)
    assert torch.equal(sent["statistics"], expected.float())


def test_several_tensors_are_drawn_in_one_answer(page: Page) -> None:
    key, found = asked_trace(page, "small", tuple(TEXTS[:2]))
    names = [f"{ATTENTION}.{name}" for name in ("query", "masked", "weights", "may_look")] + ["inputs.ids"]
    data = page.get(f"api/runs/{key}/pictures", names=",".join([*names, names[0]]), rows=4, columns=6).content
    header, together = header_and_tensors(data)
    assert set(together) == set(names)
    for name in names:
        tensor = found.tensor(name)
        filled = found[f"{ATTENTION}.may_look"] == 0
        full = full_strength(found[f"{ATTENTION}.scaled"] if name.endswith("masked") else tensor)
        shown = tensor.float().masked_fill(filled, -math.inf) if name.endswith("masked") else tensor
        assert torch.equal(together[name], signed(small(shown, (4, 6)), full))
        assert header["__metadata__"][name] == repr(full)
    assert found[f"{ATTENTION}.masked"].shape[-2:] > together[f"{ATTENTION}.masked"].shape[-2:]
    page.error(page.get(f"api/runs/{key}/pictures", names=f"{names[0]},nothing"), 404)


def header_and_tensors(data: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A safetensors file; the order of what comes with the tensors is not fixed."""
    header: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return header, load(data)


def test_what_is_worked_out_before_it_is_asked_for_is_the_same(page: Page) -> None:
    key, _ = asked_trace(page, "small", (TEXTS[0],))
    run = replace(page.desk.runs[key], whole=False)
    before = header_and_tensors(run.heads([ATTENTION], 0, 32))
    run.look_ahead()
    assert run.ahead.keys() == {ATTENTION, ATTENTION.replace("0", "1")}
    header, tensors = header_and_tensors(run.heads([ATTENTION], 0, 32))
    assert header == before[0]
    assert all(torch.equal(tensor, before[1][name]) for name, tensor in tensors.items())
    with pytest.raises(UnknownNameError):  # other sentences are still looked for
        run.heads([ATTENTION], 3, 32)


def test_the_largest_numbers_stand_in_their_order_with_their_places(page: Page) -> None:
    key, found = asked_trace(page, "small", ("She likes the [MASK] better.",))
    row = found["head.probabilities"][0].tolist()
    stated = page.get(f"api/runs/{key}/largest", name="head.probabilities", part="0", count=4).json()
    expected = sorted(range(len(row)), key=lambda place: (-row[place], place))[:4]
    assert stated == {"places": expected, "values": [row[place] for place in expected]}
    page.error(page.get(f"api/runs/{key}/largest", name="head.probabilities", part="9"), 404)
    page.error(page.get(f"api/runs/{key}/largest", name="head.probabilities", count=0), 400)
    assert ranked(torch.tensor([1.0, 3.0, 3.0, 3.0]), 2) == ([1, 2], [3.0, 3.0])
    assert ranked(torch.zeros(0), 2) == ([], [])


def test_heads_of_what_is_no_attention(page: Page) -> None:
    key = page.overview()["run"]
    for attention in ("encoder.blocks.9.self_attention", "encoder.blocks.0.feed_forward", "inputs.ids", "encoder"):
        page.error(page.get(f"api/runs/{key}/heads", attention=attention), 404)
    page.error(page.get(f"api/runs/{key}/heads", attention=ATTENTION, sentence=3), 404)


# --------------------------------------------------------------------------- one number


def test_a_number_is_explained_as_the_trace_explains_it(page: Page) -> None:
    rng = random.Random(5)
    for model, texts in (("slides", SENTENCES), ("small", (TEXTS[0],))):
        key, found = asked_trace(page, model, texts)
        for name, tensor in found.items():
            cell = [rng.randrange(size) for size in tensor.shape]
            stated = page.get(f"api/runs/{key}/explain", name=name, cell=",".join(map(str, cell))).json()
            expected = found.explain(name, dict(zip(found.axes(name), cell, strict=True)))
            assert float(stated["value"]) == expected.value, name
            assert float(stated["recomputed"]) == expected.recomputed
            assert float(stated["error"]) == expected.error <= 1e-5
            assert stated["quantities"] == pytest.approx(dict(expected.quantities), abs=0)
            assert len(stated["terms"]) + stated["left"]["count"] == len(expected.terms)
            for term, other in zip(stated["terms"], expected.largest(answers.MOST_TERMS)[0], strict=True):
                assert (term["what"], float(term["value"]), term["added"]) == (other.what, other.value, other.added)
                for (name_, index, value), reference in zip(term["factors"], other.factors, strict=True):
                    assert (name_, index, float(value)) == (
                        reference.name,
                        list(reference.cell.values()),
                        reference.value,
                    )


def test_what_is_asked_for_twice_at_once_is_computed_once(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = asked_trace(page, "small", (TEXTS[0],))
    unkept = Model.of(page.desk.models["small"]).trace([TEXTS[0]], keep=())
    run = replace(page.desk.runs[key], trace=unkept, key="unkept")
    fetch, meet, computed = Trace.fetch, threading.Barrier(2), list[str]()

    def slowly(found: Trace, names: Any) -> Any:
        computed.extend(names)
        time.sleep(0.05)
        return fetch(found, names)

    monkeypatch.setattr(Trace, "fetch", slowly)

    def have() -> None:
        meet.wait()
        run.have([f"{ATTENTION}.scores"])

    threads = [threading.Thread(target=have) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f"{ATTENTION}.scores" in computed
    assert len(computed) == len(set(computed))
    page.desk.numbers.forget("unkept")
    assert run.neighbours[f"{ATTENTION}.query"] == ["encoder.embed", "encoder.blocks.0"]


def test_of_a_long_sum_the_largest_terms_are_sent(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_TERMS", 4)
    key, found = asked_trace(page, "slides", SENTENCES)
    expected = found.explain("head.probabilities", {"place": 1, "vocabulary": 2})
    stated = page.get(f"api/runs/{key}/explain", name="head.probabilities", cell="1,2").json()
    kept, left, rest = expected.largest(4)
    assert [term["what"] for term in stated["terms"]] == [term.what for term in kept]
    assert stated["left"]["count"] == left
    assert stated["left"]["sum"] == pytest.approx(rest, rel=1e-12)
    assert stated["recomputed"] == expected.recomputed


def test_a_weight_and_a_fact_are_given(page: Page) -> None:
    key, found = asked_trace(page, "slides", SENTENCES)
    for name, cell in (("parameters.encoder.embed.word.weight", "3,4"), ("inputs.ids", "0,3")):
        stated = page.get(f"api/runs/{key}/explain", name=name, cell=cell).json()
        at = tuple(map(int, cell.split(",")))
        assert (stated["value"], stated["terms"], stated["recomputed"]) == (float(found.tensor(name)[at]), [], None)


WRONG_CELLS = [("0", 404), ("0,0,0,0,0", 404), ("3,0,0,0", 404), ("0,2,0,0", 404), ("0,0,0,5", 404), ("", 404)]
WRONG_CELLS += [("-1,0,0,0", 400), ("a", 400), ("0,0,0,0,", 400), ("1e3", 400), ("9" * 99, 400), ("0;0", 400)]


@pytest.mark.parametrize(("cell", "status"), WRONG_CELLS)
def test_cells_that_are_none_are_refused(page: Page, cell: str, status: int) -> None:
    key = page.overview()["run"]
    page.error(page.get(f"api/runs/{key}/explain", name=f"{ATTENTION}.scores", cell=cell), status)


def test_numbers_that_json_lacks_are_words(tmp_path: Path) -> None:
    found = in_json({"a": [math.inf, -math.inf, math.nan, 1.5], "b": (True, None, "x", 3)})
    assert found == {"a": ["Infinity", "-Infinity", "NaN", 1.5], "b": [True, None, "x", 3]}
