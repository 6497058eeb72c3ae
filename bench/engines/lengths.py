"""Vectors of texts of one length, some at once: 128 to 4,096 tokens, 1 to 64 texts. An encoder of six layers of 384
with random weights and 4,096 positions, since no model in a package has so many; the mean of all tokens. Seconds are
those of a call from texts to an array. Each length is a row: `python -m bench.engines lengths-512`.

B texts · S tokens of each · W width
"""

import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import glassformer as gf
from bench.engines import LENGTHS, onnx, vectors
from bench.engines.row import Answer, Array, Case, Row

# The peer's graph holds the scores of all pairs of tokens: 16 texts of 2,048 take 18 GB, 4 of 4,096 all that is left of
# 24 GB.
BATCHES = {**dict.fromkeys(LENGTHS, (1, 4, 16, 64)), 2048: (1, 4, 16), 4096: (1,)}
HEADS, LAYERS = 12, 6
ENCODER = "encoder"


def prepare(folder: Path) -> None:
    """The weights, with the tokenizer of the model of the other rows, and the peer's graph of them."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    if not (folder / ENCODER).exists():
        torch.manual_seed(0)
        sizes = {"hidden_size": 384, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
        config = BertConfig(**sizes, intermediate_size=1536, max_position_embeddings=LENGTHS[-1])
        draft = folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        BertModel(config, add_pooling_layer=False).save_pretrained(draft)
        tokenizer = AutoTokenizer.from_pretrained(vectors.encoder())
        tokenizer.model_max_length = LENGTHS[-1]
        tokenizer.save_pretrained(draft)
        draft.rename(folder / ENCODER)
    model = BertModel.from_pretrained(folder / ENCODER, attn_implementation="eager", add_pooling_layer=False)
    onnx.export(model, folder, onnx.STATES)


@cache
def words() -> list[str]:
    """Words that are one token each."""
    tokenizer = gf.load(vectors.encoder(), device="cpu").tokenizer
    plain = [word for word in tokenizer.vocabulary() if word.isascii() and word.isalpha()]
    return [word for word in plain[:4000] if len(tokenizer.ids(word)) == 1]


def texts(batch: int, length: int) -> list[str]:
    """Texts of so many tokens, the first and the last one special: all systems the same."""
    chosen = np.random.default_rng(batch).choice(words(), (batch, length - 2))
    return [" ".join(row) for row in chosen]


def repeats(batch: int, length: int, count: int) -> int:
    """How often a batch is answered: at least so many tokens together."""
    return max(1, count // (batch * length))


def answering(length: int, made: Callable[[Path], Callable[[list[str]], Array]]) -> Callable[[Path, int], Answer]:
    """A system that answers each batch some times over."""

    def opened(folder: Path, count: int) -> Answer:
        embed = made(folder)
        given = {name: texts(batch, length) for name, batch in named(length).items()}

        def answer(case: str) -> Array:
            for _ in range(repeats(len(given[case]), length, count) - 1):
                embed(given[case])
            return np.asarray(embed(given[case]), np.float32)  # [B, W]

        return answer

    return opened


def ours(engine: str, folder: Path) -> Callable[[list[str]], Array]:
    """`Model.embed` by an engine."""
    model: Any = gf.load(folder / ENCODER, device="cpu", engine=engine)
    return lambda some: np.asarray(model.embed(some))


def of_transformers(folder: Path) -> Callable[[list[str]], Array]:
    """AutoModel, in one batch."""
    return vectors.pooled(vectors.of_transformers(torch.float32, folder / ENCODER), folder / ENCODER)


def of_onnx(folder: Path) -> Callable[[list[str]], Array]:
    """A session of onnxruntime, in one batch."""
    return vectors.pooled(vectors.of_onnx(folder / onnx.FLOAT), folder / ENCODER)


def named(length: int) -> dict[str, int]:
    """The cases of a length by name."""
    return {f"{batch} at once": batch for batch in BATCHES[length]}


def cases(length: int, folder: Path, count: int) -> dict[str, Case]:
    """The products and attention of all tokens, and the weights of the blocks once for each call."""
    of_token, weights = work_of(length)
    return {
        name: Case(
            (times := repeats(batch, length, count)) * batch * length,
            "tokens",
            operations=float(times * batch * length * of_token),
            bytes_read=4.0 * times * weights,
        )
        for name, batch in named(length).items()
    }


def work_of(length: int) -> tuple[int, int]:
    """Operations for a token of a text of this length, and numbers of the blocks' matrices."""
    width, inner = 384, 1536
    weights = LAYERS * (4 * width**2 + 2 * width * inner)
    return 2 * weights + 4 * LAYERS * width * length, weights


def row(length: int) -> Row:
    """The row of a length."""
    return Row(
        title=f"vectors, {length:,} tokens",
        count=(16_384, 128),
        names=tuple(named(length)),
        sides={
            vectors.TORCH: answering(length, partial(ours, "torch")),
            "ours, onnxruntime": answering(length, partial(ours, "onnxruntime")),
            "transformers": answering(length, of_transformers),
            "onnxruntime": answering(length, of_onnx),
        },
        compared=dict.fromkeys((vectors.TORCH, "ours, onnxruntime"), ("transformers", "onnxruntime")),
        judge="transformers",
        prepare=prepare,
        cases=partial(cases, length),
    )


ROWS = {str(length): row(length) for length in LENGTHS}
