"""What is saved: a model with its tokenizer, its task, and the facts known about how it was made."""

import torch

from glassformer.base.errors import ConfigError
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import has_fast_bfloat16, unknown_processor
from glassformer.runtime.matrices import is_int8
from glassformer.runtime.products import choose_products
from glassformer.saved.described import Described


class Artefact(Described):
    """Weights, tokenizer, task and provenance together. `module` is the plain `nn.Module`, in eval mode; `saved_as` is
    the type of the weights in the folder it was read from.
    """

    module: Transformer

    def _ready(self, module: Transformer) -> Transformer:
        self.saved_as = None if self.source is None else next(module.parameters()).dtype
        choose_products(module)
        return module.eval()

    @property
    def fast(self) -> bool:
        """Whether it predicts in bfloat16: as asked for, except where it is emulated or in float64."""
        return self._fast and self.can_be_fast

    @property
    def can_be_fast(self) -> bool:
        return has_fast_bfloat16(self.device) and self._converted

    @property
    def fast_told(self) -> str:
        if not self._converted:
            return "its weights are float64, so predictions stay in float64"
        if unknown := unknown_processor(self.device):
            return unknown
        if not has_fast_bfloat16(self.device):
            return "this machine has no bfloat16 instructions, so predictions stay in float32 (nothing is compiled)"
        return (
            "matrix products are computed in bfloat16, sums between the blocks, norms and softmax in float32 (nothing "
            "is compiled): on 873 sentences the mean vectors of bundled models had a cosine of at least 0.998 with "
            "those of float32; other numbers agree to two or three digits"
        )

    @property
    def only_emulated(self) -> bool:
        return self._fast and not has_fast_bfloat16(self.device) and self._converted

    @property
    def int8(self) -> bool:
        return is_int8(self.module)

    def needs_weights(self, what: str) -> None:
        """Raise ConfigError where `what`, as "a trace", needs the weights and they were rounded to 8 bits."""
        if self.int8:
            raise ConfigError(
                f"{what} needs the model's weights", got="a model opened with int8", do="open it without int8"
            )

    @property
    def _converted(self) -> bool:
        return next(self.module.parameters()).dtype != torch.float64

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    def __repr__(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.module.parameters())
        task = f", {self.task.name}" if self.task else ""
        return f"{type(self).__name__}({self.config.family}{task}, {parameters:,} parameters, {self.device})"
