from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="annotated-masks",
    help="predict masked words, from a table that has the masks and the answers",
    task=".task:AnnotatedMasks",
    recipe="annotated-masks",
    columns=("text", "answers"),
    data=".settings:AnnotatedMasksData",
)
