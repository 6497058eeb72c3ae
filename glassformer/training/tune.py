"""Which parameters are trained, from when on, and at which learning rate: groups with a `scale` of the run's rate."""

import fnmatch
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from glassformer.base.errors import ConfigError
from glassformer.models.transformer import HEADS, Transformer
from glassformer.parts.projection import Adapter
from glassformer.training.settings import ALL_BUT_HEAD, GRADUALLY, TrainSection, TuneSection

_BLOCK = re.compile(r"(encoder|decoder)\.blocks\.(\d+)\.")
_CRF = "token_head.crf."
# What a word of `tune.freeze` stands for.
_WORDS = {ALL_BUT_HEAD: ("*", *(f"!{head}.*" for head in HEADS)), GRADUALLY: ()}


@dataclass(frozen=True)
class Stages:
    """What is trained from when on, from the heads down; the last stage begins after the share `all_after`."""

    names: tuple[tuple[str, ...], ...]
    all_after: float = 0.0

    def at(self, fraction: float) -> int:
        """The stage after this share of the run."""
        last = len(self.names) - 1
        return last if fraction >= self.all_after else int(last * fraction / self.all_after)

    def begin(self, model: nn.Module, stage: int | None = None) -> None:
        """Let the parameters of this stage and of those before it have a gradient, and no others; as `trained`."""
        now = set(self.trained(stage))
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in now)

    def trained(self, stage: int | None = None) -> tuple[str, ...]:
        """The names of all that is trained in a stage; without one, by the end of the run."""
        until = len(self.names) if stage is None else stage + 1
        return tuple(name for begun in self.names[:until] for name in begun)


def rate_by_weights(model: Transformer) -> float:
    """The highest learning rate for a model that was trained before: the root mean square of the matrices inside its
    blocks divided by its width, to two digits.

    AdamW moves each number by about the rate, whose effect on a product grows with the width: so a step changes all
    models alike. For BERT-base (0.04 and 768, from memory) it is the paper's 5e-5, which is too little for small models
    with larger weights (decisions/2026-11-23-the-learning-rate-of-fine-tuning.md).
    """
    matrices = [each for each in model.output_stack.blocks.parameters() if each.ndim == 2]
    squares = sum(float(each.detach().double().square().sum()) for each in matrices)
    size = math.sqrt(squares / sum(each.numel() for each in matrices))
    return float(f"{size / model.config.output_stack.width:.2g}")


def choose(model: nn.Module, tune: TuneSection) -> Stages:
    """What of a model is trained; raises ConfigError for a pattern without a match, and if nothing is left."""
    known = trained(model)
    frozen = set[str]()
    if tune.adapters is not None:
        inside = {f"{name}." for name, module in model.named_modules() if isinstance(module, Adapter)}
        heads = tuple(f"{head}." for head in HEADS)
        frozen = {name for name in known if not name.startswith((*heads, *inside))}
    for pattern in (pattern for word in tune.freeze for pattern in _WORDS.get(word, (word,))):
        frozen = _changed(frozen, pattern, known, asked=tune.freeze)
    if still := sorted(name for name in frozen if ".adapter." in name):
        raise ConfigError(
            "adapters must be trained",
            got=f"a tune.freeze that freezes {still[0]}",
            do="choose their layers with tune.adapters.layers: the weights of these are frozen already",
        )
    left = [name for name in known if name not in frozen]
    if not left:
        raise ConfigError(
            "training needs parameters", got="a tune.freeze that leaves nothing", do="freeze fewer parameters"
        )
    if not tune.gradually:
        return Stages((tuple(left),))
    by_depth: dict[int, list[str]] = {}
    for name in left:
        by_depth.setdefault(depth_of(name, model), []).append(name)
    return Stages(tuple(tuple(by_depth[depth]) for depth in sorted(by_depth)), tune.all_after)


def fixes_embedding(tune: TuneSection) -> bool:
    """Whether a run trains no vector of its embedding."""
    frozen = tune.adapters is not None
    for pattern in (pattern for word in tune.freeze for pattern in _WORDS.get(word, (word,))):
        if fnmatch.fnmatchcase("encoder.embed.segment.weight", pattern.removeprefix("!")):
            frozen = not pattern.startswith("!")
    return frozen


def check_without_start(tune: TuneSection) -> None:
    """Raise ConfigError where a randomly initialized model would keep nearly all of its random weights."""
    asked = "tune.adapters" if tune.adapters is not None else f"tune.freeze = {ALL_BUT_HEAD}"
    if tune.adapters is not None or ALL_BUT_HEAD in tune.freeze:
        raise ConfigError(
            "what is frozen must have been learned before",
            got=f"{asked} and no model to start from: all but the head would remain random",
            do="give one with --start MODEL, or leave it out",
        )


def _changed(frozen: set[str], pattern: str, known: Iterable[str], *, asked: Sequence[str]) -> set[str]:
    again = pattern.startswith("!")
    found = {name for name in known if fnmatch.fnmatchcase(name, pattern.removeprefix("!"))}
    if not found and pattern in asked:
        names = ", ".join(sorted({name.split(".")[0] + ".*" for name in known}))
        raise ConfigError(
            "tune.freeze must name parameters of the model",
            got=pattern,
            do=f"write {ALL_BUT_HEAD}, {GRADUALLY}, or patterns; names begin with: {names}",
        )
    return frozen - found if again else frozen | found


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that have a gradient now, each once."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def parameter_groups(model: nn.Module, settings: TrainSection, tune: TuneSection | None = None) -> list[dict[str, Any]]:
    """Groups for the optimizers: matrices and tables decay, vectors do not. `scale` multiplies the rate; `matrices` are
    for Muon: those of blocks without adapters, which have their own rate, as a CRF may.
    """
    muon = settings.optimizer == "muon"
    of_matrices = settings.matrix_learning_rate / settings.rate
    decay = None if tune is None else tune.layer_decay
    chosen: dict[tuple[float, bool, bool], list[nn.Parameter]] = {}
    for name, parameter in trained(model).items():
        # The product of an adapter's two matrices is what should have a spectral norm of the rate, not each of them.
        matrix = muon and parameter.dim() == 2 and _BLOCK.match(name) is not None and ".adapter." not in name
        scale = (1.0 if decay is None else decay ** depth_of(name, model)) * (of_matrices if matrix else 1.0)
        if settings.crf_learning_rate is not None and name.startswith(_CRF):
            scale = settings.crf_learning_rate / settings.rate
        chosen.setdefault((scale, parameter.dim() <= 1, matrix), []).append(parameter)
    return [
        {"params": chosen[key], "weight_decay": 0.0 if key[1] else settings.decay, "scale": key[0], "matrices": key[2]}
        for key in sorted(chosen, key=lambda key: (-key[0], key[1], key[2]))
    ]


def depth_of(name: str, model: nn.Module) -> int:
    """How far a parameter is from the heads, in layers: these have 0, and so has the last norm of a stack; the last
    block has 1, the first as many as there are blocks, as has the bias of relative positions, the embeddings one more.
    The same in each of two stacks.
    """
    stack = name.split(".")[0]
    if stack not in ("encoder", "decoder"):
        return 0
    blocks = len(model.get_submodule(f"{stack}.blocks")._modules)
    found = _BLOCK.match(name)
    if found:
        return blocks - int(found[2])
    if name.startswith(f"{stack}.relative_bias"):  # it enters the attention of every block, of the first too
        return blocks
    return blocks + 1 if name.startswith(f"{stack}.embed") else 0


def summary(model: nn.Module, stages: Stages, stage: int) -> str:
    """How much is trained, and what: `trainable 0.6 M of 22.7 M parameters (2.7 %): sentence_head`."""
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    now = stages.trained(stage)
    count, whole = sum(sizes[name] for name in now), sum(sizes.values())
    share = "" if count == whole else f" ({100 * count / whole:.2g} %)"
    line = f"trainable {short(count)} of {short(whole)} parameters{share}"
    line += f": {_parts(now)}" if count < whole else ""
    if stage < len(stages.names) - 1:
        line += f"; {_next(stages)}"
    return line


def short(count: int) -> str:
    """A count of parameters as people say it: 22.7 M; below ten thousand exactly."""
    if count >= 10**9:
        return f"{count / 1e9:.1f} G"
    return f"{count / 1e6:.1f} M" if count >= 10**5 else f"{count / 1e3:.1f} k" if count >= 10**4 else f"{count:,}"


def _parts(names: Sequence[str]) -> str:
    adapters = len({name.rpartition(".adapter.")[0] for name in names if ".adapter." in name})
    found = dict.fromkeys(_module(name) for name in names if ".adapter." not in name)
    listed = [f"adapters of {adapters} layers"] if adapters else []
    return ", ".join([*listed, *found])


def _module(name: str) -> str:
    block = _BLOCK.match(name)
    if block:
        return f"{block[1]}.blocks.{block[2]}"
    first, *rest = name.split(".")
    return first if first in HEADS else ".".join([first, *rest[:1]])


def _next(stages: Stages) -> str:
    steps = len(stages.names) - 1
    return f"one block more after each {stages.all_after / steps:.1%} of the run, all after {stages.all_after:.0%}"
