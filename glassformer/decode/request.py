"""What is asked of the decoding loop, and what it answers; words that must or must not occur, as tokens."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.base.later import Due
from glassformer.config import ModelConfig
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.text.words import UNSPACED

Ids = Sequence[int]
# A letter or a digit of a script with blanks between words.
_LETTER = rf"[^\W_{UNSPACED}]"


def _never(token: int) -> bool:
    return False


class ForcedWord(NamedTuple):
    """A word, or several, that an answer must contain: its tokens after another word, those that an answer begins with
    (none: no answer begins with it), and its text, which also stands where other tokens write it; "": only its tokens
    count. `longer`: whether a token makes another word of it where it follows.
    """

    inside: tuple[int, ...]
    first: tuple[int, ...] = ()
    text: str = ""
    longer: Callable[[int], bool] = _never

    def stands_in(self, answer: Ids) -> bool:
        """Whether an answer of these tokens contains those of the word."""
        ends = [at + len(self.inside) for at in places(self.inside, answer)]
        if self.first and tuple(answer[: len(self.first)]) == self.first:
            ends.append(len(self.first))
        return any(end == len(answer) or not self.longer(answer[end]) for end in ends)

    def ends(self, answer: Ids) -> bool:
        """Whether an answer ends with its tokens."""
        return tuple(answer[-len(self.inside) :]) == self.inside or tuple(answer) == self.first

    def begun(self, answer: Ids) -> tuple[int, int]:
        """How many of its tokens stand at the end of an answer that does not contain the word, and the next one."""
        text = tuple(answer)
        if len(text) < len(self.first) and text == self.first[: len(text)]:
            return min(len(text), len(self.inside) - 1), self.first[len(text)]
        sizes = range(min(len(self.inside) - 1, len(text)), 0, -1)
        size = next((size for size in sizes if text[-size:] == self.inside[:size]), 0)
        return size, self.inside[size]


IdsOf = Callable[[str], Sequence[int]]
Spelled = Callable[[Sequence[int]], Sequence[tuple[int, ...]]]
TextOf = Callable[[Sequence[int]], str]
Sequences = tuple[tuple[int, ...], ...]


def forced_words(words: Sequence[str], ids_of: IdsOf) -> tuple[ForcedWord, ...]:
    """Each word with its tokens after another word, and those at the beginning of an answer."""
    stripped = dict.fromkeys(word.strip() for word in words)
    return tuple(ForcedWord(_after_word(word, ids_of), tuple(ids_of(word)), word) for word in stripped)


def bounded(word: ForcedWord, text_of: TextOf) -> ForcedWord:
    """A word with its text as its tokens write it, and which tokens make another word of it."""
    if not word.text:
        return word
    written = text_of(word.inside)
    text = written.strip() or word.text
    if not goes_on(text[-1]):
        return word._replace(text=text)

    @cache
    def longer(token: int) -> bool:
        return goes_on(text_of([*word.inside, token])[len(written) : len(written) + 1])

    return word._replace(text=text, longer=longer)


def forbidden_ids(words: Sequence[str], ids_of: IdsOf, spelled: Spelled | None = None) -> Sequences:
    """Spellings of each word: first in a text, after a word, after a mark without a blank; not capitals. With `spelled`
    by all tokens that write it so, as a model is not bound to those of its tokenizer.
    """
    if not all(word.strip() for word in words):
        raise ConfigError(
            "a text to forbid must not be blank", got=repr(next(each for each in words if not each.strip()))
        )
    each = ((tuple(ids_of(word)), _after_word(word, ids_of), _after_word(word, ids_of, "a-")) for word in words)
    known = dict.fromkeys(ids for spellings in each for ids in spellings)
    others = () if spelled is None else (other for ids in known for other in spelled(ids))
    return tuple(dict.fromkeys([*known, *others]))


def with_marks(words: Sequence[str], text_of: TextOf, vocabulary: int) -> Sequences:
    """The tokens that contain one of the words without letters and digits, such as a full stop and a quotation mark in
    one token.
    """
    marks = [word.strip() for word in words if not any(letter.isalnum() for letter in word)]
    if not marks:
        return ()
    texts = ((token, text_of([token])) for token in range(vocabulary))
    return tuple((token,) for token, text in texts if any(mark in text for mark in marks))


def contains(text: str, word: str) -> bool:
    """Whether a text contains a word, or several, that no letters or digits around it go on with; scripts without
    blanks between words have no such limits.
    """
    before, after = (f"(?{look}{_LETTER})" if goes_on(end) else "" for look, end in (("<!", word[0]), ("!", word[-1])))
    return re.search(f"{before}{re.escape(word)}{after}", text) is not None


def goes_on(letter: str) -> bool:
    """Whether a word may go on before or after it."""
    return re.match(_LETTER, letter) is not None


def text_after(text_of: TextOf, prompt: Sequence[int], ids: Sequence[int]) -> str:
    """The text of tokens after a prompt, with the blank between the two, which decoding them alone would lose."""
    before, whole = text_of(prompt), text_of([*prompt, *ids])
    if whole.startswith(before):
        return whole[len(before) :]
    # The prompt ends within a letter of several bytes.
    complete = before.rstrip("\ufffd")
    return whole[len(complete) :] if whole.startswith(complete) else text_of(ids)


def before_stop(text: str, stop: Sequence[str]) -> str:
    """The text up to the first of the stop strings that occurs in it."""
    return text[: min((at for each in stop if (at := text.find(each)) >= 0), default=len(text))]


def _after_word(word: str, ids_of: IdsOf, before: str = "a ") -> tuple[int, ...]:
    """The tokens of a word that follows another one; those of the word alone where the two cannot be separated."""
    other = tuple(ids_of(before.strip()))
    both = tuple(ids_of(before + word))
    return both[len(other) :] if both[: len(other)] == other else tuple(ids_of(word))


@dataclass(frozen=True)
class Request:
    """One answer that is wanted. `number` names it, and its samples depend on it.

    `source` is what the encoder reads; None for a decoder alone. The decoder is given `prompt` (default: the token
    that it begins with), then `prefix`, with which the answer must begin, and `following`, of which the first token
    after the prefix is one where there are any. `max_tokens` counts the prefix; None = the settings'. With beams,
    after `likely` tokens the search goes on only while the best answers found may still be beaten. The answer contains
    each of `forced`, and none of the sequences of tokens `forbidden`.
    """

    number: int
    source: Ids | None = None
    prompt: Ids | None = None
    prefix: Ids = ()
    following: Ids = ()
    max_tokens: int | None = None
    likely: int | None = None
    forced: tuple[ForcedWord, ...] = ()
    forbidden: tuple[tuple[int, ...], ...] = ()


def check_request(request: Request, settings: DecodeSettings, ids: SpecialIds, model: ModelConfig) -> None:
    """Refuse what no answer can satisfy, and what is too long for the model. Raises ConfigError."""
    where = f"request {request.number}"
    given = [*(request.prompt or (ids.begin,)), *request.prefix]
    for name, tokens, stack in (("source", request.source or (), model.encoder), ("prompt", given, model.decoder)):
        if stack is not None and stack.max_length is not None and len(tokens) > stack.max_length:
            raise ConfigError(f"{where}: a {name} has at most {stack.max_length} tokens", got=str(len(tokens)))
        if stack is not None:
            _refuse_strange(where, tokens, stack.embed.vocabulary)
    most = settings.max_tokens if request.max_tokens is None else request.max_tokens
    words = [word.inside for word in request.forced]
    _refuse_strange(where, [token for word in words for token in word], model.output_stack.embed.vocabulary)
    if words and settings.method != "beam":
        raise ConfigError(f"{where}: forced words need method = 'beam'", got=repr(settings.method))
    if words and settings.groups > 1:
        raise ConfigError(f"{where}: forced words need beams in one group", got=f"groups = {settings.groups}")
    if not all(words) or not all(request.forbidden):
        raise ConfigError(f"{where}: a forced or forbidden sequence must have a token", got="an empty one")
    for word in (*words, request.prefix):
        if set(word) & set(ids.end):
            raise ConfigError(f"{where}: forced words and a prefix stand before the end", got=str([*word]))
        hit = next((each for each in request.forbidden if occurs(each, word)), None)
        if hit is not None:
            raise ConfigError(f"{where}: an answer cannot contain {[*word]}", got=f"{[*hit]} as forbidden")
    needed = len(request.prefix) + sum(map(len, words)) + 1
    if needed > most:
        raise ConfigError(
            f"{where}: the prefix, the forced words and the end need {needed} tokens",
            got=f"max_tokens = {most}",
            do="raise max_tokens",
        )


def refuse_forbidden(words: Sequence[Ids], forbidden: Sequence[Ids], text_of: TextOf) -> None:
    """Raise ConfigError for words to force that contain forbidden tokens."""
    for word in words:
        if hit := next((each for each in forbidden if occurs(each, word)), None):
            raise ConfigError(
                f"an answer cannot contain {text_of(word).strip()!r}, which is forced",
                got=f"{text_of(hit).strip()!r}, which is forbidden",
                do="leave one of them out",
            )


def _refuse_strange(where: str, tokens: Ids, vocabulary: int) -> None:
    strange = next((token for token in tokens if not 0 <= token < vocabulary), None)
    if strange is not None:
        raise ConfigError(f"{where}: tokens must be from 0 to {vocabulary - 1}", got=str(strange))


def occurs(sequence: Ids, within: Ids) -> bool:
    """Whether the tokens of a sequence stand in another one, one after the other."""
    return bool(places(sequence, within))


def places(sequence: Ids, within: Ids) -> list[int]:
    """Where the tokens of a sequence stand in another one, one after the other."""
    size = len(sequence)
    return [at for at in range(len(within) - size + 1) if tuple(within[at : at + size]) == tuple(sequence)]


@dataclass(frozen=True)
class Hypothesis:
    """One answer. `ids` are its tokens, the prefix among them, without the end.

    `score` is what hypotheses of the search were ranked by. `log_probability` is the sum of `token_log_probabilities`,
    the model's own, with the end's where `ended`; else the answer was cut at its largest length or at a stop string.
    `attention` [T, M]: how much each token looked at each of the source when it was chosen, where that was asked for.
    `end`: the token that ended it, None where nothing did.
    """

    ids: tuple[int, ...]
    token_log_probabilities: Sequence[float]
    ended: bool
    score: Due = Due()
    log_probability: Due = Due()
    attention: Tensor | None = None
    end: int | None = None


def score_of(*answers: Any) -> tuple[float]:
    """The score of answers to the sentences of a text, or of one that has a score: for `Later`."""
    return (math.fsum(each.score for each in answers),)


def log_probability_of(*answers: Any) -> tuple[float]:
    return (math.fsum(each.log_probability for each in answers),)


@dataclass(frozen=True)
class Finished:
    """The answers to one request, best first; samples in their own order."""

    number: int
    hypotheses: list[Hypothesis]
