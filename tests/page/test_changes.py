"""Changes made by hand on a page: its engine against `Trace.intervene` and `Model.trace`, number by number."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import slides, slides_model
from glassformer.look.trace.interventions import Intervention
from glassformer.page.page import page
from tests.contracts.families import Padding, Row
from tests.look.rows import row_named

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="the page's engine runs in node, which is not installed")

SCRIPT = Path(__file__).with_name("change_out.mjs")
LIMIT = {torch.float64: 1e-12, torch.float32: 1e-5}
TEXTS = [sentence.masked for sentence in slides().sentences]


def changed(found: Trace, folder: Path, asked: Sequence[str]) -> dict[str, Any]:
    """What node makes of the page of a trace with each of these changes."""
    (folder / "page.html").write_text(page(found), encoding="utf-8")
    (folder / "changes.json").write_text(json.dumps(asked))
    assert NODE is not None
    command = [NODE, str(SCRIPT), str(folder / "page.html"), str(folder / "changes.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def check(expected: Trace, answer: dict[str, Any]) -> None:
    """Every number of every tensor."""
    assert answer["refused"] == []
    assert set(answer["tensors"]) == set(expected)
    for name, part in answer["tensors"].items():
        tensor = expected[name].double()
        numbers = torch.tensor([float(number) for number in part["numbers"]], dtype=torch.float64)
        shown = numbers.reshape(part["shape"])
        # What is shared may be stored once here and in full there.
        shown = shown.expand(torch.broadcast_shapes(shown.shape, tensor.shape))
        wanted = tensor.expand(shown.shape)
        scale = 1 + float(wanted[wanted.isfinite()].abs().max()) if wanted.isfinite().any() else 1.0
        assert torch.equal(wanted.isfinite(), shown.isfinite()), name
        both = wanted.isfinite()
        assert torch.equal(wanted[~both], shown[~both]), name
        worst = float((wanted[both] - shown[both]).abs().max()) if both.any() else 0.0
        assert worst <= LIMIT[expected.dtype] * scale, (name, worst)


def family_trace(row: Row, padding: Padding, dtype: torch.dtype = torch.float64) -> Trace:
    """A run whose every tensor is kept."""
    inputs, decoder_inputs = row.batch(padding=padding)
    return trace(row.model(dtype=dtype), inputs, decoder_inputs, keep="*")


def attention_of(found: Trace) -> str:
    """The last attention of a model; of two stacks one between them."""
    names = [name for name in found if name.endswith("_attention.weights")]
    crossing = [name for name in names if "cross" in name]
    return (crossing or names)[-1].removesuffix(".weights")


def every_kind(found: Trace) -> list[tuple[str, list[Intervention]]]:
    """All kinds of changes of tensors and tokens, as an address and as Python, each alone and then together."""
    attention = attention_of(found)
    block = attention.rpartition(".")[0]
    feed_forward = f"{block}.feed_forward"
    inner = f"{feed_forward}.hidden"
    cell = tuple(min(1, size - 1) for size in found[inner].shape)
    dots = ".".join(map(str, cell))
    cases: list[tuple[str, list[Intervention]]] = [
        (f"forbid,{attention},0,1,2,1", [gf.forbid(attention, 2, 1, head=1)]),
        (f"forbid,{attention},1,*,1,0", [gf.forbid(attention, 1, 0, sentence=1)]),
        (f"allow,{attention},0,*,0,2", [gf.allow(attention, 0, 2)]),
        (f"set,{attention}.mixed,0,*.0", [gf.zero_head(attention, 0)]),
        (f"set,{attention}.mixed,mean,*.1", [gf.average_head(attention, 1)]),
        (f"set,{feed_forward}.output,0,", [gf.zero_layer(feed_forward)]),
        (f"set,{block}.*.output,mean,", [gf.average_layer(block)]),
        (f"set,{inner},-1.25,{dots}", [gf.set_number(inner, cell, -1.25)]),
        ("word,inputs,0,3,5", [gf.ChangeWord(3, 5)]),
        ("mask,inputs,1,0,4", [gf.MaskWord(0, 4, sentence=1)]),
    ]
    return [*cases, (";".join(text for text, _ in cases), [step for _, steps in cases for step in steps])]


FAMILIES = ("slides", "slides, masked words visible", "mask_matrix", "vaswani2017", "bert", "modernbert", "gpt2",
            "llama", "t5", "marian")  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_kind_of_change_in_every_family(name: str, tmp_path: Path) -> None:
    found = family_trace(row_named(name), "none" if name == "gpt2" else "uneven")
    cases = every_kind(found)
    answer = changed(found, tmp_path, [text for text, _ in cases])
    assert answer["why"] == ""
    for (_, steps), part in zip(cases, answer["answers"], strict=True):
        check(found.intervene(*steps), part)


def test_in_float32(tmp_path: Path) -> None:
    found = family_trace(row_named("bert"), "right", torch.float32)
    cases = every_kind(found)
    answer = changed(found, tmp_path, [text for text, _ in cases])
    for (_, steps), part in zip(cases, answer["answers"], strict=True):
        check(found.intervene(*steps), part)


WORDS = [
    ["She loves [MASK] summer better"],  # other words, one mask less
    ["She likes the summer better"],  # no mask in this text
    ["She [MASK] [MASK] [MASK] better"],  # one more
    ["She [MASK] [MASK] summer quite better"],  # longer than the others, which are padded
    ["She [MASK] summer"],  # shorter
    ["She likes the summer better", "He loves to cook healthy", "They go hiking quite often"],  # none at all
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_other_texts_are_read_as_the_model_reads_them(dtype: torch.dtype, tmp_path: Path) -> None:
    model = gf.load(slides_model(), dtype=dtype)
    found = model.trace(TEXTS)
    attention = "encoder.blocks.0.self_attention"
    asked = [";".join(f"text,{row},{text}" for row, text in enumerate(texts)) for texts in WORDS]
    asked += [f"{each};forbid,{attention},0,1,2,0;set,{attention}.mixed,mean,*.0" for each in asked]
    answer = changed(found, tmp_path, asked)
    assert answer["words"] == "text"
    for place, part in enumerate(answer["answers"]):
        texts = WORDS[place % len(WORDS)]
        expected = model.trace([*texts, *TEXTS[len(texts) :]])
        if place >= len(WORDS):
            expected = expected.intervene(gf.forbid(attention, 2, 0, head=1), gf.average_head(attention, 0))
        check(expected, part)
        assert [tuple(place) for place in part["places"]] == list(expected.chosen_tokens)


def test_an_unknown_word_leaves_the_other_words_as_they_were_changed(tmp_path: Path) -> None:
    model = gf.load(slides_model())
    first, *others = TEXTS[0].split()
    asked = " ".join(["He" if first == "She" else "She", "winter", *others[1:]])
    (part,) = changed(model.trace(TEXTS), tmp_path, [f"text,0,{asked}"])["answers"]
    assert len(part["refused"]) == 1
    check(model.trace([asked.replace("winter", others[0]), *TEXTS[1:]]), part | {"refused": []})


def test_what_does_not_fit_is_refused_in_a_sentence(tmp_path: Path) -> None:
    found = gf.load(slides_model()).trace(TEXTS)
    words = "He, She, They, better, cook, go, healthy, hiking, likes, loves, often, quite, summer, the, to"
    wrong = {
        "text,0,winter": f"“winter” is none of this model’s 15 words: {words}",
        "text,7,She": "This page has no text 8 to change.",
        "forbid,encoder.blocks.9.self_attention,0,1,2,0": "This model has no attention "
        "encoder.blocks.9.self_attention.",
        "forbid,encoder.blocks.0.self_attention,0,7,2,0": "There is no such cell of "
        "encoder.blocks.0.self_attention.may_look: it has 3 × 2 × 5 × 5.",
        "set,encoder.blocks.0.feed_forward.hidden,1,0.0.99": "There is no such cell of "
        "encoder.blocks.0.feed_forward.hidden: it has 3 × 5 × 12.",
        "set,head.logits,mean,": "A mean is taken over the sentences and words of a tensor; "
        "head.logits cannot be averaged so.",
        "word,inputs,0,0,99": "The vocabulary has 15 words, and no word 99.",
        "rhubarb,1,2": "The address names a change that this page does not know, “rhubarb,1,2”.",
        "set,x": "The address names a change that this page does not know, “set,x”.",
    }
    answer = changed(found, tmp_path, list(wrong))
    for part, sentence in zip(answer["answers"], wrong.values(), strict=True):
        assert part["refused"] == [sentence]
        check(found, part | {"refused": []})


def test_a_page_with_changes_of_its_own_goes_on_from_them(tmp_path: Path) -> None:
    attention = "encoder.blocks.0.self_attention"
    found = family_trace(row_named("slides"), "none").intervene(gf.zero_head(attention, 0), gf.ChangeWord(0, 2))
    answer = changed(found, tmp_path, ["", f"forbid,{attention},0,1,3,0"])
    check(found, answer["answers"][0])
    check(found.intervene(gf.forbid(attention, 3, 0, head=1)), answer["answers"][1])
