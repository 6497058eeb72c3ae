"""Folders that somebody has made to harm, or broken by chance: one short sentence, in small memory, at once."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.base.errors import CheckpointError, GlassformerError
from glassformer.convert import families, fetch, files, read_huggingface
from glassformer.convert.families import FAMILY_TABLES
from tests.convert.sources import change_settings, change_tensors, save

WEIGHTS, INDEX, SETTINGS = "model.safetensors", "model.safetensors.index.json", "config.json"
WORD = "bert.embeddings.word_embeddings.weight"
NAMES = (
    "BertForMaskedLM", "DistilBertModel", "RobertaForMaskedLM", "ModernBertForMaskedLM", "GPT2LMHeadModel",
    "LlamaForCausalLM", "MarianMTModel", "BartForConditionalGeneration", "T5ForConditionalGeneration",
)  # fmt: skip
MANY = 100_000
SHORT = 1500


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each family, made by transformers."""
    folder = tmp_path_factory.mktemp("sources")
    for name in NAMES:
        save(name, folder / name)
    return folder


@pytest.fixture
def folder(sources: Path, tmp_path: Path) -> Path:
    """BERT's, to be damaged."""
    return Path(shutil.copytree(sources / "BertForMaskedLM", tmp_path / "bert"))


def refused(folder: Path) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        read_huggingface(folder)
    assert len(str(caught.value)) < SHORT
    return caught.value


# --------------------------------------------------------------------------- config.json


@pytest.mark.parametrize(
    "text",
    ["[]", "3", "null", '"x"', "", "\0", "[" * MANY, "{" * MANY, '{"a":' * MANY, '{"a": ' + "1" * 5000 + "}"],
    ids=range(10),
)
def test_settings_that_are_no_object(folder: Path, text: str) -> None:
    (folder / SETTINGS).write_text(text)
    assert str(folder / SETTINGS) in refused(folder).wanted


def test_settings_that_are_nested_too_deep(folder: Path) -> None:
    value: list[Any] = []
    for _ in range(60):
        value = [value]
    change_settings(folder, id2label=value)
    assert "id2label.0.0" in refused(folder).got


LAYERS = {
    "BertForMaskedLM": "num_hidden_layers", "DistilBertModel": "n_layers", "RobertaForMaskedLM": "num_hidden_layers",
    "ModernBertForMaskedLM": "num_hidden_layers", "GPT2LMHeadModel": "n_layer", "LlamaForCausalLM": "num_hidden_layers",
    "MarianMTModel": "decoder_layers", "BartForConditionalGeneration": "encoder_layers",
    "T5ForConditionalGeneration": "num_decoder_layers",
}  # fmt: skip


@pytest.mark.parametrize("asked", [5, 9_999, MANY, 2**62])
@pytest.mark.parametrize("name", NAMES)
def test_layers_that_are_not_stored_are_never_built(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, asked: int
) -> None:
    def built(*_: object) -> None:
        raise AssertionError("a model was built before its layers were counted")

    copy = Path(shutil.copytree(sources / name, tmp_path / "copy"))
    change_settings(copy, **{LAYERS[name]: asked})
    monkeypatch.setattr(families, "family_config", built)
    monkeypatch.setattr(families, "Transformer", built)
    error = refused(copy)
    assert LAYERS[name] in error.wanted
    assert f"{asked:,}" in error.got


SIZES = [2**31, 2**62, 2**63, 10**30, -1, 0, True, 12.0, "12", [12], {"a": 1}, float("nan"), float("inf")]


@pytest.mark.parametrize("value", SIZES, ids=str)
@pytest.mark.parametrize(
    "key", ["hidden_size", "num_hidden_layers", "vocab_size", "max_position_embeddings", "num_attention_heads"]
)
def test_sizes_that_are_not_those_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: object
) -> None:
    def read(path: Path) -> None:
        raise AssertionError("numbers were read before the shapes were compared")

    change_settings(folder, **{key: value})
    monkeypatch.setattr(files, "read_safetensors", read)
    refused(folder)


def test_positions_that_would_fill_the_memory_are_not_computed(sources: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(sources / "MarianMTModel", tmp_path / "copy"))
    table = "model.encoder.embed_positions.weight"
    change_tensors(copy, lambda tensors: tensors.update({table: tensors["model.shared.weight"][:16].clone()}))
    change_settings(copy, max_position_embeddings=2**50)
    assert table in refused(copy).wanted


ANY_SETTING = (
    st.sampled_from([None, True, 0, -1, 2, 12.0, 2**31, 2**62, 2**63, 10**30, 10**400, "", "gelu", "12", "\ud800"])
    | st.floats()
    | st.text(max_size=5)
    | st.recursive(
        st.none() | st.integers() | st.sampled_from(["default", "full_attention"]),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["rope_type", "rope_theta", "full_attention", "x"]), inner, max_size=2)
        ),
    )
)
KEYS = {name: sorted({key for row in table.settings for key in row.keys}) for name, table in FAMILY_TABLES.items()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_settings_are_read_or_refused(sources: Path, tmp_path: Path, data: st.DataObject) -> None:
    source = sources / data.draw(st.sampled_from(NAMES))
    values = json.loads((source / SETTINGS).read_text())
    keys = st.sampled_from(KEYS[values["model_type"]])
    values |= data.draw(st.dictionaries(keys, ANY_SETTING, min_size=1, max_size=3))
    place = tmp_path / "copy"
    place.mkdir(exist_ok=True)
    shutil.copy(source / WEIGHTS, place)
    (place / SETTINGS).write_text(json.dumps(values))
    sentence = "read"
    try:
        read_huggingface(place)
    except GlassformerError as error:
        sentence = str(error)
    assert 0 < len(sentence) < SHORT


# --------------------------------------------------------------------------- weights


def parts(folder: Path) -> tuple[dict[str, Any], bytes]:
    raw = (folder / WEIGHTS).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def packed(header: object, numbers: bytes, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + numbers


def extra(header: dict[str, Any], numbers: bytes, **tensor: Any) -> bytes:
    end = len(numbers)
    return packed({**header, "x": {"dtype": "F32", "shape": [0], "data_offsets": [end, end], **tensor}}, numbers)


def changed(header: dict[str, Any], numbers: bytes, **tensor: Any) -> bytes:
    return packed({**header, WORD: {**header[WORD], **tensor}}, numbers)


LIES: dict[str, Callable[[dict[str, Any], bytes], bytes]] = {
    "nothing": lambda header, numbers: b"",
    "a length alone": lambda header, numbers: b"\0" * 8,
    "a length of 2^60": lambda header, numbers: packed(header, numbers, 2**60),
    "a length of 2^64 - 1": lambda header, numbers: packed(header, numbers, 2**64 - 1),
    "a length of 99 MB": lambda header, numbers: packed(header, numbers, 99_000_000),
    "a list": lambda header, numbers: packed([], numbers),
    "brackets": lambda header, numbers: packed(b'{"a":' * MANY, numbers),
    "no UTF-8": lambda header, numbers: packed(b'{"\xff": 1}', numbers),
    "negative": lambda header, numbers: changed(header, numbers, shape=[-1, 12]),
    "giant": lambda header, numbers: changed(header, numbers, shape=[2**62, 12]),
    "giant and empty": lambda header, numbers: extra(header, numbers, shape=[0, 2**62]),
    "more than torch counts": lambda header, numbers: extra(header, numbers, shape=[0, 2**64 - 1]),
    "many dimensions": lambda header, numbers: extra(header, numbers, shape=[0] * MANY),
    "a type of another name": lambda header, numbers: changed(header, numbers, dtype="X9"),
    "a number for a type": lambda header, numbers: changed(header, numbers, dtype=3),
    "a type that torch has not": lambda header, numbers: extra(header, numbers, dtype="F4"),
    "overlapping": lambda header, numbers: extra(header, numbers, shape=[1], data_offsets=[0, 4]),
    "backwards": lambda header, numbers: changed(header, numbers, data_offsets=[8, 0]),
    "beyond the end": lambda header, numbers: changed(header, numbers, data_offsets=[2**63, 2**63 + 4]),
    "twice": lambda header, numbers: packed(
        json.dumps(header)[:-1].encode() + b', "' + WORD.encode() + b'": {"dtype": "F32", "shape": [0], '
        b'"data_offsets": [0, 0]}}', numbers,
    ),
    "a long name": lambda header, numbers: extra({**header, "y" * MANY: header[WORD]}, numbers),
    "a layer of twenty digits": lambda header, numbers: packed(
        {**header, f"bert.encoder.layer.{'9' * 20}.output.dense.bias": {"dtype": "F32", "shape": [0],
         "data_offsets": [len(numbers)] * 2}}, numbers,
    ),
    "more than was written": lambda header, numbers: packed(header, numbers + b"more"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_header_of_lies(folder: Path, name: str) -> None:
    (folder / WEIGHTS).write_bytes(LIES[name](*parts(folder)))
    assert str(folder) in refused(folder).wanted


PLACES: list[object] = [
    3, None, [1], {}, "../../etc/passwd", "/etc/passwd", ".", "..", "", "a\0b", "a" * 5000, "no.safetensors",
    "config.json", "a folder", "a pipe", "endless",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=range(len(PLACES)))
def test_an_index_of_lies(folder: Path, place: object) -> None:
    header, _ = parts(folder)
    names = dict.fromkeys(header.keys() - {"__metadata__"}, "one.safetensors")
    (folder / WEIGHTS).rename(folder / "one.safetensors")
    (folder / "a folder").mkdir()
    os.mkfifo(folder / "a pipe")
    (folder / "endless").symlink_to("/dev/zero")
    (folder / INDEX).write_text(json.dumps({"weight_map": names}))
    read_huggingface(folder)
    (folder / INDEX).write_text(json.dumps({"weight_map": {**names, "more": place}}))
    assert str(folder) in refused(folder).wanted


@pytest.mark.parametrize(
    "index", ["[" * MANY, "[]", '{"weight_map": []}', '{"weight_map": {}}', '{"a": ' + "1" * 5000 + "}"], ids=range(5)
)
def test_an_index_that_is_none(folder: Path, index: str) -> None:
    (folder / WEIGHTS).rename(folder / "one.safetensors")
    (folder / INDEX).write_text(index)
    assert str(folder) in refused(folder).wanted


def test_a_tensor_in_another_shard_than_stated(folder: Path) -> None:
    header, _ = parts(folder)
    names = dict.fromkeys(header.keys() - {"__metadata__"}, "one.safetensors")
    (folder / WEIGHTS).rename(folder / "one.safetensors")
    shutil.copy(folder / "one.safetensors", folder / "two.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": {**names, WORD: "two.safetensors"}}))
    assert WORD in refused(folder).got


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize("kind", ["folder", "pipe", "endless", "loop", "nothing"])
@pytest.mark.parametrize("name", [SETTINGS, WEIGHTS, INDEX, "tokenizer.json", "vocab.txt", "tokenizer_config.json"])
def test_what_is_no_file(folder: Path, name: str, kind: str) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to({"endless": "/dev/zero", "loop": name, "nothing": "nowhere"}[kind])
    assert str(path) in refused(folder).wanted


@pytest.mark.parametrize(
    "hub_id", ["", "a/b/c", "../x", "/", " ", "a/", "/a", "a" * 5000, "a\0b", "a\nb", "-x", "a--b"]
)
def test_an_id_that_is_none_asks_no_network(monkeypatch: pytest.MonkeyPatch, hub_id: str) -> None:
    def asked(*_: object, **__: object) -> str:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("huggingface_hub.snapshot_download", asked)
    with pytest.raises(CheckpointError) as caught:
        fetch(hub_id)
    assert repr(f"hub:{hub_id}") in caught.value.got
    assert len(str(caught.value)) < SHORT
