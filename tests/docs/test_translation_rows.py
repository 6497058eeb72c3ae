"""The rows, scores and verdicts of translation: what both sides learn from, how they are measured and judged."""

from __future__ import annotations

import os
import random
import re
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch

from experiments import results
from experiments.page import NOT_YET
from experiments.translation import claims, ours, short, table
from experiments.translation.measures import TOKENS, Scores, cut
from experiments.translation.peer import Peer
from experiments.translation.plan import Budget, Pairs, Texts, write_json
from glassformer.models.families.marian import marian
from glassformer.models.transformer import build
from glassformer.parts.attention import CrossAttention
from glassformer.run.vocabulary import body_config
from glassformer.training.checkpoint import Checkpoints
from glassformer.training.stopping import Interrupted

WORDS = {"dogs": "chiens", "men": "hommes", "run": "courent", "sleep": "dorment", "two": "deux", "three": "trois"}


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pairs:
    """Sixty pairs in a table, twelve to validate on, of which each source is there twice."""
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    drawn = random.Random(0)

    def lines(count: int) -> str:
        found = ""
        for _ in range(count):
            words = drawn.choices(list(WORDS), k=drawn.randint(2, 6))
            found += f"{' '.join(words)}\t{' '.join(WORDS[word] for word in words)}\n"
        return found

    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "train.tsv").write_text(lines(60), encoding="utf-8")
    (tmp_path / "pairs" / "validation.tsv").write_text(2 * lines(6), encoding="utf-8")
    return Pairs("pairs", "train.tsv", "validation.tsv", {"test": "validation.tsv"})


BUDGET = Budget(1, 4, 1, 0)


def test_the_sources_of_a_table_come_once_with_all_their_translations(pairs: Pairs) -> None:
    found = pairs.texts(pairs.validation)
    assert len(found.sources) == len(set(found.sources)) == 6
    assert [len(each) for each in found.references] == [2] * 6


def test_each_epoch_of_the_peer_has_each_pair_once_in_batches_of_our_size(pairs: Pairs, tmp_path: Path) -> None:
    peer = Peer(pairs, BUDGET, tmp_path / "run")
    peer.settings["batch_tokens"] = 64
    lengths = [len(target) for target in peer.targets]
    batches, seen, count = peer._batches(), Counter[int](), 0
    epoch = []
    while len(seen) < len(lengths):
        epoch.append(next(batches))
        assert max(lengths[pair] for pair in epoch[-1]) * len(epoch[-1]) <= 64
        seen.update(epoch[-1])
        count += len(epoch[-1])
    assert count == len(lengths)
    peer.progress.step = 3
    again = peer._batches()
    assert [next(again) for _ in epoch[3:]] == epoch[3:]


def test_the_peer_that_was_stopped_ends_with_the_same_weights(
    pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Peer(pairs, BUDGET, tmp_path / "whole")
    whole.train()
    stopped = Peer(pairs, BUDGET, tmp_path / "stopped")
    step = stopped._step

    def and_stop(batch: Any) -> float:
        loss = step(batch)
        if stopped.progress.step == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return loss

    monkeypatch.setattr(stopped, "_step", and_stop)
    with pytest.raises(Interrupted):
        stopped.train()
    again = Peer(pairs, BUDGET, tmp_path / "stopped")
    again.train()
    assert again.progress.step == 4
    for name, tensor in again.model.state_dict().items():
        assert torch.equal(tensor, whole.model.state_dict()[name]), name
    assert again.facts()["target tokens"] == whole.facts()["target tokens"]


def test_both_sides_have_one_vocabulary_and_size_and_keep_snapshots(pairs: Pairs, tmp_path: Path) -> None:
    model = ours.train(pairs, BUDGET, tmp_path / "ours")
    mine, theirs = ours.facts(model, tmp_path / "ours"), Peer(pairs, BUDGET, tmp_path / "peer").facts()
    same = ("tokenizer", "vocabulary", "size", "dropout", "batch_tokens", "threads")
    assert {name: mine[name] for name in same} == {name: theirs[name] for name in same}
    assert mine["parameters"] - theirs["parameters"] == mine["vocabulary"]  # theirs does not learn the output's bias
    last = Checkpoints(tmp_path / "ours" / "curve").all()[-1]
    assert last.step == BUDGET.steps
    kept = dict(model.module.named_parameters())
    for name, tensor in last.tensors("average").items():
        assert torch.equal(tensor, kept[name]), name
    assert ours.train(pairs, BUDGET, tmp_path / "ours").metrics == model.metrics  # nothing is trained twice


# --------------------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'homme, assis, lit.", "L' homme , assis , lit ."),
        ("Un T-shirt (rouge) aujourd'hui !", "Un T-shirt ( rouge ) aujourd' hui !"),
        ("À 3,5 km d'un « café ».", "À 3,5 km d' un « café » ."),
    ],
)
def test_words_are_cut_as_the_papers_do(text: str, words: str) -> None:
    assert cut(text) == words


def test_scores_are_those_of_sacrebleu() -> None:
    references = [["Deux chiens courent vite ici.", "Deux chiens y courent."], ["Un homme dort, assis sur l'herbe."]]
    found = ["Deux chiens courent vite.", "un homme dort sur l'herbe."]
    streams: list[list[str | None]] = [[references[0][0], references[1][0]], [references[0][1], None]]
    scores = Scores(Texts(["", ""], references)).of(found)
    assert scores["bleu"]["value"] == pytest.approx(sacrebleu.corpus_bleu(found, streams).score)
    assert scores["chrf"]["value"] == pytest.approx(sacrebleu.corpus_chrf(found, streams).score)
    words = [[None if text is None else cut(text) for text in stream] for stream in streams]
    lower = sacrebleu.corpus_bleu([cut(text) for text in found], words, tokenize="none", lowercase=True, force=True)
    assert scores[TOKENS]["value"] == pytest.approx(lower.score)
    assert scores[TOKENS]["value"] > scores["bleu"]["value"]


# --------------------------------------------------------------------------- short runs


@pytest.mark.parametrize(("name", "arm"), [(name, arm) for name, row in short.ROWS.items() for arm in row.arms])
def test_each_arm_is_a_recipe_and_is_compared_with_one_of_its_row(name: str, arm: str) -> None:
    row = short.ROWS[name]
    asked = row.arms[arm]
    recipe = short.recipe_of(row, asked, row.steps)
    body = body_config(recipe.model, recipe.data.length, row.vocabulary)
    assert body.encoder is not None
    assert body.decoder is not None
    assert (len(body.encoder.blocks), len(body.decoder.blocks)) == asked.layers
    assert (recipe.train.seed, recipe.train.steps, recipe.train.minutes) == (asked.seed, row.steps, None)
    other = row.arms[row.beside(arm)]
    different = [
        field for field in ("layers", "query_size", "scaled", "seed") if getattr(asked, field) != getattr(other, field)
    ]
    assert len(different) == (row.beside(arm) != arm)


@pytest.mark.parametrize("scaled", [True, False])
def test_an_arm_changes_the_query_size_and_the_scaling_alone(scaled: bool) -> None:
    config = marian(size="tiny", vocabulary=50, layers=1)
    changed = short.resized(config, 16, scaled=scaled)
    for model, size, divided in ((build(config), 32, True), (build(changed), 16, scaled)):
        attention = next(part for part in model.modules() if isinstance(part, CrossAttention))
        assert attention.query.out_features == attention.key.out_features == 4 * size
        assert attention.value.out_features == 128
        assert attention.scale == pytest.approx(size**-0.5 if divided else 1.0)


def test_the_slope_of_the_softmax_is_the_norm_of_its_jacobian() -> None:
    found = short.unit_slopes([8, 512], drawn=50)
    generator = np.random.default_rng(512)
    queries, keys = generator.standard_normal((50, 1, 512)), generator.standard_normal((50, 16, 512))
    scores = torch.from_numpy((queries @ keys.transpose(0, 2, 1))[:, 0])  # [50, 16]
    for name, divisor in (("scaled", 512**0.5), ("unscaled", 1.0)):
        jacobians = [
            torch.autograd.functional.jacobian(lambda row: row.softmax(dim=0), row / divisor) for row in scores
        ]
        expected = float(torch.stack([each.norm() for each in jacobians]).mean())
        assert found["512"][name] == pytest.approx(expected, rel=1e-9)  # sums of 16 numbers in float64
    # Scaled, the size makes no difference but for chance; unscaled, the softmax of large queries is flat.
    many = short.unit_slopes([8, 512])
    assert many["512"]["scaled"] == pytest.approx(many["8"]["scaled"], rel=0.05)
    assert many["512"]["unscaled"] < 0.7 * many["8"]["unscaled"]


def test_an_arm_that_is_compared_has_a_paired_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short, "WORK", tmp_path)
    generator = np.random.default_rng(0)
    losses, tokens = generator.random(50) * 30, generator.integers(5, 20, 50)
    for name, more in (("3+3", 0.0), ("2+3", 0.5)):
        values = {"losses": (losses + more * tokens).tolist(), "tokens": tokens.tolist(), "bleu": 1.0}
        write_json(short.folder_of("layers", name, 7) / "measured.json", values)
    arms = short.scores("layers", 7)["arms"]
    assert arms["3+3"]["scores"]["loss"]["value"] == pytest.approx(losses.sum() / tokens.sum())
    assert (arms["3+3"]["beside"], arms["3+3"]["difference"]) == (None, {})
    # Each token's loss is higher by the same number, so that chance has no part in the difference.
    assert arms["2+3"]["difference"]["loss"] == pytest.approx({"value": 0.5, "low": 0.5, "high": 0.5})


# --------------------------------------------------------------------------- verdicts


def interval(low: float, high: float) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high}


MADE = {"command": "a command", "date": "2026-01-01", "machine": "a machine", "torch": "2", "products": "float32"}


def translating(low: float) -> dict[str, Any]:
    """A row of multi30k in which ours has this lower end of BLEU."""
    tests = ("test 2016", "test 2017", "MSCOCO")
    found = dict.fromkeys(("bleu", "chrf", "ter", TOKENS), interval(low, low + 4))
    side = {
        "command": "a command",
        "scores": dict.fromkeys(tests, found),
        "curve": [{"minutes": 5.1, "step": 10, "bleu": 31.7}, {"minutes": 10.1, "step": 20, "bleu": 47.3}],
        "facts": {
            **MADE,
            **{"steps": 20, "parameters": 5, "size": "tiny", "dropout": 0.3, "batch_tokens": 64, "threads": 1},
        },
    }
    return {
        **MADE,
        "tested_on": dict.fromkeys(tests, 3),
        "sides": {"ours": side, "peer": side},
        "copied": {test: {"bleu": interval(4, 6)} for test in tests},
        "against": {"ours against peer": dict.fromkeys(tests, found)},
        "samples": [],
    }


def arms(differences: dict[str, tuple[float, float] | None]) -> dict[str, Any]:
    """A short row with these intervals of the difference of losses; None is what others are compared with."""
    looks = {"largest weight": 0.2, "gradient": 0.01}
    return {
        **MADE,
        "steps": 7,
        "settings": {"model.settings": {"width": 128}},
        "unit": {size: {"scaled": 0.2, "unscaled": 0.1} for size in ("8", "32")},
        "arms": {
            name: {
                "parameters": 5,
                "before": looks,
                "after": looks,
                "bleu": 1.25,
                "processor seconds of training": 3.0,
                "processor seconds of translating": None,
                "scores": {"loss": interval(2, 3)},
                "difference": {} if ends is None else {"loss": interval(*ends)},
            }
            for name, ends in differences.items()
        },
    }


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Make rows the ones that have been measured."""
    return lambda rows: monkeypatch.setattr(results, "read", lambda name: rows.get(name.removeprefix("translation-")))


@pytest.mark.parametrize(
    ("rows", "verdicts"),
    [
        ({}, ["**not measured yet**"] * 3),
        ({"multi30k-60-minutes": translating(58)}, ["**holds**"]),
        ({"multi30k-30-minutes": translating(40)}, ["**holds in part**"]),
        ({"multi30k-30-minutes": translating(3)}, ["**not shown**"]),
    ],
)
def test_verdicts_follow_their_rules(
    read: Callable[[dict[str, Any]], None], rows: dict[str, Any], verdicts: list[str]
) -> None:
    read(rows)
    found = re.findall(r"^\*\*Verdict\*\*: (\*\*.+?\*\*)", "\n".join(claims.sections()), re.MULTILINE)
    assert found[: len(verdicts)] == verdicts


@pytest.mark.parametrize(
    ("name", "differences", "verdict"),
    [
        ("scaling", {"8, scaled": None, "8, unscaled": (0.1, 0.2)}, "**holds**"),
        ("scaling", {"8, scaled": None, "8, unscaled": (-0.1, 0.2)}, "**not shown**"),
        (
            "scaling",
            {"8, scaled": None, "8, unscaled": (-0.1, 0.2), "32, scaled": None, "32, unscaled": (0.1, 0.2)},
            "**depends on the size**: worse without scaling at 32",
        ),
        ("layers", {"3+3": None, "3+3, seed 1": (-0.1, 0.1)}, "**not measured yet**"),
        ("layers", {"3+3": None, "2+3": (0.1, 0.2), "4+2": (-0.1, 0.1)}, "**fails**: not worse than 3+3: 4+2"),
        ("layers", {"3+3": None, "2+3": (0.1, 0.2), "1+1": (-0.1, 0.1)}, "**not refuted here**"),
    ],
)
def test_verdicts_of_short_rows(
    read: Callable[[dict[str, Any]], None],
    name: str,
    differences: dict[str, tuple[float, float] | None],
    verdict: str,
) -> None:
    read({name: arms(differences)})
    found = re.findall(r"^\*\*Verdict\*\*: (.+)\.$", "\n".join(claims.sections()), re.MULTILINE)
    assert found[{"scaling": 1, "layers": 2}[name]].startswith(verdict)


def test_the_section_shows_what_was_measured(read: Callable[[dict[str, Any]], None]) -> None:
    tatoeba = {**translating(40), "references": {"test": 5}, "tested_on": {"test": 3}}
    for part in ("copied", "against"):
        tatoeba[part] = {"test": dict.fromkeys(("bleu", "chrf", "ter"), interval(1, 2))} if part == "copied" else {}
    tatoeba["sides"] = {
        side: {**its, "scores": {"test": its["scores"]["MSCOCO"]}} for side, its in tatoeba["sides"].items()
    }
    tatoeba["samples"] = [{"source": "a | b", "translation": "c", "references": ["d", "e", "f"]}]
    read(
        {
            "multi30k-60-minutes": translating(58),
            "tatoeba-60-minutes": tatoeba,
            "layers": arms({"3+3": None, "2+3": (0.1, 0.2)}),
            "scaling": arms({"8, scaled": None, "8, unscaled": (0.1, 0.2)}),
        }
    )
    shown = "\n".join(table.section())
    assert NOT_YET not in shown
    assert "| 60.0 (58.0 … 62.0) |" in shown
    assert "| 5 | 31.7 | 31.7 |" in shown
    assert "| 10 | 47.3 | 47.3 |" in shown
    assert "| a \\| b | c | d / e |" in shown
    assert "+0.150 (+0.100 … +0.200)" in shown
    read({})
    assert "\n".join(table.section()).count(NOT_YET) == 4
