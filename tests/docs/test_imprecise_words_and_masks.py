"""What the source documents say of words, masks and their printed numbers, tried out: C-3, C-4, C-20, C-28, C-30, C-33.

B sentences · S tokens · Q query words · K key words · W width
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.bundled.texts import quick_brown_fox, score_table
from glassformer.data.batches.corrupt import mask_words
from glassformer.models.families import bert, slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.mask import build_fill
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from tests.contracts.families import random_weights
from tests.taps import record_taps

ATTENTION = "encoder.blocks.0.self_attention"
MASK = 4


def tiny_bert() -> Transformer:
    config = bert(vocabulary=20, layers=1, width=12, heads=3, feed_forward=16, max_length=16, dropout=0.0)
    return random_weights(Transformer(config), seed=0).double().eval()


def test_bert_lets_everyone_look_at_the_mask_and_nobody_at_padding() -> None:
    """C-3: [MASK] is a word like any other; only padding weighs nothing."""
    model = tiny_bert()
    inputs = Inputs(
        ids=torch.tensor([[7, MASK, MASK, 9, 11, 0]]), real=torch.tensor([[True] * 5 + [False]])
    )  # She [MASK] [MASK] summer better, and one place of padding
    with record_taps(model) as seen:
        model(inputs)
    weights = seen[f"{ATTENTION}.weights"][0]  # [H, Q, K]
    assert float(weights[:, :, 1:3].detach().min()) > 0
    assert bool((weights[:, :, 5] == 0).all())
    assert bool((seen["encoder.embed.word"][0, 1] != 0).any()), "its vector is learned, not zeroed"


def test_berts_mask_vector_reaches_every_word() -> None:
    """C-3: another vector for [MASK] changes every state of the sentence; in the slides' style it changes none."""
    ids = torch.tensor([[7, MASK, MASK, 9, 11]])
    masked_words = ids == MASK
    for model, changes in ((tiny_bert(), True), (random_weights(Transformer(slides()), seed=0).double().eval(), False)):
        before = model(Inputs(ids=ids, masked_words=masked_words)).states.detach()
        with torch.no_grad():
            model.word_table[MASK] += torch.randn(model.word_table.shape[1], dtype=torch.float64)
        moved = (model(Inputs(ids=ids, masked_words=masked_words)).states - before).abs().amax(dim=-1)
        assert bool((moved > 0).all()) if changes else bool((moved == 0).all())


@pytest.mark.parametrize("value", [-1000.0, -10000.0, "lowest", "-inf"])
def test_every_fill_hides_a_key_but_only_the_finite_ones_differ_where_all_are_hidden(value: float | str) -> None:
    """C-4: four fills, one result while a key is left; they part where none is (C-34)."""
    scores = torch.tensor([[2.0, -1.0, 0.5]])
    some, none = torch.tensor([[True, False, True]]), torch.zeros(1, 3, dtype=torch.bool)
    fill = build_fill("add", value)
    expected = torch.tensor([[2.0, 0.5]]).softmax(dim=-1)
    found = fill.softmax(fill(scores, some), some)
    torch.testing.assert_close(found[:, [0, 2]], expected)
    assert found[0, 1].item() == 0.0
    row = fill.softmax(fill(scores, none), none)
    assert bool(row.isfinite().all())
    assert float(row.sum()) == (0.0 if value == "-inf" else pytest.approx(1.0))


def test_masked_words_are_mostly_masked_sometimes_exchanged_sometimes_left() -> None:
    """C-20: 15 % of the tokens; 80/10/10 of those; never special ones; at most 20 in a row of 128."""
    rng = np.random.default_rng(0)
    ids = rng.integers(10, 1000, size=(1000, 128))
    ids[:, 0], ids[:, -1] = 2, 3
    maskable = (ids != 2) & (ids != 3)
    found = mask_words(
        ids,
        maskable,
        np.cumsum(maskable, axis=1),
        settings=MaskedLMSection(max_predictions=20),
        vocabulary=1000,
        mask_id=MASK,
        special_ids=frozenset(range(5)),
        seed=0,
        rows=np.arange(1000),
        epoch=0,
    )
    chosen = found.labels != -100
    count = chosen.sum()
    # Shares of 126,000 tokens and of about 19,000 chosen ones: four deviations are 0.004 and 0.012.
    assert chosen[maskable].mean() == pytest.approx(0.15, abs=0.004)
    assert not chosen[~maskable].any()
    assert chosen.sum(axis=1).min() >= 1
    assert chosen.sum(axis=1).max() <= 20
    assert (found.ids[chosen] == MASK).sum() / count == pytest.approx(0.8, abs=0.012)
    kept = (found.ids == ids)[chosen].sum() / count
    assert kept == pytest.approx(0.1, abs=0.012)
    assert (found.ids == ids)[~chosen].all()
    assert (found.labels[chosen] == ids[chosen]).all()


def test_the_masked_word_head_is_more_than_one_layer() -> None:
    """C-20: dense, GELU, norm, then the word vectors themselves and a bias; scored only where words are hidden."""
    config = bert(vocabulary=20, layers=1, width=12, heads=3, feed_forward=16, activation="gelu_tanh", dropout=0.0)
    model = random_weights(Transformer(config), seed=0).double().eval()
    inputs = Inputs(ids=torch.tensor([[7, MASK, 9], [5, 6, MASK]]))
    places = torch.tensor([1, 5])
    output = model(inputs, scored_at=places)
    weights = dict(model.head.named_parameters()) if model.head is not None else {}
    states = output.states.flatten(0, 1)[places]  # [N, W]
    hidden = F.gelu(F.linear(states, weights["dense.weight"], weights["dense.bias"]), approximate="tanh")
    normed = F.layer_norm(hidden, (12,), weights["norm.weight"], weights["norm.bias"], 1e-12)
    expected = normed @ model.word_table.T + weights["bias"]  # [N, V]
    torch.testing.assert_close(output.logits, expected, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------- the mask-matrix post

POST = quick_brown_fox()
HALF_A_DIGIT = 5e-4
"""Numbers printed with four digits, multiplied and added."""


def gram(rows: Tensor) -> Tensor:
    return rows @ rows.T


def test_the_printed_second_row_belongs_to_the_printed_matrix() -> None:
    """C-28: the second list of pair numbers is row 0 of the printed matrix times itself."""
    pairs = gram(torch.tensor(POST.features))
    assert pairs[0].tolist() == pytest.approx(POST.second_pair_vectors, abs=HALF_A_DIGIT)


def test_the_printed_first_vector_is_no_row_of_the_printed_matrix() -> None:
    """C-28: the token vector printed first is not one of the nine, nor do its pair numbers come from them."""
    features, vector = torch.tensor(POST.features), torch.tensor(POST.first_token_vector)
    assert float((features - vector).abs().amax(dim=1).min()) > 0.5
    assert float((features @ vector - torch.tensor(POST.first_pair_vectors)).abs().max()) > 1


def test_the_printed_first_vector_does_not_belong_to_its_own_pairs() -> None:
    """C-28: a vector's product with itself must be among its pair numbers; 5.76 is not."""
    vector = torch.tensor(POST.first_token_vector)
    own = float(vector @ vector)
    assert own == pytest.approx(5.76, abs=0.005)
    assert min(abs(own - number) for number in POST.first_pair_vectors) > 1


def test_the_printed_survivors_come_from_other_runs() -> None:
    """C-28: of the three single numbers left in a row, one is of the first list and none of the printed matrix."""
    own = gram(torch.tensor(POST.features)).diagonal().tolist()
    from_matrix = [abs(own[place] - number) < HALF_A_DIGIT for place, number in POST.survivors]
    from_first = [POST.first_pair_vectors[place] == number for place, number in POST.survivors]
    assert from_matrix == [False, False, False]
    assert from_first == [True, False, False]


def test_the_posts_features_know_nothing_of_the_words() -> None:
    """C-28: drawn by chance, not learned: the two places of "the" have different vectors."""
    assert POST.sentence.words[0] == POST.sentence.words[6] == "the"
    assert POST.features[0] != POST.features[6]


# --------------------------------------------------------------------------- the guide's tables


def test_the_printed_scores_are_symmetric_and_real_ones_are_not() -> None:
    """C-30: queries and keys come from different matrices; who asks matters."""
    table = torch.tensor(score_table().scores)
    assert torch.equal(table, table.T)
    model = tiny_bert()
    with record_taps(model) as seen:
        model(Inputs(ids=torch.tensor([[7, 8, 9, 11]])))
    scores = seen[f"{ATTENTION}.scores"][0].detach()
    assert float((scores - scores.transpose(-1, -2)).abs().max()) > 0.1


def test_no_query_size_turns_the_scores_into_the_printed_weights() -> None:
    """C-30: a greater score must get a greater weight at any scale: "are" scores you 54 and how 31, yet .1 and .3."""
    table = score_table()
    are, how, you = (table.words.index(word) for word in ("are", "how", "you"))
    assert table.scores[are][you] > table.scores[are][how]
    assert table.weights[are][you] < table.weights[are][how]
    scores, printed = torch.tensor(table.scores), torch.tensor(table.weights)
    nearest = min(float((scores / size**0.5).softmax(dim=-1).sub(printed).abs().max()) for size in range(1, 5000))
    assert nearest > 0.1, "even the best size is wrong by more than the printed digit"


# --------------------------------------------------------------------------- the slides' slip


def test_each_weight_goes_with_the_value_of_its_own_word() -> None:
    """C-33: the third word's weight multiplies the third word's value vector, not the second's, nor its raw vector."""
    model = random_weights(Transformer(slides()), seed=0).double().eval()
    inputs = Inputs(ids=torch.arange(5)[None])
    with record_taps(model) as seen:
        model(inputs)
    weights, value = seen[f"{ATTENTION}.weights"][0, 0, 0], seen[f"{ATTENTION}.value"][0, 0]  # [K], [K, E]
    terms = [weights[place] * value[place] for place in range(5)]
    mixed = seen[f"{ATTENTION}.mixed"][0, 0, 0]
    torch.testing.assert_close(sum(terms), mixed, rtol=0, atol=1e-12)
    slip = [*terms[:2], weights[2] * value[1], *terms[3:]]
    assert float((sum(slip) - mixed).detach().abs().max()) > 1e-3


def test_a_fully_hidden_row_depends_on_set_or_add() -> None:
    """C-34: in the slides' model such a word weighs all alike; when a fill is added, it forgets the mask."""
    model = random_weights(Transformer(slides()), seed=0).double().eval()
    inputs = Inputs(ids=torch.arange(5)[None], masked_words=torch.ones(1, 5, dtype=torch.bool))
    with record_taps(model) as seen:
        model(inputs)
    assert seen[f"{ATTENTION}.weights"].detach().unique().tolist() == pytest.approx([0.2])
    bert_model, bert_inputs = tiny_bert(), Inputs(ids=torch.tensor([[7, 8, 9]]))
    with record_taps(bert_model) as plain:
        bert_model(bert_inputs)
    with record_taps(bert_model) as padded:
        bert_model(replace(bert_inputs, real=torch.zeros(1, 3, dtype=torch.bool), positions=torch.arange(3)[None]))
    # Adding -10000 to every score rounds each at the twelfth digit.
    torch.testing.assert_close(padded[f"{ATTENTION}.weights"], plain[f"{ATTENTION}.weights"], rtol=0, atol=1e-11)
