from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="tag",
    help="predict a tag for each word, such as its part of speech, from CoNLL, CoNLL-U or JSON Lines",
    task=".task:Tag",
    section=".settings:TagSection",
    recipe="tag-from-scratch",
    columns=("text", "words", "tags", "spans"),
    data=".settings:TagData",
)
VERBS = (
    VerbEntry(
        name="tag",
        help="tag the words of a text and give their character positions",
        predictor=".task:Tag",
        method=True,
        columns=("text", "words"),
        files=", .conll and .conllu",
        watched=WatchEntry(),
    ),
)
