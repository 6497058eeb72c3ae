from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="sentence-order",
    help="predict whether a sentence follows another, from running text",
    task=".task:SentenceOrder",
    recipe="sentence-order-mini",
    tuning="sentence-order",
)
