"""The files of a tokenizer in a folder of Hugging Face, and the tokens with a role that its settings name."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.base.settings import MOST_TOKENS
from glassformer.text.load import SOURCE, TARGET, TARGET_IDS, TOKENIZER_FILES, as_vocabulary_file, read_object
from glassformer.text.special import FOREIGN_ROLES
from glassformer.text.tokenizer import Tokenizer

SETTINGS = "tokenizer_config.json"


def has_tokenizer(directory: Path) -> bool:
    return any(all((directory / name).is_file() for name in names) for names in TOKENIZER_FILES)


def left_unread(directory: Path) -> dict[str, str]:
    """The files of a tokenizer that say more than ours can, and what."""
    read = next((names for names in TOKENIZER_FILES if all((directory / name).is_file() for name in names)), ())
    if (
        TARGET not in read
        or (directory / TARGET_IDS).is_file()
        or (directory / SOURCE).read_bytes() == (directory / TARGET).read_bytes()
    ):
        return {}
    return {TARGET: f"all texts are divided as {SOURCE} does it: a target that is given may be divided otherwise there"}


def told_length(directory: Path) -> int | None:
    """`model_max_length` of a folder's tokenizer, None where it is missing or transformers' huge stand-in."""
    path = directory / SETTINGS
    length = read_object(path).get("model_max_length") if path.is_file() else None
    return length if type(length) is int and 0 < length <= MOST_TOKENS else None


def role_ids(tokenizer: Tokenizer | None) -> dict[str, int]:
    """`pad_token_id` and its like, for the tokens this tokenizer has."""
    if tokenizer is None:
        return {}
    tokens = {theirs: getattr(tokenizer.special, ours) for theirs, ours in FOREIGN_ROLES.items()}
    ids = {f"{theirs}_id": tokenizer.id(token) for theirs, token in tokens.items() if token is not None}
    return {key: id_ for key, id_ in ids.items() if id_ is not None}


def write_tokenizer(folder: Path, tokenizer: Tokenizer, length: int | None, *, segments: bool) -> None:
    """Write a tokenizer with its settings: the longest row, and whether segments distinguish the texts of a pair."""
    tokenizer.save(folder)
    vocabulary = as_vocabulary_file(tokenizer)  # for programs that know BERT and no tokenizer.json
    if vocabulary is not None:
        (folder / "vocab.txt").write_bytes(vocabulary.text.encode())
    roles = {theirs: getattr(tokenizer.special, ours) for theirs, ours in FOREIGN_ROLES.items()}
    # This class has defaults of its own, which differ between versions: without the segments (`token_type_ids`) a pair
    # is read as one text, and a model that has none refuses them.
    inputs = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": inputs,
        **{theirs: token for theirs, token in roles.items() if token is not None},
        **({} if length is None else {"model_max_length": length}),
    }
    write_json(folder / SETTINGS, {**settings, **({} if vocabulary is None else vocabulary.settings)})


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
