from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="translate",
    help="predict the translation of a text, from a table of pairs or two parallel files",
    task=".task:Translate",
    text="Two dogs run in the snow.",
    recipe="translate",
    columns=("text", "target"),
    data=".settings:TranslateData",
    sized=True,
    pairs=True,
    predictors={"score": "..likelihood:PairLikelihood"},
)
VERBS = (
    VerbEntry(
        name="translate",
        help="translate a text",
        predictor="..translator:Translator",
        method=True,
        blank=True,
        writes="translation",
        watched=WatchEntry(by="score", after_tab="target", needs=1, example="I am a student.<TAB>Je suis étudiant."),
    ),
)
