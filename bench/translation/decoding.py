"""Decoding: ours, transformers' generate and ctranslate2 translate the same sentences with the same weights.

    python -m bench.translation model       # trains them first: 3+3 layers of 256, vocabulary 8,000

From text to text. All search alike: the same beams, scores divided by the number of tokens, and an end as soon as there
are as many answers as beams. A process for each system; they translate in turn. ctranslate2 divides the cores among
sentences or not, as is faster here.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from bench.translation.pairs import WORK, Size, files, texts
from bench.turns import Given, in_turn, medians, times

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SIZE = Size(layers=3, width=256, heads=4, feed_forward=1024, vocabulary=8000, dropout=0.1)
PART = "test_2016_flickr"
OURS, FAST, GENERATE = "ours", "ours, fast", "transformers generate"
CT_FLOAT32, CT_INT8 = "ctranslate2 float32", "ctranslate2 int8"
SYSTEMS = (OURS, FAST, GENERATE, CT_FLOAT32, CT_INT8)
SEARCHES = {"greedy": 1, "beam 5": 5}
TURNS = 5
MOST = 96  # tokens of a translation
TOGETHER = 64  # sentences of a batch

Translate = Callable[[Sequence[str], int], list[str]]


def train(minutes: float, out: Path) -> None:
    """Train the model, or go on where that was stopped."""
    english, french = files("train")
    held_english, held_french = files("val")
    command = [sys.executable, "-m", "glassformer", "train"]
    if (out / "recipe.toml").exists():
        command += ["--resume", "--out", str(out)]
    else:
        settings = ", ".join(f"{name} = {value}" for name, value in SIZE.settings.items())
        said = {
            "data.validation_files": f"['{held_english}']",
            "data.validation_target_files": f"['{held_french}']",
            "model.settings": f"{{{settings}}}",
            "train.batch_tokens": "2048",
        }
        command += ["translate", english, "--target-file", french, "--minutes", f"{minutes:g}", "--out", str(out)]
        command += ["--vocabulary", str(SIZE.vocabulary)]
        command += [part for name, value in said.items() for part in ("--set", f"{name}={value}")]
    subprocess.run(command, check=True)


def ours(model: Path, *, fast: bool) -> Translate:
    """Our side."""
    import glassformer as gf

    opened = gf.load(model, fast=fast)

    def translate(sources: Sequence[str], beams: int) -> list[str]:
        beam = {"method": "beam", "beams": beams, "early_stopping": "full"} if beams > 1 else {"method": "greedy"}
        penalty = {"length_penalty": 1.0, "length_penalty_form": "power"} if beams > 1 else {}
        search = gf.DecodeSettings.model_validate({**beam, **penalty, "max_tokens": MOST})
        return [each.translation for each in opened.translate(list(sources), search=search)]

    return translate


def generate(exported: Path) -> Translate:
    """transformers: sentences of similar length together."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    model = transformers.MarianMTModel.from_pretrained(exported).eval()

    def translate(sources: Sequence[str], beams: int) -> list[str]:
        said = {"length_penalty": 1.0, "early_stopping": True} if beams > 1 else {}
        order = sorted(range(len(sources)), key=lambda number: -len(sources[number]))
        found = [""] * len(sources)
        for start in range(0, len(order), TOGETHER):
            chosen = order[start : start + TOGETHER]
            given = tokenizer([sources[number] for number in chosen], return_tensors="pt", padding=True)
            with torch.inference_mode():
                answers = model.generate(**given, num_beams=beams, do_sample=False, max_new_tokens=MOST, **said)
            for number, text in zip(chosen, tokenizer.batch_decode(answers, skip_special_tokens=True), strict=True):
                found[number] = text
        return found

    return translate


def ctranslate2(exported: Path, kind: str) -> Translate:
    """ctranslate2, its own sorting and batches of the same size."""
    import ctranslate2 as library
    import transformers

    tokenizer, cores = transformers.AutoTokenizer.from_pretrained(exported), torch.get_num_threads()
    converted = exported.parent / "converted"
    if not converted.exists():
        library.converters.TransformersConverter(str(exported)).convert(str(converted))

    def opened(threads: tuple[int, int]) -> Any:
        one, all_ = threads
        return library.Translator(
            str(converted), device="cpu", compute_type=kind, inter_threads=one, intra_threads=all_
        )

    def answered(translator: Any, sources: Sequence[str], beams: int) -> list[str]:
        given = [tokenizer.convert_ids_to_tokens(ids) for ids in tokenizer(list(sources)).input_ids]
        answers = translator.translate_batch(
            given,
            beam_size=beams,
            length_penalty=1.0,
            min_decoding_length=0,  # as the others, who may give an empty translation
            max_decoding_length=MOST,
            max_batch_size=TOGETHER,
        )
        ids = [tokenizer.convert_tokens_to_ids(answer.hypotheses[0]) for answer in answers]
        return list(tokenizer.batch_decode(ids, skip_special_tokens=True))

    tried, seconds = {(1, cores): opened((1, cores)), (cores, 1): opened((cores, 1))}, {}
    chosen: dict[int, Any] = {}

    def translate(sources: Sequence[str], beams: int) -> list[str]:
        if beams not in chosen:  # the first turn, which does not count
            for threads, translator in tried.items():
                answered(translator, sources[:TOGETHER], beams)
                started = time.perf_counter()
                answered(translator, sources, beams)
                seconds[threads] = time.perf_counter() - started
            chosen[beams] = tried[min(seconds, key=lambda threads: seconds[threads])]
        return answered(chosen[beams], sources, beams)

    return translate


def work(system: str, model: Path, exported: Path, sentences: int, pipe: Connection) -> None:
    """A worker: translates by one beam and by several, answers with the seconds of each and the translations."""
    kinds: dict[str, Callable[[], Translate]] = {
        OURS: lambda: ours(model, fast=False),
        FAST: lambda: ours(model, fast=True),
        GENERATE: lambda: generate(exported),
        CT_FLOAT32: lambda: ctranslate2(exported, "float32"),
        CT_INT8: lambda: ctranslate2(exported, "int8"),
    }
    translate, sources = kinds[system](), texts(PART)[0][:sentences]
    while pipe.recv():
        given: Given = {}
        for name, beams in SEARCHES.items():
            started = time.perf_counter()
            found = translate(sources, beams)
            given[name] = {"seconds": time.perf_counter() - started, "translations": found}
        pipe.send(given)


def run(model: Path, *, tried: bool) -> dict[str, Any]:
    """All systems in turn: sentences a second, BLEU, and how many translations are those of ours."""
    import sacrebleu

    import glassformer as gf
    from glassformer.saved.foreign import write_foreign

    saved = gf.load(model)
    weights = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()[:8]
    exported = WORK / "decoding" / weights / "exported"
    if not exported.exists():
        exported.parent.mkdir(parents=True, exist_ok=True)
        write_foreign(saved, exported)
    sentences, turns = (40, 1) if tried else (len(texts(PART)[0]), TURNS)
    done, ready = in_turn(
        work,
        SYSTEMS,
        (model, exported, sentences),
        ask=1,
        turns=turns,
        kept=None if tried else exported.parent / f"turns-{turns}-{sentences}.json",
        reported=lambda given: (
            ", ".join(f"{name} {sentences / found['seconds']:,.0f}" for name, found in given.items()) + " sentences/s"
        ),
    )
    searches = {}
    references = texts(PART)[1][:sentences]
    for name in SEARCHES:
        speeds = {system: [sentences / turn[system][name]["seconds"] for turn in done] for system in SYSTEMS}
        found = {system: done[0][system][name]["translations"] for system in SYSTEMS}
        searches[name] = {
            "sentences_per_second": medians(speeds),
            "spread": {system: [min(each), max(each)] for system, each in speeds.items()},
            "ratios": {
                one: {two: times(speeds[one], speeds[two]) for two in SYSTEMS if two not in (OURS, FAST)}
                for one in (OURS, FAST)
            },
            "bleu": {system: sacrebleu.corpus_bleu(found[system], [references]).score for system in SYSTEMS},
            "same_as_ours": {
                system: sum(a == b for a, b in zip(found[system], found[OURS], strict=True)) for system in SYSTEMS
            },
        }
    return {
        "weights": f"a {saved.config.family} model of {saved.info()['parameters']['all']:,} parameters",
        "sentences": sentences,
        "searches": searches,
        "ready_after_seconds": ready,
        "turns": turns,
    }
