"""The cases: each verb on the package's models and on one tiny model per task."""

# ruff: noqa: E501 -- a row of the table is a line

from collections.abc import Iterator

from tests.golden.verbs.table import Case

RUN = ("metrics.json", "metrics.jsonl", "recipe.toml", "model.safetensors", "glassformer.json", "tokenizer.json")
SMALL = "--precision float32 --set train.compile=off"
SIZES = (
    "--set model.settings.layers=2 --set model.settings.width=32 --set model.settings.heads=2 "
    "--set model.settings.feed_forward=48"
)
TINY = f"{SMALL} --vocabulary 200 --length 32 --batch 8 --steps 20"
BOTH = f"{SMALL} --vocabulary 300 --length 32 --set train.batch_tokens=200 --steps 20 --set train.warmup=4"

# One tiny model for each task: the words after `train`, without --out.
MODELS = {
    "masked-lm": f"masked-lm data/prose.txt {TINY} {SIZES} --size tiny",
    "bert": f"bert data/prose.txt {TINY} {SIZES}",
    "sentence-order": f"sentence-order data/prose.txt {TINY} {SIZES}",
    "annotated-masks": f"annotated-masks data/masks.jsonl {TINY} {SIZES}",
    "classify": f"classify data/labels.csv {TINY} {SIZES} --validation 0.3",
    "classify-pairs": f"classify data/pairs.tsv --text-column 0 --pair-column 1 --label-column 2 {TINY} {SIZES}",
    "several": f"classify data/several.jsonl --set task.several=true {TINY} {SIZES} --validation 0.3",
    "regress": f"regress data/numbers.jsonl --pair-column pair {TINY} {SIZES} --validation 0.3",
    "choose": f"choose data/choices.jsonl {TINY} {SIZES} --validation 0.3",
    "tag": f"tag data/names.conll --set task.case=false {TINY} {SIZES} --validation 0.3",
    "tag-crf": f"tag data/names.conll --set task.crf=true {TINY} {SIZES} --validation 0.3",
    "tag-kinds": f"tag data/kinds.jsonl --words-column words --tags-column tags {TINY} {SIZES}",
    "answer": f"answer data/questions.json {TINY} {SIZES} --length 64 --validation 0.3",
    "translate": f"translate data/source.en --target-file data/target.fr {BOTH} {SIZES} --size tiny",
    "chat": f"chat data/talks.jsonl {BOTH} {SIZES}",
    "chat-decoder": f"chat data/talks.jsonl --family llama {TINY} {SIZES} --length 48",
    "language-model": f"language-model data/prose.txt {TINY} {SIZES} --size tiny",
}

# Other ways to train: what is not in the recipes of the tasks.
SHORT = f"{SMALL} --vocabulary 200 --length 24 --batch 4 --steps 4"
WAYS = {
    "family-bert": f"masked-lm data/prose.txt --family bert {SHORT} {SIZES} --size tiny",
    "family-distilbert": f"masked-lm data/prose.txt --family distilbert {SHORT} {SIZES}",
    "family-roberta": f"masked-lm data/prose.txt --family roberta {SHORT} {SIZES}",
    "family-slides": f"masked-lm data/prose.txt --family slides {SHORT}",
    "family-matrix-code": f"mask-matrix --set 'data.files=[\"data/prose.txt\"]' --set model.settings.reading=code {SHORT} {SIZES}",
    "family-matrix-pairs": f"mask-matrix --set 'data.files=[\"data/prose.txt\"]' --set model.settings.reading=pairs {SHORT} {SIZES}",
    "family-gpt2": f"language-model data/prose.txt --family gpt2 {SHORT} {SIZES} --size small --set model.settings.tied=true",
    "family-vaswani": f"translate data/source.en --target-file data/target.fr --family vaswani2017 {BOTH} {SIZES} --size base --steps 4",
    "family-tensor2tensor": f"translate data/source.en --target-file data/target.fr --family tensor2tensor {BOTH} {SIZES} --size base --steps 4",
    "family-bart": f"translate data/source.en --target-file data/target.fr --family bart {BOTH} {SIZES} --steps 4",
    "family-t5": f"translate data/translations.tsv --family t5 {BOTH} {SIZES} --size small --steps 4",
    "masked-words": f"masked-lm data/prose.txt {SHORT} {SIZES} --size tiny --set tokenizer.kind=words",
    "watched": f"masked-lm data/prose.txt {SHORT} {SIZES} --size tiny --watch 'She [MASK] summer.' --set train.evaluate_every=2",
    "kept": f"masked-lm data/prose.txt {SHORT} {SIZES} --size tiny --steps 8 --set train.evaluate_every=2 --set train.patience=1 --set train.ema=0.9",
    "averaged": f"masked-lm data/prose.txt {SHORT} {SIZES} --size tiny --set train.checkpoint_every=1 --set train.average=3",
    "adam-cosine": f"masked-lm data/prose.txt {SHORT} {SIZES} --size tiny --set train.optimizer=adamw --set train.schedule=cosine --set train.accumulate=2",
    "bert-adam": f"bert data/prose.txt {SHORT} {SIZES} --set task.static=true --set train.optimizer=bert-adam --set train.schedule=linear",
    "dropped": f"bert data/prose.txt {SHORT} {SIZES} --set model.settings.dropout=0.2 --set train.activation_checkpointing=true",
    "float64": f"masked-lm data/prose.txt {SHORT} {SIZES} --size tiny --precision float64",
    "bfloat16": f"masked-lm data/prose.txt {SHORT} {SIZES} --size tiny --precision bfloat16",
    "seeds": f"classify data/labels.csv {SHORT} {SIZES} --seeds 3 --validation 0.3",
    "epochs": f"classify data/labels.jsonl.gz {SMALL} --vocabulary 120 --length 24 --batch 4 --epochs 1.5 {SIZES} --validation 0.2",
    "rejects": f"classify data/bad.csv {SHORT} {SIZES} --rejects out/rejects-train.jsonl",
    "skipped": f"classify data/bad.csv {SHORT} {SIZES} --set data.on_bad_row=skip --set data.test=0.2",
    "tuned": f"classify data/labels.csv --start english {SMALL} --steps 3 --batch 4 --length 24 --validation 0.3",
    "head-alone": f"classify data/labels.csv --start models/masked-lm {SMALL} --steps 4 --batch 4 --freeze all-but-head",
    "gradually": f"classify data/labels.csv --start models/masked-lm {SMALL} --steps 4 --batch 4 --freeze gradually",
    "layer-decay": f"regress data/numbers.jsonl --start models/masked-lm {SMALL} --steps 4 --batch 4 --layer-decay 0.5",
    "adapters": f"classify data/labels.csv --start models/masked-lm {SMALL} --steps 4 --batch 4 --adapters 2",
    "pattern": f"masked-lm data/prose.txt --start models/masked-lm {SMALL} --steps 4 --batch 4 --freeze 'encoder.embed.*'",
    "tag-tuned": f"tag data/names.conll --start models/masked-lm --set task.crf=true {SMALL} --steps 4 --batch 4",
    "order-tuned": f"sentence-order data/prose.txt --start models/bert {SMALL} --steps 4 --batch 4",
    "answer-tuned": f"answer data/questions.json --start models/masked-lm {SMALL} --steps 4 --batch 4 --validation 0.3",
    "choose-tuned": f"choose data/choices.jsonl --start models/masked-lm {SMALL} --steps 4 --batch 4 --validation 0.3",
    "translate-tuned": f"translate data/translations.tsv --start models/translate {SMALL} --steps 4 --set train.batch_tokens=100",
    "translate-aligned": f"translate data/translations.tsv {BOTH} {SIZES} --size tiny --steps 4 --set task.alignment=0.1",
    "chat-text": f"chat data/talks.txt {BOTH} {SIZES} --steps 4",
    "chat-lines": f"chat data/talks.jsonl --start models/language-model {SMALL} --steps 4",
}


def _training() -> Iterator[Case]:
    yield Case("train/slides", "train slides --out models/slides --json", _run("models/slides"))
    for name, words in MODELS.items():
        yield Case(f"train/{name}", f"train {words} --out models/{name} --json", _run(f"models/{name}"))
    for name, words in WAYS.items():
        reads = _run(f"models/{name}")
        if name == "rejects":
            reads = (*reads, "out/rejects-train.jsonl")
        if name == "seeds":
            reads = (*reads, *(f"models/seeds/*/{file}" for file in RUN))
        yield Case(f"train/{name}", f"train {words} --out models/{name} --json", reads)
    first = f"train masked-lm data/prose.txt {SHORT} {SIZES} --size tiny"
    yield Case("train/first-half", f"{first} --out models/resumed --json", ("models/resumed/metrics.json",))
    again = "train --resume --steps 8 --out models/resumed --json"
    yield Case("train/second-half", again, _run("models/resumed"), makes="models/resumed-all")


def _run(folder: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in RUN)


TEXT, MASKED = "'She likes the summer better than the winter.'", "'She [MASK] the summer better than the [MASK].'"
PASSAGE = "'Nobody paints old songs often. Marie Curie likes the garden and lives in Bonn.'"
TOLD = "'Do you like summer?' 'I like summer often.' 'Why?'"
# What each model is asked, by `explain`, `verify` and the page: words after the model.
ASKED = {
    "english": MASKED,
    "models/slides": "'She [MASK] [MASK] summer better'",
    "en-fr": "'He is a doctor.'",
    "writer": "'As Aliens entered our planet'",
    "chat": "'Hi how are you'",
    "models/masked-lm": "'She [MASK] summer today.'",
    "models/bert": "'She likes [MASK] today.' --pair 'He avoids winter.'",
    "models/sentence-order": "'She likes summer.' --pair 'He avoids winter.'",
    "models/annotated-masks": "'She [MASK] summer today.'",
    "models/classify": "'She likes summer today.'",
    "models/classify-pairs": "'She likes summer.' --pair 'He avoids winter.'",
    "models/several": "'She paints the garden.'",
    "models/regress": "'She likes summer.' --pair 'He avoids winter.'",
    "models/choose": "'She summer.' --choice likes --choice avoids --choice paints",
    "models/tag": "'Marie Curie likes New York today.'",
    "models/tag-crf": "'Marie Curie likes New York today.'",
    "models/answer": f"'Who likes the garden?' --pair {PASSAGE}",
    "models/translate": "'She likes summer.'",
    "models/chat": TOLD,
    "models/chat-decoder": TOLD,
    "models/language-model": "'She likes summer'",
}
PACKAGE = ("english", "en-fr", "writer", "chat")
WRITES = ("en-fr", "writer", "chat", "models/translate", "models/chat", "models/chat-decoder", "models/language-model")


def _short(model: str) -> str:
    return model.replace("models/", "tiny-")


def _looking() -> Iterator[Case]:
    for model, words in ASKED.items():
        name, fast = _short(model), model in PACKAGE
        yield Case(f"info/{name}", f"info {model} --json", fast=fast)
        yield Case(f"explain/{name}", f"explain {model} {words} --json")
        yield Case(f"verify/{name}", f"verify {model} {words} --json")
        page = f"out/explain-{name}.html"
        yield Case(f"page/{name}", f"explain {model} {words} --html {page} --gradients --megabytes 8", (page,))
        yield Case(f"heads/{name}", f"heads {model} --no-importance --json", fast=fast)
    for model in WRITES:
        name = _short(model)
        written = f"explain {model} {ASKED[model]} --write 4"
        yield Case(f"explain-write/{name}", f"{written} --json")
        yield Case(
            f"page-write/{name}", f"{written} --beams 2 --html out/write-{name}.html", (f"out/write-{name}.html",)
        )
    cell = "'encoder.blocks.0.self_attention.weights[head=0,query=1,key=2]'"
    yield Case("explain/cell", f"explain models/slides {ASKED['models/slides']} --cell {cell} --json")
    yield Case("explain/word", f"explain english {MASKED} --word summer --json")
    yield Case("explain/target", "explain en-fr 'He is a doctor.' --target 'Il est médecin.' --json")
    yield Case("explain/candidate", f"explain models/choose {ASKED['models/choose']} --sentence 1 --json")
    yield Case("verify/float64", f"verify english {MASKED} --precision float64 --json")
    yield Case(
        "page/held-out",
        f"explain models/masked-lm {ASKED['models/masked-lm']} --held-out data/lines.txt --html out/held.html",
        ("out/held.html",),
    )
    yield Case(
        "page/moved",
        f"explain models/none {ASKED['models/classify']} --start models/masked-lm --html out/moved.html",
        code=2,
    )
    yield Case(
        "page/head-alone",
        f"explain models/gradually {ASKED['models/classify']} --start models/masked-lm --html out/tuned.html",
        ("out/tuned.html",),
    )
    for model in ("english", "models/masked-lm", "models/bert", "models/classify", "models/language-model"):
        yield Case(f"heads-held-out/{_short(model)}", f"heads {model} --held-out data/lines.txt --rows 6 --json")
    yield Case("heads-held-out/translate", "heads models/translate --held-out data/held.tsv --rows 6 --json")
    yield Case("heads/text", f"heads english {TEXT} --no-importance --json", fast=True)
    for reading in ("code", "stated", "pairs"):
        yield Case(f"matrix/{reading}", f"matrix {TEXT} --reading {reading} --json", fast=True)
    yield Case(
        "matrix/wide", f"matrix {TEXT} --mask-fraction 0.4 --seed 3 --width 5 --nothing-to-see zero --json", fast=True
    )
    yield Case("matrix/guide", "matrix --guide --query-size 512 --json", fast=True)
    yield Case("shuffle", "shuffle --json", fast=True)
    yield Case("claims", "claims X-4 --json", fast=True)
    yield Case("matrix/page", f"matrix {TEXT} --html out/matrix.html", ("out/matrix.html",), fast=True)
    yield Case("explore/slides", "explore --no-browser --json", server=True)
    yield Case("models", "models --json", fast=True)
    yield Case("cache", "cache models")


def cases() -> list[Case]:
    """All cases, each after those whose models and files it reads."""
    from tests.golden.verbs.asking import asking

    return [*_training(), *_looking(), *asking()]
