"""Look at a model while it runs: `with watch(model, names) as seen:`.

Nothing is attached to the model. The one ContextVar in `parts/tap.py` points to the watcher for as long as
the `with` lasts; another thread has its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

from glassformer.base.errors import DeviceError, UnknownNameError, did_you_mean
from glassformer.look.trace.asked import chosen
from glassformer.models.names import HasModule, eager, tensor_name, tensor_names
from glassformer.parts import tap

Change = Callable[[str, Tensor], Tensor]


class Seen(dict[str, Tensor]):
    """The tensors seen so far by name; of a tensor computed several times, the last."""

    def __init__(self, known: Iterable[str]) -> None:
        super().__init__()
        self.known = tuple(known)

    def __missing__(self, name: str) -> Tensor:
        if name in self.known:
            do = "run the model inside the with block; a compiled model is watched through its eager original"
            raise UnknownNameError(f"{name} was not seen", do=do)
        raise UnknownNameError(f"there is no tensor {name!r}", do=did_you_mean(name, self.known))

    def __repr__(self) -> str:
        return f"Seen({len(self)} of {len(self.known)} tensors)"


class _Watcher:
    """Sees the taps of one model's modules and passes everything on to the watcher that was set before."""

    def __init__(
        self, paths: Mapping[nn.Module, str], wanted: frozenset[str], seen: Seen, change: Change | None
    ) -> None:
        self.paths, self.wanted, self.seen, self.change = paths, wanted, seen, change
        self.outer = tap.watcher.get()

    def wants(self, owner: nn.Module, name: str) -> bool:
        path = self.paths.get(owner)
        if path is not None and tensor_name(path, name) in self.wanted:
            return True
        return self.outer is not None and self.outer.wants(owner, name)

    def see(self, owner: nn.Module, name: str, tensor: Tensor) -> Tensor:
        path = self.paths.get(owner)
        if path is not None:
            full = tensor_name(path, name)
            if self.change is not None:
                tensor = self.change(full, tensor)
            if full in self.wanted:
                self.seen[full] = tensor
        return tensor if self.outer is None else self.outer.see(owner, name, tensor)


@contextmanager
def watch(
    model: nn.Module | HasModule, names: Iterable[str] | str | None = None, *, change: Change | None = None
) -> Iterator[Seen]:
    """See the tensors of `model` while it runs inside the block. `names` are tensor names or patterns
    (`encoder.blocks.*.weights`); None sees all. Only a layer with an inside tensor among them leaves its fused kernel.
    `change(name, tensor)` is asked about every tensor that is computed and what it returns takes the tensor's place;
    name what it changes, so that it is computed. Raises UnknownNameError, ConfigError for what is no model, and
    DeviceError for weights spread over processes.
    """
    original = eager(model)
    # Part of a matrix has no formula: a model whose weights are spread over processes cannot be watched.
    for name, parameter in original.named_parameters():
        if hasattr(parameter, "full_tensor"):
            do = "gather the weights into one model (full_tensor) and look at that copy"
            raise DeviceError(f"a model is looked at whole; {name} is spread over processes", do=do)
    known = tensor_names(original)
    seen = Seen(known)
    watcher = _Watcher(dict(paths(original)), frozenset(chosen(names, known)), seen, change)
    token = tap.watcher.set(watcher)
    try:
        yield seen
    finally:
        tap.watcher.reset(token)


def paths(model: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Each module that taps something, and its path."""
    for path, module in model.named_modules():
        if getattr(module, "taps", ()):
            yield module, path
