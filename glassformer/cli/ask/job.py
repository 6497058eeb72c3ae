"""What a way of answering is handed: the texts, who answers, and where the answers go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.terminal.destination import Answers
from glassformer.cli.terminal.readers import Text
from glassformer.decode.options import WritingOptions

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.data.readers.rejects import RejectsFile
    from glassformer.tasks.predictor import Options


@dataclass(frozen=True, kw_only=True)
class Job:
    """`advance` is called with numbers of new answers, `bad` with records that are set aside; `page` is a file."""

    opened: Model
    verb: str
    texts: Iterable[Text]
    options: Options
    out: Answers
    advance: Callable[[int], None] = lambda more: None
    bad: RejectsFile | None = None
    json: bool = False
    page: Path | None = None
    megabytes: int | None = None
    title: str = ""

    @property
    def writing(self) -> WritingOptions:
        """The options of a verb that writes; only such a verb streams, and shows trees and pages."""
        assert isinstance(self.options, WritingOptions)
        return self.options
