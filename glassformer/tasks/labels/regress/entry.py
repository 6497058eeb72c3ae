from glassformer.tasks import TaskEntry

TASK = TaskEntry(
    name="regress",
    help="predict a number for a text or a pair of texts, from a table",
    task=".task:Regress",
    recipe="regress-from-scratch",
    columns=("text", "pair", "label"),
    data="..settings:RatedData",
    predictors={"classify": ".task:Regress"},
)
