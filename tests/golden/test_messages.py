"""The sentences that a person gets, word for word: `messages.json` is the one place that holds the wording.

All other tests assert the type of an error and the values its fields carry.
"""

import json
import os
import pickle
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from starlette.types import Receive, Scope, Send

import glassformer as gf
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.errors import GlassformerError
from glassformer.base.settings import read_settings
from glassformer.cli.ask.show import check_streamed
from glassformer.cli.terminal.options import TYPED
from glassformer.convert import fetch, read_huggingface
from glassformer.convert.onnx.heads import head_of
from glassformer.data.readers.files import files_of
from glassformer.data.readers.paragraphs import join_sentences, split_sentences
from glassformer.data.readers.parallel import read_parallel
from glassformer.data.readers.read import read
from glassformer.decode.asked import search_settings
from glassformer.decode.options import WritingOptions
from glassformer.decode.request import ForcedWord, Request, check_request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.features.embed import same_word
from glassformer.features.rank import check_labels
from glassformer.features.search.index import SearchIndex
from glassformer.features.store import kind_of
from glassformer.features.strategies import features_of
from glassformer.features.strategies import resolve as resolve_strategy
from glassformer.look.trace.cell import Axes
from glassformer.models.families import bert, family_config, gpt2
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.page.server.asked import read_asked
from glassformer.page.server.desk import Desk
from glassformer.page.server.guard import Guard
from glassformer.page.server.offers import Models, Offer
from glassformer.page.server.pictures import part_of
from glassformer.run.first_weights import use_vectors
from glassformer.saved import store
from glassformer.saved.recipe import parse_changes, resolve
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.tasks.writing.alignment import align
from glassformer.tasks.writing.translate.scores import References
from glassformer.text.load import load_tokenizer
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.checkpoint import Checkpoints, restore
from glassformer.training.loop import fit
from glassformer.training.progress import NoProgress
from glassformer.training.stopping import exclusive
from tests.decode.sentences import words
from tests.run.heads import model_for
from tests.training.toy import Toy, machine_of, toy_model, toy_settings
from tests.translators import translating

GOLDEN = Path(__file__).with_name("messages.json")
REWRITE = "GLASSFORMER_REWRITE_MESSAGES"
TEXTS = ["She likes the summer better than the winter.", "He loves to cook healthy food."] * 9
WORD = "encoder.embed.word.weight"
# Forty lines, neighbours of which have very different lengths.
CAPTIONS = "".join("x" * (number * 37 % 41 + 1) + "\n" for number in range(40))


def small_model() -> Model:
    tokenizer = train_tokenizer("wordpiece", TEXTS, vocabulary=60)
    config = bert(layers=1, width=8, heads=2, feed_forward=8, vocabulary=tokenizer.vocabulary_size, max_length=12)
    return Model(build(config), tokenizer, task=MaskedLMSection(), length=12)


@dataclass(frozen=True)
class Place:
    """A folder of its own for each message, with a model in memory and the same saved in `model`."""

    folder: Path
    model: Model

    def file(self, name: str, content: str | bytes = "") -> Path:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name: str, content: str | bytes) -> object:
        return list(read(self.file(name, content)))

    @property
    def saved(self) -> Path:
        return self.folder / "model"

    @property
    def weights(self) -> Path:
        return self.saved / "model.safetensors"

    def fit(self, task: Toy | None = None, *, resume: bool = False, **settings: object) -> object:
        chosen = toy_settings(**{"steps": 1, **settings})
        return list(fit(toy_model(), task or Toy(), chosen, out=self.folder, resume=resume, log=lambda message: None))

    def train(self, *files: Path, **settings: object) -> Model:
        recipe = {"task": {"name": "masked-lm"}, "data": {"files": [str(path) for path in files]}, "train": settings}
        return train(recipe, out=self.folder / "run", progress=NoProgress())


def two_vocabularies(place: Place, task: str, family: str) -> object:
    data = {"files": [str(place.file("a.tsv", "a\tb\n" * 9))]}
    recipe = {"task": {"name": task}, "data": data, "tokenizer": {"shared": False}, "model": {"family": family}}
    recipe["train"] = {"steps": 1}
    return train(recipe, out=place.folder / "run", progress=NoProgress())


def a_flipped_bit(place: Place) -> object:
    content = place.weights.read_bytes()
    place.weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    return gf.load(place.saved)


def a_newer_format(place: Place) -> object:
    path = place.saved / "glassformer.json"
    path.write_text(path.read_text().replace(f'"format": {store.FORMAT}', '"format": 99'))
    return gf.load(place.saved)


def other_weights(place: Place, change: Callable[[dict[str, torch.Tensor]], object]) -> object:
    state = load_file(place.weights)
    change(state)
    save_file(state, place.weights)
    return gf.load(place.saved)


def at_the_guard(path: str, *, host: str = "localhost", origin: str = "") -> None:
    headers = [(b"host", host.encode()), *([(b"origin", origin.encode())] if origin else [])]
    return Guard(nothing, "a-token").check({"type": "http", "path": path, "headers": headers})


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that nobody reaches."""


def a_pickle(place: Place) -> object:
    place.weights.write_bytes(pickle.dumps({}))
    return gf.load(place.saved)


def a_run_that_has_not_ended(place: Place) -> object:
    place.file("recipe.toml", "[train]\nsteps = 3\n")
    return gf.load(place.folder)


def a_damaged_checkpoint(place: Place) -> object:
    checkpoint = Checkpoints(place.folder).save(1, {"model": {"a": torch.zeros(3)}}, {})
    (checkpoint / "model.safetensors").unlink()
    found = Checkpoints(place.folder).newest()
    assert found is not None
    return found.tensors("model")


def another_run_in_the_folder(place: Place) -> object:
    place.fit()
    return place.fit()


def two_at_a_time(place: Place) -> None:
    pytest.importorskip("fcntl", reason="Windows has no lock on a folder")
    with exclusive(place.folder / "run"):
        place.train(place.file("notes.txt", "She likes the summer."), steps=1)


def a_missing_extra(place: Place) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "huggingface_hub", None)
        fetch("owner/name")


def another_model_asks(place: Place) -> object:
    SearchIndex.build(place.folder / "index", ["She likes summer"], place.model)
    other = gf.load(place.saved)
    next(other.module.parameters()).data += 1
    return SearchIndex.open(place.folder / "index", other)


def no_mask(place: Place) -> object:
    import tokenizers

    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    return Tokenizer(backend.to_str(), SpecialTokens(mask="[MASK]"))


def changed(*assignments: str) -> Callable[[Place], object]:
    return lambda place: resolve({"task": {"name": "masked-lm"}}, parse_changes(assignments))


def asked(place: Place, *, forced: tuple[ForcedWord, ...], forbidden: tuple[tuple[int, ...], ...] = ()) -> None:
    settings = DecodeSettings(method="beam", max_tokens=2)
    check_request(
        Request(3, forced=forced, forbidden=forbidden), settings, SpecialIds(1, (2,)), place.model.module.config
    )


def worded(**options: Any) -> object:
    return translating().translate("He", search=search_settings(WritingOptions(**options)))


def ids(*shape: int, value: int = 1) -> Inputs:
    return Inputs(ids=torch.full(shape, value))


MESSAGES: dict[str, Callable[[Place], object]] = {
    "unknown key": changed("train.stepps=3"),
    "a key of another task": changed("data.label=x"),
    "a value of another type": changed("train.steps=many"),
    "a change without a value": changed("steps"),
    "unknown task": lambda place: resolve({"task": {"name": "clasify"}}),
    "no task": lambda place: resolve({}),
    "no recipe": lambda place: resolve(place.folder / "mine.toml"),
    "no end": lambda place: place.fit(steps=None),
    "no checkpoints to average": lambda place: place.fit(average=2),
    "no held-out text": lambda place: place.fit(patience=2),
    "no file": lambda place: files_of([place.folder / "nowhere.txt"]),
    "an empty file": lambda place: place.read("notes.txt", ""),
    "a binary file": lambda place: place.read("notes.txt", b"ab\0cd" * 9),
    "no UTF-8": lambda place: place.read("notes.txt", b"good\nbad \xff\n"),
    "bad row": lambda place: place.read("notes.jsonl", '{"text": "a"}\n{"text": 3}\n'),
    "bad JSON": lambda place: place.read("notes.jsonl", '{"text": "a"}\n["a"]\n'),
    "short row": lambda place: place.read("notes.csv", "id,text\n1,a\n2\n"),
    "missing column": lambda place: place.read("notes.csv", "id,txt\n1,a\n"),
    "files that part": lambda place: list(
        read_parallel(place.file("a.en", CAPTIONS), place.file("a.fr", CAPTIONS.replace("\n" + "x" * 13 + "\n", "\n")))
    ),
    "files that part somewhere": lambda place: list(
        read_parallel(place.file("a.en", "a\n" * 9), place.file("a.fr", "a\n" * 7))
    ),
    "no reference": lambda place: References([["a"], []]),
    "another number of translations": lambda place: References([["a"], ["b"]]).measure(["a"]),
    "another number of sentences": lambda place: join_sentences("One. Two.", split_sentences("One. Two."), ["Un."]),
    "attention of other tokens": lambda place: align([[1.0]], [(0, 1), (1, 2)], [(0, 1)], [], []),
    "an open quote": lambda place: place.read("notes.csv", 'id,text\n1,"a\n'),
    "damaged gzip": lambda place: place.read("notes.txt.gz", b"no gzip"),
    "too small a vocabulary": lambda place: train_tokenizer("wordpiece", TEXTS, vocabulary=5),
    "a token twice": lambda place: load_tokenizer(place.file("vocab.txt", "[PAD]\nword\n[UNK]\nword")),
    "no [MASK] in the vocabulary": no_mask,
    "tokenizer mismatch": lambda place: Model(build(bert(size="tiny", vocabulary=9)), place.model.tokenizer),
    "no [MASK] in the text": lambda place: place.model.fill("She likes the summer"),
    "unknown family": lambda place: family_config("brt", {}),
    "unknown setting": lambda place: family_config("bert", {"heds": 4}),
    "settings that do not fit": lambda place: family_config("bert", {"width": 100, "heads": 3}),
    "shape": lambda place: place.model.module(Inputs(ids=torch.ones(2, 3).long(), real=torch.ones(2, 4) > 0)),
    "too long a text": lambda place: place.model.module(ids(1, 13)),
    "an id beyond the table": lambda place: ids(1, 2, value=99).check_numbers(vocabulary=60, segments=2),
    "no cache": lambda place: place.model.module.new_cache(),
    "vectors of another width": lambda place: use_vectors(
        place.model.module, place.model.tokenizer, place.file("glove.txt", "summer 1 2 3\n"), freeze=False
    ),
    "no model": lambda place: gf.load(place.folder / "nowhere"),
    "flipped bit": a_flipped_bit,
    "a newer format": a_newer_format,
    "wrong dtype": lambda place: other_weights(place, lambda state: state.update({WORD: state[WORD].to(torch.int8)})),
    "wrong shape": lambda place: other_weights(place, lambda state: state.update({WORD: torch.zeros(2, 8)})),
    "a tensor missing": lambda place: other_weights(place, lambda state: state.pop(WORD)),
    "a pickle": a_pickle,
    "a run that has not ended": a_run_that_has_not_ended,
    "damaged checkpoint": a_damaged_checkpoint,
    "resume mismatch": lambda place: restore({"b": torch.zeros(2)}, {"b": torch.zeros(3)}, what="model in run"),
    "another run in the folder": another_run_in_the_folder,
    "two at a time": two_at_a_time,
    "not finite": lambda place: place.fit(Toy(poison_step=0)),
    "device": lambda place: machine_of(toy_settings(device="toaster")),
    "hub id": lambda place: fetch("a/b/c"),
    "a missing extra": a_missing_extra,
    "another family to import": lambda place: read_huggingface(
        place.file("config.json", '{"model_type": "brt"}').parent
    ),
    "a decode setting": lambda place: read_settings(DecodeSettings, {"beams": 4}, where="decode"),
    "forced words that do not fit": lambda place: asked(place, forced=words((4, 5))),
    "forced and forbidden": lambda place: asked(place, forced=words((4,)), forbidden=((4,),)),
    "beams for samples": lambda place: search_settings(WritingOptions(beams=2, top_k=3)),
    "beams for samples, typed": lambda place: search_settings(WritingOptions(beams=2, top_k=3), called=TYPED),
    "more answers than beams, typed": lambda place: search_settings(WritingOptions(beams=2, n_best=3), called=TYPED),
    "groups that do not divide": lambda place: DecodeSettings(method="beam", beams=5, groups=2),
    "diversity without groups, typed": lambda place: search_settings(WritingOptions(diversity=0.5), called=TYPED),
    "forced words of one beam, typed": lambda place: search_settings(
        WritingOptions(beams=1, forced=["a b"]), called=TYPED
    ),
    "forced words in groups, typed": lambda place: search_settings(
        WritingOptions(groups=2, forced=["a"]), called=TYPED
    ),
    "forced words that a stop cuts": lambda place: search_settings(
        WritingOptions(forced=["a."], stop=["."]), called=TYPED
    ),
    "a length penalty out of range": lambda place: search_settings(WritingOptions(length_penalty=1e9), called=TYPED),
    "fewest tokens above most": lambda place: DecodeSettings(min_tokens=9, max_tokens=8),
    "forced and forbidden, typed": lambda place: search_settings(
        WritingOptions(forced=["a"], forbidden=["a"]), called=TYPED
    ),
    "an option out of range": lambda place: search_settings(WritingOptions(top_p=1.5), called=TYPED),
    "no beams": lambda place: DecodeSettings(beams=0),
    "a search and more": lambda place: translating().translate("He", beams=2, search=DecodeSettings()),
    "no search": lambda place: translating().translate("He", search={"beams": 2}),  # type: ignore[call-overload]
    "no prefix": lambda place: translating().translate("He", prefix=3),  # type: ignore[call-overload]
    "no path": lambda place: gf.load(None),  # type: ignore[arg-type]
    "no text": lambda place: place.model.score(None),  # type: ignore[call-overload]
    "no text in a list": lambda place: place.model.score(["He", None]),  # type: ignore[list-item]
    "nothing but a text": lambda place: place.model.classify(["He"], 3),  # type: ignore[call-overload]
    "no room for forced words": lambda place: translating().translate("He", prefix="Elle aime", max_tokens=2),
    "forced words with forbidden ones": lambda place: worded(forced=["Elle aime"], forbidden=["aime"]),
    "an end to force": lambda place: worded(forced=["</s>"]),
    "a target with padding": lambda place: translating().score("He", "<pad>"),
    "blanks to forbid": lambda place: worded(forbidden=[" "]),
    "words that cannot be had": lambda place: worded(forced=["aime aime"], no_repeat_ngram=1, max_tokens=8),
    "several translations to stream": lambda place: translating().stream_translation(
        "He", search=DecodeSettings(method="beam", beams=2, n_best=2)
    ),
    "records of what is streamed": lambda place: check_streamed({"json": True}),
    "two vocabularies without pairs": lambda place: two_vocabularies(place, "masked-lm", "bert"),
    "two vocabularies and one table": lambda place: two_vocabularies(place, "translate", "bart"),
    "special tokens that differ": lambda place: place.model.tokenizer.with_target(translating().tokenizer),
    "no encoder–decoder": lambda place: place.model.translate("summer"),
    "no target to score": lambda place: translating().score("He"),
    "a pair that is too long": lambda place: translating(limited=True).score("He", "Elle aime. " * 20),
    "a page without room": lambda place: place.model.trace("summer").to_html(place.folder / "page.html", megabytes=0),
    "a page of no height": lambda place: place.model.trace("summer").show(height=0),
    "a page nowhere": lambda place: place.model.trace("summer").to_html(place.folder / "nowhere" / "page.html"),
    "another host": lambda place: at_the_guard("/a-token/", host="evil.example"),
    "another origin": lambda place: at_the_guard("/a-token/", origin="http://evil.example"),
    "no token": lambda place: at_the_guard("/"),
    "a wish that is no JSON": lambda place: read_asked(b"{"),
    "a wish without a text": lambda place: read_asked(b'{"model": "slides", "texts": []}'),
    "more characters than a page takes": lambda place: read_asked(
        json.dumps({"model": "slides", "texts": ["She" * 3000] * 3}).encode()
    ),
    "no part of an axis": lambda place: part_of(Axes("scores", ("query", "key"), (3, 4)), "1:9"),
    "a run that is forgotten": lambda place: Desk(Models([])).run("0" * 32),
    "a model that is not offered": lambda place: Models([Offer("slides", place.saved, ("She",))])["slide"],
    "a strategy that is not there": lambda place: resolve_strategy("lst", 6),
    "a strategy without its layers": lambda place: resolve_strategy("concat-last-4", 2),
    "a layer that is not there": lambda place: resolve_strategy("sum:1,7", 6),
    "a pooling that is not there": lambda place: features_of(["last"], ["maen"], 6),
    "a file that holds no vectors": lambda place: kind_of(Path("vectors.txt"), ["last.mean"], words=False),
    "an array that says no words": lambda place: kind_of(Path("vectors.npy"), ["last.mean"], words=True),
    "one label alone": lambda place: check_labels(["same"], np.zeros(9, np.int64), 5),
    "a word that stands nowhere": lambda place: same_word(place.model, "porridge", ["She likes summer"]),
    "an index of nothing": lambda place: SearchIndex.build(place.folder / "index", [], place.model),
    "no index": lambda place: SearchIndex.open(place.folder / "index"),
    "an index of another model": lambda place: another_model_asks(place),
    "an export to a format that is not there": lambda place: place.model.export(place.folder / "out", "onxx"),
    "an option of another format": lambda place: place.model.export(place.folder / "out", int8=True),
    "an export to ONNX among files": lambda place: place.model.export(place.saved, "onnx"),
    "an export of a decoder to ONNX": lambda place: head_of(gpt2(), only_features=False),
    "texts for a model that reads more": lambda place: model_for("choose", {}).export(
        place.folder / "out", "onnx", texts=["Yes."]
    ),
    "unknown tensor": lambda place: place.model.trace("summer")["encoder.blocks.0.self_attention.wieghts"],
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Path]:
    model = small_model()
    return model, model.save(tmp_path_factory.mktemp("messages") / "model")


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_worded_as_agreed(
    name: str, made: tuple[Model, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # the same machine wherever the tests run
    model, saved = made
    shutil.copytree(saved, tmp_path / "model")
    with pytest.raises(GlassformerError) as caught:
        MESSAGES[name](Place(tmp_path, model))
    found = f"{type(caught.value).__name__}: {caught.value}"
    found = found.replace(str(tmp_path), "FOLDER").replace(f"glassformer {gf.__version__}", "glassformer VERSION")
    agreed: dict[str, str] = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if os.environ.get(REWRITE):
        agreed = {key: text for key, text in {**agreed, name: found}.items() if key in MESSAGES}
        in_order = {key: agreed[key] for key in MESSAGES if key in agreed}
        GOLDEN.write_text(json.dumps(in_order, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == agreed.get(name), (
        f"the message {name!r} is worded in another way than {GOLDEN.name} has it. If that is meant, change its line "
        f"there, or write the file anew: {REWRITE}=1 python -m pytest -p no:xdist tests/golden/{Path(__file__).name}"
    )


def test_no_message_is_kept_that_nobody_sends() -> None:
    assert list(json.loads(GOLDEN.read_text(encoding="utf-8"))) == list(MESSAGES)
