"""The same tokens and scores as `transformers`, with its settings of generation, on tiny random models."""

from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.convert import read_huggingface
from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.models.transformer import Transformer
from tests.convert.sources import save
from tests.decode.sentences import answers

BOTH = ("MarianMTModel", "BartForConditionalGeneration", "T5ForConditionalGeneration")
ALONE = ("GPT2LMHeadModel", "LlamaForCausalLM", "MistralForCausalLM")
WINDOW: dict[str, dict[str, Any]] = {"MistralForCausalLM": {"sliding_window": 4}}
END, BEGIN, LONGEST = 1, 2, 9
FORBIDDEN = ((5,), (7, 9), (11, 3), (8,), (16, 16))
SPREAD = {"repetition_penalty": 1.4, "no_repeat_ngram_size": 2}
# transformers adds up scores in float32; a score is some tens.
ROUNDING = 2e-5

# Settings of transformers, and ours of the same meaning.
SEARCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "greedy": ({}, {}),
    "greedy, no repetition": (SPREAD, {"repetition_penalty": 1.4, "no_repeat_ngram": 2}),
    "greedy, late end": ({"min_new_tokens": 6}, {"min_tokens": 6}),
    "beam": ({"num_beams": 4}, {"beams": 4, "length_penalty": 1.0, "early_stopping": "estimate"}),
    "beam, all answers": (
        {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 0.6, "early_stopping": True},
        {"beams": 4, "n_best": 4, "length_penalty": 0.6, "early_stopping": "full"},
    ),
    "beam, exact": (
        {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 1.7, "early_stopping": "never"},
        {"beams": 3, "n_best": 2, "length_penalty": 1.7},
    ),
    "beam, no repetition": (
        {"num_beams": 3, **SPREAD},
        {
            "beams": 3, "length_penalty": 1.0, "early_stopping": "estimate", "repetition_penalty": 1.4,
            "penalized": "log_probabilities", "no_repeat_ngram": 2,
        },
    ),
    "beam, forced end": (
        {"num_beams": 3, "forced_eos_token_id": END, "early_stopping": True},
        {"beams": 3, "length_penalty": 1.0, "early_stopping": "full", "forced_end": True},
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=[*BOTH, *ALONE])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Transformer]:
    """A random model of transformers, and ours with the same weights."""
    folder: Path = tmp_path_factory.mktemp("model")
    theirs: Any = save(
        request.param, folder, eos_token_id=END, pad_token_id=0, **WINDOW.get(request.param, {})
    ).double()
    theirs.generation_config.forced_eos_token_id = None  # which some families have from the start
    found = read_huggingface(folder)
    ours = Transformer(found.config)
    ours.load_state_dict(found.state)
    return request.param, theirs, ours.double().eval()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("search", SEARCHES)
def test_the_tokens_of_transformers(pair: tuple[str, Any, Transformer], search: str) -> None:
    name, theirs, ours = pair
    said, settings = SEARCHES[search]
    method: dict[str, Any] = {"method": "beam", "length_penalty_form": "power"} if "beams" in settings else {}
    chosen = DecodeSettings.model_validate({"max_tokens": LONGEST, **method, **settings})
    asked = texts(name in BOTH)
    mine = answers(ours, asked, chosen, ids=SpecialIds(BEGIN, (END,)), slots=3)
    scores = []
    for request in asked:
        expected, values = generated(theirs, request, said)
        got = [[*answer.ids, END] if answer.ended else [*answer.ids] for answer in mine[request.number]]
        assert got == expected
        if values is not None:
            scores += [*zip((answer.score for answer in mine[request.number]), values, strict=True)]
    for score, value in scores:
        assert score == pytest.approx(value, abs=ROUNDING)


def texts(of_both: bool) -> list[Request]:
    """Four sources, or prompts of a decoder alone; no answer contains what is forbidden."""
    generator = torch.Generator().manual_seed(4)
    asked = []
    for number in range(4):
        text = torch.randint(3, 23, (2 + number % 3,), generator=generator).tolist()
        side: dict[str, Any] = {"source": text} if of_both else {"prompt": text}
        asked.append(Request(number, forbidden=FORBIDDEN, **side))
    return asked


def generated(model: Any, request: Request, said: dict[str, Any]) -> tuple[list[list[int]], list[float] | None]:
    """What transformers answers, without prompt and padding, and its scores where it searches with beams."""
    given = torch.tensor([request.source or request.prompt])
    output = model.generate(
        given,
        attention_mask=torch.ones_like(given),
        **{"max_new_tokens": LONGEST, "do_sample": False, "eos_token_id": END, "pad_token_id": 0, **said},
        **({} if request.source is None else {"decoder_start_token_id": BEGIN}),
        use_cache=model.config.model_type != "t5",  # its cache has as many layers as the encoder
        bad_words_ids=[list(each) for each in FORBIDDEN],
        return_dict_in_generate=True,
        output_scores=True,
    )
    begin = len(request.prompt) if request.prompt else 1
    rows = [row[: row.index(END) + 1] if END in row else row for row in output.sequences[:, begin:].tolist()]
    scores = getattr(output, "sequences_scores", None)
    return rows, None if scores is None else scores.tolist()
