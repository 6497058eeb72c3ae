"""Reading Hugging Face's `tokenizer.json`, and reading and writing BERT's `vocab.txt`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from glassformer.base.errors import TokenizerError
from glassformer.text.byte_pairs import load_byte_pairs, read_object, read_text
from glassformer.text.library import with_template
from glassformer.text.sentence_pieces import SOURCE, TARGET, load_sentence_pieces
from glassformer.text.special import BERT, NONE, roles_by_name, roles_from_files
from glassformer.text.tokenizer import FILE, TARGET_FILE, Tokenizer

# The files that are a tokenizer, alone or together, the first ones first.
TOKENIZER_FILES = ((FILE,), ("vocab.txt",), ("vocab.json", "merges.txt"), (SOURCE, TARGET, "vocab.json"))
_ROLE_FILES = ("tokenizer_config.json", "special_tokens_map.json")


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Read `tokenizer.json`, BERT's `vocab.txt`, GPT-2's and RoBERTa's `vocab.json` with `merges.txt` beside it, or
    Marian's `source.spm` and `target.spm` with `vocab.json`: a file, or the directory that holds it, `tokenizer.json`
    first. A directory with `target_tokenizer.json` has another one for targets (`Tokenizer.target`).

    Raises TokenizerError, with the path, when there is none or it cannot be read, MissingExtraError for Marian's
    without sentencepiece.
    """
    path = Path(path)
    if path.is_dir():
        for names in TOKENIZER_FILES:
            if all((path / name).is_file() for name in names):
                tokenizer, target = load_tokenizer(path / names[0]), path / TARGET_FILE
                return tokenizer.with_target(load_tokenizer(target)) if target.is_file() else tokenizer
        raise TokenizerError(
            f"{path} must hold tokenizer.json, vocab.txt, vocab.json with merges.txt, or Marian's {SOURCE} with others",
            got="none of them",
        )
    if not path.is_file():
        raise TokenizerError(f"a tokenizer is needed at {path}", got="no such file")
    if path.name == "vocab.json":
        return load_byte_pairs(path, path.with_name("merges.txt"), _role_maps(path.parent))
    if path.name == SOURCE:
        return load_sentence_pieces(path.parent, _role_maps(path.parent))
    return _from_vocabulary(path) if path.suffix == ".txt" else _from_json(path)


def _from_json(path: Path) -> Tokenizer:
    try:
        text = path.read_text(encoding="utf-8")
        plain = Tokenizer(text, NONE)
    except (OSError, UnicodeDecodeError) as error:
        raise TokenizerError(f"{path} must be a readable UTF-8 file", got=str(error)) from None
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error.wanted}", got=error.got, do=error.do) from None
    special = {plain.token(id_) for id_ in plain.special_ids}
    roles = roles_from_files(_role_maps(path.parent), roles_by_name(special), set(plain.vocabulary()) - {""})
    return plain if roles == NONE else Tokenizer(text, roles)


def _from_vocabulary(path: Path) -> Tokenizer:
    """BERT's own format: one token per line, its id the line's number (google-research/bert, tokenization.py)."""
    vocabulary: dict[str, int] = {}
    for id_, token in enumerate(read_text(path).splitlines()):
        if token in vocabulary:
            raise TokenizerError(
                f"{path} must hold each token once", got=f"{token!r} on lines {vocabulary[token] + 1} and {id_ + 1}"
            )
        vocabulary[token] = id_
    missing = [token for token in BERT if token not in vocabulary]
    if missing:
        raise TokenizerError(f"{path} must be a BERT vocabulary", got=f"a file without {', '.join(missing)}")
    return _from_tokens(vocabulary, _role_maps(path.parent))


class VocabularyFile(NamedTuple):
    """The text of a `vocab.txt`, and the settings that `tokenizer_config.json` must hold beside it."""

    text: str
    settings: dict[str, bool | None]


def as_vocabulary_file(tokenizer: Tokenizer) -> VocabularyFile | None:
    """The tokenizer as BERT's `vocab.txt`; None where that would be read back as another tokenizer."""
    stated, tokens = tokenizer.settings, tokenizer.vocabulary()
    normalizer = stated["normalizer"] or {}
    text = "".join(f"{token}\n" for token in tokens)
    if normalizer.get("type") != "BertNormalizer" or text.splitlines() != list(tokens) or not {*BERT} <= {*tokens}:
        return None
    settings = {
        "do_lower_case": normalizer["lowercase"],
        "strip_accents": normalizer["strip_accents"],
        "tokenize_chinese_chars": normalizer["handle_chinese_chars"],
    }
    again = _from_tokens({token: id_ for id_, token in enumerate(tokens)}, settings)
    return VocabularyFile(text, settings) if again.settings == stated else None


def _from_tokens(vocabulary: dict[str, int], settings: Mapping[str, Any]) -> Tokenizer:
    lowercase, strip_accents = _switch(settings, "do_lower_case", True), _switch(settings, "strip_accents", None)
    chinese = _switch(settings, "tokenize_chinese_chars", True)
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=BERT.unknown, max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=bool(lowercase), strip_accents=strip_accents, handle_chinese_chars=bool(chinese)
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    backend.add_special_tokens(list(BERT))
    return Tokenizer(with_template(backend, BERT, segments=True).to_str(), BERT)


def _switch(settings: Mapping[str, Any], name: str, default: bool | None) -> bool | None:
    value = settings.get(name, default)
    if value is None or isinstance(value, bool):
        return value
    raise TokenizerError(f"{name} in tokenizer_config.json must be true, false or null", got=repr(value)[:80])


def _role_maps(directory: Path) -> dict[str, Any]:
    """The roles and the normalising settings in the files beside it; later files have priority."""
    found: dict[str, Any] = {}
    for name in _ROLE_FILES:
        path = directory / name
        if path.is_file():
            found.update(read_object(path))
    return found
