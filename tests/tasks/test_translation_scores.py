"""Scores of translations are those of sacreBLEU, and so are their resamples."""

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest, _bootstrap_resample

from glassformer.base.errors import ShapeError
from glassformer.scoring.score import THIS_MODEL, tail
from glassformer.scoring.verdict import differences, lower_is_better, lower_note, shown, to_dict, verdict
from glassformer.tasks.writing.translate.scores import (
    References,
    System,
    TargetWords,
    translation_scores,
)
from tests.refusals import refused

SOURCES = ["A man is cooking.", "Two dogs run on the beach!", 'She said: "No."', "The 3.5 km walk", "Yes", ""]
FIRST = [
    "Un homme cuisine.",
    "Deux chiens courent sur la plage !",
    "Elle a dit : « Non. »",
    "La marche de 3,5 km",
    "Oui",
    "x",
]
SECOND = [
    "Un homme fait la cuisine.",
    "Deux chiens courent à la plage !",
    "Elle dit « Non. »",
    "Une marche de 3,5 km",
    "Si",
    "",
]
MINE = [
    "Un homme fait cuisine .",
    "Deux chiens courent sur plage !",
    "Elle a dit « Non »",
    "La marche de 3,5 km",
    "",
    "",
]


def sacrebleu(translations: Sequence[str], by_rank: Sequence[Sequence[str | None]]) -> dict[str, float]:
    metrics = {"bleu": BLEU(force=True), "chrf": CHRF(), "ter": TER()}
    return {name: metric.corpus_score(translations, by_rank).score for name, metric in metrics.items()}


def noisy(texts: Sequence[str], share: float, seed: int) -> list[str]:
    """Translations in which a share of the words are missing, doubled, or changed."""
    rng = random.Random(seed)
    changes = ("", "{0} {0}", "zut")
    return [
        " ".join(rng.choice(changes).format(word) if rng.random() < share else word for word in text.split())
        for text in texts
    ]


@pytest.fixture(scope="module")
def multi30k(data_directory: Path) -> tuple[list[str], list[str]]:
    read = (
        gzip.decompress((data_directory / "multi30k_en_fr" / f"test_2016_flickr.{side}.gz").read_bytes()).decode()
        for side in ("en", "fr")
    )
    english, french = (text.splitlines() for text in read)
    return english, french


@pytest.mark.parametrize(
    "references",
    [
        [[text] for text in FIRST],
        [[one, other] for one, other in zip(FIRST, SECOND, strict=True)],
        [[one, other][: 1 + row % 2] for row, (one, other) in enumerate(zip(FIRST, SECOND, strict=True))],
    ],
    ids=["one reference", "two", "one or two"],
)
@pytest.mark.parametrize("translations", [MINE, SOURCES, FIRST, [""] * 6, ["a"] * 6])
def test_all_are_those_of_sacrebleu(references: list[list[str]], translations: list[str]) -> None:
    by_rank = [[each[rank] if rank < len(each) else None for each in references] for rank in range(2)]
    expected = sacrebleu(translations, by_rank if any(by_rank[1]) else by_rank[:1])
    # Both sum whole numbers and divide: what differs is the order of the last few float64 operations.
    assert References(references).measure(translations).values() == pytest.approx(expected, rel=1e-12)


@pytest.mark.long
def test_real_sentences_too(multi30k: tuple[list[str], list[str]]) -> None:
    english, french = (side[:300] for side in multi30k)
    references = References([[text] for text in french])
    for translations in (english, noisy(french, 0.2, seed=1), french):
        found = references.measure(translations).values()
        assert found == pytest.approx(sacrebleu(translations, [french]), rel=1e-12)
    assert found == pytest.approx({"bleu": 100, "chrf": 100, "ter": 0})


def test_signatures_say_how_it_was_measured() -> None:
    two = References([[one, other] for one, other in zip(FIRST, SECOND, strict=True)])
    version = str(BLEU(references=[FIRST]).get_signature()).rpartition("|")[2]
    assert two.signatures["bleu"] == f"nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    mixed = References([[one] * (1 + row % 2) for row, one in enumerate(FIRST)])
    assert mixed.signatures["bleu"] == f"nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|{version}"


def test_resamples_are_those_of_sacrebleu(
    multi30k: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same seed draws the same sentences there, and both summed give the same scores; sacreBLEU sums in float32,
    exactly for whole numbers below 2^24.
    """
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    french = multi30k[1][:300]
    mine = noisy(french, 0.3, seed=1)
    measure = References([[text] for text in french]).measure(mine)
    found = measure.intervals(samples=200, seed=7)
    for name, metric in (("bleu", BLEU(force=True)), ("chrf", CHRF()), ("ter", TER())):
        statistics = metric._extract_corpus_statistics(mine, [french])
        theirs = [each.score for each in _bootstrap_resample(statistics, metric, 200)[1]]
        assert found[name][1:] == pytest.approx(np.quantile(theirs, (tail(300), 1 - tail(300))), rel=1e-5)
        value = metric.corpus_score(mine, [french], n_bootstrap=200)
        assert found[name].value == pytest.approx(value.score)
        # Its half-width is of the 5th score from both ends, ours between the 5th and the 6th.
        assert (found[name].high - found[name].low) / 2 == pytest.approx(value._ci, rel=0.1)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("share", "better"), [(0.30, True), (0.201, False)])
def test_the_paired_bootstrap_agrees_with_sacrebleu(
    share: float, better: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    rng = random.Random(0)
    words = ["un", "une", "le", "chien", "chat", "homme", "court", "mange", ".", "sur", "la", "plage"]
    french = [" ".join(rng.choices(words, k=12)) for _ in range(200)]
    mine, other = noisy(french, 0.2, seed=1), noisy(french, share, seed=2)
    references = References([[text] for text in french])
    metrics = {"BLEU": BLEU(force=True), "chrF2": CHRF(), "TER": TER()}
    test = PairedTest([("other", other), ("mine", mine)], metrics, [french], test_type="bs", n_samples=300)
    theirs = test()[1]
    found = differences(references.measure(mine), references.measure(other))
    for name, key in (("bleu", "BLEU"), ("chrf", "chrF2"), ("ter", "TER")):
        baseline, system = theirs[key]
        assert not isinstance(baseline, str)
        assert not isinstance(system, str)
        assert found[name].difference == pytest.approx(system.score - baseline.score)
        assert (system.p_value < 0.05) == better
        assert found[name].verdict == ("better" if better else "not different")


def test_losses_become_a_perplexity_per_token() -> None:
    values = References([["a"], ["b"]]).measure(["a", "c"], losses=[2.0, 7.0], tokens=[1, 2]).values()
    assert (values["bleu"], values["loss"], values["perplexity"]) == pytest.approx((0.0, 3.0, np.exp(3.0)))


def test_a_model_is_compared_with_its_baselines() -> None:
    references = References([[text] for text in FIRST])
    words = TargetWords.of(zip(SOURCES, FIRST, strict=True))
    baselines = {"copy source": System(SOURCES), "unigram": System([words.translate(each) for each in SOURCES])}
    scores = translation_scores(SOURCES, references, System(MINE, [1.0] * 6, [3] * 6), baselines)
    assert set(scores.of) == {THIS_MODEL, *baselines}
    assert scores["copy_source_bleu"] == BLEU().corpus_score(SOURCES, [FIRST]).score
    assert scores["perplexity"] == pytest.approx(np.exp(1 / 3))
    judged = verdict(scores, "bleu")
    assert judged is not None
    assert judged.count == 6
    assert scores.report["bleu_signature"] == references.signatures["bleu"]
    total = BLEU().corpus_score(MINE, [FIRST])
    assert scores.report["bleu_parts"].startswith(f"precisions {total.prec_str}, brevity penalty {total.bp:.3f}")
    worst = scores.report["worst"]
    assert [row["chrf"] for row in worst] == sorted(row["chrf"] for row in worst)
    assert worst[-1]["reference"] == FIRST[1]
    assert (worst[-1]["source"], worst[-1]["translation"]) == (SOURCES[1], MINE[1])
    assert all(row["chrf"] < 100 for row in worst)  # what is right is not among the worst
    assert to_dict(scores, "bleu")["intervals"][THIS_MODEL].keys() == {"bleu", "chrf", "ter", "loss", "perplexity"}


def test_scores_are_written_as_the_field_writes_them() -> None:
    assert [shown(name, 52.345) for name in ("bleu", "copy_source_chrf", "ter", "loss")] == [
        "52.34",
        "52.34",
        "52.34",
        "52.3450",
    ]
    assert [lower_is_better(name) for name in ("bleu", "chrf", "ter")] == [False, False, True]
    assert lower_note(["bleu", "ter", "masked_words_loss"]).endswith(" ter, masked words loss")
    assert not lower_note(["bleu", "accuracy"])


def test_more_edits_and_a_larger_loss_are_worse() -> None:
    references = References([[text] for text in FIRST] * 8)
    right, wrong = (
        references.measure(texts * 8, losses=[loss] * 48, tokens=[3] * 48) for texts, loss in ((FIRST, 1), (MINE, 2))
    )
    for mine, other, expected in ((right, wrong, "better"), (wrong, right, "worse")):
        found = differences(mine, other)
        assert {name: each.verdict for name, each in found.items()} == dict.fromkeys(found, expected)
        assert {"bleu", "ter", "loss", "perplexity"} <= found.keys()
    assert found["ter"].difference > 0


def test_no_bag_of_words_has_more_in_common_with_the_targets() -> None:
    targets = ["a b a", "a c a", "a b", "d"]
    words = TargetWords.of([("xxxx", target) for target in targets])
    assert words.words[:4] == ("a", "a", "b", "c")  # in 3 targets, twice in 2, in 2, in 1
    assert words.ratio == 9 / 16
    assert words.translate("xxxx") == "a a"
    assert words.translate("") == "a"
    assert TargetWords(words.facts()).facts() == words.facts()


def test_what_does_not_fit_is_refused() -> None:
    with refused(ShapeError, got="sentence 2"):
        References([["a"], []])
    with refused(ShapeError):
        References([])
    with refused(ShapeError, wanted=("2", "translations"), got="1"):
        References([["a"], ["b"]]).measure(["a"])
