"""The search for the translation of a text, recorded as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from glassformer.artefact.artefact import Artefact
from glassformer.decode.record import Recorder
from glassformer.errors import ConfigError, DataError
from glassformer.look.search_tree import SearchTree
from glassformer.tasks.predict import precision
from glassformer.tasks.requests import number_of
from glassformer.tasks.translator import SLOTS, Translator


def search_tree(model: Artefact, text: str, options: Mapping[str, Any]) -> SearchTree:
    """The search that `translate` makes with these options, step by step.

    Raises ConfigError for a model that does not translate, DataError for a text of only blanks, for one that is
    translated in several parts, and where no answer has the words that are asked for.
    """
    if model.config.decoder is None:
        raise ConfigError(
            "only a decoder writes, and searches for what it writes",
            got=f"the family {model.config.family}, an encoder",
            do="choose a model that translates",
        )
    if not isinstance(text, str):
        raise DataError("a search is for the translation of one text", got=type(text).__name__)
    translator = Translator.of(model.module, model.tokenizer, model.context(options))
    example = translator.example({"text": text}, "")
    rows = list(translator.rows(example))
    if len(rows) != 1:
        raise DataError(
            "a search tree is of one sentence",
            got=f"a text that is translated in {len(rows)} parts" if rows else "a text of only blanks",
            do="give one of its sentences" if rows else "give a text with words",
        )
    source = rows[0].ids
    limit = model.module.output_stack.max_length
    request = translator.request(number_of(source), source, translator.most_for(source, limit))
    recorder, found = Recorder(), None
    with torch.inference_mode(), precision(model.device, fast=model.fast):
        for step in translator.steps(model.module, [request], slots=SLOTS, recorder=recorder):
            found = next((each.hypotheses for each in step.finished), found)
    answer = translator.merge(example, [found or []])
    return SearchTree.of(
        recorder,
        request.number,
        translator.settings,
        source=source,
        prompt=(*(request.prompt or (translator.ids.begin,)), *request.prefix),
        never=translator.ids.never,
        # A token without a text, as an end may be, has its name.
        text_of=lambda token: translator.target.text(token) or translator.target.token(token),
        text=text,
        answer=answer.translation,
    )
