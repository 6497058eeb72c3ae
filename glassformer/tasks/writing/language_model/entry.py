from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="language-model",
    help="predict the next token, from running text",
    task=".task:LanguageModel",
    text="As Aliens entered our planet",
    recipe="language-model",
    sized=True,
    predictors={"score": "..likelihood:Likelihood"},
)
VERBS = (
    VerbEntry(
        name="generate",
        help="continue a prompt",
        predictor="..generator:Generate",
        method=True,
        blank=True,
        writes="text",
        goes_on=True,
        watched=WatchEntry(by="score", says={"beams": 1, "max_tokens": 12}),
    ),
)
