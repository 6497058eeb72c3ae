from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="bert",
    help="predict masked words and whether a sentence follows another (as BERT does), from running text",
    task=".task:Bert",
    section=".settings:BertSection",
    recipe="bert-mini",
    tuning="bert-mini",
)
