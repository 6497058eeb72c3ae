"""Cross-entropy: the negative log-probability of the right one of V choices; of large vocabularies block by block, and
between a student and its teacher (Hinton et al. 2015).

B rows · S tokens of a row · N labels · n tokens of a block · L labels of a choice · W width · V vocabulary
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ShapeError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import Reals, widened


def cross_entropy(logits: Tensor | None, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """The sum of −log softmax(logits)[label] over the labels that are not IGNORED, a scalar of at least float32. Logits
    [..., V] of any float type, labels [...], and optionally a weight for each label [...]. Raises ShapeError when these
    shapes do not match, or when the model has no logits.
    """
    if logits is None:
        raise ShapeError("a loss needs logits", got="a model without the head that was asked for")
    if logits.shape[:-1] != labels.shape:
        raise ShapeError(
            "each row of logits needs one label", got=f"logits {list(logits.shape)} and labels {list(labels.shape)}"
        )
    logits, labels = widened(logits).flatten(0, -2), labels.flatten()  # [N, V], [N]
    if weights is not None:
        each = F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="none")  # [N]
        return (each * weights.flatten().to(each.dtype)).sum()
    if torch.compiler.is_compiling():
        return _Compiled.apply(logits, labels)  # type: ignore[no-untyped-call]
    return F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")


def binary_cross_entropy(
    logits: Tensor, having: Tensor, weights: Tensor, factors: Sequence[float] | None = None
) -> Tensor:
    """Σ weight · mean over the labels of the binary cross-entropy, a scalar of at least float32: of logits [B, L],
    which labels a row has [B, L] (flags, or 0 and 1) and weights [B]. `factors` [L] multiply the loss of having a
    label.
    """
    logits = widened(logits)
    more = None if factors is None else torch.tensor(factors, dtype=logits.dtype, device=logits.device)
    each = F.binary_cross_entropy_with_logits(logits, having.to(logits.dtype), pos_weight=more, reduction="none")
    return (each.mean(dim=1) * weights.to(each.dtype)).sum()


class _Compiled(torch.autograd.Function):
    """The same sum with its gradient, softmax(logits) − one-hot(label): compiled one pass, in torch three."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        asked = labels != IGNORED  # [N]
        log_probabilities = logits.log_softmax(dim=-1)  # [N, V]
        right = log_probabilities.gather(1, labels.where(asked, 0)[:, None])[:, 0]  # [N]
        ctx.save_for_backward(log_probabilities, labels)
        return -right.where(asked, 0).sum()  # []

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        log_probabilities, labels = ctx.saved_tensors
        tokens = torch.arange(log_probabilities.shape[1], dtype=torch.int32, device=labels.device)  # [V]
        right = tokens == labels.int()[:, None]  # [N, V]
        weight = gradients[0].where(labels != IGNORED, 0)[:, None]  # [N, 1]
        return (log_probabilities.exp() - right.to(log_probabilities.dtype)) * weight, None  # [N, V]


def soft_loss(
    logits: Tensor,
    teacher: Tensor,
    weights: Tensor,
    temperature: float,
    *,
    several: bool = False,
    among: Tensor | None = None,
) -> Tensor:
    """T² · Σ weight · KL(teacher ‖ student), both at the temperature T: of logits [N, L] and weights [N], a scalar. T²
    makes its gradient as large as that of hard labels (Hinton et al. 2015, §2). With `several` each label is a separate
    binary choice, and the mean over the labels counts. Choices that are False in `among` [N, L], such as padding, have
    no probability.
    """
    student, its = widened(logits) / temperature, widened(teacher) / temperature  # [N, L]
    if among is not None:  # the lowest finite number, as the tasks have it: −inf less itself would be NaN
        lowest = torch.finfo(student.dtype).min
        student, its = student.masked_fill(~among, lowest), its.masked_fill(~among, lowest)
    if several:
        yes, no = F.logsigmoid(its), F.logsigmoid(-its)  # [N, L]
        apart = yes.exp() * (yes - F.logsigmoid(student)) + no.exp() * (no - F.logsigmoid(-student))  # [N, L]
        each = apart.mean(dim=-1)  # [N]
    else:
        right = its.log_softmax(dim=-1)  # [N, L]
        each = (right.exp() * (right - student.log_softmax(dim=-1))).sum(dim=-1)  # [N]
    return temperature**2 * (each * weights.to(each.dtype)).sum()


def cosine_loss(states: Tensor, teacher: Tensor, real: Tensor | None, weights: Tensor) -> Tensor:
    """Σ (1 − cosine) over the tokens [B, S] that are not padding, in rows of weight above 0: states [B, S, W]."""
    cosine = F.cosine_similarity(widened(states), widened(teacher), dim=-1)  # [B, S]
    counted = (weights > 0)[:, None] & torch.ones_like(cosine, dtype=torch.bool)  # [B, S]
    counted = counted if real is None else counted & real
    return torch.where(counted, 1 - cosine, torch.zeros((), dtype=cosine.dtype)).sum()


# Bytes of the scores of a block, tokens times vocabulary; scores of which a softmax is made together, on a processor:
# so many stay in its caches. And tokens that are compared together.
_BLOCK_BYTES, _PART_SCORES, _TOGETHER = 1 << 25, 1 << 20, 512


def token_cross_entropy(
    model: Transformer, states: Tensor, labels: Tensor, *, smoothing: float = 0.0, never: Sequence[int] = ()
) -> Tensor:
    """`blocked_cross_entropy` of a model's last states [B, S, W] with labels [B, S]: a scalar."""
    head = model.head
    assert head is not None
    table = model.word_table if head.weight is None else head.weight  # [V, W]
    compared = head.compared(states).flatten(0, 1)  # [N, W]
    return blocked_cross_entropy(compared, table, head.bias, labels.flatten(), smoothing=smoothing, never=never)


def blocked_cross_entropy(
    states: Tensor,
    table: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    *,
    smoothing: float = 0.0,
    never: Sequence[int] = (),
) -> Tensor:
    """The sum over the labels that are not IGNORED of (1 − ε)·(−log p[label]) + ε·mean over V of (−log p), with
    p = softmax(states · tableᵀ + bias) and ε = `smoothing`, a scalar of at least float32.

    States [N, W], vectors of the vocabulary [V, W], bias [V], labels [N]. The right answer has the probability 1 − ε +
    ε/V and each other ε/V (Szegedy et al. 2016, §7; Vaswani et al. 2017, §5.4; torch's `label_smoothing`). The mean is
    without the tokens of `never`, which no answer has: their probability should be 0. Computed block by block, gradient
    included, so that memory holds the scores of one block. In the type of autocast where it is on, sums at least in
    float32. Raises ShapeError when the shapes do not match.
    """
    if states.dim() != 2 or labels.shape != states.shape[:1]:
        raise ShapeError("each state needs one label", got=f"states {list(states.shape)}, labels {list(labels.shape)}")
    device = states.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
    with torch.autocast(device, enabled=False):
        bias = table.new_zeros(0) if bias is None else bias
        found: tuple[Tensor, ...] = _blocked(states.to(kind), table.to(kind), bias, labels, smoothing, never)
        return found[0]


# Written out: older torches (2.6) refuse Sequence[int] of collections.abc.
_SCHEMA = (
    "(Tensor states, Tensor table, Tensor bias, Tensor labels, float smoothing, SymInt[] never)"
    " -> (Tensor, Tensor, Tensor, Tensor)"
)


@torch.library.custom_op("glassformer::blocked_cross_entropy", mutates_args=(), schema=_SCHEMA)
def _blocked(
    states: Tensor, table: Tensor, bias: Tensor, labels: Tensor, smoothing: float, never: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss and, as it is a scalar, its whole gradient in the same pass: of the states, the table and the bias. One
    operation for the compiler: it holds nothing but products and a softmax, and a loop over blocks would be compiled
    block by block. What all scores have in common is subtracted from the products, not from each score.
    """
    wide = torch.promote_types(states.dtype, torch.float32)
    total = torch.zeros((), dtype=wide, device=states.device)
    of_states, of_table = torch.empty_like(states), torch.zeros_like(table, dtype=wide)  # [N, W], [V, W]
    of_bias = torch.zeros_like(bias)  # [V]
    asked = (labels != IGNORED)[:, None]  # [N, 1]
    label = labels[:, None].clamp(min=0)  # [N, 1]
    known = states * asked  # [N, W]
    shares = torch.full((len(table),), smoothing / (len(table) - len(never)), dtype=wide, device=states.device)  # [V]
    shares[list(never)] = 0.0
    mean_vector = shares @ table.to(wide)  # [W]
    mean_score = (states.to(wide) @ mean_vector)[:, None]  # [N, 1]
    if len(bias):
        mean_score += shares @ bias.to(wide)
    in_parts = max(1, _PART_SCORES // len(table)) if states.device.type == "cpu" else len(states)
    for block in torch.arange(len(states), device="cpu").split(block_rows(len(states), len(table), table.itemsize)):
        rows = slice(int(block[0]), int(block[-1]) + 1)
        scores = states[rows] @ table.T if not len(bias) else torch.addmm(bias.to(table.dtype), states[rows], table.T)
        of_block = (scores, label[rows], asked[rows], mean_score[rows])  # [block, V], then [block, 1]
        for part, its_label, its_asked, its_mean in zip(*(each.split(in_parts) for each in of_block), strict=True):
            wider = widened(part)  # [n, V]
            right = wider.gather(1, its_label)  # [n, 1]
            largest = wider.amax(dim=1, keepdim=True)  # [n, 1]
            probabilities = wider.softmax(dim=1)  # [n, V]
            # The largest probability is never 0: its logarithm is exact where that of the right one may not be.
            normalizer = largest - probabilities.amax(dim=1, keepdim=True).log()  # [n, 1]
            losses = normalizer - (1 - smoothing) * right - its_mean  # [n, 1]
            total += losses.where(its_asked, 0).sum()
            probabilities.scatter_(1, its_label, probabilities.gather(1, its_label) - (1 - smoothing))
            if len(bias):
                of_bias += (its_asked[:, 0].to(wide) @ probabilities).to(bias.dtype)
            part.copy_(probabilities)
        # The scores have become their gradient, without what the smoothing takes from all of them alike.
        of_states[rows] = (scores @ table - mean_vector.to(states.dtype)) * asked[rows]
        of_table += scores.T @ known[rows]
    of_table.addr_(shares, known.sum(dim=0, dtype=wide), alpha=-1)
    if len(bias):
        of_bias -= (shares * asked.sum(dtype=wide)).to(bias.dtype)
    return total, of_states, of_table.to(table.dtype), of_bias


@_blocked.register_fake
def _shapes(
    states: Tensor, table: Tensor, bias: Tensor, labels: Tensor, smoothing: float, never: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    wide = torch.promote_types(states.dtype, torch.float32)
    total = states.new_empty((), dtype=wide)
    return total, torch.empty_like(states), torch.empty_like(table), torch.empty_like(bias)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*output[1:])


def _scaled(ctx: Any, scale: Tensor, *others: Tensor | None) -> tuple[Tensor | None, ...]:
    of_states, of_table, of_bias = (each * scale.to(each.dtype) for each in ctx.saved_tensors)
    return of_states, of_table, of_bias, None, None, None


_blocked.register_autograd(_scaled, setup_context=_keep)


def block_rows(count: int, vocabulary: int, size: int) -> int:
    """The tokens of a block: equal blocks, as few as keep the scores of each, of `size` bytes, small."""
    blocks = max(1, -(-count * vocabulary * size // _BLOCK_BYTES))
    return -(-count // blocks)


def compared_in_parts(
    model: Transformer, states: Tensor, labels: Tensor, *, never: Sequence[int] = ()
) -> tuple[Tensor, Tensor]:
    """`compared` for states [n, W] and labels [n] in parts, to save memory; tokens of `never` have probability 0."""
    assert model.head is not None
    left_out = torch.tensor(never, dtype=torch.int64, device=labels.device)
    found = []
    for some, right in zip(states.split(_TOGETHER), labels.split(_TOGETHER), strict=True):
        logits = model.head(some, model.word_table)  # [n, V]
        found.append(compared(logits.index_fill(-1, left_out, -torch.inf) if never else logits, right))
    losses, agreed = (torch.cat(each) for each in zip(*found, strict=True))
    return losses, agreed


def compared(logits: Tensor | None, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The cross-entropy of each label that is not IGNORED, and whether its logit is the largest: [N, V] -> [n], [n]."""
    assert logits is not None
    asked = labels != IGNORED
    log_probabilities = widened(logits[asked]).log_softmax(dim=-1)  # [n, V]
    labels = labels[asked]
    return -log_probabilities.gather(1, labels[:, None])[:, 0], log_probabilities.argmax(dim=-1) == labels


def sums_of_rows(labels: Tensor, *each: Tensor) -> Reals:
    """Numbers of the labels that are not IGNORED, [n] each, added up by row: of labels [B, S] or [B], [B, K]."""
    rows = (labels != IGNORED).cpu().nonzero()[:, 0].numpy()  # [n]
    values = (of.cpu().double().numpy() for of in each)  # not every device has float64
    return np.stack([np.bincount(rows, its, len(labels)) for its in values], axis=1)  # [B, K]
