"""The exported page: one file that carries what it says, and nothing that could run or reach out."""

import base64
import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from glassformer.api.trace import Trace, load_trace, trace
from glassformer.base.errors import ConfigError, DataError
from glassformer.look.formulas.named import Operand
from glassformer.look.formulas.rules import RULES
from glassformer.look.formulas.rules.evaluator import Rule
from glassformer.look.trace.cell import Words
from glassformer.models.inputs import Inputs
from glassformer.page.page import built, digest, not_shown, page, script_of_page
from glassformer.page.sections.carried import BEYOND_LIMIT, NOT_SAVED, SIGNED, lossless
from glassformer.page.sections.choosing import carry
from glassformer.page.sections.statement import rule_record
from tests.contracts.families import Row
from tests.look.rows import ALL, bert_model, slides_trace
from tests.refusals import refused

IDS = torch.tensor([[3, 4, 5]])


def blocks(html: str) -> dict[str, bytes]:
    """What the page carries, by the name of the block."""
    found = re.findall(r'<script type="application/gzip" id="([\w-]+)">([^<]*)</script>', html)
    return {name: gzip.decompress(base64.b64decode(text)) for name, text in found}


def numbers(block: bytes) -> dict[str, Tensor]:
    """The tensors of a block, whose numbers have their first bytes first, then their second ones, and the sign last."""
    found = load(block)
    for name, tensor in found.items():
        planes = tensor.flatten().view(torch.uint8).view(tensor.element_size(), -1)
        joined = planes.T.flatten().view(tensor.dtype)
        if signed := SIGNED.get(tensor.dtype):
            bits = joined.view(signed)
            lower = (bits >> 1) & torch.iinfo(signed).max
            joined = (lower | ((bits & 1) << (torch.iinfo(signed).bits - 1))).view(tensor.dtype)
        found[name] = joined.view(tensor.shape)
    return found


def record_of(html: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(blocks(html)["record"])
    return record


def rule_from(record: Mapping[str, Any]) -> Rule:
    """A rule read back from its JSON alone."""

    def value(given: object) -> object:
        if not isinstance(given, dict):
            return given
        if set(given) == {"name", "axes"}:
            return Operand(given["name"], given["axes"])
        return {role: value(each) for role, each in given.items()}

    fields = {name: value(given) for name, given in record.items() if name != "rule"}
    return RULES[record["rule"]](**fields)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ALL, ids=str)
def test_the_formulas_as_json_are_the_formulas(row: Row) -> None:
    inputs, decoder_inputs = row.batch()
    statement = trace(row.model(), inputs, decoder_inputs).statement
    for formula in statement.formulas.values():
        record = json.loads(json.dumps(rule_record(formula.rule), allow_nan=False))
        assert rule_from(record) == formula.rule


def test_a_page_carries_every_number_of_the_run_and_the_model() -> None:
    found = slides_trace(dtype=torch.float32)
    carried = blocks(page(found))
    tensors: dict[str, Tensor] = numbers(carried["tensors"])
    weights: dict[str, Tensor] = numbers(carried["weights"])
    assert set(tensors) == {*found, *found.facts}
    for name, tensor in tensors.items():
        assert torch.equal(tensor.to(found.tensor(name).dtype), found.tensor(name)), name
    assert set(weights) == set(found.parameters)
    for name, weight in weights.items():
        assert torch.equal(weight.float(), found.parameters[name]), name


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (torch.tensor([1.0, -0.5, float("-inf")]), torch.bfloat16),
        (torch.tensor([0.1]), torch.float32),
        (torch.tensor([0.1], dtype=torch.float64), torch.float64),
        (torch.tensor([0.1]).double(), torch.float32),
        (torch.tensor([float("nan")]), torch.float32),
        (torch.tensor([7]), torch.int32),
        (torch.tensor([1 << 40]), torch.int64),
        (torch.tensor([True]), torch.bool),
    ],
    ids=str,
)
def test_a_narrower_type_loses_nothing(given: Tensor, dtype: torch.dtype) -> None:
    narrow = lossless(given)
    assert narrow.dtype == dtype
    assert torch.equal(narrow.to(given.dtype).nan_to_num(), given.nan_to_num())


def test_what_does_not_fit_is_left_out_whole_and_named() -> None:
    found = trace(bert_model(dtype=torch.float32), Inputs(ids=IDS))
    everything = carry(found, 1 << 30)
    assert everything.left_out == {}
    half = carry(found, everything.nbytes // 2)
    assert half.nbytes <= everything.nbytes // 2
    assert half.left_out
    assert {*half.tensors, *half.weights, *half.left_out} == {*found, *found.facts, *found.parameters}
    assert {*half.left_out} & {*half.tensors, *half.weights} == {*half.rows}
    assert all(len(rows) == len(half.weights[name]) for name, rows in half.rows.items())
    nothing = carry(found, 0)
    assert set(nothing.left_out) == {*found, *found.facts, *found.parameters}
    assert set(nothing.left_out.values()) == {BEYOND_LIMIT}


def test_a_trace_without_its_model_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = trace(bert_model(dtype=torch.float32), Inputs(ids=IDS), keep=())
    whole.save(tmp_path / "trace.safetensors")
    html = page(load_trace(tmp_path / "trace.safetensors"))
    record = record_of(html)
    assert set(numbers(blocks(html)["tensors"])) == {*whole.stored, *whole.facts}
    assert record["left_out"] == dict.fromkeys(set(whole) - set(whole.stored), NOT_SAVED)
    assert record["weights"] == {}


def test_the_policy_allows_the_own_script_and_style_and_nothing_else() -> None:
    html = page(slides_trace())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    script = re.search(r'<script type="module">(.*?)</script>', html, re.DOTALL)
    assert policy is not None
    assert script is not None
    own = {name: data.decode() for name, data in blocks(html).items() if re.match("page-style|part-", name)}
    assert own == script_of_page(not_shown(slides_trace()))
    style = own.pop("page-style")
    assert style == "".join(map(built, ("training.css", "learning.css", "explorer.css")))
    assert policy[1].split("; ") == [
        "default-src 'none'",
        f"script-src {' '.join(map(digest, (script[1], *own.values())))}",
        f"style-src {digest(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert html.index("Content-Security-Policy") < html.index("<script")
    assert re.findall(r"(?:src|href)=\"", html) == []


def test_words_that_look_like_html_stay_words() -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    words = Words(inputs=[[evil, "b", "c"]], vocabulary=[evil])
    html = page(trace(bert_model(), Inputs(ids=IDS), words=words), title=evil)
    assert "<img" not in html
    assert record_of(html)["words"]["inputs"] == [[evil, "b", "c"]]
    assert record_of(html)["title"] == evil


def test_a_page_is_the_same_bytes_for_the_same_run() -> None:
    assert page(slides_trace()) == page(slides_trace())


def test_changes_by_hand_and_the_honesty_gate_are_shown() -> None:
    found = slides_trace()
    record = record_of(page(found))
    assert record["changes"] == ""
    assert record["honesty"]["holds"] is True
    assert record["honesty"]["watched"] == found.honesty.watched


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    found: Trace = slides_trace()
    for wrong in (0, "5", True):
        with refused(ConfigError, got=repr(wrong)):
            found.to_html(tmp_path / "page.html", megabytes=wrong)  # type: ignore[arg-type]  # wrong on purpose
    missing = tmp_path / "missing" / "page.html"
    with refused(DataError, wanted=str(missing)):
        found.to_html(missing)
    assert list(tmp_path.iterdir()) == []
    found.to_html(tmp_path / "page.html", title="three")
    assert record_of((tmp_path / "page.html").read_text(encoding="utf-8"))["title"] == "three"
