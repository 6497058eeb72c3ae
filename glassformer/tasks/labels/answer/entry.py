from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="answer",
    help="predict the part of a passage that answers a question, from a table or SQuAD's .json",
    task=".task:AnswerQuestions",
    section=".settings:AnswerSection",
    recipe="answer-from-scratch",
    columns=("text", "pair", "answers"),
    data=".settings:AnswerData",
)
VERBS = (
    VerbEntry(
        name="answer",
        help="answer a question from a passage (--pair)",
        predictor=".task:AnswerQuestions",
        method=True,
        columns=("text", "pair"),
        usual={"text": "question", "pair": "context"},
        second="passage",
        texts="questions",
        top="Each is a part of the passage.",
        files=", and SQuAD's .json",
        watched=WatchEntry(options={"top": 5}, after_tab="pair", needs=1),
    ),
)
