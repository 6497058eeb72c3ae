"""Parts of tensors as bytes in the layout of safetensors: numbers as they are, and pictures of one byte a dot.

H heads · Q query tokens · K key tokens · R rows of a picture · C columns of a picture
"""

import math
import re
from collections.abc import Mapping, Sequence

import torch
from safetensors.torch import save
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import UnknownNameError
from glassformer.look.summaries.head_measures import largest_in
from glassformer.look.trace.cell import Axes
from glassformer.models.names import parameter_names
from glassformer.page.page import own_memory
from glassformer.page.sections.carried import lossless
from glassformer.page.server.overview import MOST_WHOLE
from glassformer.run.serving.refusals import TooLargeError
from glassformer.saved.artefact import Artefact

MOST_NUMBERS = 1 << 22
MOST_DOTS = 1 << 22
# The smallest number of a logarithmic picture as a share of the largest.
FAINTEST = 1e-6
SPAN = re.compile(r"(?P<start>\d{1,9})?(?P<to>:(?P<stop>\d{1,9})?)?")
# A signed picture lifts small numbers, as the page does when it colours cells (`LIFT`, `scaleOf` there).
LIFT = 0.7
# How many numbers are looked at for the scale of a large tensor, and which share of them may lie beyond it.
LOOKED_AT, BEYOND, FILL = 4096, 0.005, 1e30


def part_of(axes: Axes, asked: str) -> tuple[slice, ...]:
    """`0,3,:,16:48`: an index or a range along each axis, all of those that are left out. Every axis is kept.

    An index into an axis that is stored with size 1, because all have the same numbers, means these numbers.
    Raises UnknownNameError.
    """
    steps = asked.split(",") if asked else []
    if len(steps) > len(axes.names):
        raise UnknownNameError(f"{axes.name} has the axes {', '.join(axes.names)}", got=f"a part of {len(steps)}")
    part = []
    for axis, size, step in zip(axes.names, axes.sizes, [*steps, *[":"] * (len(axes.names) - len(steps))], strict=True):
        found = SPAN.fullmatch(step.strip())
        if found is None or not found[0]:
            raise UnknownNameError(f"a part of {axis} is an index, or a range as in 16:48", got=repr(step[:40]))
        whole = axes.shared.get(axis, size)
        start = int(found["start"] or 0)
        stop = start + 1 if not found["to"] else whole if found["stop"] is None else int(found["stop"])
        if not 0 <= start < stop <= max(whole, 1):
            raise UnknownNameError(f"{axis} of {axes.name} counts from 0 to {whole - 1}", got=step.strip())
        part.append(slice(0, 1) if axis in axes.shared else slice(start, stop))
    return tuple(part)


def numbers_of(tensor: Tensor, part: Sequence[slice]) -> bytes:
    """That part in its own type; raises TooLargeError."""
    found = tensor[tuple(part)]
    if found.numel() > MOST_NUMBERS:
        raise TooLargeError(
            f"at most {MOST_NUMBERS:,} numbers are sent at once", got=f"{found.numel():,}", do="ask for parts of it"
        )
    return save({"numbers": found.contiguous().clone()}, starts(part))


def picture_of(tensor: Tensor, part: Sequence[slice], size: tuple[int, int]) -> bytes:
    """Part of a tensor as dots, at most R×C; raises TooLargeError."""
    dots, limits = picture(tensor[tuple(part)], size)
    return save({"picture": dots.contiguous()}, starts(part) | limits)


def signed_picture(
    tensor: Tensor, part: Sequence[slice], size: tuple[int, int], full: float | None = None
) -> tuple[Tensor, float]:
    """Dots [..., R, C] of a part on the signed scale, and what counts as full strength."""
    highest = full_strength(tensor) if full is None else full
    return signed(small(tensor[tuple(part)], size), highest), highest


def starts(part: Sequence[slice]) -> dict[str, str]:
    """Where a part begins along each axis: sent with its numbers."""
    return {"start": ",".join(str(each.start) for each in part)}


def picture(tensor: Tensor, size: tuple[int, int]) -> tuple[Tensor, dict[str, str]]:
    """Dots [..., R, C] on a logarithmic scale, which is for shares, and the numbers that the dots 1 and 255 stand for.

    A dot that stands for several numbers shows the one that is farthest from 0; 0 stands for what is not finite or not
    above 0, and 1 for a millionth of the largest, and less.
    """
    values = small(tensor, size)
    shown = values.isfinite() & (values > 0)
    lowest = highest = 0.0
    dots = torch.zeros_like(values)
    if shown.any():
        highest = float(values[shown].max())
        lowest = max(float(values[shown].min()), highest * FAINTEST)
        share = (values.clamp(min=lowest) / lowest).log() / max(math.log(highest / lowest), 1e-30)
        dots = torch.where(shown, 1 + (share.clamp(0, 1).nan_to_num(0) * 254).round(), dots)
    return dots.to(torch.uint8), {"lowest": repr(lowest), "highest": repr(highest), "scale": "log"}


def signed(values: Tensor, full: float) -> Tensor:
    """Dots that keep the sign: 128 is zero, 1 and 255 are `full` and what lies beyond it, 0 is not finite."""
    share = (values.abs() / max(full, 1e-30)).clamp(max=1) ** LIFT
    dots = 128 + (127 * share * values.sign()).round()
    return torch.where(values.isfinite(), dots, torch.zeros(())).to(torch.uint8)


def full_strength(tensor: Tensor) -> float:
    """The largest size of the numbers; of a large tensor one that few exceed, as outliers dim all others."""
    numbers = tensor.detach().flatten()
    every = max(1, len(numbers) // LOOKED_AT)
    sizes = numbers[::every].float().cpu().abs()
    sizes = sizes[sizes < FILL]
    if not len(sizes):
        return 0.0
    beyond = 0 if every == 1 else int(len(sizes) * BEYOND)
    return float(sizes.topk(beyond + 1).values[-1])


def small(tensor: Tensor, size: tuple[int, int]) -> Tensor:
    """[..., R, C]: the last two axes in at most so many rows and columns; raises TooLargeError."""
    values = tensor.detach().float().cpu()
    values = values.reshape(*[1] * (2 - values.dim()), *values.shape)  # [..., rows, columns]
    *rest, rows, columns = values.shape
    if math.prod(rest) * min(rows, size[0]) * min(columns, size[1]) > MOST_DOTS:
        raise TooLargeError(f"a picture has at most {MOST_DOTS:,} dots", do="ask for parts of it, or a smaller one")
    values = pooled(values.reshape(-1, rows, columns), size)  # [pictures, R, C]
    return values.reshape(*rest, *values.shape[1:])


def pooled(values: Tensor, size: tuple[int, int]) -> Tensor:
    """[pictures, rows, columns] to at most [pictures, R, C]: of several numbers the finite one farthest from 0."""
    rows, columns = (min(one, most) for one, most in zip(values.shape[1:], size, strict=True))
    if (rows, columns) == tuple(values.shape[1:]) or not values.numel():
        return values
    far = values.abs().masked_fill(~values.isfinite(), -1.0)
    _, where = F.adaptive_max_pool2d(far, (rows, columns), return_indices=True)  # [pictures, R, C]
    return values.flatten(1).gather(1, where.flatten(1)).reshape(where.shape)


def heads(weights: Tensor, measured: Tensor, dots: int) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Thumbnails and measures of all heads of one attention, for one sentence, with the shares that the dots mean.

    weights [H, Q, K] · measured [H, 10], as `head_measures.measure` gives them
    """
    thumbnails, limits = picture(largest_in(weights, dots), (dots, dots))
    return {"thumbnails": thumbnails, "statistics": measured.float()}, limits


def ranked(values: Tensor, count: int) -> tuple[list[int], list[float]]:
    """The places of the `count` largest numbers and these, the largest first, of equal ones that which stands first."""
    found, places = values.detach().flatten().cpu().sort(descending=True, stable=True)
    return places[:count].tolist(), found[:count].tolist()


def weights_of(model: Artefact) -> bytes:
    """All weights of a small model by their public names; raises TooLargeError for a larger one."""
    return packed_weights({name: weight.float() for name, weight in parameter_names(model.module).items()})


def packed_weights(parameters: Mapping[str, torch.Tensor]) -> bytes:
    """Weights by name, in a narrower type where that loses nothing; raises TooLargeError."""
    weights = {name: weight.detach().cpu() for name, weight in parameters.items()}
    if sum(weight.nbytes for weight in weights.values()) > MOST_WHOLE:
        raise TooLargeError("the weights of a large model are sent one by one", do="ask for a part of one of them")
    return save(own_memory({name: lossless(weight) for name, weight in weights.items()}))
