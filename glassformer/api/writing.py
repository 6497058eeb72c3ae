"""The verbs of a model that writes: translations, texts and replies, also word by word, or as the tree of a search."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast, overload

from glassformer.answering.answers import Texts, answers, stream_answer, texts_of, turns_of
from glassformer.decode.options import WritingOptions
from glassformer.saved.artefact import Artefact

if TYPE_CHECKING:
    from glassformer.decode.settings import DecodeSettings
    from glassformer.look.texts.tree import SearchTree
    from glassformer.tasks.writing.chat.chatter import Reply
    from glassformer.tasks.writing.generator import Generation
    from glassformer.tasks.writing.translation import Translation

Turns = str | Sequence[str] | Sequence[Mapping[str, str]]
Method = TypeVar("Method", bound=Callable[..., Any])


# The keywords of each verb, for type checkers: names and types are those of WritingOptions, which a test holds.
class _Generating(TypedDict, total=False):
    beams: int | None
    length_penalty: float | None
    n_best: int | None
    sample: bool | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    repetition_penalty: float | None
    no_repeat_ngram: int | None
    forced: Sequence[str]
    forbidden: Sequence[str]
    stop: Sequence[str]
    max_tokens: int | None
    min_tokens: int | None
    search: DecodeSettings | None


class _Translating(_Generating, total=False):
    coverage_penalty: float | None
    groups: int | None
    diversity: float | None
    prefix: str | None
    paragraphs: bool
    alignment: bool | None


class _Chatting(_Generating, total=False):
    system: str | None
    history: int | None
    template: str | None


class _Searched(_Generating, total=False):
    prefix: str | None


def _takes(keywords: Any) -> Callable[[Method], Method]:
    """Calls of a method are checked against these keywords, and its signature shows them with their defaults."""
    options = {each.name: each for each in fields(WritingOptions)}

    def taking(method: Method) -> Method:
        plain = inspect.signature(method)
        own = [each for each in plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type)
            for name, option in options.items()
            if name in keywords.__annotations__
        ]
        signature = plain.replace(parameters=[*own, *more])

        @functools.wraps(method)
        def checked(*given: Any, **named: Any) -> Any:
            try:
                signature.bind(*given, **named)
            except TypeError as error:
                raise TypeError(f"{method.__qualname__}() {error}") from None
            return method(*given, **named)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast("Method", checked)

    return taking


class Writing(Artefact):
    """Writes texts. `WritingOptions` documents each keyword."""

    @overload
    def translate(self, text: str, **options: Unpack[_Translating]) -> Translation: ...
    @overload
    def translate(self, text: Texts, **options: Unpack[_Translating]) -> list[Translation]: ...
    @_takes(_Translating)
    def translate(self, text: str | Texts, **options: Unpack[_Translating]) -> Translation | list[Translation]:
        """The translation of a text, or of each of many, with the beams and length penalty of its training, unless
        `beams`, or `search` (all search settings), says otherwise.

        With `n_best` the best translations with their scores, with `alignment` the words that belong together. Each
        translation begins with `prefix`. With `paragraphs` each sentence of a text is translated by itself, else only
        those of a text that is longer than the model reads at once; of only blanks it is empty. Raises ConfigError for
        a model that does not translate and for options that exclude each other, DataError where required words cannot
        be had. Each keyword is explained as an option in docs/reference/options.md.
        """
        found: list[Translation] = answers(self, "translate", texts_of(text), WritingOptions(**options))
        return found[0] if isinstance(text, str) else found

    @_takes(_Translating)
    def stream_translation(self, text: str, **options: Unpack[_Translating]) -> Generator[str, None, Translation]:
        """The words of the translation of a text as soon as no later one can change them; joined they are what
        `translate` gives for the same options.

        Of beams, that is what all have in common: with `beams=1` words come sooner. The generator returns the whole
        `Translation`. Raises as `translate` does, and ConfigError where several translations are asked for.
        """
        return stream_answer(self, "translate", {"text": text}, "", WritingOptions(**options))

    @overload
    def generate(self, prompt: str = "", **options: Unpack[_Generating]) -> Generation: ...
    @overload
    def generate(self, prompt: Texts, **options: Unpack[_Generating]) -> list[Generation]: ...
    @_takes(_Generating)
    def generate(self, prompt: str | Texts = "", **options: Unpack[_Generating]) -> Generation | list[Generation]:
        """The continuation of a prompt, or of each of many.

        Tokens are sampled, by default with temperature 0.8 from those that together have a probability of 0.9, or as an
        imported model says; the same `seed` gives the same. `beams=1` takes the likeliest token each time; more is beam
        search, as are `length_penalty` and `forced` alone. At most `max_tokens` (256) are written, no more than the
        model reads at once with the prompt; only the end of a longer prompt is read. Raises ConfigError for a model
        that is not a decoder, and for options that exclude each other. Each keyword is explained as an option in
        docs/reference/options.md.
        """
        found: list[Generation] = answers(self, "generate", texts_of(prompt), WritingOptions(**options))
        return found[0] if isinstance(prompt, str) else found

    @_takes(_Generating)
    def stream_generation(self, prompt: str = "", **options: Unpack[_Generating]) -> Generator[str, None, Generation]:
        """The characters after a prompt as soon as no later token can change them; joined they are what `generate`
        gives for the same options. The generator returns the whole `Generation`. Raises as `generate` does, and
        ConfigError where several texts are asked for.
        """
        return stream_answer(self, "generate", {"text": prompt}, "", WritingOptions(**options))

    @_takes(_Chatting)
    def chat(self, turns: Turns, **options: Unpack[_Chatting]) -> Reply:
        """The reply to a turn, or to the last of several turns of a conversation; of these at most `history` are read,
        and no more than fit. Turns are texts of two alternating people; for a decoder also objects with `role` and
        `content`.

        A decoder reads them as its chat template says, by default the one called "default"; `system` is the system
        message. The likeliest token is taken each time, or as an imported model says; `sample`, `temperature`, `top_k`,
        `top_p`, `min_p` or `seed` draw tokens as `generate` does; the other options are the same. Raises DataError
        where there is no turn and where the template refuses the conversation, CheckpointError for a template that is
        wrong, ConfigError for a model that does not chat, and for options that exclude each other.
        """
        return answers(self, "chat", [{"turns": turns_of(turns)}], WritingOptions(**options))[0]

    @_takes(_Chatting)
    def stream_chat(self, turns: Turns, **options: Unpack[_Chatting]) -> Generator[str, None, Reply]:
        """The characters of a reply as soon as no later token can change them; joined they are what `chat` gives for
        the same options. The generator returns the whole `Reply`. Raises as `chat` does, and ConfigError where several
        replies are asked for.
        """
        return stream_answer(self, "chat", {"turns": turns_of(turns)}, "", WritingOptions(**options))

    @_takes(_Searched)
    def search_tree(
        self, text: str | Sequence[str], *, attention: bool = False, **options: Unpack[_Searched]
    ) -> SearchTree:
        """How `translate`, `generate` or `chat` writes with these options, as a tree: what was kept at each step, what
        was dropped, and why. `text` is a source, a prompt, or the turns of a conversation, as the model reads them.
        `tree.best` is the end of the best answer, `tree.path(node)` leads to it, `print(tree)` shows all.

        With `attention` it keeps where each step looked, of every head, as `tree.attention`: 4 bytes × blocks × heads ×
        (P² + the lengths at which each token after the P of the prompt was read), 12 blocks of 12 heads 12 MB for 64 +
        128 tokens; beyond 256 MB it is refused. `model.trace(tree.text, target_ids=tree.decoder_ids(node))` has the
        same numbers, and those they come from. Raises as the verb does, ConfigError for a model without a decoder, and
        DataError for a text of several parts and for blanks.
        """
        from glassformer.look.texts.search_tree import search_tree

        return search_tree(self, text, WritingOptions(**options), attention=attention)
