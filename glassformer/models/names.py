"""The names of tensors: one vocabulary for all families, known without running the model.

A name is the path of the module that computes the tensor plus the tap's name. A sublayer and its body
share one path: `encoder.blocks.3.self_attention.weights`.
"""

from typing import Protocol

from torch import nn

from glassformer.base.errors import ConfigError


class HasModule(Protocol):
    """Anything with the model as its `module`, as what `load` and `train` return."""

    @property
    def module(self) -> nn.Module: ...


def eager(model: nn.Module | HasModule) -> nn.Module:
    """The model itself; of one with tokenizer and task, its `module`; of a compiled one, its eager original, which
    shares the weights. Raises ConfigError for what is no model.
    """
    module = model if isinstance(model, nn.Module) else getattr(model, "module", None)
    original = getattr(module, "_orig_mod", module)
    if not isinstance(original, nn.Module):
        raise ConfigError("a model is needed to look at", got=type(model).__name__, do="give a Model or a Transformer")
    return original


def public(path: str) -> str:
    """A module path as it is shown: the body of a sublayer bears the sublayer's name."""
    return path.replace(".body", "")


def tensor_name(path: str, word: str) -> str:
    """The public name of the tensor that the module at `path` taps as `word`."""
    return ".".join(step for step in (public(path), word) if step)


def tensor_names(model: nn.Module | HasModule) -> tuple[str, ...]:
    """Every intermediate tensor this model can show, in the order of the modules; raises ConfigError for no model."""
    return tuple(
        tensor_name(path, word) for path, module in eager(model).named_modules() for word in getattr(module, "taps", ())
    )


def parameter_names(model: nn.Module) -> dict[str, nn.Parameter]:
    """Public parameter names (`parameters.encoder.embed.word.weight`) and the parameters."""
    return {f"parameters.{public(path)}": parameter for path, parameter in model.named_parameters()}
