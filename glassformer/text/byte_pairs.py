"""Reading the two files of a byte-level BPE: `vocab.json` with the ids and `merges.txt` with the pairs, in order.

GPT-2 (Radford et al. 2019) and RoBERTa (Liu et al. 2019) were published so, without a `tokenizer.json`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from glassformer.base.errors import TokenizerError
from glassformer.base.json_text import read_json
from glassformer.text.library import refusing, with_template
from glassformer.text.special import ROBERTA, SpecialTokens, roles_by_name, roles_from_files
from glassformer.text.tokenizer import Tokenizer

_GPT2 = "<|endoftext|>"
# Tokens that were added after the vocabulary was made, with their ids.
_ADDED = "added_tokens.json"


def load_byte_pairs(vocabulary: Path, merges: Path, settings: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of these two files; `settings` are those of `tokenizer_config.json` and `special_tokens_map.json`.
    A vocabulary with <s>, </s> and <mask> frames a text as RoBERTa does, any other frames nothing, as GPT-2. Raises
    TokenizerError, with the path, for a file that is missing or damaged, and for merges of unknown tokens.
    """
    ids = read_ids(vocabulary)
    pairs = _pairs(merges, ids)
    prefixed = settings.get("add_prefix_space", False)
    if not isinstance(prefixed, bool):
        raise TokenizerError("add_prefix_space in tokenizer_config.json must be true or false", got=repr(prefixed)[:80])

    def refusal(message: str) -> TokenizerError:
        return TokenizerError(f"{vocabulary} and {merges} must be a byte-level BPE", got=message)

    with refusing(refusal):
        backend = tokenizers.Tokenizer(models.BPE(ids, pairs))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefixed)
        backend.decoder = decoders.ByteLevel()
        # RoBERTa's tokens where they are in the vocabulary, else GPT-2's one token.
        guessed = ROBERTA if all(token in ids for token in ROBERTA) else roles_by_name({_GPT2} & ids.keys())
        added = _added(vocabulary.with_name(_ADDED), ids)
        for token in sorted(added, key=added.__getitem__):
            backend.add_special_tokens([AddedToken(token, normalized=False, special=True)])
            if backend.token_to_id(token) != added[token]:
                raise TokenizerError(
                    f"{vocabulary.with_name(_ADDED)} must give the next free id to each token",
                    got=f"{added[token]} for {token[:80]!r}",
                )
        roles = roles_from_files(settings, guessed, set(ids) | set(added))
        backend.add_special_tokens([_special(token, roles, settings) for token in roles])
        framed = with_template(backend, roles, segments=False, byte_level=True)
        return Tokenizer(framed.to_str(), roles)


def _special(token: str, roles: SpecialTokens, settings: Mapping[str, Any]) -> AddedToken:
    """A mask absorbs the space before it, as RoBERTa was trained, unless the files say that it does not. transformers 5
    forgets this where the files say nothing, and then puts a token for the space before each mask.
    """
    said = settings.get("mask_token")
    absorbs = said.get("lstrip", True) if isinstance(said, Mapping) else True
    return AddedToken(token, lstrip=token == roles.mask and bool(absorbs), normalized=False, special=True)


def read_ids(path: Path) -> dict[str, int]:
    """The id of each token in a `vocab.json`; raises TokenizerError, with the path, unless each has one of its own."""
    values = read_object(path)
    wrong = next((token for token, id_ in values.items() if not _is_id(id_)), None)
    if wrong is not None:
        raise TokenizerError(f"{path} must give each token a number", got=repr(values[wrong])[:80])
    if sorted(values.values()) != list(range(len(values))):
        raise TokenizerError(f"{path} must number its tokens from 0, each once", got=f"{len(values):,} tokens")
    return values


def _added(path: Path, ids: Mapping[str, int]) -> dict[str, int]:
    values = read_object(path) if path.is_file() else {}
    if not all(_is_id(id_) for id_ in values.values()):
        raise TokenizerError(f"{path} must give each token a number", got=repr(values)[:80])
    return {token: id_ for token, id_ in values.items() if token not in ids}


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a tokenizer; raises TokenizerError."""
    try:
        values = read_json(path)
    except (OSError, ValueError) as error:
        raise TokenizerError(f"{path} must be JSON", got=str(error)) from None
    if not isinstance(values, dict):
        raise TokenizerError(f"{path} must hold a JSON object", got=type(values).__name__)
    return values


def read_text(path: Path) -> str:
    """The text of a file of a tokenizer; raises TokenizerError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{path} must be UTF-8 text", got=f"byte {error.start} is not") from None
    except OSError as error:
        raise TokenizerError(f"cannot read {path}", got=str(error)) from None


def _pairs(path: Path, ids: Mapping[str, int]) -> list[tuple[str, str]]:
    if not path.exists():
        raise TokenizerError(f"the merges of the vocabulary are needed at {path}", got="no such file")
    lines = read_text(path).split("\n")
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        first, space, second = line.partition(" ")
        if not (first and space and second) or " " in second:
            raise TokenizerError(f"{path}, line {number}: two tokens are needed", got=repr(line)[:80])
        unknown = next((token for token in (first, second, first + second) if token not in ids), None)
        if unknown is not None:
            raise TokenizerError(f"{path}, line {number}: a token of the vocabulary is needed", got=repr(unknown)[:80])
        pairs.append((first, second))
    return pairs
