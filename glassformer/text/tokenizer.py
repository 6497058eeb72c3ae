"""A tokenizer: text to tokens with their offsets in the text, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import tokenizers
from tokenizers import AddedToken, models

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import TokenizerError
from glassformer.base.json_text import parse_json
from glassformer.base.outputs import held
from glassformer.text.library import check_added, check_settings, cutting_error, refusing, vocabulary_by_id
from glassformer.text.special import SpecialTokens
from glassformer.text.token_text import Spelling, marked

if TYPE_CHECKING:
    from collections.abc import Mapping

# How a masked word is written in a text, whatever the tokenizer calls its own mask.
MASK = "[MASK]"
# What `save` writes: the second where the targets of pairs have a vocabulary of their own.
FILE, TARGET_FILE = "tokenizer.json", "target_tokenizer.json"


@dataclass(frozen=True)
class Encoding:
    """One text, or a pair, as tokens. All lists have one entry per token. `offsets` are characters [start, end) of the
    text the token came from (`segments` says which of a pair), (0, 0) for tokens that were added. `words` counts the
    words of that text, None for added tokens. `masked_words` is True where the text says [MASK].
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    segments: list[int]
    words: list[int | None]
    special: list[bool]
    masked_words: list[bool]

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """A thin wrapper around `tokenizers.Tokenizer`; never truncates and never pads. [MASK] in a text is one token in
    each tokenizer that supports masked words: where the mask has another name it is an alias for that one; in a
    vocabulary of whole words without a mask (the slides) it is a placeholder with id 0, marked in
    `Encoding.masked_words`.
    """

    def __init__(self, text: str, special: SpecialTokens, target: Tokenizer | None = None) -> None:
        """From the text of a `tokenizer.json`; `target` is another tokenizer for the targets of pairs. Raises
        TokenizerError when it cannot be read or run, and when a role's token is not in it.
        """
        # The text itself is kept: the library does not write numbers with enough digits to read them back exactly.
        with refusing(_unreadable):
            settings = check_settings(parse_json(text)) | {"truncation": None, "padding": None}
            self._json = json.dumps(settings, ensure_ascii=False)
            self._backend = tokenizers.Tokenizer.from_str(self._json)
            self._vocabulary = vocabulary_by_id(self._backend, settings)
            check_added(self._backend)
        self._has_regex = '"Regex"' in self._json  # without one, the library does not panic over a text
        self.special, self._target = special, target
        for role, id_ in self._role_ids.items():
            if id_ is None and getattr(special, role) is not None:
                raise TokenizerError(
                    f"the {role} token must be one of the vocabulary", got=repr(getattr(special, role))
                )
        with refusing(_unreadable):
            self._alias = self._make_alias()

    def save(self, directory: str | Path) -> Path:
        """Write `tokenizer.json` into the directory, atomically, and `target_tokenizer.json` too if targets have their
        own vocabulary; returns the path of the first. Raises TokenizerError if the directory holds a model with another
        tokenizer.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        if (other := self.replaces(directory)) and held(directory) == "a model":
            raise TokenizerError(f"a model keeps its tokenizer: {directory / other}", do="choose another folder")
        for name, side in zip((FILE, TARGET_FILE), self.sides, strict=False):
            with atomic_write(directory / name) as draft:
                draft.write_bytes(side._json.encode())
        return directory / FILE

    def replaces(self, directory: Path) -> str:
        """The name of a file of another tokenizer that `save` would replace in a folder, or ""."""
        files = {directory / name: side for name, side in zip((FILE, TARGET_FILE), self.sides, strict=False)}
        others = (file for file, its in files.items() if file.is_file() and file.read_bytes() != its._json.encode())
        return next((file.name for file in others), "")

    @property
    def settings(self) -> dict[str, Any]:
        """The content of the saved `tokenizer.json`."""
        return json.loads(self._json)

    def __reduce__(self) -> tuple[object, ...]:
        return Tokenizer, (self._json, self.special, self._target)

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256("".join(side._json for side in self.sides).encode()).hexdigest()

    @property
    def target(self) -> Tokenizer:
        """The tokenizer of targets: this one, unless they have a vocabulary of their own."""
        return self if self._target is None else self._target

    @property
    def sides(self) -> tuple[Tokenizer, ...]:
        """The different tokenizers of a pair: this one, and that of the target where it is another."""
        return (self,) if self._target is None else (self, self._target)

    @property
    def drops_case(self) -> bool:
        """Whether it reads a capital as it reads the small letter."""
        normalizer = self._backend.normalizer
        return normalizer is not None and normalizer.normalize_str("A") == normalizer.normalize_str("a")

    def with_target(self, target: Tokenizer) -> Tokenizer:
        """The same for sources, with another one for targets. Raises TokenizerError where their special tokens differ:
        those of a model have one role each.
        """
        if target.special != self.special:
            raise TokenizerError(
                "the vocabularies of source and target need the same special tokens",
                got=f"{', '.join(self.special) or 'none'} and {', '.join(target.special) or 'none'}",
            )
        return Tokenizer(self._json, self.special, target)

    def with_roles(self, special: SpecialTokens) -> Tokenizer:
        """The same with these tokens in their roles."""
        return Tokenizer(self._json, special, None if self._target is None else self._target.with_roles(special))

    def encode(self, text: str, pair: str | None = None, *, special: bool = True) -> Encoding:
        """The tokens of a text, or of two, framed by the special tokens unless `special` is False. Raises
        TokenizerError for a word outside a vocabulary that has no token for unknown words.
        """
        with self._cutting([text] if pair is None else [text, pair]):
            return self._encoding(self._backend.encode(text, pair, add_special_tokens=special))

    def ids(self, text: str) -> list[int]:
        """The ids of a text without special tokens around it, in a fraction of the memory of `encode`."""
        return self.unalias(self.raw_batch([text])[0].ids)

    def encode_batch(self, texts: Sequence[str], *, special: bool = True) -> list[Encoding]:
        return [self._encoding(encoding) for encoding in self.raw_batch(texts, special=special)]

    def raw_batch(self, texts: Sequence[str], *, special: bool = False) -> list[tokenizers.Encoding]:
        """The library's own encodings, for millions of texts; their ids need `unalias`."""
        with self._cutting(texts):
            if len(texts) == 1:  # a thread that is woken for one text takes longer than the text
                return [self._backend.encode(texts[0], add_special_tokens=special)]
            return list(self._backend.encode_batch(texts, add_special_tokens=special))

    def word_ids(self, words: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The ids of words, each by itself, and of which word each of them is; a word may have none."""
        with self._cutting(words):
            raw = self._backend.encode(list(words), is_pretokenized=True, add_special_tokens=False)
        return np.array(self.unalias(raw.ids), np.int32), np.array(raw.word_ids, np.int64)

    def unalias(self, ids: list[int]) -> list[int]:
        """The model's ids: the alias of a [MASK] in the text is replaced by the mask's own id, or 0."""
        if self._alias is None or self._alias not in ids:
            return ids
        stands_for = self.mask_id or 0
        return [stands_for if id_ == self._alias else id_ for id_ in ids]

    def decode(self, ids: Sequence[int], *, skip_special: bool = True) -> str:
        """Text from ids, without those beyond the vocabulary; raises TokenizerError where it cannot be written."""
        return self.decode_batch([ids], skip_special=skip_special)[0]

    def decode_batch(self, rows: Sequence[Sequence[int]], *, skip_special: bool = True) -> list[str]:
        """The text of each row of ids, faster than one by one; raises as `decode` does."""
        with refusing(lambda message: TokenizerError("the decoder must be able to write the ids", got=message)):
            return [str(self._backend.decode(list(ids), skip_special_tokens=skip_special)) for ids in rows]

    def _encoding(self, raw: tokenizers.Encoding) -> Encoding:
        hides = {id_ for id_ in (self._alias, self.mask_id) if id_ is not None}
        tokens, offsets = raw.tokens, raw.offsets
        for place, id_ in enumerate(raw.ids):
            if id_ in hides:  # a mask may have absorbed the space before it: its offsets are those of [MASK] alone
                written = tokens[place].strip()
                start, end = offsets[place]
                tokens[place] = self.special.mask or MASK
                offsets[place] = max(start, end - len(written)), end
        return Encoding(
            ids=self.unalias(raw.ids),
            tokens=tokens,
            offsets=offsets,
            segments=raw.type_ids,
            words=raw.word_ids,
            special=[bool(flag) for flag in raw.special_tokens_mask],
            masked_words=[id_ in hides for id_ in raw.ids],
        )

    def _cutting(self, texts: Sequence[str]) -> AbstractContextManager[None]:
        vocabulary = self._vocabulary if self.special.unknown is None else None
        return refusing(
            lambda message: cutting_error(message, self._backend, vocabulary, texts, MASK), quiet=self._has_regex
        )

    def token(self, id_: int) -> str:
        """The token with this id; raises TokenizerError outside the vocabulary."""
        if not 0 <= id_ < self.vocabulary_size:
            raise TokenizerError(f"an id must lie in 0 … {self.vocabulary_size - 1}", got=str(id_))
        return self._vocabulary[id_]

    def text(self, id_: int) -> str:
        """What the token with this id stands for in a text (`token_text.py`); raises as `token` does."""
        return self._spelling.text(self.token(id_))

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling.of(self.settings)

    @cached_property
    def byte_counts(self) -> npt.NDArray[np.int64] | None:
        """How many bytes of a text each token stands for [V], 0 for special tokens; None where tokens do not write all
        of a text, such as the blanks between words.
        """
        counts = [0 if i in self.special_ids else self._spelling.byte_count(t) for i, t in enumerate(self._vocabulary)]
        return None if None in counts else np.array(counts, np.int64)

    @cached_property
    def continuation_byte(self) -> int | None:
        """The id of `<0x80>`, where bytes have tokens of their own: after whole characters of UTF-8 it is an error."""
        return self.id("<0x80>") if self._spelling.byte_fallback else None

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """All tokens by id as people read them: `▁dogs`, `été`, `<0xC3>`."""
        return tuple(marked(self._spelling.text(token)) for token in self._vocabulary)

    def id(self, token: str) -> int | None:
        id_: int | None = self._backend.token_to_id(token)
        return id_ if id_ != self._alias else None

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, counted from 0."""
        return len(self._vocabulary)

    def vocabulary(self) -> tuple[str, ...]:
        """All tokens by id; an id that no token has is an empty string."""
        return self._vocabulary

    @cached_property
    def _role_ids(self) -> Mapping[str, int | None]:
        roles = vars(self.special)
        return {role: None if token is None else self._backend.token_to_id(token) for role, token in roles.items()}

    @property
    def pad_id(self) -> int | None:
        return self._role_ids["pad"]

    @property
    def unknown_id(self) -> int | None:
        return self._role_ids["unknown"]

    @property
    def mask_id(self) -> int | None:
        return self._role_ids["mask"]

    @property
    def first_id(self) -> int | None:
        """Id of the token that opens a text ([CLS])."""
        return self._role_ids["first"]

    @property
    def separator_id(self) -> int | None:
        """Id of the token that closes a text ([SEP])."""
        return self._role_ids["separator"]

    @property
    def begin_id(self) -> int | None:
        """Id of the token a decoder starts with."""
        return self._role_ids["begin"]

    @property
    def end_id(self) -> int | None:
        """Id of the token a decoder ends with."""
        return self._role_ids["end"]

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of all tokens that are not text: the roles, and all others that the tokenizer marks as special."""
        marked = {id_ for id_, token in self._backend.get_added_tokens_decoder().items() if token.special}
        return frozenset(marked | {id_ for id_ in self._role_ids.values() if id_ is not None}) - {self._alias}

    @cached_property
    def frame_ids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ids that are added before and after a single text."""
        before, after = self._added(1)
        return before, after

    @cached_property
    def pair_frame_ids(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Ids that are added before, between and after the two texts of a pair."""
        before, between, after = self._added(2)
        return before, between, after

    def _added(self, texts: int) -> list[tuple[int, ...]]:
        """Ids that are added before so many texts, and after each."""
        text = next((token for id_, token in enumerate(self.vocabulary()) if id_ not in self.special_ids), "")
        with refusing(_unreadable):
            raw = self._backend.encode(text, None if texts == 1 else text)
        parts: list[list[int]] = [[] for _ in range(texts + 1)]
        part = 0
        for id_, sequence in zip(raw.ids, raw.sequence_ids, strict=True):
            if sequence is None:
                parts[part].append(id_)
            else:
                part = sequence + 1
        return [tuple(ids) for ids in parts]

    @property
    def frame(self) -> tuple[int, int]:
        """The numbers of tokens that are added before and after a single text."""
        before, after = self.frame_ids
        return len(before), len(after)

    def _make_alias(self) -> int | None:
        """Make [MASK] in a text one token where it is not in the vocabulary. The token gets an id just after the
        vocabulary, which `unalias` replaces; the saved file never contains it.
        """
        if self.special.mask == MASK or self._backend.token_to_id(MASK) is not None:
            return None
        if self.special.mask is None and not isinstance(self._backend.model, models.WordLevel):
            return None
        own = self._backend.get_added_tokens_decoder().get(self.mask_id) if self.mask_id is not None else None
        lstrip, rstrip = (own.lstrip, own.rstrip) if own is not None else (False, False)
        self._backend.add_special_tokens([AddedToken(MASK, lstrip=lstrip, rstrip=rstrip, normalized=False)])
        return self._backend.token_to_id(MASK)


def _unreadable(message: str) -> TokenizerError:
    return TokenizerError("a tokenizer.json that the tokenizers library can run is needed", got=message)
