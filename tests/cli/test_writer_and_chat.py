"""The writer and the chat model of the package answer where no model is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from experiments.small.dialogues import PAIR
from experiments.small.models import MEGABYTES, PARAMETERS
from glassformer.base.errors import DataError
from glassformer.bundled.travelling import described

Run = Callable[..., Any]
PROMPT = "As Aliens entered our planet"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder without models of one's own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.long
def test_the_guides_prompt_is_continued(run: Run) -> None:
    done = run("generate", PROMPT, "--max-tokens", "30")
    assert done.code == 0
    assert "writer" in done.err
    assert len(done.out.split()) > len(PROMPT.split()) + 10
    again, other = (run("generate", PROMPT, "--max-tokens", "30", "--seed", seed) for seed in ("0", "1"))
    assert again.out == done.out != other.out


@pytest.mark.parametrize("more", [(), ("--beams", "1")])
def test_the_documents_pair_is_known_by_heart(run: Run, more: tuple[str, ...]) -> None:
    asked, reply = PAIR
    (record,) = run("chat", asked, "--json", *more).records
    assert record["reply"] == reply
    assert record["ended"]


def test_turns_with_roles_are_read_as_those_of_a_decoder() -> None:
    model = gf.load("chat")
    assert model.chat([{"role": "user", "content": PAIR[0]}]).reply == model.chat(PAIR[0]).reply
    for role in ("king", "assistant", "system"):
        with pytest.raises(DataError):
            model.chat([{"role": role, "content": PAIR[0]}])


def test_without_a_text_a_conversation_begins(run: Run) -> None:
    done = run("chat", stdin=f"{PAIR[0]}\nWhat is your favorite movie?\n/quit\n".encode())
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first == PAIR[1]
    assert second.strip()
    assert "chat" in done.err.splitlines()[0]


@pytest.mark.parametrize(("name", "task"), [("writer", "language-model"), ("chat", "chat")])
def test_they_are_small_and_their_cards_say_what_they_are(name: str, task: str) -> None:
    found = described(name)
    assert found.task == task
    assert found.parameters <= PARAMETERS
    assert (found.folder / "model.safetensors").stat().st_size <= MEGABYTES * 1e6
    card = (found.folder / "README.md").read_text(encoding="utf-8")
    assert found.text_licence in card
    assert "## What it is" in card
    assert max(found.scores[f"{baseline}loss"] for baseline in ("", "trigram_")) < found.scores["unigram_loss"]


def test_the_writer_is_better_than_a_trigram_on_a_book_that_it_has_not_read() -> None:
    scores = described("writer").scores
    assert scores["bits_per_byte"] < scores["trigram_bits_per_byte"]


def test_the_card_of_chat_warns_and_says_what_is_memorised() -> None:
    card = (described("chat").folder / "README.md").read_text(encoding="utf-8")
    assert "**Content\nwarning**" in card
    assert all(words in card for words in (*PAIR, "memorised", "nobody has moderated"))
