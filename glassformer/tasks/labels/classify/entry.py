from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="classify",
    help="one label, or several, for a text or a pair, from a table",
    task=".task:Classify",
    recipe="classify-from-scratch",
    tuning="classify",
    columns=("text", "pair", "label"),
    data=".settings:ClassifyData",
)
VERBS = (
    VerbEntry(
        name="classify",
        help="predict one label, several labels or a number for a text or a pair",
        predictor=".task:Classify",
        method=True,
        columns=("text", "pair"),
        tasks=("classify",),
        watched=WatchEntry(behind="pair"),
    ),
)
