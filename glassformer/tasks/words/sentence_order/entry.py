from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="sentence-order",
    help="predict whether a sentence follows another, from running text",
    task=".task:SentenceOrder",
    section=".settings:SentenceOrderSection",
    recipe="sentence-order-mini",
)
