"""What a saved model is besides its weights: settings, tokenizer, task; no torch is needed to read them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import TokenizerError
from glassformer.base.pickles import NeverPickled
from glassformer.config import ModelConfig
from glassformer.config.model import Pooling
from glassformer.data.settings import DataSection
from glassformer.decode.options import WritingOptions
from glassformer.decode.settings import SearchDefaults
from glassformer.tasks import predictor_of, task_named, task_where, verb_of
from glassformer.tasks.predictor import Context, Engine, Options
from glassformer.tasks.settings import TaskSection
from glassformer.text.chat_template import ChatTemplates
from glassformer.text.compatible import check_compatible
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from glassformer.saved.recipe import Recipe


class Described(NeverPickled):
    """Weights, tokenizer, task and provenance together. Only the module is required; what is unknown is None or empty.

    `module` is what computes, with its settings as `config`. `length`: tokens in the longest row that the model has
    learned from, or that an imported one says it is for. `data`: its files, and how they were split and cut into rows.
    `token_settings`: Hugging Face's tokens with a role (decoder_start_token_id …), for decoding and export.
    `generation`: its settings of generation, by which it is searched, and for export. `templates`: how a decoder alone
    writes the turns of a conversation. `pooling`: how the states of a text's tokens become its vector, where it is not
    asked for; an imported model of sentence-transformers says it. `notes`: files that could not be read and are not
    needed, a sentence each. `source`: the folder it was read from. `fast`: predict in bfloat16; the weights, the traces
    and the saved model keep their type. `engine`: the library that answers the verbs; `engines` is what is known of it,
    and `tell` hears which one answers.
    """

    tell: Callable[[str], None] = staticmethod(lambda sentence: print(sentence, file=sys.stderr))
    # What answers rows; None: torch, or one of the engines that are compared with it.
    rows_by: Engine | None = None

    written_by = (
        "write it with save(FOLDER), an estimator as well, and open it with gf.load(FOLDER) or the estimator's own "
        "load(FOLDER)"
    )

    def __init__(
        self,
        module: Any,
        tokenizer: Tokenizer | None = None,
        *,
        task: TaskSection | None = None,
        length: int | None = None,
        data: DataSection | None = None,
        recipe: Recipe | None = None,
        metrics: Mapping[str, Any] | None = None,
        token_settings: Mapping[str, Any] | None = None,
        generation: Mapping[str, Any] | None = None,
        templates: ChatTemplates | None = None,
        pooling: Pooling = "mean",
        card: str = "",
        notes: tuple[str, ...] = (),
        fast: bool = False,
        engine: str = "torch",
        source: Path | None = None,
    ) -> None:
        if tokenizer is not None:
            check_compatible(tokenizer, module.config)
        self._tokenizer = tokenizer
        self.task, self.length, self.data = task, length, data
        self.metrics: Mapping[str, Any] = metrics or {}
        self.token_settings: Mapping[str, Any] = token_settings or {}
        self.generation: Mapping[str, Any] = generation or {}
        self.templates, self.pooling = templates, pooling
        self.card, self.notes, self._fast, self.source = card, notes, fast, source
        self.engine = engine
        self.engines: object = None
        self.module: Any = self._ready(module)
        if recipe is not None:
            self.recipe = recipe

    def _ready(self, module: Any) -> Any:
        """The module as it is kept."""
        return module

    @property
    def fast(self) -> bool:
        """Whether it predicts in bfloat16."""
        return self._fast

    @property
    def config(self) -> ModelConfig:
        return self.module.config

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer; raises TokenizerError for a model without one."""
        if self._tokenizer is None:
            raise TokenizerError(
                "text needs a tokenizer", got="a model saved without one", do="use model.module with ids"
            )
        return self._tokenizer

    @property
    def has_tokenizer(self) -> bool:
        return self._tokenizer is not None

    @cached_property
    def recipe(self) -> Recipe | None:
        """The recipe the model was made from, where that is known; read from its folder on first access."""
        from glassformer.saved.recipe import read_saved_recipe  # not at the top: answers need none

        return None if self.source is None else read_saved_recipe(self.source)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the outputs of its head for labels, () where they have none."""
        return () if self.task is None else self.task.head_outputs.labels

    @property
    def task_name(self) -> str | None:
        """The name of its task; for a model that writes and has none, as imported ones, that of its stacks."""
        if self.task is not None:
            return self.task.name
        if self.config.decoder is None or self.config.head is None:
            return None
        stacks = "decoder" if self.alone else "both"
        return task_where(lambda kind: kind.of_imported == stacks)

    @property
    def measured_as(self) -> TaskSection:
        """The task by which it is measured: its own, or for a model without one that of its stacks."""
        if self.task is not None:
            return self.task
        name = self.task_name or str(task_where(lambda kind: kind.of_imported == "encoder"))
        return task_named(name).Section.model_validate({"name": name})

    @property
    def row_tokens(self) -> int | None:
        """Tokens in the longest row that the model reads: limited by its positions and by what it has learned."""
        limits = [limit for limit in (self.config.output_stack.max_length, self.length) if limit is not None]
        return min(limits) if limits else None

    @property
    def max_text_tokens(self) -> int | None:
        """Tokens of text that the model reads at once: a row without its special tokens."""
        return None if self.row_tokens is None else self.row_tokens - sum(self.tokenizer.frame)

    def context(self, options: Options) -> Context:
        return Context(
            section=self.task,
            data=self.data,
            length=self.row_tokens,
            options={} if isinstance(options, WritingOptions) else options,
            asked=options if isinstance(options, WritingOptions) else None,
            search=self.search[0],
            templates=self.templates,
        )

    @cached_property
    def search(self) -> tuple[SearchDefaults | None, Mapping[str, str]]:
        """How an imported model that writes is searched, and why settings are left aside; None for one trained here."""
        writes = self.config.decoder is not None and self.config.head is not None
        if self.task is not None or not writes or not (self.generation or self.token_settings):
            return None, {}
        from glassformer.convert.search_settings import says_how, search_of

        found, aside = search_of(self.generation, self.token_settings, alone=self.alone)
        if not self.alone:
            return found, aside
        if not says_how(self.generation):
            task = str(self.task_name)
            usual = predictor_of(verb_of(task), task, self.config).usual_search
            found = replace(found, settings=usual or found.settings)
        return replace(found, aside=aside), aside

    @property
    def alone(self) -> bool:
        return self.config.encoder is None and self.config.decoder is not None
