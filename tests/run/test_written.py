"""A text as it is written: the attention that is kept is that of one run over it, and of transformers step by step."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError, UnknownNameError
from glassformer.cli.look.written_lines import written_lines
from glassformer.convert import read_huggingface
from glassformer.decode import attention
from glassformer.decode.loop import decode
from glassformer.decode.record import Recorder
from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.decode.step import Wanted
from glassformer.look.texts import search_tree as module
from glassformer.look.texts.written import Looks, stepwise
from glassformer.models.transformer import Transformer
from glassformer.tasks.writing.chat.settings import ChatSection
from tests.convert.sources import save
from tests.translators import ENGLISH, translating
from tests.writers import writing

PROMPT = "She likes the"
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"beams": 1},
    "beams": {"beams": 4},
    "drawn": {"temperature": 1.3, "top_p": 0.95, "seed": 3},
    "several": {"n_best": 3, "temperature": 1.5, "top_k": 20},
}


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_the_tree_of_a_writer_ends_in_its_text(family: str, ways: dict[str, Any]) -> None:
    model = writing(family)
    tree, found = model.search_tree(PROMPT, max_tokens=8, **ways), model.generate(PROMPT, max_tokens=8, **ways)
    assert tree.answer == found.generated
    assert tree.best is not None
    assert [node.log_probability for node in tree.path(tree.best)] == [each.log_probability for each in found.tokens]
    assert tree.best.score == found.score
    assert [node.score for node in tree.answers][: len(found.n_best)] == [each.score for each in found.n_best]
    assert model.tokenizer.decode(tree.prompt) == PROMPT


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_what_was_looked_at_is_that_of_one_run_over_the_text(family: str, ways: dict[str, Any]) -> None:
    model = writing(family)
    tree = model.search_tree(PROMPT, max_tokens=8, attention=True, **ways)
    assert tree.attention is not None
    # Every hypothesis that was read, not the best one alone.
    read = [node for node in tree.nodes if node.number in tree.attention.steps]
    assert read
    for node in read[:: max(1, len(read) // 6)]:
        trace = model.trace(PROMPT, target_ids=tree.decoder_ids(node), dtype=torch.float64)
        path = [each.number for each in tree.path(node)]
        for name in tree.attention.names:
            whole = tree.attention.whole(name, path)
            assert whole.shape == trace[name][0].shape
            assert torch.allclose(whole, trace[name][0], rtol=0, atol=1e-12)
    assert tree.best is not None
    trace = model.trace(PROMPT, target_ids=tree.whole_ids(tree.best), dtype=torch.float64)
    found = stepwise(tree, trace)
    assert found.holds, found
    assert found.tokens == len(tree.path(tree.best))
    assert found.nbytes == tree.attention.nbytes


def test_a_wrong_weight_or_probability_is_found() -> None:
    model = writing()
    tree = model.search_tree(PROMPT, max_tokens=6, beams=1, attention=True)
    assert tree.best is not None
    assert tree.attention is not None
    trace = model.trace(PROMPT, target_ids=tree.whole_ids(tree.best), dtype=torch.float64)
    assert stepwise(tree, trace).holds
    node = tree.path(tree.best)[2].number
    step, name = tree.attention.steps[node], tree.attention.names[1]
    step[name] = step[name].clone()
    step[name][1, 0] += 1e-6
    assert stepwise(tree, trace).attention == pytest.approx(1e-6, rel=1e-3)
    assert not stepwise(tree, trace).holds
    other = model.trace(PROMPT, target_ids=(*tree.whole_ids(tree.best)[:-2], 5, 6), dtype=torch.float64)
    assert not stepwise(tree, other).holds


@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "LlamaForCausalLM"])
def test_the_attention_of_each_step_is_that_of_transformers(name: str, tmp_path: Path) -> None:
    theirs: Any = save(name, tmp_path, attn_implementation="eager").double()
    found = read_huggingface(tmp_path)
    ours = Transformer(found.config)
    ours.load_state_dict(found.state)
    ids, most = [5, 9, 12, 7, 3], 6
    given = torch.tensor([ids])
    answer = theirs.generate(
        given, attention_mask=torch.ones_like(given), max_new_tokens=most, do_sample=False, eos_token_id=None,
        pad_token_id=0, output_attentions=True, return_dict_in_generate=True,
    )  # fmt: skip
    recorder = Recorder(attention=True)
    settings, request = DecodeSettings(max_tokens=most), Request(7, prompt=ids)
    for _ in decode(ours.double().eval(), [request], Wanted(settings, ids=SpecialIds(2, ()), recorder=recorder)):
        pass
    assert recorder.attention is not None
    kept = recorder.attention.kept[7]
    path = [node for node in recorder.nodes[7] if node.fate in ("kept", "answer")]
    assert [node.token for node in path] == answer.sequences[0, len(ids) :].tolist()
    for block, weights in enumerate(zip(*answer.attentions, strict=True)):  # by step, [1, H, Q, n]
        own = f"decoder.blocks.{block}.self_attention.weights"
        for node, their in zip(path, weights, strict=True):
            assert torch.allclose(kept.row(own, node.parent), their[0, :, -1], rtol=0, atol=1e-6)


def test_a_reply_is_written_to_the_turns_and_looks_at_them() -> None:
    bare = translating(double=False)
    model = Model(bare.module, bare.tokenizer, task=ChatSection(), length=24)
    turns = [ENGLISH[1][:12], "She likes"]
    tree, found = (
        model.search_tree(turns, seed=2, max_tokens=6, attention=True),
        model.chat(turns, seed=2, max_tokens=6),
    )
    assert tree.answer == found.reply
    assert tree.turns == found.turns[-found.read :]
    assert tree.best is not None
    assert tree.attention is not None
    assert tree.source is not None
    trace = model.trace(tree.text, target_ids=tree.whole_ids(tree.best))
    assert trace.facts["inputs.ids"][0].tolist() == list(tree.source)
    assert any(".cross_attention." in name for name in tree.attention.names)
    assert stepwise(tree, trace).holds
    read, source = (trace.words.sentence(side, 0) for side in ("decoder_inputs", "inputs"))
    lines = list(written_lines(tree, Looks(tree), read, source))
    assert lines[0].startswith("model: ")
    assert lines[1].startswith("you: ")
    assert any(line.strip().startswith("at the source: ") for line in lines)


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
def test_the_screen_has_the_numbers_of_the_tree(ways: dict[str, Any]) -> None:
    model = writing("llama")
    tree = model.search_tree(PROMPT, max_tokens=5, attention=True, **ways)
    assert tree.best is not None
    path = tree.path(tree.best)
    read = model.trace(PROMPT, target_ids=tree.whole_ids(tree.best)).words.sentence("inputs", 0)
    for width in (60, 80, 120):
        lines = list(written_lines(tree, Looks(tree, 1, 0), read, (), width))
        assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "head 0 of block 1" in text
    for node in path:
        assert f"{torch.tensor(node.log_probability).exp():.4f}" in text
        if node.draw is not None:
            assert all(f"{number:.4f}" in text for number in node.draw)
    # The triangle: each row is as long as the tokens that could be seen.
    rows = [line for line in lines if line[:3].strip().isdigit() and line[4:5] in "+ "]
    digits = [len(line.split()[-1]) for line in rows if int(line[:3]) <= len(tree.prompt) + len(path) - 1]
    assert digits[-1] == len(tree.prompt) + sum(node.number in tree.attention.steps for node in path)  # type: ignore[union-attr]  # kept


def test_the_memory_is_known_before_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    model = writing()
    tree = model.search_tree(PROMPT, max_tokens=5, n_best=2, temperature=1.0, seed=1, attention=True)
    assert tree.attention is not None
    stack = model.config.output_stack
    most = attention.bytes_for(stack, prompt=len(tree.prompt), tokens=5, hypotheses=2, size=8)
    ended = any(node.token in tree.ends for node in tree.nodes if node.fate == "answer")
    assert tree.attention.nbytes == most or (ended and tree.attention.nbytes < most)
    monkeypatch.setattr(module, "check_bytes", lambda needed: attention.check_bytes(needed, most - 1))
    with pytest.raises(ConfigError, match="attention"):
        model.search_tree(PROMPT, max_tokens=5, n_best=2, temperature=1.0, attention=True)
    assert model.search_tree(PROMPT, max_tokens=5, n_best=2, temperature=1.0).attention is None


def test_a_story_travels_in_its_page(tmp_path: Path) -> None:
    model = writing("llama")
    tree = model.search_tree(PROMPT, max_tokens=5, seed=4)
    record = json.loads(json.dumps(tree.to_dict(), allow_nan=False))
    assert tree.best is not None
    assert (record["ends"], record["most"], record["turns"]) == (list(tree.ends), None, [])
    trace = model.trace(PROMPT, target_ids=tree.whole_ids(tree.best))
    trace.to_html(tmp_path / "page.html", searches=[tree], place='level=tree"&x')
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="section-search"' in page
    assert '<html lang="en" data-place="level=tree&quot;&amp;x">' in page


def test_what_cannot_be_watched_is_refused() -> None:
    model = writing()
    tree = model.search_tree(PROMPT, max_tokens=3)
    with pytest.raises(ConfigError, match="attention"):
        Looks(tree)
    kept = model.search_tree(PROMPT, max_tokens=3, attention=True)
    with pytest.raises(UnknownNameError, match="block"):
        Looks(kept, 2)
    with pytest.raises(UnknownNameError, match="head"):
        Looks(kept, 1, 2)
    with pytest.raises(DataError, match="one text"):
        model.search_tree([PROMPT, PROMPT])
    with pytest.raises(ConfigError, match="target_ids"):
        gf.load("english").trace("She", target_ids=[3])
    with pytest.raises(DataError, match="at most 32"):
        model.trace(PROMPT, target_ids=[5] * 33)
