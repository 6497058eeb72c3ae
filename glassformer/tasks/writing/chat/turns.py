"""Conversations as tokens of a decoder, by the chat template of its model; and cut so that they fit into its rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from glassformer.base.errors import DataError
from glassformer.data.readers.read import ROLE_OF, Dialogue, text_and_role
from glassformer.tasks.rows import located
from glassformer.text.chat_template import ASSISTANT, SYSTEM, USER, ChatTemplate, Message
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import ids_of


class Lesson(NamedTuple):
    """A part of a dialogue in one row: its tokens, and which of them are learned."""

    ids: array[int]
    learned: bytes


class Exchange(NamedTuple):
    """The turns of a dialogue before a reply, each with its role, and the reply."""

    before: tuple[Message, ...]
    reply: str


class NotAddingError(DataError):
    """A template that formats earlier turns differently when later ones follow."""


class TurnWriter:
    """Conversations as tokens. `ends` are the tokens that end a reply: after the first of them nothing is learned."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate, ends: Iterable[int]) -> None:
        self.tokenizer, self.template, self.ends = tokenizer, template, frozenset(ends)

    def prompt(self, messages: Sequence[Message]) -> array[int]:
        """The tokens up to where the reply to the last turn begins. Raises as `ChatTemplate.written` does."""
        return ids_of(self.tokenizer, self.template.written(messages, ask=True).text)

    def lesson(self, messages: Sequence[Message], learned: Sequence[bool]) -> Lesson:
        """The tokens of a conversation, and which are learned. Raises NotAddingError."""
        whole = self.template.written(messages, ask=False)
        replies = [number for number, each in enumerate(messages) if each.role == ASSISTANT]
        if len(whole.spans) == len(replies):
            spans = [span for number, span in zip(replies, whole.spans, strict=True) if learned[number]]
        else:
            spans = [self._span(messages, number, whole.text) for number in replies if learned[number]]
        (raw,) = self.tokenizer.raw_batch([whole.text])
        ids, flags = self.tokenizer.unalias(raw.ids), bytearray(len(raw.ids))
        starts = [start for start, _ in raw.offsets]
        place = 0
        for start, end in spans:
            while place < len(ids) and starts[place] < start:
                place += 1
            while place < len(ids) and starts[place] < end:
                flags[place] = 1
                place += 1
                if ids[place - 1] in self.ends:
                    break
        return Lesson(array("i", ids), bytes(flags))

    def _span(self, messages: Sequence[Message], number: int, whole: str) -> tuple[int, int]:
        """The characters of a reply: what the template adds to the turns before it."""
        before = self.template.written(messages[:number], ask=True).text
        after = self.template.written(messages[: number + 1], ask=False).text
        if not (whole.startswith(after) and after.startswith(before)):
            raise NotAddingError(
                "to train on it, the chat template must format a turn the same way whatever follows",
                got=f"another text before turn {number + 1}",
            )
        return len(before), len(after)


def messages_of(turns: object, where: str = "", *, system: str | None = None) -> tuple[Message, ...]:
    """A conversation: a text, texts of two people in turn, or objects with `role` and `content`; `system` comes first.
    Raises DataError for an empty turn, an unknown role, and a last turn that is not the user's.
    """
    given = [turns] if isinstance(turns, str) else turns
    if not isinstance(given, list | tuple) or not given:
        raise DataError(located(where, "a turn to reply to is needed"), got=repr(given)[:60])
    found = []
    for number, turn in enumerate(given):
        text, role = turn, (USER, ASSISTANT)[(len(given) - 1 - number) % 2]
        if isinstance(turn, Mapping):
            text, word = text_and_role(turn)
            if word not in ROLE_OF:
                raise DataError(
                    located(where, f"a turn must have a role, one of {', '.join(ROLE_OF)}"), got=repr(word)[:40]
                )
            role = ROLE_OF[word]
        if not isinstance(text, str) or not text.strip():
            raise DataError(located(where, "a turn must be a text with words"), got=repr(text)[:60])
        found.append(Message(role, text))
    if found[-1].role != USER:
        raise DataError(located(where, "the last turn must be the user's"), got=f"one of {found[-1].role}")
    if system is not None and found[0].role != SYSTEM:
        if not system.strip():
            raise DataError("the system message must hold words", got=repr(system)[:60])
        found.insert(0, Message(SYSTEM, system))
    return tuple(found)


def opened(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    count = next((place for place, each in enumerate(messages) if each.role != SYSTEM), len(messages))
    return list(messages[:count]), list(messages[count:])


def perspectives(dialogue: Dialogue) -> Iterator[tuple[tuple[Message, ...], tuple[bool, ...]]]:
    """A dialogue with roles, and which turns are learned; without roles twice, each person replying in turn."""
    if dialogue.roles:
        yield tuple(map(Message, dialogue.roles, dialogue.turns)), dialogue.replies
        return
    for first in (1, 2):
        learned = tuple(of and number % 2 == first % 2 for number, of in enumerate(dialogue.replies))
        if any(learned):
            roles = ((USER, ASSISTANT)[number % 2 == first % 2] for number in range(len(learned)))
            yield tuple(map(Message, roles, dialogue.turns)), learned


def lessons(
    writer: TurnWriter, messages: Sequence[Message], learned: Sequence[bool], *, room: int, history: int | None
) -> Iterator[Lesson | None]:
    """A dialogue in parts of at most `room` + 1 tokens. Each reply is learned once, after as many turns as fit, at most
    `history`; None where it does not fit with the turn before it.
    """
    system, turns = opened(messages)
    flags = list(learned[len(system) :])
    last = max(number for number, of in enumerate(flags) if of) + 1
    if history is None:
        try:
            whole = writer.lesson([*system, *turns[:last]], [*[False] * len(system), *flags[:last]])
            if len(whole.ids) <= room + 1:
                yield whole
                return
        except NotAddingError:  # then each reply is learned apart
            history = last
        except DataError:  # a template may want the user to begin
            if turns[0].role == USER:
                raise
            history = last
    costs = [len(ids_of(writer.tokenizer, each.content)) + _AROUND for each in (*system, *turns)]
    before, costs = sum(costs[: len(system)]), costs[len(system) :]
    number = 0
    while number < last:
        if not flags[number]:
            number += 1
            continue
        first, end = _planned(costs, number, last, room - before, history)
        found, end = _fitting(writer, system, turns, flags, (first, number, end), room)
        yield found
        number = end


# Tokens that a template writes around a turn: a guess, from which the length of a part is estimated.
_AROUND = 6


def _planned(costs: Sequence[int], number: int, last: int, room: int, history: int | None) -> tuple[int, int]:
    first, end = max(0, number - 1), number + 1  # a reply may come first
    size = sum(costs[first:end])
    most = room if history is not None else room // 2
    while first > 0 and (history is None or number - first < history) and size + costs[first - 1] <= most:
        first -= 1
        size += costs[first]
    while history is None and end < last and size + costs[end] <= room:
        size += costs[end]
        end += 1
    return first, end


def _fitting(
    writer: TurnWriter,
    system: Sequence[Message],
    turns: Sequence[Message],
    flags: Sequence[bool],
    planned: tuple[int, int, int],
    room: int,
) -> tuple[Lesson | None, int]:
    """The part as planned, or a smaller one that fits, and the turn after it; None where the reply does not fit."""
    first, number, end = planned
    while True:
        chosen = [*system, *turns[first:end]]
        new = [*[False] * (len(system) + number - first), *flags[number:end]]
        try:
            found = writer.lesson(chosen, new)
            if len(found.ids) <= room + 1:
                return found, end
        except NotAddingError:
            if end == number + 1:
                raise
            end = number + 1
            continue
        except DataError:  # as above
            if number == 0:
                return None, end
            if first >= number - 1:
                raise
            first += 1
            continue
        if end > number + 1:
            end -= 1
        elif first < number - 1:
            first += 1
        else:
            return None, end
