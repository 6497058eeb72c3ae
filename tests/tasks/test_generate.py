"""The verb `generate`: what is written after a prompt is what the logits say, alone, among others, and as a stream."""

import json
import math

import pytest
import torch

import glassformer as gf
from glassformer.answering.answers import answer
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError
from glassformer.decode.request import text_after
from glassformer.models.inputs import Inputs
from glassformer.tasks.writing.language_model.task import LanguageModelSection
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer
from tests.refusals import refused
from tests.translators import translating
from tests.writers import READ, TEXTS, byte_pairs, writing

PROMPTS = ["She likes", "", " and 中", "The quick brown fox", "☃", "They go hiking.\n\n"]
ORDER = 1e-10
GREEDY = gf.DecodeSettings(max_tokens=9)


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def model(request: pytest.FixtureRequest) -> gf.Model:
    return writing(request.param)


def naive(model: gf.Model, prompt: str, most: int) -> tuple[list[int], list[float]]:
    """The likeliest token after another, everything computed again for each of them."""
    begin = model.tokenizer.begin_id
    assert begin is not None
    given = [begin, *(model.tokenizer.ids(prompt) if prompt else [])]
    found: list[int] = []
    logs = []
    with torch.no_grad():
        while len(found) < most:
            logits = model.module(Inputs(ids=torch.tensor([[*given, *found]]))).logits[0, -1]
            found.append(int(logits.argmax()))
            logs.append(float(logits.log_softmax(-1)[found[-1]]))
            if found[-1] == begin:
                break
    return found, logs


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_writes_the_likeliest_token_after_another(model: gf.Model, prompt: str) -> None:
    found = model.generate(prompt, search=GREEDY)
    expected, logs = naive(model, prompt, 9)
    assert [each.token for each in found.tokens] == [model.tokenizer.token(id_) for id_ in expected]
    assert [each.log_probability for each in found.tokens] == pytest.approx(logs, abs=ORDER)
    assert found.log_probability == pytest.approx(math.fsum(logs), abs=ORDER)
    assert found.text == prompt + found.generated
    assert found.ended == (expected[-1] == model.tokenizer.end_id)
    assert found == model.generate(prompt, beams=1, max_tokens=9)


@pytest.mark.sampled(1)
def test_a_text_is_the_same_alone_and_among_others(model: gf.Model) -> None:
    few: dict[str, object] = {"max_tokens": 9}
    for options in ({"seed": 3, **few}, {"beams": 3, **few}, {"n_best": 3, "temperature": 1.5, **few}):
        together = written(model, PROMPTS * 2, options)
        assert [*(found for text in PROMPTS for found in written(model, [text], options))] * 2 == together


def written(model: gf.Model, texts: list[str], options: dict[str, object]) -> list[list[str]]:
    found = answer(model, "generate", [({"text": text}, "") for text in texts], options)
    return [[each.generated, *(other.generated for other in each.n_best)] for each in found]


def test_a_seed_draws_the_same_and_another_one_something_else(model: gf.Model) -> None:
    one, again, other = (model.generate(PROMPTS, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert [each.generated for each in one] != [each.generated for each in other]
    several = model.generate("She likes", n_best=4, temperature=2.0, top_p=1.0)
    assert len(several.n_best) == 4
    assert len({each.generated for each in several.n_best}) > 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_stream_is_what_is_written(model: gf.Model, prompt: str) -> None:
    for seed in range(3):
        words, parts = model.stream_generation(prompt, seed=seed, max_tokens=12, stop=["e"]), []
        while True:
            try:
                parts.append(next(words))
            except StopIteration as end:
                found = end.value
                break
        whole = model.generate(prompt, seed=seed, max_tokens=12, stop=["e"])
        assert "".join(parts) == found.generated == whole.generated
        assert "e" not in found.generated
        assert found == whole


def test_a_stop_string_ends_a_text_and_one_that_never_comes_does_not(model: gf.Model) -> None:
    free = model.generate("She likes", search=GREEDY)
    letter = next(letter for letter in free.generated if letter.strip())
    stopped = model.generate("She likes", beams=1, max_tokens=9, stop=[letter])
    assert stopped.generated == free.generated[: free.generated.index(letter)]
    assert stopped.ended
    assert model.generate("She likes", beams=1, max_tokens=9, stop=["no such thing"]).generated == free.generated


def test_a_stop_string_with_a_blank_first_ends_a_text_at_its_first_token() -> None:
    """Decoders of Llama and others strip the blank from the first token of what is decoded."""
    settings = byte_pairs().settings
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    settings["decoder"] = {"type": "Sequence", "decoders": [settings["decoder"], strip]}
    tokenizer = Tokenizer(json.dumps(settings), GPT2)
    free = (
        (Model(writing(seed=seed).module, tokenizer, task=LanguageModelSection(), length=READ), prompt)
        for seed in range(20)
        for prompt in PROMPTS[2:]
    )
    model, prompt = next(each for each in free if each[0].generate(each[1], search=GREEDY).generated[:1] == " ")
    stopped = model.generate(prompt, beams=1, max_tokens=9, stop=[" "])
    assert (stopped.generated, stopped.ended, len(stopped.tokens)) == ("", True, 1)
    assert model.score("☃ naïve").bytes == len("☃ naïve".encode())


def test_of_a_prompt_longer_than_the_model_reads_the_end_is_read(model: gf.Model) -> None:
    long = " ".join(TEXTS * 3)
    found = model.generate(long, beams=1, max_tokens=100)
    count = len(model.tokenizer.ids(long))
    assert found.left_out
    assert len(found.notes) == 1
    kept = count - found.left_out
    assert kept + len(found.tokens) <= READ + 1
    assert len(found.tokens) >= READ // 4 or found.ended
    ids = model.tokenizer.ids(long)[found.left_out :]
    with torch.no_grad():
        first = model.module(Inputs(ids=torch.tensor([ids]))).logits[0, -1].argmax()
    assert found.tokens[0].token == model.tokenizer.token(int(first))
    assert not model.generate("She", beams=1, max_tokens=3).left_out


def test_the_blank_between_a_prompt_and_what_follows_is_kept(model: gf.Model) -> None:
    tokenizer = model.tokenizer
    for text in TEXTS:
        ids = tokenizer.ids(text)
        for cut in range(1, len(ids)):
            joined = tokenizer.decode(ids[:cut]).rstrip("\ufffd") + text_after(tokenizer.decode, ids[:cut], ids[cut:])
            assert joined == text


def test_a_forced_text_with_a_forbidden_one_is_refused_by_their_letters(model: gf.Model) -> None:
    with refused(ConfigError, wanted="'a small dog'", got="'dog'", do="leave one"):
        model.generate("She", beams=4, forced=["a small dog"], forbidden=["dog"])


def test_what_cannot_be_asked_is_refused() -> None:
    model = writing()
    with refused(ConfigError, got="n_best = 2"):
        model.stream_generation("She", search=gf.DecodeSettings(method="sample", n_best=2))
    with pytest.raises(ConfigError):
        model.generate("She", max_tokens=0)
    with pytest.raises(ConfigError):
        model.generate("She", search=GREEDY, beams=2)
    with pytest.raises(ConfigError):
        translating().generate("She")
    with pytest.raises(DataError):
        list(answer(model, "generate", [({"text": 3}, "here")], {}))
    with pytest.raises(ConfigError):
        model.translate("She")
