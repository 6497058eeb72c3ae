from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="classify",
    help="predict one or several labels of a text or a pair of texts, from a table",
    task=".task:Classify",
    section=".settings:ClassifySection",
    recipe="classify-from-scratch",
    columns=("text", "pair", "label"),
    data=".settings:ClassifyData",
)
VERBS = (
    VerbEntry(
        name="classify",
        help="predict one label, several labels or a number for a text or a pair of texts",
        predictor=".task:Classify",
        method=True,
        columns=("text", "pair"),
        watched=WatchEntry(after_tab="pair"),
    ),
)
