"""The verbs of the command line."""

from glassformer.tasks import VERBS as ANSWERS

# The verbs by purpose. Verbs that answer are made in ask/ask.py from the table in tasks/; each other verb is a function
# of its name in the module of its name (import in import_.py), in the folder of its purpose.
VERBS: dict[str, dict[str, str]] = {
    "Train": {
        "demo": "train and inspect two small models in about four minutes",
        "plan": "count the parameters of a training run, and estimate its memory and time",
        "train": "train a model from text files or a recipe",
        "distil": "train a smaller model from a larger one and your data",
        "evaluate": "measure a model on held-out text, compared with baselines",
        "compare": "test which of two models is better, on the same examples",
    },
    "Ask": {
        **{verb: entry.help for verb, entry in ANSWERS.items()},
        "serve": "serve models over HTTP, for other programs and machines",
    },
    "Vectors": {
        "embed": "compute vectors of texts or words; `embed compare` ranks layers and poolings",
        "search": "search texts by meaning and by words: `search build`, then `search ask`",
    },
    "Look inside": {
        "explain": "show every step from words to predictions, with its numbers and formulas",
        "explore": "open a page that traces every number back to its inputs",
        "heads": "list where each attention head looks, and the loss without it",
        "matrix": "compute a blog post's matrix of word pairs for a text, step by step",
        "shuffle": "compare the vectors of a text with those of the same words in random order",
        "verify": "check every tensor computed for a text against its formula",
        "claims": "list claims of four Transformer tutorials, with verdicts",
        "models": "list the bundled models",
        "info": "describe a model: sizes, task, tokenizer, precision, data, scores",
        "cache": "show the caches on this machine, or delete those that can be rebuilt",
    },
    "Import and export": {
        "import": "convert a Hugging Face folder to a glassformer folder",
        "export": "write a Hugging Face folder, or an encoder as an ONNX graph",
    },
    "Installation": {
        "doctor": "show versions, processor, engines, GPU and cache, and what is missing",
        "completion": "print a script that completes commands in bash, zsh or fish",
    },
}

# The folder of the verbs of a purpose.
FOLDERS = {
    "Train": "train",
    "Ask": "ask",
    "Vectors": "vectors",
    "Look inside": "look",
    "Import and export": "files",
    "Installation": "setup",
}

# The second word of commands that have one of their own: each is a function in a module of both words (embed_compare).
PARTS: dict[str, tuple[str, ...]] = {"embed": ("compare",), "search": ("build", "ask")}
