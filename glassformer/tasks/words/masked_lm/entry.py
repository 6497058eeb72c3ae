from glassformer.tasks import TaskEntry, VerbEntry, WatchEntry

TASK = TaskEntry(
    name="masked-lm",
    help="predict masked words, from running text",
    task=".task:MaskedLM",
    section=".settings:MaskedLMSection",
    text="She [MASK] the summer better than the winter.",
    recipe="masked-lm-mini",
    tuning="masked-lm-mini",
    sized=True,
)
VERBS = (
    VerbEntry(
        name="fill",
        help="predict masked words",
        predictor=".fill:Fill",
        method=True,
        top="The limit applies to each [MASK].",
        masks=True,
        watched=WatchEntry(options={"top": 5}, example="The [MASK] sat on the mat."),
    ),
    VerbEntry(
        name="score",
        help="compute the log-probability of each token of a text or translation (an encoder masks each token in turn: "
        "pseudo-log-likelihood)",
        predictor=".likelihood:PseudoLikelihood",
        method=True,
        columns=("text", "target"),
        of_pairs=("target",),
        alone="...writing.likelihood:Likelihood",
    ),
)
