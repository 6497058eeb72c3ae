"""What recipes and the command line know of this task, without torch."""

from __future__ import annotations

from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="bert",
    help="masked words and next sentence together, from running text",
    task=".task:Bert",
    recipe="bert-mini",
    tuning="bert-mini",
)
