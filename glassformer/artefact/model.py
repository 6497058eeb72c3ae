"""What `load` and `train` give back: a model with its tokenizer, and the verbs people use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import torch

from glassformer.artefact import store
from glassformer.artefact.answers import Filled, Scored
from glassformer.artefact.resolve import HUB
from glassformer.artefact.words import MaskedWords
from glassformer.config import DataSection, ModelConfig, Recipe, TaskSection
from glassformer.errors import CheckpointError, ConfigError, TokenizerError, did_you_mean
from glassformer.models.transformer import Transformer
from glassformer.paths import check_path
from glassformer.pickles import refuse_pickles
from glassformer.text.fit import check_fit
from glassformer.text.tokenizer import Tokenizer
from glassformer.train.machine import choose_device
from glassformer.whole import settled

if TYPE_CHECKING:
    from glassformer.look.trace import Trace

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


class Model:
    """Weights, tokenizer, task and provenance together: raw text in, answers about the raw text out.

    `module` is the plain `nn.Module`, in eval mode. `fast` predicts in bfloat16; the weights, traces and what is saved
    stay as they are.
    """

    def __init__(
        self,
        module: Transformer,
        tokenizer: Tokenizer | None = None,
        *,
        task: TaskSection | None = None,
        labels: Sequence[str] = (),
        length: int | None = None,
        data: DataSection | None = None,
        recipe: Recipe | None = None,
        metrics: Mapping[str, Any] | None = None,
        tokens: Mapping[str, Any] | None = None,
        card: str = "",
        fast: bool = False,
        source: Path | None = None,
    ) -> None:
        if tokenizer is not None:
            check_fit(tokenizer, module.config.output_stack.embed.vocabulary)
        self.module = module.eval()
        self._tokenizer = tokenizer
        self.task, self.labels, self.length, self.data = task, tuple(labels), length, data
        self.metrics: Mapping[str, Any] = metrics or {}
        # Hugging Face's pieces with a role (decoder_start_token_id ...), for whoever decodes or exports.
        self.tokens: Mapping[str, Any] = tokens or {}
        self.card, self._fast, self.source = card, fast, source
        if recipe is not None:
            self.recipe = recipe

    # ------------------------------------------------------------------ what it is

    @property
    def fast(self) -> bool:
        """Whether it predicts in bfloat16: asked for, and not of float64 weights, which autocast leaves as they are."""
        return self._fast and next(self.module.parameters()).dtype != torch.float64

    @property
    def config(self) -> ModelConfig:
        """The tree of settings the model was built from."""
        return self.module.config

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer; raises TokenizerError when the model came without one."""
        if self._tokenizer is None:
            raise TokenizerError(
                "text needs a tokenizer", got="a model that was saved without one", do="use model.module with ids"
            )
        return self._tokenizer

    @property
    def has_tokenizer(self) -> bool:
        """Whether the model came with a tokenizer."""
        return self._tokenizer is not None

    @cached_property
    def recipe(self) -> Recipe | None:
        """What the model was made from, where that is known; read from its folder when it is asked for."""
        return None if self.source is None else store.read_recipe(self.source)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.module.parameters()).device

    @property
    def room(self) -> int | None:
        """Pieces of text the model can be shown at once: what it can number, and what it has learned from."""
        limits = [limit for limit in (self.config.output_stack.max_length, self.length) if limit is not None]
        return min(limits) - sum(self.tokenizer.frame) if limits else None

    def info(self) -> dict[str, Any]:
        """Family, sizes, parameters by part, tokenizer, task, precision, data: plain lists and words."""
        from glassformer.artefact.info import describe

        return describe(self)

    def __repr__(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.module.parameters())
        task = f", {self.task.name}" if self.task else ""
        return f"Model({self.config.family}{task}, {parameters:,} parameters, {self.device})"

    # ------------------------------------------------------------------ verbs

    @overload
    def fill(self, text: str, *, top: int = 5) -> Filled: ...
    @overload
    def fill(self, text: list[str] | tuple[str, ...], *, top: int = 5) -> list[Filled]: ...
    def fill(self, text: str | list[str] | tuple[str, ...], *, top: int = 5) -> Filled | list[Filled]:
        """The `top` best guesses for each [MASK] in a text, or in each of many texts.

        Hidden words are guessed independently of one another. A text longer than the model's `room` is read in
        windows. Raises DataError for a text without [MASK], ConfigError for a model that cannot fill.
        """
        words = self._masked_words()
        return next(words.fill([text], top=top)) if isinstance(text, str) else list(words.fill(text, top=top))

    @overload
    def score(self, text: str) -> Scored: ...
    @overload
    def score(self, text: list[str] | tuple[str, ...]) -> list[Scored]: ...
    def score(self, text: str | list[str] | tuple[str, ...]) -> Scored | list[Scored]:
        """The pseudo-log-likelihood of a text, or of each of many, piece by piece.

        Raises DataError for a text of only blanks, ConfigError for a model that does not guess hidden words.
        """
        words = self._masked_words()
        return next(words.score([text])) if isinstance(text, str) else list(words.score(text))

    def evaluate(self, *files: str | Path) -> dict[str, float]:
        """Loss, perplexity and accuracy at masked places of these files, beside baselines.

        Without files: of the documents that were held out when the model was trained.
        """
        from glassformer.artefact.evaluate import evaluate

        return evaluate(self, files)

    def trace(self, text: str, *, keep: Iterable[str] | str | None = None, dtype: torch.dtype | None = None) -> Trace:
        """Run one text and put every tensor within reach; `keep` names those to store rather than compute again.

        Always in float32 or float64 (`dtype`), whatever the model predicts in.
        """
        from glassformer.artefact.trace import trace

        return trace(self, text, keep=keep, dtype=dtype)

    def save(self, directory: str | Path) -> Path:
        """Write all of it to a directory, whole or not at all; raises CheckpointError when that is impossible."""
        return store.write(
            directory,
            store.Saved(
                module=self.module,
                tokenizer=self._tokenizer,
                task=self.task,
                labels=self.labels,
                length=self.length,
                data=self.data,
                recipe=self.recipe,
                metrics=self.metrics,
                tokens=self.tokens,
                card=self.card,
            ),
        )

    def _masked_words(self) -> MaskedWords:
        return MaskedWords(self.module, self.tokenizer, self.room, self.fast)


def load(
    path: str | Path,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    fast: bool = False,
) -> Model:
    """Open a saved model: a folder of ours, or one of Hugging Face's (`config.json` and safetensors).

    `dtype` is that of the weights, float32 unless told; `fast` predicts in bfloat16. The network is never touched,
    unless you ask for `hub:owner/name`. Raises CheckpointError for what is not a model, DeviceError for a device that
    is not there.
    """
    where, kind = choose_device(str(device or "auto")), choose_dtype(dtype)
    model = open_as_saved(path)
    model.module.to(device=where, dtype=kind)
    model._fast = fast
    return model


def open_as_saved(path: str | Path) -> Model:
    """The same on the CPU, with the weights in the type in which they were saved; to write them elsewhere."""
    if str(path).startswith(HUB):
        return _foreign(path)
    check_path(path, CheckpointError)
    path = Path(path)
    if not path.exists():
        raise CheckpointError(f"a saved model is needed at {path}", got="no such folder")
    if path.is_file():
        refuse_pickles(path)
        own = path.resolve().parent
        is_in_one = store.is_ours(own) or (own / "config.json").is_file()
        do = f"name its folder: {own}" if is_in_one else "name a folder that train or import has written"
        raise CheckpointError("a model is a folder", got=f"the file {path}", do=do)
    if store.is_ours(path):
        saved = store.read(path)
        return Model(
            saved.module,
            saved.tokenizer,
            task=saved.task,
            labels=saved.labels,
            length=saved.length,
            data=saved.data,
            metrics=saved.metrics,
            tokens=saved.tokens,
            card=saved.card,
            source=path,
        )
    refuse_pickles(path)
    if (settled(path) / "config.json").is_file():
        return _foreign(path)
    raise CheckpointError(
        f"a saved model is needed at {path}",
        got=f"a folder without {store.SETTINGS} or config.json",
        do=_unfinished(path),
    )


def _foreign(path: str | Path) -> Model:
    from glassformer.artefact.foreign import read_foreign

    return read_foreign(path)[0]


def _unfinished(path: Path) -> str:
    if (path / store.RECIPE).is_file():
        return f"its training has not ended: go on with glassformer train {path / store.RECIPE} --out {path} --resume"
    return "name a folder that train or import has written"


def choose_dtype(name: str | torch.dtype | None) -> torch.dtype:
    """The type of the weights, float32 when None; raises ConfigError for another than the three we compute in."""
    if isinstance(name, torch.dtype) and name in DTYPES.values():
        return name
    if name is None:
        return torch.float32
    if name not in DTYPES:
        raise ConfigError("a type of number is needed", got=repr(name), do=did_you_mean(str(name), DTYPES))
    return DTYPES[str(name)]
