"""The rows of writing, chat and recurrent networks: what all sides learn from, how they are measured and judged."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import decoder_claims, results
from experiments.chat import table as chat_table
from experiments.recurrent import table
from experiments.small import dialogues
from experiments.writing import table as writing_table
from glassformer.data.readers.lines import stop
from glassformer.tasks.writing.chat.settings import ChatData
from glassformer.tasks.writing.chat.task import Chat

# --------------------------------------------------------------------------- data


def test_yaml_becomes_dialogues_that_the_task_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "chatterbot_english"
    folder.mkdir()
    written = (
        "categories:\n- a\nconversations:\n- - Are you sad?\n  - No\n- - Alone\n- - '1 + 1?'\n  - 2\n  - It\n    is.\n"
    )
    (folder / "a.yml").write_text(written, encoding="utf-8")
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    file = tmp_path / "dialogues.txt"
    file.write_text(dialogues.chatterbot(), encoding="utf-8")
    found = [(each.values["text"], each.values["target"]) for each in Chat.records(ChatData(), [str(file)], stop)]
    assert found == [("Are you sad?", "No"), ("1 + 1?", "2"), ("1 + 1?\n2", "It is.")]


def test_the_documents_own_pair_occurs_as_often_as_stated(tmp_path: Path) -> None:
    file = tmp_path / "dialogues.txt"
    file.write_text(dialogues.documents(), encoding="utf-8")
    found = [(each.values["text"], each.values["target"]) for each in Chat.records(ChatData(), [str(file)], stop)]
    assert found == [("Hi how are you", "I am fine")] * dialogues.REPEATS


# --------------------------------------------------------------------------- measures


# --------------------------------------------------------------------------- pages

MADE = {"command": "a command", "date": "2026-01-01", "machine": "a machine", "torch": "2", "products": "float32"}


def interval(low: float, high: float) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high}


def writing(**highs: float) -> dict[str, Any]:
    """A row in which ours minus each side's bits per byte has this upper end."""

    def both(low: float, high: float) -> dict[str, Any]:
        return {way: {"bits_per_byte": interval(low, high)} for way in writing_table.WAYS}

    facts = {**MADE, "steps": 5, "parameters": 7, "written": [" a | b"]}
    return {
        **MADE,
        "tokens": 9,
        "bytes": 30,
        "prompt": "As Aliens",
        "settings": {"length": 128},
        "sides": {side: {"scores": both(1, 2), "facts": facts} for side in ("ours", *highs)},
        "against": {f"ours against {side}": both(high - 0.2, high) for side, high in highs.items()},
    }


def text_row(transformer: tuple[float, float]) -> dict[str, Any]:
    """Speeds of training and writing of ours, and 100 of each recurrent network."""
    arms = {
        arm: {
            **MADE,
            "facts": {"parameters": 7, "steps": 5},
            "trained_tokens_per_second": transformer[0] if arm == "transformer" else 100.0,
            "written_tokens_per_second": {"1": transformer[1] if arm == "transformer" else 100.0},
            "loss": interval(3, 4),
            "window": [0.5, 0.3, 0.2],
            "window_before": [1.0, 0.0, 0.0],
        }
        for arm in table.ARMS
    }
    settings = {"source": 3, "target": 2, "layers": 2, "width": 8}
    return {**MADE, "settings": settings, "minutes": 4.0, "arms": arms}


def copy_row(**reached: int) -> dict[str, Any]:
    """How far each architecture copies; those that are not named up to 10."""
    distances = [10, 100]
    arms = {
        f"{arm}, {distance}": {
            **MADE,
            "symbols": 1.0 if distance <= reached.get(arm.partition(", ")[0], 10) else 0.1,
            "facts": {"steps": 5},
        }
        for arm in table.ARMS
        for distance in distances
    }
    settings = {"symbols": 16, "kept": 5, "width": 8, "layers": 2, "distances": distances}
    return {**MADE, "settings": settings, "minutes": 0.5, "arms": arms}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Make rows the ones that have been measured."""
    return lambda rows: monkeypatch.setattr(results, "read", rows.get)


BELOW = {"transformers": -0.1, "lstm": -0.1, "trigram": -0.1}


@pytest.mark.parametrize(
    ("rows", "number", "verdict"),
    [
        ({}, 0, "**not measured yet**"),
        ({"chat": {**MADE, "greedy": {dialogues.PAIR[0]: "I am fine"}}}, 0, "**holds**"),
        ({"chat": {**MADE, "greedy": {dialogues.PAIR[0]: "I am fine."}}}, 0, "**does not hold**"),
        ({}, 1, "**not measured yet**"),
        ({"writing-20-minutes": writing(**BELOW)}, 1, "**holds**."),
        ({"writing-20-minutes": writing(**{**BELOW, "lstm": 0.01})}, 1, "**in part**: not below LSTM"),
        ({"writing-20-minutes": writing(trigram=-0.1)}, 1, "**not measured yet** (transformers' GPT-2, LSTM"),
        ({}, 2, "**not measured yet**"),
        ({"recurrent-text": text_row((150, 50))}, 2, "**in part**: faster in part: it trains at 1.50 times the lstm"),
        ({"recurrent-text": text_row((150, 50))}, 2, "It writes at 0.50 times the lstm"),
        ({"recurrent-text": text_row((50, 50))}, 2, "**does not hold**: faster does not hold"),
        ({"recurrent-text": text_row((150, 150))}, 2, "faster holds"),
        ({"recurrent-text": text_row((1, 1)), "recurrent-copy": copy_row(gru=100)}, 2, "gru 100; gru, attention 10"),
    ],
)
def test_verdicts_follow_their_rules(
    read: Callable[[dict[str, Any]], None], rows: dict[str, Any], number: int, verdict: str
) -> None:
    read(rows)
    found = re.findall(r"^\*\*Verdict\*\*: .+$", "\n".join(decoder_claims.sections()), re.MULTILINE)
    assert len(found) == 3
    assert verdict in found[number]


def test_the_pages_show_what_was_measured(read: Callable[[dict[str, Any]], None]) -> None:
    replies = dict.fromkeys(chat_table.REPLIES, 0.25)
    side = {
        "command": "a command",
        "scores": dict.fromkeys(chat_table.SCORES, interval(2, 3)),
        "replies": replies,
        "facts": {**MADE, "steps": 5},
    }
    sample = {"turns": ["a", "b|c"], "right": "d", "ours": "e", "transformers": "f", "ours, drawn": "g"}
    read(
        {
            "writing-30-minutes": writing(**BELOW),
            "chat-30-minutes": {
                "measured": 3,
                "written": 2,
                "right_replies": replies,
                "sides": {"ours": side, "transformers": side},
                "against": dict.fromkeys(chat_table.SCORES, interval(-2, -1)),
                "samples": [sample],
            },
            "recurrent-text": text_row((150, 50)),
            "recurrent-copy": copy_row(transformer=100),
        }
    )
    shown = "\n".join([*writing_table.section(), *chat_table.section(), *table.section()])
    assert "not measured yet" not in shown
    assert "1.500 (1.000 … 2.000)" in shown
    assert "*As Aliens* a \\| b" in shown
    assert "| a / b\\|c | e | f | g | d |" in shown
    assert "100% (5)" in shown
    read({})
    assert "\n".join([*writing_table.section(), *chat_table.section(), *table.section()]).count("not measured yet") == 4
