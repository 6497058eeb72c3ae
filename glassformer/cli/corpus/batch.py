"""The records of one batch, whoever computes it: which of them can be answered, and their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import DataError
from glassformer.cli.terminal.readers import Text

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.tasks.predictor import Options


def answerable(opened: Model, verb: str, texts: Sequence[Text], options: Options) -> tuple[list[Text], list[DataError]]:
    """The records that can be answered, and why each other one cannot."""
    from glassformer.answering.answers import refusals  # not at the top: --help must not import torch

    why = list(refusals(opened, verb, ((one.values, one.where) for one in texts), options))
    return [one for one, error in zip(texts, why, strict=True) if error is None], [
        error.about(one.where, {**one.kept, **one.values} if one.own is None else one.own)
        for one, error in zip(texts, why, strict=True)
        if error is not None
    ]


def answers_to(opened: Model, verb: str, texts: Sequence[Text], options: Options) -> Iterator[Any]:
    """The answers to a batch; the error of a record of a file says that such records can be left out."""
    from glassformer.answering.answers import answer, refusals

    try:
        yield from answer(opened, verb, ((one.values, one.where) for one in texts), options)
    except DataError as error:
        of_files = ((one.values, one.where) for one in texts if one.where)
        if any(str(why) == str(error) for why in refusals(opened, verb, of_files, options)):
            error.left_out_by = "rejects"
        raise
