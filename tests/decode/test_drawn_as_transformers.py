"""Sampling: the tokens that `transformers` draws where both are given the same chances, GPT-2's and Llama's layouts.

Models are in float64; only Llama's angles are float32 on their side. A chance decides a token by the probabilities laid
end to end; the one of theirs is that of ours, from (seed, request, place, sample).
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from glassformer.convert import read_huggingface, write_huggingface
from glassformer.data.batches.batch import uniform
from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.models.transformer import Transformer
from tests.contracts.families import Row
from tests.convert.sources import save
from tests.decode.sentences import answers

ALONE = ("GPT2LMHeadModel", "LlamaForCausalLM")
ENDS, SEED, LONGEST, SAMPLES = (1, 4), 5, 9, 3
PROMPTS: tuple[tuple[int, ...], ...] = ((5, 9, 3), (7,), (11, 3, 8, 20, 6), (2, 2, 2, 2))
# Settings of both, by their names here.
NAMES = {"top_k": "top_k", "no_repeat_ngram": "no_repeat_ngram_size", "min_tokens": "min_new_tokens"}
DRAWS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "warm": {"temperature": 1.6},
    "cold": {"temperature": 0.4},
    "the likeliest": {"top_k": 5},
    "together likely": {"top_p": 0.7},
    "as likely as": {"min_p": 0.2},
    "all filters": {"temperature": 1.3, "top_k": 12, "top_p": 0.9, "min_p": 0.03},
    "no repetition": {"temperature": 0.8, "repetition_penalty": 1.5, "no_repeat_ngram": 2},
    "a late end": {"temperature": 2.0, "min_tokens": 6},
}


@pytest.fixture(scope="module", params=[*ALONE, "ours gpt2", "ours llama"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Transformer]:
    """A model of transformers, written by it and read by us, or written by us and read by it."""
    folder: Path = tmp_path_factory.mktemp("model")
    if request.param in ALONE:
        theirs: Any = save(request.param, folder, eos_token_id=1, pad_token_id=0).double()
        found = read_huggingface(folder)
        ours = Transformer(found.config)
        ours.load_state_dict(found.state)
        return theirs, ours.double().eval()
    family = request.param.split()[1]
    ours = Row(family, family).model(seed=3)
    write_huggingface(folder, ours.config, ours.state_dict())
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    return theirs.eval(), ours


def drawn(
    theirs: Any, prompts: list[tuple[int, ...]], settings: dict[str, Any], *, cache: bool, patch: pytest.MonkeyPatch
) -> list[list[list[int]]]:
    """What transformers draws after each of these prompts, padded on the left, with our chances."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    numbers = [PROMPTS.index(prompt) for prompt in prompts]
    begun = [0]

    def chosen(probabilities: torch.Tensor, num_samples: int) -> torch.Tensor:
        """torch.multinomial, by given chances."""
        assert num_samples == 1
        found = []
        for row, shares in enumerate(probabilities.double().numpy()):
            prompt, sample = divmod(row, SAMPLES)
            place = np.array(len(prompts[prompt]) + begun[0])
            (chance,) = np.ravel(uniform(SEED, np.array(numbers[prompt]), place, np.array(sample)))
            reached = shares.cumsum()
            found.append([int(np.searchsorted(reached, chance * reached[-1], side="right"))])
        begun[0] += 1
        return torch.tensor(found)

    patch.setattr(torch, "multinomial", chosen)
    output = theirs.generate(
        ids,
        attention_mask=mask,
        do_sample=True,
        num_return_sequences=SAMPLES,
        max_new_tokens=LONGEST,
        eos_token_id=list(ENDS),
        pad_token_id=0,
        use_cache=cache,
        **{"top_k": 0, **{NAMES.get(name, name): value for name, value in settings.items()}},
    )
    rows = []
    for row in output[:, longest:].tolist():
        end = next((place for place, token in enumerate(row) if token in ENDS), len(row) - 1)
        rows.append(row[: end + 1])
    return [rows[at : at + SAMPLES] for at in range(0, len(rows), SAMPLES)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("draw", DRAWS)
def test_the_tokens_that_transformers_draws(
    pair: tuple[Any, Transformer], draw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours = pair
    settings = DecodeSettings.model_validate(
        {"method": "sample", "n_best": SAMPLES, "max_tokens": LONGEST, "seed": SEED, **DRAWS[draw]}
    )
    asked = [Request(number, prompt=prompt) for number, prompt in enumerate(PROMPTS)]
    found = answers(ours, asked, settings, ids=SpecialIds(2, ENDS), slots=2)
    mine = [[[*each.ids, *([] if each.end is None else [each.end])] for each in found[n]] for n in range(len(PROMPTS))]
    # Of theirs, padding on the left counts as sequences that must not be repeated: there each prompt stands alone.
    alone: list[list[tuple[int, ...]]] = [[prompt] for prompt in PROMPTS]
    batches = alone if draw == "no repetition" else [list(PROMPTS)]
    for cache in (True, False) if draw in ("all filters", "no repetition") else (True,):
        theirs_drawn = [drawn(theirs, batch, DRAWS[draw], cache=cache, patch=monkeypatch) for batch in batches]
        assert mine == [rows for batch in theirs_drawn for rows in batch]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("search", ["greedy", "beams"])
def test_batches_of_different_prompts_are_searched_as_transformers_does(
    pair: tuple[Any, Transformer], search: str
) -> None:
    theirs, ours = pair
    beams: dict[str, Any] = {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.8, "early_stopping": True}
    said = beams if search == "beams" else {}
    settings = DecodeSettings(max_tokens=LONGEST)
    if search == "beams":
        settings = DecodeSettings(
            method="beam",
            beams=3,
            n_best=2,
            length_penalty=0.8,
            length_penalty_form="power",
            early_stopping="full",
            max_tokens=LONGEST,
        )
    asked = [Request(number, prompt=prompt) for number, prompt in enumerate(PROMPTS)]
    found = answers(ours, asked, settings, ids=SpecialIds(2, ENDS), slots=3)
    longest = max(map(len, PROMPTS))
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in PROMPTS])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in PROMPTS])
    for cache in (True, False):
        output = theirs.generate(
            ids,
            attention_mask=mask,
            do_sample=False,
            max_new_tokens=LONGEST,
            eos_token_id=list(ENDS),
            pad_token_id=0,
            use_cache=cache,
            return_dict_in_generate=True,
            output_scores=True,
            **said,
        )
        mine = [
            [*each.ids, *([] if each.end is None else [each.end])] for n in range(len(PROMPTS)) for each in found[n]
        ]
        for row, got in zip(output.sequences[:, longest:].tolist(), mine, strict=True):
            assert row[: len(got)] == got
            assert got[-1] in ENDS or len(got) == LONGEST
        scores = getattr(output, "sequences_scores", None)
        if scores is not None:  # they add up in float32
            assert [each.score for n in range(len(PROMPTS)) for each in found[n]] == pytest.approx(
                scores.tolist(), abs=2e-5
            )
