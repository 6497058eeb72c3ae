"""Streaming and stop strings: the parts make the answer, and nothing is taken back."""

from collections.abc import Iterator, Sequence

import pytest
import torch
from tokenizers import decoders

from glassformer.decode.loop import decode
from glassformer.decode.request import before_stop
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Step, StreamedText, Wanted, settled, shared, stream
from tests.decode.sentences import BEAM, IDS, answers, named, requests

LETTERS = "..|abcdefghijklmnopqrstuvwxyz"
SEARCHES = {"greedy": DecodeSettings(max_tokens=9), "beam": BEAM.model_copy(update={"max_tokens": 9})}


def text_of(tokens: Sequence[int]) -> str:
    return "".join(LETTERS[token] for token in tokens)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", ["marian", "gpt2"])
def test_the_pieces_make_the_answer(name: str, search: str) -> None:
    model, settings = named(name).model(), SEARCHES[search]
    asked = requests(model, 5)
    parts = list(stream(decode(model, asked, Wanted(settings, ids=IDS, slots=2)), text_of))
    for number, found in answers(model, asked, settings).items():
        of_it = [part for part in parts if part.number == number]
        assert "".join(part.text for part in of_it) == text_of(found[0].ids)
        assert [part.finished is not None for part in of_it] == [False] * (len(of_it) - 1) + [True]
        last = of_it[-1].finished
        assert last is not None
        assert [each.ids for each in last.hypotheses] == [each.ids for each in found]
    assert len(parts) > len(asked)  # some text comes before the answer is complete


def test_nothing_is_taken_back_where_one_answer_is_complete_and_others_are_not() -> None:
    model = named("marian").model()
    assert model.head is not None
    assert model.head.bias is not None
    with torch.no_grad():
        model.head.bias[IDS.end[0]] += 0.5  # so that some answers are complete before others of their beams
    asked, settings = requests(model, 12), BEAM.model_copy(update={"n_best": 1, "length_penalty": 1.0, "max_tokens": 9})
    texts, alone = [""] * len(asked), [[""]] * len(asked)

    def seen() -> Iterator[Step]:
        for step in decode(model, asked, Wanted(settings, ids=IDS)):
            for number, hypotheses in step.unfinished():
                alone[number] = [*alone[number], text_of(shared(hypotheses))]
            yield step

    for part in stream(seen(), text_of):
        texts[part.number] += part.text
    found = answers(model, asked, settings)
    assert texts == [text_of(found[number][0].ids) for number in range(len(asked))]
    misled = [text for text, own in zip(texts, alone, strict=True) if not all(text.startswith(each) for each in own)]
    assert misled, "each answer is begun by what its unfinished hypotheses have in common"


def test_a_blank_that_the_next_token_takes_away_is_not_sent() -> None:
    model, settings = named("marian").model(), DecodeSettings(max_tokens=9, min_tokens=9)
    asked = requests(model, 5)
    for number, found in answers(model, asked, settings).items():
        joining = LETTERS[found[0].ids[3]]

        def joined(tokens: Sequence[int], joining: str = joining) -> str:
            return " ".join(text_of(tokens)).replace(f" {joining} ", joining)

        parts = [part.text for part in stream(decode(model, [asked[number]], Wanted(settings, ids=IDS)), joined)]
        assert "".join(parts) == joined(found[0].ids)
        assert len(parts) > 4


def test_a_byte_that_the_next_one_makes_no_character_is_not_sent() -> None:
    model = named("marian").model()
    tokens = ["", "", "|", *("<0xC3>", "<0xA9>", "<0x41>", "<0x80>", "a") * 5]
    decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])

    def bytes_of(ids: Sequence[int]) -> str:
        return str(decoder.decode([tokens[id_] for id_ in ids]))

    taken_back = 0
    for seed in range(20):
        settings = DecodeSettings(method="sample", max_tokens=12, min_tokens=12, seed=seed)

        def parts_of(byte: int | None, settings: DecodeSettings = settings) -> list[StreamedText]:
            steps = decode(model, requests(model, 1), Wanted(settings, ids=IDS))
            return list(stream(steps, bytes_of, continuation_byte=byte))

        parts = parts_of(tokens.index("<0x80>"))
        whole = "".join(part.text for part in parts)
        assert parts[-1].finished is not None
        assert whole == bytes_of(parts[-1].finished.hypotheses[0].ids)
        taken_back += whole != "".join(part.text for part in parts_of(None))
    assert taken_back, "some text would have been sent too early"


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_an_answer_ends_with_its_stop_string(method: str) -> None:
    model = named("marian").model()
    free = DecodeSettings.model_validate({"method": method, "max_tokens": 9, "min_tokens": 9})
    asked = requests(model, 5)
    stop = {number: text_of(found[0].ids)[3:5] for number, found in answers(model, asked, free).items()}
    for number, string in stop.items():
        settings = free.model_copy(update={"stop": (string, "never this")})
        found = answers(model, [asked[number]], settings, text_of=text_of)[number][0]
        if method != "beam":  # where an earlier end lets another hypothesis win
            assert text_of(found.ids) == before_stop(text_of(found.ids), (string,)) + string
            assert not found.ended
        steps = decode(model, [asked[number]], Wanted(settings, ids=IDS, text_of=text_of))
        parts = [part.text for part in stream(steps, text_of, stop=settings.stop)]
        assert "".join(parts) == before_stop(text_of(found.ids), settings.stop)
        assert text_of(found.ids).count(string) <= 1


def test_what_may_still_change_is_held_back() -> None:
    assert settled("one t", ("three",)) == "one "
    assert settled("one three four", ("three",)) == "one "
    assert settled("é�", ()) == "é"
    assert settled("a\n", ("\n\n",)) == "a"
    assert before_stop("a b c", ("c", "b")) == "a "


def test_hypotheses_share_what_they_begin_with() -> None:
    assert shared([[1, 2, 3], [1, 2, 4]]) == [1, 2]
    assert shared([[1, 2]]) == [1, 2]
    assert shared([[1], [2]]) == []
    assert shared([[1, 2, 3], [1, 2]]) == [1, 2]
