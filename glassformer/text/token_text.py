"""What tokens stand for in a text: byte-level byte pairs write bytes as letters (GPT-2), SentencePiece a blank as ▁."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from glassformer.base.wrapping import in_one_line

BLANK = "▁"
"""How a blank of a token is written for people."""

# Bytes that stand for themselves in a byte-level vocabulary; the others are the letters from 256 on, in their order.
_THEMSELVES = frozenset([*range(33, 127), *range(161, 173), *range(174, 256)])
_OTHERS = [byte for byte in range(256) if byte not in _THEMSELVES]
_BYTES = {**{chr(byte): byte for byte in _THEMSELVES}, **{chr(256 + n): byte for n, byte in enumerate(_OTHERS)}}


@dataclass(frozen=True)
class Spelling:
    """How a vocabulary writes tokens: bytes as letters, or blanks as `blank`; `added` tokens as they are. With
    `byte_fallback` a token `<0xC3>` is a byte.
    """

    byte_level: bool
    blank: str
    added: frozenset[str]
    byte_fallback: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        decoders = list(_parts(settings.get("decoder")))
        blanks = [str(each.get("replacement", BLANK)) for each in decoders if each.get("type") == "Metaspace"]
        blanks += [str(each["pattern"]["String"]) for each in decoders if _writes_blanks(each)]
        added = frozenset(str(token["content"]) for token in settings.get("added_tokens") or ())
        kinds = {each.get("type") for each in decoders}
        return cls("ByteLevel" in kinds, blanks[0] if blanks else "", added, "ByteFallback" in kinds)

    def text(self, token: str) -> str:
        """What a token stands for, a blank before a word included; a byte that is no whole letter is `<0xC3>`."""
        if token in self.added:
            return token
        if not self.byte_level:
            return token.replace(self.blank, " ") if self.blank else token
        if not all(letter in _BYTES for letter in token):
            return token
        text = bytes(_BYTES[letter] for letter in token).decode("utf-8", errors="surrogateescape")
        return re.sub("[\udc80-\udcff]", lambda found: f"<0x{ord(found[0]) - 0xDC00:02X}>", text)

    def byte_count(self, token: str) -> int | None:
        """How many bytes of a text, in UTF-8, a token stands for; None where tokens leave out blanks between words."""
        if self.byte_level and all(letter in _BYTES for letter in token):
            return len(token)
        if self.byte_fallback and re.fullmatch("<0x[0-9A-F]{2}>", token):
            return 1
        return len(self.text(token).encode()) if self.byte_level or self.blank else None


def marked(text: str) -> str:
    """The text of a token for people, in one line: each blank of it can be seen."""
    return in_one_line(text.replace(" ", BLANK))


def _parts(decoder: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    if decoder is not None:
        yield decoder
        for part in decoder.get("decoders") or ():
            yield from _parts(part)


def _writes_blanks(decoder: Mapping[str, Any]) -> bool:
    replaces = decoder.get("type") == "Replace" and decoder.get("content") == " "
    return replaces and isinstance(decoder.get("pattern"), dict) and "String" in decoder["pattern"]
