from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="chat",
    help="predict the reply in a conversation, from dialogues",
    task=".task:Chat",
    text="Hi how are you",
    recipe="chat",
    columns=("text",),
    data=".settings:ChatData",
    sized=True,
    pairs=True,
    alone=(".alone:ChatAlone", "chat-decoder"),
    predictors={"score": "..likelihood:PairLikelihood"},
)
VERBS = (
    VerbEntry(
        name="chat",
        help="reply to a message, or chat interactively",
        predictor=".chatter:Chatter",
        method=True,
        usual={"text": "turns"},
        texts="messages, each answered separately; without a message, chat interactively",
        turns=True,
        writes="reply",
        alone=".talker:Talker",
        watched=WatchEntry(
            by="score",
            says={"beams": 1, "max_tokens": 24},
            after_tab="target",
            needs=1,
            example="Hi how are you<TAB>I am fine",
        ),
    ),
)
