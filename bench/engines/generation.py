"""Text after a prompt, one and sixteen at once: GPT-2's shape of twelve layers of 768 with its vocabulary of 50,257
tokens, random weights, a prompt of 128 tokens and 64 new ones, the most likely each time; seconds are those of a call.
transformers keeps keys and values in a cache that grows, and in one of fixed size with the step compiled. A step reads
every weight once.

B texts · S tokens of the prompt · N new tokens
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.engines.row import Answer, Array, Case, Row

VOCABULARY, PROMPT = 50_257, 128
END = VOCABULARY - 1
TEXTS = {"one text": 1, "sixteen texts": 16}
TORCH, COMPILED, GROWING = "ours, torch", "transformers, compiled", "transformers, growing"
TRANSFORMERS, CTRANSLATE = "transformers", "CTranslate2"


def prompts(case: str) -> Tensor:
    """Random tokens [B, S]: all systems the same."""
    return torch.randint(END, (TEXTS[case], PROMPT), generator=torch.Generator().manual_seed(0))


def prepare(folder: Path) -> None:
    """The weights, which transformers writes, so that all read the same file; and as CTranslate2 reads them."""
    if not (folder / "gpt2" / "config.json").exists():
        import transformers

        torch.manual_seed(0)
        transformers.GPT2LMHeadModel(transformers.GPT2Config()).save_pretrained(folder / "gpt2")
    if not (folder / "converted").exists():
        from glassformer.convert.ctranslate import write_ctranslate

        draft = folder / "draft"
        draft.mkdir(exist_ok=True)
        write_ctranslate(draft, module(folder), _ids())
        draft.rename(folder / "converted")


def module(folder: Path) -> Any:
    """Our model with these weights."""
    from glassformer.convert.huggingface import read_huggingface
    from glassformer.models.transformer import Transformer

    found = read_huggingface(folder / "gpt2")
    model = Transformer(found.config).eval()
    model.load_state_dict(found.state)
    return model


def _ids() -> Any:
    from glassformer.decode.settings import SpecialIds

    return SpecialIds(begin=END, end=(END,))


def ours(engine: str) -> Callable[[Path, int], Answer]:
    """Our loop, in float32 or with matrices of 8 bits, or the engine in its place."""

    def opened(folder: Path, new: int) -> Answer:
        from glassformer.answering.engines.writing import CTranslated
        from glassformer.decode.loop import decode
        from glassformer.decode.request import Request
        from glassformer.decode.settings import DecodeSettings
        from glassformer.decode.step import Wanted
        from glassformer.runtime.matrices import to_int8

        model = module(folder)
        if engine == "ctranslate2":
            model = CTranslated(model, folder / "converted").model
        if engine == "int8":
            to_int8(model)
        settings = DecodeSettings(max_tokens=new)

        def answer(case: str) -> Array:
            given = prompts(case).tolist()
            requests = [Request(number, prompt=row) for number, row in enumerate(given)]
            answers: dict[int, Any] = {}
            for step in decode(model, requests, Wanted(settings, ids=_ids(), slots=len(given))):
                answers |= {each.number: each.hypotheses[0].ids for each in step.finished}
            return np.array([answers[number] for number in range(len(given))])  # [B, N]

        return answer

    return opened


def generate(*, compiled: bool) -> Callable[[Path, int], Answer]:
    """transformers."""

    def opened(folder: Path, new: int) -> Answer:
        import transformers

        model: Any = transformers.GPT2LMHeadModel.from_pretrained(folder / "gpt2").eval()
        if compiled:
            model.forward = torch.compile(model.forward, dynamic=False)  # as its guide does
        said = {"cache_implementation": "static", "disable_compile": True} if compiled else {}

        def answer(case: str) -> Array:
            given = prompts(case)
            how = {"attention_mask": torch.ones_like(given), "do_sample": False, "pad_token_id": END}
            with torch.inference_mode():
                written = model.generate(given, max_new_tokens=new, min_new_tokens=new, **how, **said)
            return np.asarray(written[:, given.shape[1] :])  # [B, N]

        return answer

    return opened


def ctranslate2(*, within: bool) -> Callable[[Path, int], Answer]:
    """CTranslate2, the threads divided among batches or within each."""

    def opened(folder: Path, new: int) -> Answer:
        import ctranslate2 as library

        threads = torch.get_num_threads()
        generator: Any = library.Generator(
            str(folder / "converted"),
            device="cpu",
            inter_threads=1 if within else threads,
            intra_threads=threads if within else 1,
        )

        def answer(case: str) -> Array:
            given = [[str(token) for token in row] for row in prompts(case).tolist()]
            each = len(given) if within else -(-len(given) // threads)
            found = generator.generate_batch(
                given, max_length=new, min_length=new, include_prompt_in_result=False, beam_size=1, sampling_topk=1,
                max_batch_size=each, end_token=[END],
            )  # fmt: skip
            return np.array([[int(token) for token in one.sequences[0]] for one in found])  # [B, N]

        return answer

    return opened


def cases(folder: Path, new: int) -> dict[str, Case]:
    """The bytes of all weights but the position vectors, of which a step reads one, as often as there are steps."""
    from safetensors import safe_open

    with safe_open(folder / "gpt2" / "model.safetensors", "pt") as file:
        shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118, it is no dict
    read = 4.0 * sum(torch.Size(shape).numel() for name, shape in shapes.items() if not name.endswith("wpe.weight"))
    return {case: Case(texts * new, "tokens", bytes_read=read * new) for case, texts in TEXTS.items()}


ROW = Row(
    title="GPT-2, 12 layers of 768",
    count=(64, 8),
    names=tuple(TEXTS),
    sides={
        TORCH: ours("torch"),
        "ours, ctranslate2": ours("ctranslate2"),
        "ours, torch int8": ours("int8"),
        GROWING: generate(compiled=False),
        COMPILED: generate(compiled=True),
        f"{CTRANSLATE}, one batch": ctranslate2(within=True),
        f"{CTRANSLATE}, batches in parallel": ctranslate2(within=False),
    },
    compared=dict.fromkeys((TORCH, "ours, ctranslate2", "ours, torch int8"), (TRANSFORMERS, CTRANSLATE)),
    judge=GROWING,
    prepare=prepare,
    cases=cases,
)
