"""The verbs of a model that writes: translations, texts and replies, also word by word, or as the tree of a search."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from glassformer.answering.answers import answers, stream_translation, stream_written
from glassformer.answering.texts import Texts, texts_of, turns_of
from glassformer.saved.artefact import Artefact

if TYPE_CHECKING:
    from glassformer.decode.settings import DecodeSettings
    from glassformer.look.texts.tree import SearchTree
    from glassformer.tasks.writing.chat.reply import Reply
    from glassformer.tasks.writing.generation import Generation
    from glassformer.tasks.writing.translation import Translation

Turns = str | Sequence[str] | Sequence[Mapping[str, str]]


class _Translating(TypedDict, total=False):
    """The options of `translate`, for its overloads."""

    beams: int | None
    n_best: int | None
    max_tokens: int | None
    prefix: str
    paragraphs: bool
    alignment: bool
    search: DecodeSettings | None


class _Generating(TypedDict, total=False):
    """The options of `generate`, for its overloads."""

    max_tokens: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    beams: int | None
    n_best: int | None
    stop: Sequence[str]
    seed: int | None
    search: DecodeSettings | None


# What a method is given beside its options: itself and what is read.
_NO_OPTIONS = ("self", "text", "prompt", "turns", "attention")


def _asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a method by their names, from all that it was given (its `locals()` as it begins)."""
    options = {name: value for name, value in given.items() if name not in _NO_OPTIONS}
    return {**options, **({"stop": list(options["stop"]) or None} if "stop" in options else {})}


class Writing(Artefact):
    """Writes texts."""

    @overload
    def translate(self, text: str, **options: Unpack[_Translating]) -> Translation: ...
    @overload
    def translate(self, text: Texts, **options: Unpack[_Translating]) -> list[Translation]: ...
    def translate(
        self,
        text: str | Texts,
        *,
        beams: int | None = None,
        n_best: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        paragraphs: bool = False,
        alignment: bool = False,
        search: DecodeSettings | None = None,
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each of many, by the beams and length penalty of its training,
        unless `beams` or `search`, all settings of the search at once, ask for another one.

        With `n_best` the best translations with their scores, with `alignment` the words that belong together. Each
        translation begins with `prefix`. With `paragraphs` each sentence of a text is translated by itself, else only
        those of a text that is longer than the model reads at once; of only blanks it is empty. Raises ConfigError for
        a model that does not translate and for options that exclude each other, DataError where words that are asked
        for cannot be had.
        """
        options = _asked(locals())
        found: list[Translation] = answers(self, "translate", texts_of(text), options)
        return found[0] if isinstance(text, str) else found

    def stream_translation(
        self,
        text: str,
        *,
        beams: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        paragraphs: bool = False,
        search: DecodeSettings | None = None,
    ) -> Generator[str, None, Translation]:
        """The words of the translation of a text as soon as no later one can change them; joined they are what
        `translate` gives for the same options.

        Of beams, that is what all have in common: with `beams=1` words come sooner. What the generator returns is the
        whole `Translation`. Raises as `translate` does, and ConfigError where several translations are asked for.
        """
        options = _asked(locals())
        return stream_translation(self, {"text": text}, "", options)

    @overload
    def generate(self, prompt: str = "", **options: Unpack[_Generating]) -> Generation: ...
    @overload
    def generate(self, prompt: Texts, **options: Unpack[_Generating]) -> list[Generation]: ...
    def generate(
        self,
        prompt: str | Texts = "",
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        n_best: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Generation | list[Generation]:
        """The text that goes on behind a prompt, or behind each of many.

        Tokens are drawn, by default with temperature 0.8 from those that together have a probability of 0.9, or as an
        imported model says; the same `seed` draws the same. `beams=1` takes the likeliest token each time, more search
        together. At most `max_tokens` (256) are written, no more than the model reads at once with the prompt; of a
        longer prompt the end is read. Raises ConfigError for a model that is no decoder, and for options that exclude
        each other.
        """
        options = _asked(locals())
        found: list[Generation] = answers(self, "generate", texts_of(prompt), options)
        return found[0] if isinstance(prompt, str) else found

    def chat(
        self,
        turns: Turns,
        *,
        system: str | None = None,
        history: int | None = None,
        template: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        n_best: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Reply:
        """The reply to a turn, or to the last of several turns of a conversation; of these at most `history` are read,
        and no more than fit. Turns are texts of two people in turn, or of a decoder also objects with `role` and
        `content`.

        A decoder reads them as its chat template says, by default that called "default"; `system` is said before all
        turns. Tokens are drawn as by `generate`, and the other options are the same. Raises DataError where there is
        no turn and where the template refuses the conversation, CheckpointError for a template that is wrong,
        ConfigError for a model that does not chat, and for options that exclude each other.
        """
        options = _asked(locals())
        found: Reply = answers(self, "chat", [{"turns": turns_of(turns)}], options)[0]
        return found

    def stream_chat(
        self,
        turns: Turns,
        *,
        system: str | None = None,
        history: int | None = None,
        template: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Generator[str, None, Reply]:
        """The characters of a reply as soon as no later token can change them; joined they are what `chat` gives for
        the same options. What the generator returns is the whole `Reply`. Raises as `chat` does.
        """
        options = _asked(locals())
        return stream_written(self, "chat", {"turns": turns_of(turns)}, "", options)

    def stream_generation(
        self,
        prompt: str = "",
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        beams: int | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
    ) -> Generator[str, None, Generation]:
        """The characters behind a prompt as soon as no later token can change them; joined they are what `generate`
        gives for the same options. What the generator returns is the whole `Generation`. Raises as `generate` does.
        """
        options = _asked(locals())
        return stream_written(self, "generate", {"text": prompt}, "", options)

    def search_tree(
        self,
        text: str | Sequence[str],
        *,
        beams: int | None = None,
        n_best: int | None = None,
        max_tokens: int | None = None,
        prefix: str = "",
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        search: DecodeSettings | None = None,
        attention: bool = False,
    ) -> SearchTree:
        """How `translate`, `generate` or `chat` writes with these options, as a tree: what went on at each step, what
        did not, and why. `text` is a source, a prompt, or the turns of a conversation, as the model reads them.
        `tree.best` is the end of the best answer, `tree.path(node)` leads to it, `print(tree)` shows all.

        With `attention` it keeps where each step looked, of every head, as `tree.attention`: 4 bytes × blocks × heads ×
        (P² + the lengths at which each token behind the P of the prompt was read), 12 blocks of 12 heads 9 MB for
        64 + 128 tokens; beyond 256 MB it is refused.
        `model.trace(tree.text, target_ids=tree.decoder_ids(node))` has the same numbers, and those behind them. Raises
        as the verb does, ConfigError for a model without a decoder, and DataError for a text of several parts and for
        blanks.
        """
        options = _asked(locals())
        from glassformer.look.texts.search_tree import search_tree

        return search_tree(self, text, options, attention=attention)
