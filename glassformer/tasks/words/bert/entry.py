from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="bert",
    help="masked words and next sentence together, from running text",
    task=".task:Bert",
    recipe="bert-mini",
    tuning="bert-mini",
)
