from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="answer",
    help="answer questions with a part of a passage",
    task=".task:AnswerQuestions",
    recipe="answer-from-scratch",
    tuning="answer",
    columns=("text", "pair", "answers"),
    data=".settings:AnswerData",
)
VERBS = (
    VerbEntry(
        name="answer",
        help="answer a question from a passage",
        predictor=".task:AnswerQuestions",
        method=True,
        columns=("text", "pair"),
        tasks=("answer",),
        usual={"text": "question", "pair": "context"},
        second="passage",
        top=True,
        watched=WatchEntry(options={"top": 5}, behind="pair", needs=1),
    ),
)
