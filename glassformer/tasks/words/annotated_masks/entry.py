from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="annotated-masks",
    help="predict masked words, with masks and answers from a table",
    task=".task:AnnotatedMasks",
    recipe="annotated-masks",
    tuning="annotated-masks",
    columns=("text", "answers"),
    data=".settings:AnnotatedMasksData",
)
