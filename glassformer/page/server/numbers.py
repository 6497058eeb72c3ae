"""Tensors of runs that were computed again, kept while they are in use: a click on a number needs its neighbours'."""

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable

import torch
from torch import Tensor

from glassformer.look.formulas.named import Source
from glassformer.look.trace.trace import Trace

MOST_BYTES = 256_000_000


class Numbers:
    """The tensors that were asked for last, of all runs together; those used least recently are forgotten first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.nbytes = most_bytes, 0
        self.kept: OrderedDict[tuple[str, str], Tensor] = OrderedDict()
        self.lock = threading.Lock()

    def fetch(self, run: str, trace: Trace, names: Iterable[str]) -> dict[str, Tensor]:
        """Tensors, weights and facts of a run by whole names, on the CPU; those of a unit are computed at once."""
        wanted = list(dict.fromkeys(names))
        with self.lock:
            found = {name: self.kept[run, name] for name in wanted if (run, name) in self.kept}
            for name in found:
                self.kept.move_to_end((run, name))
        missing = [name for name in wanted if name not in found]
        again = [name for name in missing if name in trace and not trace.kept(name)]
        computed = trace.fetch(again) if again else {}
        known = computed if all(name in computed for name in missing) else {**trace.parameters, **computed}
        for name in missing:
            found[name] = (known[name] if name in known else trace.tensor(name)).detach().cpu()
        self.keep(run, {name: found[name] for name in computed})
        return found

    def lacking(self, run: str, names: Iterable[str]) -> list[str]:
        with self.lock:
            return [name for name in names if (run, name) not in self.kept]

    def keep(self, run: str, tensors: dict[str, Tensor]) -> None:
        """Keep these too, and forget others as far as is needed."""
        with self.lock:
            for name, tensor in tensors.items():
                if tensor.nbytes <= self.most_bytes and (run, name) not in self.kept:
                    self.kept[run, name] = tensor
                    self.nbytes += tensor.nbytes
            while self.nbytes > self.most_bytes:
                self.nbytes -= self.kept.popitem(last=False)[1].nbytes

    def forget(self, run: str) -> None:
        with self.lock:
            for key in [key for key in self.kept if key[0] == run]:
                self.nbytes -= self.kept.pop(key).nbytes

    def source(self, run: str, trace: Trace, names: Iterable[str]) -> Source:
        places = None if trace.scored_at is None else trace.scored_at.cpu()
        return Source(places, trace.tensor, self.fetch(run, trace, names))


def largest_places(values: torch.Tensor, most: int) -> list[int]:
    """The places of so many of the largest absolute values, in order; of equal ones the first. `values` is [N]."""
    if len(values) <= most:
        return list(range(len(values)))
    sizes = values.abs().nan_to_num(nan=math.inf)
    least = sizes.topk(most).values[-1]
    above = sizes > least
    above[(sizes == least).nonzero()[: most - int(above.sum())]] = True
    return [int(place) for place in above.nonzero()[:, 0]]


def sum_without(values: torch.Tensor, places: list[int]) -> float:
    """What the others add up to, one after the other. `values` is [N]."""
    others = torch.ones(len(values), dtype=torch.bool)
    others[places] = False
    return float(values[others].cumsum(0)[-1]) if others.any() else 0.0
