from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="choose",
    help="predict which of several candidates fits a text, from a table",
    task=".task:Choose",
    section=".settings:ChooseSection",
    recipe="choose-from-scratch",
    columns=("text", "choices", "label"),
    data=".settings:ChooseData",
)
VERBS = (
    VerbEntry(
        name="choose",
        help="choose the candidate (--choice) that best fits a text",
        predictor=".task:Choose",
        method=True,
        columns=("text", "choices"),
        watched=WatchEntry(after_tab="choices", needs=2, several=True),
    ),
)
