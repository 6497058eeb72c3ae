"""The cases of the verbs that answer, make vectors, measure, compare and convert."""

# ruff: noqa: E501 -- a row of the table is a line

from collections.abc import Iterator

from tests.golden.verbs.cases import ASKED, MASKED, PASSAGE, SIZES, SMALL, TEXT, TOLD
from tests.golden.verbs.table import Case

ALIENS, DOCTOR, HOW = "'As Aliens entered our planet'", "'He is a doctor.' 'She likes the summer.'", "'Hi how are you'"


def _answers() -> Iterator[Case]:
    yield Case("fill/english", f"fill english {MASKED} --json", fast=True)
    yield Case("fill/three", f"fill english {MASKED} 'They go [MASK].' --top 3 --json", fast=True)
    yield Case("fill/slides", "fill models/slides 'She [MASK] [MASK] summer better' --json")
    yield Case(
        "fill/file", "fill english --file data/masked.txt --out out/filled.jsonl", ("out/filled.jsonl",), fast=True
    )
    yield Case("fill/typed", "fill english - --json", stdin="She [MASK] it.\nHe is [MASK].\n", fast=True)
    yield Case("fill/bfloat16", f"fill english {MASKED} --fast --json")
    for name in ("masked-lm", "bert", "annotated-masks"):
        yield Case(f"fill/{name}", f"fill models/{name} --file data/masked.txt --json")
    yield Case("score/english", f"score english {TEXT} --json", fast=True)
    yield Case("score/writer", f"score writer {ALIENS} --json", fast=True)
    yield Case("score/en-fr", "score en-fr 'He is a doctor.' --target 'Il est médecin.' --json", fast=True)
    for name in ("masked-lm", "bert", "language-model"):
        yield Case(f"score/{name}", f"score models/{name} --file data/lines.txt --json")
    yield Case(
        "score/translate",
        "score models/translate --file data/translations.tsv --text-column source --target-column target --json",
    )
    for name in ("classify", "classify-pairs", "several", "regress", "sentence-order", "bert"):
        yield Case(f"classify/{name}", f"classify models/{name} {ASKED[f'models/{name}']} --json", code=0)
    yield Case("classify/table", "classify models/classify --file data/labels.csv --text-column text --json")
    yield Case(
        "classify/columns",
        "classify models/regress --file data/numbers.jsonl --out out/numbers.jsonl --text-column text --pair-column pair",
        ("out/numbers.jsonl",),
    )
    yield Case(
        "classify/rejects",
        "classify models/classify --file data/bad.csv --text-column text --rejects out/rejects.jsonl --json",
        ("out/rejects.jsonl",),
    )
    yield Case("choose/one", f"choose models/choose {ASKED['models/choose']} --json")
    yield Case("choose/table", "choose models/choose --file data/choices.jsonl --json")
    for name in ("tag", "tag-crf", "tag-kinds"):
        yield Case(f"tag/{name}", f"tag models/{name} 'Marie Curie likes New York today.' 'Ali paints Bonn.' --json")
    yield Case("tag/table", "tag models/tag-crf --file data/names.conll --json")
    yield Case("tag/written", "tag models/tag --file data/names.conll --out out/tags.jsonl", ("out/tags.jsonl",))
    yield Case("answer/one", f"answer models/answer 'Who likes the garden?' --pair {PASSAGE} --top 3 --json")
    yield Case("answer/table", "answer models/answer --file data/questions.json --json")


def _writing() -> Iterator[Case]:
    draws = {
        "beams": "--beams 4 --length-penalty 1 --n-best 2",
        "sampled": "--seed 3 --temperature 1.1 --top-k 40",
        "nucleus": "--seed 4 --top-p 0.7",
        "least": "--seed 5 --min-p 0.05 --repetition-penalty 1.2",
        "bounded": "--beams 3 --no-repeat-ngram 2 --min-tokens 5 --forbid the",
        "forced": "--beams 4 --force summer --stop .",
    }
    for name, words in draws.items():
        fast = name in ("beams", "bounded")
        yield Case(f"generate/{name}", f"generate writer {ALIENS} {words} --max-tokens 16 --json", fast=fast)
        yield Case(f"generate-tiny/{name}", f"generate models/language-model 'She likes' {words} --max-tokens 8 --json")
        yield Case(f"chat/{name}", f"chat chat {HOW} {words} --max-tokens 16 --json", fast=fast)
        for model in ("chat", "chat-decoder"):
            yield Case(f"{model}-tiny/{name}", f"chat models/{model} {TOLD} {words} --max-tokens 8 --json")
        sampled = "" if "--beams" in words else "--sample "
        yield Case(f"translate/{name}", f"translate en-fr {DOCTOR} {sampled}{words} --max-tokens 16 --json", fast=fast)
        yield Case(
            f"translate-tiny/{name}",
            f"translate models/translate 'She likes summer.' {sampled}{words} --max-tokens 8 --json",
        )
    yield Case("generate/plain", f"generate {ALIENS} --max-tokens 12", said=True)
    yield Case("generate/stream", f"generate writer {ALIENS} --max-tokens 12 --stream", said=True)
    yield Case("generate/tree", f"generate writer {ALIENS} --beams 3 --max-tokens 6 --tree --json", fast=True)
    yield Case("generate/int8", "generate models/language-model a --beams 1 --max-tokens 6 --int8 --json")
    yield Case(
        "generate/page",
        f"generate writer {ALIENS} --beams 1 --max-tokens 4 --html out/generate.html",
        ("out/generate.html",),
    )
    yield Case(
        "generate/file",
        "generate models/language-model --file data/lines.txt --max-tokens 5 --seed 2 --out out/texts.jsonl",
        ("out/texts.jsonl",),
    )
    yield Case("chat/greedy", f"chat {HOW} --json", fast=True)
    yield Case(
        "chat/turns",
        "chat chat 'Hi' 'Hello, how are you?' 'Fine' --beams 2 --max-tokens 12 --history 2 --json",
        fast=True,
    )
    yield Case("chat/stream", f"chat chat {HOW} --max-tokens 12 --stream", said=True)
    talk = "Hi how are you\nWhat is your favorite movie?\n/quit\n"
    yield Case(
        "chat/conversation",
        "chat chat --save out/talk.json --seed 2 --max-tokens 12",
        ("out/talk.json",),
        stdin=talk,
        said=True,
    )
    yield Case(
        "chat/goes-on",
        "chat chat --save out/talk.json --beams 1 --max-tokens 12",
        ("out/talk.json",),
        stdin="Why?\n/quit\n",
        said=True,
    )
    yield Case("chat/system", "chat models/chat-decoder 'Why?' --system 'Be kind.' --beams 1 --max-tokens 8 --json")
    yield Case("chat/file", "chat models/chat --file data/talks.jsonl --beams 1 --max-tokens 6 --json")
    yield Case("chat/page", "chat models/chat Why? --beams 1 --max-tokens 4 --html out/chat.html", ("out/chat.html",))
    yield Case("translate/trained", f"translate en-fr {DOCTOR} --json", fast=True)
    yield Case("translate/plain", f"translate {DOCTOR} --no-alignment", said=True)
    yield Case("translate/stream", f"translate en-fr {DOCTOR} --stream", said=True)
    yield Case("translate/tree", "translate en-fr 'He is a doctor.' --beams 3 --tree --json")
    yield Case(
        "translate/groups",
        "translate en-fr 'He is a doctor.' --beams 4 --groups 2 --diversity 0.5 --coverage-penalty 0.2 --n-best 4 --json",
        fast=True,
    )
    yield Case("translate/prefix", "translate en-fr 'He is a doctor.' --prefix Elle --json", fast=True)
    yield Case("translate/paragraphs", "translate en-fr 'He is a doctor. She likes the summer.' --paragraphs --json")
    yield Case(
        "translate/file",
        "translate models/translate --file data/source.en --beams 2 --out out/target.txt",
        ("out/target.txt",),
    )


def _vectors() -> Iterator[Case]:
    yield Case("embed/english", f"embed english {TEXT} 'He cooks.' --json", fast=True)
    every = "-s word -s embedding -s last -s second-to-last -s sum-all -s sum-last-4 -s concat-last-4 -s mean:1,2 -p first -p mean -p max -p last-token"
    yield Case(
        "embed/strategies",
        f"embed english --file data/lines.txt {every} --out out/all.safetensors",
        ("out/all.safetensors",),
    )
    for kind in ("npy", "parquet"):
        yield Case(
            f"embed/{kind}", f"embed english --file data/lines.txt --out out/vectors.{kind}", (f"out/vectors.{kind}",)
        )
    yield Case("embed/words", f"embed english {TEXT} --per-word -s -2 --json")
    yield Case(
        "embed/word",
        "embed english 'He sat by the river bank.' 'She works at a bank.' --compare-word bank --json",
        fast=True,
    )
    yield Case(
        "embed/conll",
        "embed models/masked-lm --per-word --file data/names.conll --out out/words.parquet",
        ("out/words.parquet",),
    )
    for name in ("en-fr", "writer", "models/translate", "models/language-model", "models/bert"):
        yield Case(f"embed/{name.removeprefix('models/')}", f"embed {name} 'She likes summer.' --json")
    ranked = "embed compare models/masked-lm data/labels.csv --folds 3 --mix-out out/mix.json --probe-out out/probe.json --json"
    yield Case("embed-compare/texts", ranked, ("out/mix.json", "out/probe.json"))
    yield Case(
        "embed-compare/words",
        "embed compare models/masked-lm data/kinds.jsonl --per-word --words-column words --tags-column tags --rows 60 --folds 3 -s last -s embedding --json",
    )
    yield Case(
        "embed-compare/english",
        "embed compare english data/labels.csv --folds 3 --repeats 2 --score macro-f1 -s last -s sum-last-4 -p mean --json",
    )
    yield Case("embed/mix", "embed models/masked-lm 'She likes summer.' -s mix:out/mix.json --json")
    page = f"explain models/masked-lm {ASKED['models/masked-lm']} --probe out/probe.json --index out/index-tiny --html out/probe.html"
    yield Case("search/build", "search build english data/lines.txt -o out/index", ("out/index/*",))
    yield Case(
        "search/tiny",
        "search build models/masked-lm data/lines.txt -s sum-all -p max -o out/index-tiny",
        ("out/index-tiny/*",),
    )
    yield Case("page/probe", page, ("out/probe.html",))
    for backend in ("exact", "auto"):
        yield Case(
            f"search/{backend}",
            f"search ask out/index 'Who likes the winter?' 'Old songs' --top 3 --backend {backend} --json",
        )
    yield Case(
        "search/file", "search ask out/index --file data/masked.txt --top 2 --out out/found.jsonl", ("out/found.jsonl",)
    )


# By trained model: the data that `evaluate` and `compare` measure on.
DATA = {
    "masked-lm": "data/lines.txt",
    "bert": "data/prose.txt",
    "sentence-order": "data/prose.txt",
    "annotated-masks": "data/masks.jsonl",
    "classify": "data/labels.csv",
    "classify-pairs": "data/pairs.tsv",
    "several": "data/several.jsonl",
    "regress": "data/numbers.jsonl",
    "choose": "data/choices.jsonl",
    "tag": "data/names.conll",
    "tag-crf": "data/names.conll",
    "answer": "data/questions.json",
    "translate": "data/translations.tsv",
    "chat": "data/talks.jsonl",
    "chat-decoder": "data/talks.jsonl",
    "language-model": "data/lines.txt",
}
COMPARED = {
    "classify": "head-alone",
    "regress": "layer-decay",
    "choose": "choose-tuned",
    "tag": "tag-crf",
    "answer": "answer-tuned",
    "translate": "translate-tuned",
    "chat": "chat-text",
}


def _measuring() -> Iterator[Case]:
    for name, data in DATA.items():
        yield Case(f"evaluate/{name}", f"evaluate models/{name} {data} --json")
        if name != "annotated-masks":
            yield Case(f"evaluate-held-out/{name}", f"evaluate models/{name} --json")
    yield Case("evaluate/english", "evaluate english data/lines.txt --json", fast=True)
    yield Case("evaluate/writer", "evaluate writer data/lines.txt --json", fast=True)
    yield Case("evaluate/en-fr", "evaluate en-fr data/translations.tsv --json")
    yield Case("evaluate/test", "evaluate models/skipped --split test --json")
    yield Case(
        "evaluate/rejects", "evaluate models/classify data/bad.csv --rejects out/bad.jsonl --json", ("out/bad.jsonl",)
    )
    for one, other in COMPARED.items():
        yield Case(f"compare/{one}", f"compare models/{one} models/{other} {DATA[one]} --json")
    yield Case("compare/held-out", "compare models/gradually models/head-alone --json")
    run = ("metrics.json", "recipe.toml", "model.safetensors")
    for name in ("masked-lm", "classify", "several", "regress", "choose", "tag", "tag-crf", "answer"):
        out = f"models/student-{name}"
        pair = "--pair-column pair " if name == "regress" else ""
        words = f"distil models/{name} {DATA[name]} {pair}--layers 1 --steps 4 --batch 4 {SMALL} --out {out} --json"
        yield Case(f"distil/{name}", words, tuple(f"{out}/{file}" for file in run))
    for name, words in {
        "slides": "slides",
        "classify": f"classify data/labels.csv {SMALL} --steps 10 {SIZES} --vocabulary 120",
        "translate": f"translate data/translations.tsv {SMALL} --steps 10 --size tiny --vocabulary 300",
        "language-model": f"language-model data/prose.txt {SMALL} --steps 10 --size tiny --vocabulary 200 --batch 4",
    }.items():
        yield Case(f"plan/{name}", f"plan {words} --json")


def _converting() -> Iterator[Case]:
    for model in (
        "english",
        "en-fr",
        "writer",
        "chat",
        "models/masked-lm",
        "models/classify",
        "models/tag",
        "models/answer",
        "models/family-distilbert",
        "models/family-roberta",
        "models/family-gpt2",
        "models/family-bart",
        "models/family-t5",
        "models/chat-decoder",
    ):
        name = model.removeprefix("models/")
        out = f"out/hf-{name}"
        yield Case(
            f"export/{name}", f"export {model} {out} --json", (f"{out}/*.json", f"{out}/*.safetensors"), makes=out
        )
        back = f"models/back-{name}"
        yield Case(
            f"import/{name}", f"import {out} {back} --json", (f"{back}/*.json", f"{back}/model.safetensors"), makes=back
        )
    for name, more in {"classify": "", "masked-lm": "--features --pooling max"}.items():
        out = f"out/onnx-{name}"
        yield Case(
            f"onnx/{name}",
            f"export models/{name} {out} --to onnx {more} --json",
            (f"{out}/*.json", f"{out}/*.onnx"),
            makes=out,
        )
    for name, words in {
        "verb": "fil english a",
        "option": "fill english 'a [MASK]' --topp 3",
        "no-model": "fill models/none 'a [MASK]'",
        "no-mask": "fill english 'nothing hidden'",
        "other-task": "fill models/classify 'a [MASK]'",
        "no-data": "train classify data/none.csv",
        "column": "train classify data/labels.csv --label-column none",
        "setting": "train slides --set train.nothing=3 --out out/none",
        "out-taken": "train slides --out models/slides",
        "damaged": "info data/labels.csv",
        "bad-rows": f"train classify data/bad.csv {SMALL} --out out/none",
        "import": "import models/slides out/none",
        "cell": "explain models/slides 'She [MASK]' --cell 'nothing[1]'",
        "sampling": f"generate writer {ALIENS} --top-p 2",
        "beams": "translate en-fr a --beams 3 --groups 2",
    }.items():
        yield Case(f"refused/{name}", words, code=2)


def asking() -> list[Case]:
    """All of them, in an order in which each finds what it reads."""
    return [*_answers(), *_writing(), *_vectors(), *_measuring(), *_converting()]
