"""What a CRF shows of itself, against all sequences of labels written out; and the walk-through that ends with it."""

from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from glassformer.api.trace import Trace, trace
from glassformer.look.texts.walkthrough import walkthrough
from glassformer.look.trace.interventions import Replace
from glassformer.models.chain import viterbi
from glassformer.models.inputs import Inputs
from tests.look.rows import ALL

LABELS, PATH = 4, "token_head.crf"
BY_CRF = next(row for row in ALL if row.name == "bert, tags by a CRF")


def traced(labelled: list[bool], seed: int = 5) -> Trace:
    ids = torch.randint(3, 20, (1, len(labelled)), generator=torch.Generator().manual_seed(seed))
    return trace(BY_CRF.model(), Inputs(ids=ids, labelled=torch.tensor([labelled])))


def scores(found: Trace, tokens: list[int]) -> dict[tuple[int, ...], float]:
    """The score of each sequence of labels of these tokens."""
    logits = found["token_head.logits"][0, tokens]  # [N, L]
    steps, first, last = (found.tensor(f"parameters.{PATH}.{name}") for name in ("steps", "first", "last"))

    def score(labels: tuple[int, ...]) -> float:
        total = first[labels[0]] + last[labels[-1]] + sum(logits[token, label] for token, label in enumerate(labels))
        return float(total + sum(steps[one, two] for one, two in pairwise(labels)))

    return {labels: score(labels) for labels in product(range(LABELS), repeat=len(tokens))}


@pytest.mark.parametrize(
    "labelled",
    [[True] * 5, [False, True, True, False, True, False], [False, False, True], [True, False, False, True, True]],
    ids=str,
)
def test_the_forward_sum_and_the_best_path_are_those_of_all_sequences(labelled: list[bool]) -> None:
    found, tokens = traced(labelled), [token for token, here in enumerate(labelled) if here]
    known = scores(found, tokens)
    total = torch.tensor(list(known.values()), dtype=torch.float64).logsumexp(dim=0)
    best = max(known, key=known.__getitem__)
    assert float(found[f"{PATH}.log_total"]) == pytest.approx(float(total), abs=1e-12)
    assert float(found[f"{PATH}.best_score"]) == pytest.approx(known[best], abs=1e-12)
    assert float(found[f"{PATH}.log_probability"]) == pytest.approx(known[best] - float(total), abs=1e-12)
    path: Tensor = found[f"{PATH}.path"][0]  # [S, L]
    assert path.sum(dim=1).tolist() == [float(here) for here in labelled]
    assert tuple(path[tokens].argmax(dim=1).tolist()) == best
    assert found.verify(f"{PATH}.*").holds


def test_it_is_the_path_that_is_decoded_and_the_sum_that_is_learned_from() -> None:
    labelled = [False, True, True, False, True, True]
    found = traced(labelled)
    assert found.replay is not None
    head = found.replay.model.token_head
    assert head is not None
    crf, here = head.crf, torch.tensor([labelled])
    assert crf is not None
    logits, path = found["token_head.logits"], found[f"{PATH}.path"].argmax(dim=2)
    assert viterbi(logits[here].detach().numpy(), crf.chain).tolist() == path[here].tolist()
    torch.testing.assert_close(crf.log_likelihood(logits, path, here), found[f"{PATH}.log_probability"])


def test_a_text_without_labelled_tokens_has_zeros() -> None:
    found = traced([False] * 4)
    for name in ("totals", "best", "path", "log_total", "best_score", "log_probability"):
        assert not found[f"{PATH}.{name}"].any()
    assert found.verify(f"{PATH}.*").holds


def test_without_a_word_about_it_all_tokens_but_padding_are_labelled() -> None:
    inputs, _ = BY_CRF.batch(padding="left")
    found = trace(BY_CRF.model(), inputs)
    assert inputs.real is not None
    assert torch.equal(found.facts["inputs.labelled"], inputs.real)
    assert torch.equal(found[f"{PATH}.path"].sum(dim=2), inputs.real.double())


def test_a_wrong_step_is_noticed_where_it_is() -> None:
    found = traced([True] * 5)
    name = f"{PATH}.totals"
    wrong = found[name].clone()
    wrong[0, 2, 1] += 1e-9
    checked = replace(found, stored={**found.stored, name: wrong}).verify(name)
    assert not checked.holds
    assert checked.worst.worst[:2] in ((0, 2), (0, 3))


def test_a_changed_logit_changes_the_path() -> None:
    found = traced([True] * 5)
    label = int(found[f"{PATH}.path"][0, 2].argmin())
    other = found.intervene(Replace("token_head.logits", 100.0, (0, 2, label)))
    assert other[f"{PATH}.path"][0, 2].argmax() == label
    assert other.verify(f"{PATH}.*").holds


def test_the_walk_goes_from_scores_to_the_best_path_at_a_labelled_word() -> None:
    found = traced([False, True, True, True, False])
    steps = [step for step in walkthrough(found) if step.name.startswith("token_head.")]
    order = [step.name.removeprefix("token_head.") for step in steps]
    assert order == ["logits", "log_probabilities", "probabilities", "crf.totals", "crf.log_total", "crf.best",
                     "crf.best_score", "crf.path", "crf.log_probability"]  # fmt: skip
    by_name = {step.name: step for step in steps}
    for name in ("totals", "best", "path"):
        assert {cell.cell["token"] for cell in by_name[f"{PATH}.{name}"].cells} == {2}
        assert all(cell.error <= 1e-12 for cell in by_name[f"{PATH}.{name}"].cells)
