"""A logit as a sum, and integrated gradients, against ways of computing them that go the other direction.

`contributions` walks back from the logit. Here each part alone is carried forward, through norms and activations that
are held; and a path of many midpoints stands against the halved pieces of `integrated_gradients`.
"""

import math
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace
from glassformer.base.errors import ConfigError
from glassformer.look.summaries import integrated
from glassformer.look.summaries.contributions import contributions
from glassformer.look.summaries.integrated import integrated_gradients
from glassformer.look.trace.interventions import patch
from tests.look.rows import ALL
from tests.look.test_summing import WITH_HEAD, traced
from tests.refusals import refused

Array = np.ndarray[Any, np.dtype[np.float64]]
CLOSE = 1e-10  # float64: sums of some hundred terms of size 1, whose norms divide by deviations of about 0.1
EVERY = [row.name for row in ALL]


def held_norm(found: Trace, name: str, x: str, moved: Array, row: int) -> Array:
    """A norm without its bias whose mean is taken of what moves, and whose deviation is that of the run."""
    rule: Any = found.statement.formulas[name].rule
    given = found[x][row].numpy()
    if rule.centred:
        given, moved = given - given.mean(-1, keepdims=True), moved - moved.mean(-1, keepdims=True)
    gain = found.tensor(f"parameters.{name}.weight").numpy()
    return moved / np.sqrt((given**2).mean(-1, keepdims=True) + rule.epsilon) * gain


def carried(found: Trace, part: str, own: Array, sentence: int, place: int, word: int) -> float:
    """What one tensor (or `own` in its place) alone makes of a logit, on a straight way forward."""
    side = "encoder" if found.config.decoder is None else "decoder"
    stack = found.config.output_stack
    nothing = np.zeros_like(found[found.statement.entering["states"]][sentence].numpy())
    moved = own if part.startswith(f"{side}.embed.") else nothing
    if stack.embed.norm is not None:
        moved = held_norm(found, f"{side}.embed.norm", f"{side}.embed.sum", moved, sentence)
    for index, block in enumerate(stack.blocks):
        for kind in ("self_attention", "cross_attention", "feed_forward"):
            sublayer = getattr(block, kind)
            if sublayer is None:
                continue
            path = f"{side}.blocks.{index}.{kind}"
            update = own if part == f"{path}.output" else nothing
            if sublayer.norm is not None and sublayer.norm_at == "branch":
                update = held_norm(found, f"{path}.norm", f"{path}.output", update, sentence)
            moved = moved + update if sublayer.residual else update
            if sublayer.norm is not None and sublayer.norm_at == "after":
                x = f"{path}.residual" if sublayer.residual else f"{path}.output"
                moved = held_norm(found, f"{path}.norm", x, moved, sentence)
    if stack.norm is not None:
        moved = held_norm(found, f"{side}.norm", found.statement.entering[f"{side}.norm"], moved, sentence)
    head: Any = found.config.head
    vector = moved[found.chosen_tokens[place][1]]
    if head.transform:
        vector = found.tensor("parameters.head.dense.weight").numpy() @ vector
        vector = vector * found["head.activated"][place].numpy() / found["head.hidden"][place].numpy()
        if head.norm is not None:
            vector = held_norm(found, "head.norm", "head.activated", vector, place)
    rule: Any = found.statement.formulas["head.logits"].rule
    return float(found.tensor(rule.right.name)[word].numpy() @ vector) * rule.scale


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", EVERY)
def test_the_parts_sum_to_the_logit(name: str) -> None:
    found = traced(name)
    if not any(each in found for each in ("head.logits", "sentence_head.logits", "token_head.logits")):
        with pytest.raises(ConfigError):
            contributions(found)
        return
    result = contributions(found)
    assert result.total == pytest.approx(result.value, abs=CLOSE)
    for part in result.parts:
        assert part.value == pytest.approx(float(part.words.sum()) + part.bias, abs=CLOSE)
    attended = [part for part in result.parts if part.tensor.endswith("attention.output")]
    last = "encoder.blocks." if found.config.decoder is None else "decoder.blocks."
    whole = all(part.residual for block in found.config.output_stack.blocks for part in (block.feed_forward,) if part)
    # Without a residual connection a feed-forward takes the place of all that was before it.
    assert len(attended) == (sum(each.startswith(last) and each.endswith("attention.output") for each in found) * whole)


@pytest.mark.parametrize("name", WITH_HEAD)
def test_each_part_is_what_it_makes_of_the_logit_alone(name: str) -> None:
    found = traced(name)
    if "place" not in found.axes("head.logits"):
        pytest.skip("this family scores every token: its place has two indices, tested by the sum")
    place, word = 1, 3
    sentence, _ = found.chosen_tokens[place]
    result = contributions(found, f"head.logits[place={place},vocabulary={word}]")
    assert result.parts
    for part in result.parts:
        assert part.value == pytest.approx(
            carried(found, part.tensor, found[part.tensor][sentence].numpy(), sentence, place, word), abs=CLOSE
        ), part.tensor


def test_the_share_of_a_head_is_what_the_output_loses_without_it() -> None:
    found = traced("bert")
    result = contributions(found)
    part = next(part for part in result.parts if part.tensor == "encoder.blocks.1.self_attention.output")
    name = "encoder.blocks.1.self_attention.mixed"
    mixed = found[name].clone()
    mixed[:, 1] = 0.0
    without = found.run_again((patch({name: mixed}, name),))[part.tensor]  # type: ignore[misc]  # a fresh trace has it
    cell, (sentence, _) = result.cell, found.chosen_tokens[result.cell["place"]]
    lost = (found[part.tensor] - without)[sentence].numpy()
    share = carried(found, part.tensor, lost, sentence, cell["place"], cell["vocabulary"])
    assert share == pytest.approx(float(part.words[1].sum()), abs=CLOSE)


@pytest.mark.parametrize(
    "change",
    [
        gf.zero_head("encoder.blocks.0.self_attention", 1),
        gf.average_head("encoder.blocks.1.self_attention", 0),
        gf.zero_layer("encoder.blocks.1"),
        gf.average_layer("encoder.blocks.0.self_attention"),
        gf.set_number("head.activated", (0, 3), 5.0),
    ],
    ids=str,
)
def test_the_parts_sum_to_the_logit_after_a_change(change: Any) -> None:
    found = traced("bert").intervene(change)
    result = contributions(found)
    assert result.total == pytest.approx(result.value, abs=CLOSE)


def test_a_head_without_an_output_has_no_share() -> None:
    found = traced("bert").intervene(gf.zero_head("encoder.blocks.0.self_attention", 1))
    part = next(part for part in contributions(found).parts if part.tensor == "encoder.blocks.0.self_attention.output")
    assert not part.words[1].any()
    assert part.words[0].any()


@pytest.mark.parametrize("steps", [8, 16, 23, 24, 40])
def test_integrated_gradients_are_at_most_so_many(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found, counted = traced("bert"), list[int]()
    usual = integrated._Way.piece

    def piece(way: Any, *ends: float) -> Any:
        counted.append(integrated.POINTS)
        return usual(way, *ends)

    monkeypatch.setattr(integrated._Way, "piece", piece)
    result = integrated_gradients(found, steps=steps)
    assert sum(counted) <= steps
    assert math.isfinite(result.error) is (steps >= 24)  # a piece without halves has no estimate


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_integrated_gradients_are_those_of_many_small_steps(name: str) -> None:
    found = traced(name)
    result = integrated_gradients(found, steps=512)
    assert abs(result.missing) <= 0.01 * abs(result.value - result.baseline)
    cell = tuple(result.cell.values())
    assert result.value == pytest.approx(float(found[result.goal][cell]), abs=CLOSE)
    starts = without_words(found)
    steps = 50
    shares = {key: torch.zeros(found[key].shape[1]) for key in starts}  # of each token
    for step in range(steps):
        place = {key: start + (step + 0.5) / steps * (found[key] - start) for key, start in starts.items()}
        for key, its in shares.items():
            others = [patch({each: place[each]}, each) for each in place if each != key]
            for token in range(len(its)):
                ends = []
                for sign in (1, -1):
                    end = place[key].clone()
                    end[:, token] += sign * 1e-4 * (found[key] - starts[key])[:, token]
                    ends.append(float(found.run_again((*others, patch({key: end}, key)))[result.goal][cell]))  # type: ignore[misc]  # a fresh trace has it
                its[token] += (ends[0] - ends[1]) / 2e-4 / steps
    for key, expected in shares.items():
        found_shares = result.of[found.statement.formulas[key].tokens][0].tolist()
        # The midpoints err by about a thousandth, the halved pieces by at most a hundredth of the difference.
        assert found_shares == pytest.approx(expected.tolist(), abs=0.012 * abs(result.value - result.baseline) + 1e-3)


@pytest.mark.long
def test_integrated_gradients_are_right_for_each_token() -> None:
    found = gf.load("english", engine="torch").trace("He was born in [MASK].")
    result = integrated_gradients(found)
    # From the export of `english` in transformers, float64, 400 pieces of eight points each. The sum alone was right to
    # 1 % where a share was wrong by 3: errors of tokens cancel.
    expected = [0.154, -1.959, -5.417, 4.608, 8.737, 4.303, 1.271, 0.682]
    assert result.of["inputs"][0].tolist() == pytest.approx(expected, abs=0.01)
    assert result.missing == pytest.approx(0, abs=0.01)
    assert result.error < 0.02 * 8.737
    coarse = integrated_gradients(found, steps=64)
    assert coarse.error > max(abs(a - b) for a, b in zip(coarse.of["inputs"][0].tolist(), expected, strict=True))


def without_words(found: Trace) -> dict[str, torch.Tensor]:
    """What enters the first blocks where each word's vector is the mean of its table."""
    steps = []
    for side in ("encoder", "decoder"):
        if (name := f"{side}.embed.word") in found:
            rule: Any = found.statement.formulas[name].rule
            mean = found.tensor(rule.table.name).mean(0) * rule.scale
            steps.append(patch({name: mean.expand_as(found[name]).clone()}, name))
    start = found.run_again(tuple(steps))  # type: ignore[misc]  # a fresh trace has it
    return {
        entering: start[entering]
        for side in ("encoder", "decoder")
        if (entering := found.statement.entering.get(f"{side}.blocks.0", "")) in found
    }


def test_what_is_asked_wrongly_is_refused() -> None:
    found = gf.load("slides").trace("She [MASK] better")
    with refused(ConfigError, wanted="logit of a head", got="head.probabilities"):
        gf.contributions(found, "head.probabilities[place=0,vocabulary=cook]")
    for steps in (0, 7, 1.5, True, None, 5000):
        with pytest.raises(ConfigError):
            gf.integrated_gradients(found, steps=steps)  # type: ignore[arg-type]  # that is what is tested
    assert math.isclose(gf.contributions(found).total, gf.contributions(found).value, rel_tol=1e-5)
