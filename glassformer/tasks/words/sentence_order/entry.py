from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="sentence-order",
    help="does a sentence follow another, from running text",
    task=".task:SentenceOrder",
    recipe="sentence-order-mini",
    tuning="sentence-order",
)
