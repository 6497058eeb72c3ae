"""What recipes and the command line know of this task, without torch."""

from __future__ import annotations

from glassformer.tasks import TaskEntry, VerbEntry

TASK = TaskEntry(
    name="translate",
    help="translate a text, from pairs in a table or in two files",
    task=".task:Translate",
    recipe="translate",
    tuning="translate",
    columns=("text", "target"),
    data="glassformer.data.settings:TranslateData",
    sized=True,
    pairs=True,
    predictors={"score": "..pair_likelihood:PairLikelihood"},
)
VERBS = (
    VerbEntry(
        name="translate",
        help="the translation of a text",
        predictor="..translator:Translator",
        tasks=("translate",),
        blank=True,
        writes="translation",
    ),
)
