"""What a model says about masked words, against the same thing computed by hand, one text and one mask at a time."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError, DeviceError, NotFiniteError, TokenizerError
from glassformer.models.families import bert, gpt2, slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.saved import artefact
from glassformer.tasks.predictor import Context
from glassformer.tasks.words.annotated_masks.settings import AnnotatedMasksSection
from glassformer.tasks.words.masked_lm.fill import Fill
from glassformer.tasks.words.masked_lm.likelihood import PseudoLikelihood
from glassformer.text.special import NONE
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from tests.refusals import refused

TEXT = "She [MASK] the summer [MASK] than the winter."
# Float64 rounds at 1e-16; a softmax over 160 tokens after two layers adds up some hundred of these.
CLOSE = 1e-13


def by_hand(model: Model, ids: list[int], place: int) -> Tensor:
    """Probabilities [V] at one place of one row, without batch, padding or chosen places."""
    logits = model.module(Inputs(ids=torch.tensor([ids]))).logits
    assert logits is not None
    return logits[0, place].softmax(dim=-1)


@pytest.fixture
def exact(model: Model) -> Model:
    model.module.double()
    return model


def test_fill_gives_the_likeliest_tokens_at_their_places(exact: Model) -> None:
    filled = exact.fill(TEXT, top=4)
    ids = exact.tokenizer.encode(TEXT).ids
    places = [place for place, id_ in enumerate(ids) if id_ == exact.tokenizer.mask_id]
    assert [(mask.start, mask.end) for mask in filled.masks] == [(4, 10), (22, 28)]
    assert all(TEXT[mask.start : mask.end] == "[MASK]" for mask in filled.masks)
    for mask, place in zip(filled.masks, places, strict=True):
        chances = by_hand(exact, ids, place)
        chances[sorted(exact.tokenizer.special_ids)] = 0
        best = chances.topk(4)
        assert [guess.token for guess in mask.guesses] == [exact.tokenizer.token(id_) for id_ in best.indices.tolist()]
        found = torch.tensor([guess.probability for guess in mask.guesses], dtype=torch.float64)
        assert (found - best.values).abs().max() < CLOSE


def test_an_answer_does_not_depend_on_its_neighbours(exact: Model) -> None:
    texts = [TEXT, "[MASK]", "He loves to [MASK] healthy food for his friends and for all the others.", TEXT]
    together = exact.fill(texts, top=3)
    for text, among in zip(texts, together, strict=True):
        alone = exact.fill(text, top=3)
        assert (alone.text, alone.filled, alone.windows) == (among.text, among.filled, among.windows)
        for one, two in zip(alone.masks, among.masks, strict=True):
            for left, right in zip(one.guesses, two.guesses, strict=True):
                assert left.token == right.token
                assert abs(left.probability - right.probability) < CLOSE


def test_score_hides_each_token_in_turn(exact: Model) -> None:
    text = "He loves to cook."
    scored = exact.score(text)
    encoding = exact.tokenizer.encode(text)
    mask = exact.tokenizer.mask_id
    assert mask is not None
    wanted = []
    for place, id_ in enumerate(encoding.ids):
        if not encoding.special[place]:
            masked_ids = [*encoding.ids[:place], mask, *encoding.ids[place + 1 :]]
            wanted.append(by_hand(exact, masked_ids, place)[id_].log().item())
    assert [token.log_probability for token in scored.tokens] == pytest.approx(wanted, abs=CLOSE)
    assert scored.total == pytest.approx(sum(wanted), abs=1e-12)
    assert scored.perplexity == pytest.approx(math.exp(-sum(wanted) / len(wanted)), rel=1e-12)
    assert [text[token.start : token.end].lower() for token in scored.tokens][:2] == ["he", "loves"]
    assert exact.score([text, text]) == [scored, scored] or exact.score([text, text])[0].total == pytest.approx(
        scored.total, abs=1e-12
    )


def test_a_long_text_is_read_in_windows(exact: Model) -> None:
    text = " ".join(["the quick brown fox", "[MASK]", "over the lazy dog and she likes the summer"] * 6)
    assert exact.max_text_tokens == 14
    filled = exact.fill(text, top=2)
    assert filled.windows > 1
    assert len(filled.masks) == 6
    assert all(text[mask.start : mask.end] == "[MASK]" for mask in filled.masks)
    # The last mask is answered from the window that holds most around it, as if that were all there is.
    encoding = exact.tokenizer.encode(text, special=False)
    place = [index for index, masked in enumerate(encoding.masked_words) if masked][-1]
    before, after = exact.tokenizer.frame_ids
    rows = [
        (min(place - start, start + 13 - place), start)
        for start in range(max(0, place - 13), min(place, len(encoding) - 14) + 1)
    ]
    answers = []
    for _, start in rows:
        ids = [*before, *encoding.ids[start : start + 14], *after]
        answers.append(
            by_hand(exact, ids, place - start + len(before))[exact.tokenizer.id(filled.masks[-1].guesses[0].token)]
        )
    assert min(abs(answer - filled.masks[-1].guesses[0].probability) for answer in answers) < CLOSE
    scored = exact.score(text)
    assert len(scored.tokens) == len(encoding) - 6
    assert scored.windows > 1


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "words"])
def test_every_kind_of_tokenizer_fills(kind: Kind, sentences: tuple[str, ...]) -> None:
    tokenizer = train_tokenizer(kind, sentences * 3, vocabulary=320)
    module = build(bert(size="tiny", layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=32))
    filled = Model(module, tokenizer).fill("He loves to [MASK] food", top=tokenizer.vocabulary_size)
    (mask,) = filled.masks
    assert (mask.start, mask.end) == (12, 18)
    # All tokens but the special ones, and as all chances together are 1, less what the special ones have.
    assert len(mask.guesses) == tokenizer.vocabulary_size - len(tokenizer.special_ids)
    assert 0.8 < sum(guess.probability for guess in mask.guesses) <= 1 + 1e-6
    whole = next(guess for guess in mask.guesses if guess.token.lstrip("Ġ▁") == "the")
    assert whole.word == "the"
    assert not whole.joins


def test_a_guess_that_goes_on_a_word_is_written_onto_it(tokenizer: Tokenizer) -> None:
    module = build(bert(size="tiny", layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=32))
    model = Model(module, tokenizer)
    everything = model.fill("the f [MASK] jumps", top=tokenizer.vocabulary_size).masks[0].guesses
    assert all(
        guess.joins == guess.token.startswith("##")
        for guess in everything
        if guess.token[0].isalnum() or "##" in guess.token
    )
    best = model.fill("the f [MASK] jumps", top=1)
    joint = "f" if best.masks[0].guesses[0].joins else "f "
    assert best.filled == f"the {joint}{best.masks[0].guesses[0].word} jumps"


def test_a_mask_that_is_a_word_of_its_own_is_filled_with_a_word(tokenizer: Tokenizer) -> None:
    module = build(bert(size="tiny", layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=32))
    assert module.head is not None
    assert module.head.bias is not None
    first, second = (
        next(id_ for id_ in range(tokenizer.vocabulary_size) if tokenizer.token(id_).startswith("##") is joins)
        for joins in (True, False)
    )
    second = max(second, *tokenizer.encode("the", special=False).ids)
    with torch.no_grad():
        module.head.bias[first], module.head.bias[second] = 60.0, 30.0
    model = Model(module, tokenizer)
    apart, written = model.fill("we [MASK] now", top=3), tokenizer.token(second)
    assert [guess.joins for guess in apart.masks[0].guesses[:2]] == [True, False]  # what the model says stays
    assert apart.filled == f"we {written} now"
    assert model.fill("we [MASK] now", top=1).filled == f"we{apart.masks[0].guesses[0].word} now"
    assert model.fill("we[MASK] now", top=3).filled == f"we{apart.masks[0].guesses[0].word} now"


def test_the_slides_style_hides_without_a_mask_in_the_vocabulary() -> None:
    tokenizer = train_tokenizer("words", ["She likes the summer better"], vocabulary=5, lowercase=False, special=NONE)
    module = build(slides(vocabulary=5)).double()
    model = Model(module, tokenizer, task=AnnotatedMasksSection())
    filled = model.fill("She [MASK] [MASK] summer better", top=5)
    masked_words = torch.tensor([[False, True, True, False, False]])
    ids = torch.tensor([[tokenizer.id("She"), 0, 0, tokenizer.id("summer"), tokenizer.id("better")]])
    logits = module(Inputs(ids=ids, masked_words=masked_words)).logits
    assert logits is not None
    for mask, place in zip(filled.masks, (1, 2), strict=True):
        chances = {guess.token: guess.probability for guess in mask.guesses}
        wanted = logits[0, place].softmax(dim=-1).tolist()
        assert [chances[token] for token in tokenizer.vocabulary()] == pytest.approx(wanted, abs=CLOSE)


# --------------------------------------------------------------------------- what is refused


def test_a_text_without_a_mask(model: Model) -> None:
    with pytest.raises(DataError) as caught:
        model.fill("She likes the summer")
    assert "[MASK]" in caught.value.wanted
    assert caught.value.got == "'She likes the summer'"
    with pytest.raises(DataError) as caught:
        Fill(model.tokenizer, max_text_tokens=None).example({"text": "She likes"}, "notes.txt, line 3")
    assert caught.value.wanted.startswith("notes.txt, line 3: ")


@pytest.mark.parametrize("top", [0, -1])
def test_no_guesses_at_all(model: Model, top: int) -> None:
    for texts in (TEXT, [TEXT, TEXT]):
        with pytest.raises(ConfigError) as caught:
            model.fill(texts, top=top)
        assert "top" in caught.value.wanted
        assert caught.value.got == str(top)


def test_a_text_of_blanks_has_no_score(model: Model) -> None:
    with pytest.raises(DataError) as caught:
        model.score("  \n ")
    assert caught.value.got == repr("  \n ")


def test_a_model_that_cannot_fill(tokenizer: Tokenizer, text_file: Path) -> None:
    writer = build(gpt2(size="small", layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size))
    headless = build(
        bert(size="tiny", layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, vocabulary_head=False)
    )
    for module, family in ((writer, "gpt2"), (headless, "bert")):
        model = Model(module, tokenizer)
        # A decoder scores texts, and is measured, by the tokens before each token.
        without_head = (lambda model: model.score("She likes"), lambda model: model.evaluate(text_file))
        for ask in (
            lambda model: model.fill("She [MASK]"),
            *(without_head if family == "bert" else ()),
            lambda model: Fill.of(model.module, tokenizer, Context()),
            lambda model: PseudoLikelihood.of(model.module, tokenizer, Context()),
        ):
            with pytest.raises(ConfigError) as caught:
                ask(model)
            assert family in caught.value.got
            assert caught.value.do


def test_a_model_with_broken_weights(model: Model) -> None:
    next(model.module.parameters()).data.fill_(math.nan)
    with pytest.raises(NotFiniteError) as caught:
        model.fill("She [MASK]")
    assert "'She [MASK]'" in caught.value.got
    assert "learning rate" in caught.value.do


def test_a_model_without_its_tokenizer(model: Model) -> None:
    with pytest.raises(TokenizerError) as caught:
        Model(model.module).fill("She [MASK]")
    assert "model.module" in caught.value.do


def test_a_tokenizer_of_another_model(model: Model, sentences: tuple[str, ...]) -> None:
    other = train_tokenizer("bpe", sentences, vocabulary=300)
    known = model.config.output_stack.embed.vocabulary
    with refused(TokenizerError, wanted=str(known), got=str(other.vocabulary_size)):
        Model(model.module, other)


# --------------------------------------------------------------------------- precision


def test_fast_is_close_and_leaves_the_weights_alone(
    model: Model, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artefact, "has_fast_bfloat16", lambda device: True)
    path = model.save(f"{tmp_path}/saved")
    exactly, fast = load(path, device="cpu"), load(path, device="cpu", fast=True)
    assert all(parameter.dtype == torch.float32 for parameter in fast.module.parameters())
    one, two = (each.score("She likes the summer.").total for each in (exactly, fast))
    # bfloat16 keeps 8 bits: a log-probability of about 5 is known to about 0.02, and there are six of them.
    assert one != two
    assert abs(one - two) < 0.3
    assert "bfloat16" in fast.info()["prediction"]["precision"]


def test_where_bfloat16_is_emulated_fast_is_float32_and_says_so(
    model: Model, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artefact, "has_fast_bfloat16", lambda device: False)
    path = model.save(f"{tmp_path}/saved")
    exactly, fast = (load(path, device="cpu", fast=fast) for fast in (False, True))
    assert exactly.score("She likes the summer.").total == fast.score("She likes the summer.").total
    assert exactly.info()["prediction"]["precision"] == "float32"
    assert fast.info()["prediction"]["precision"].startswith("float32 (")


def test_float64_is_never_fast_and_says_so(model: Model, tmp_path: object) -> None:
    path = model.save(f"{tmp_path}/saved")
    exactly, fast = (load(path, device="cpu", dtype="float64", fast=fast) for fast in (False, True))
    assert exactly.score("She likes the summer.").total == fast.score("She likes the summer.").total
    assert fast.info()["prediction"]["precision"] == "float64"
    assert fast.trace("She likes the summer.").honesty.predicted_in == "float64"


def test_the_type_of_the_weights(model: Model, tmp_path: object) -> None:
    path = model.save(f"{tmp_path}/saved")
    assert next(load(path, dtype="float64").module.parameters()).dtype == torch.float64
    assert next(load(path, dtype=torch.bfloat16).module.parameters()).dtype == torch.bfloat16
    with pytest.raises(ConfigError) as caught:
        load(path, dtype="flaot32")
    assert caught.value.got == "'flaot32'"
    assert "'float32'" in caught.value.do


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here, so that asking for it is no mistake")
def test_a_gpu_that_is_not_there(model: Model, tmp_path: object) -> None:
    path = model.save(f"{tmp_path}/saved")
    with pytest.raises(DeviceError) as caught:
        load(path, device="cuda")
    assert "'cuda'" in caught.value.wanted


@pytest.mark.parametrize("device", ["meta", "xpu", "cpu:zero"])
def test_a_device_that_we_do_not_compute_on(model: Model, tmp_path: object, device: str) -> None:
    path = model.save(f"{tmp_path}/saved")
    with pytest.raises(DeviceError) as caught:
        load(path, device=device)
    assert repr(device) in caught.value.wanted
