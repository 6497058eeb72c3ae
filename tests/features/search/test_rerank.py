"""Hits that a model of pairs orders anew: against what the model answers to each pair by itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.__main__ import main
from glassformer.features.search.index import SearchIndex
from glassformer.features.search.rerank import Reranker, judge_of
from glassformer.tasks.labels.classify.settings import ClassifyData
from tests.refusals import refused
from tests.run.heads import model_for
from tests.serving.servers import LOCAL, served_by

TEXTS = [
    "Alice went to Berlin on a cold day in May.",
    "Bob likes Paris better than Rome, he says.",
    "A cold day in Rome.",
    "Alice likes Bob.",
    "May in Paris.",
    "Berlin, he says.",
]
QUESTIONS = ["Who went to Berlin?", "cold day"]


@pytest.fixture(scope="module")
def judges() -> dict[str, Model]:
    return {
        "classify": model_for("classify", {"labels": ("no", "yes")}),
        "regress": model_for("regress", {"mean": 2.0, "deviation": 3.0}),
        "choose": model_for("choose", {}),
    }


@pytest.fixture(scope="module")
def encoder() -> Model:
    return model_for("classify", {"labels": ("a", "b")})


@pytest.fixture(scope="module")
def index(encoder: Model, tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    return SearchIndex.build(tmp_path_factory.mktemp("search") / "index", TEXTS, encoder)


def expected(judge: Model, question: str, texts: list[str]) -> list[float]:
    """The score of each text, of a pair by itself where the model reads one at a time."""
    if judge.task_name == "choose":
        return list(judge.choose(question, texts).probabilities)
    found = [judge.classify(question, text) for text in texts]
    return [each.number if judge.task_name == "regress" else each.probabilities["yes"] for each in found]


@pytest.mark.parametrize("task", ["classify", "regress", "choose"])
@pytest.mark.parametrize("by", ["vectors", "words", "both"])
def test_the_first_hits_are_in_the_order_of_the_pairs(
    index: SearchIndex, judges: dict[str, Model], task: str, by: Any
) -> None:
    judge = judges[task]
    found = index.ask(QUESTIONS, top=2, by=by, rerank=judge, first=4)
    for question, hits in zip(QUESTIONS, found, strict=True):
        before = index.ask(question, top=4, by=by)
        scores = expected(judge, question, [hit.text for hit in before])
        order = sorted(range(len(before)), key=lambda place: -scores[place])[:2]
        assert [hit.row for hit in hits] == [before[place].row for place in order]
        assert [hit.rank for hit in hits] == [1, 2][: len(order)]
        # Pairs of other lengths are in the batch: sums of float32 in another order.
        assert [hit.score for hit in hits] == pytest.approx([scores[place] for place in order], abs=1e-5)


def test_more_texts_are_asked_for_than_are_ordered_and_one_needs_no_choice(
    index: SearchIndex, judges: dict[str, Model]
) -> None:
    found = index.ask(QUESTIONS[0], top=5, rerank=judges["classify"], first=2)
    assert sorted(hit.row for hit in found) == sorted(hit.row for hit in index.ask(QUESTIONS[0], top=5))
    (alone,) = index.ask("Alice", top=1, by="vectors", rerank=judges["choose"], first=1)
    assert alone.score == 1.0
    assert index.answers([" ", "Alice"], rerank=judges["choose"])[0] is None
    assert index.ask("zebra", by="words", rerank=judges["classify"]) == []


def test_a_label_says_what_fits(index: SearchIndex, judges: dict[str, Model]) -> None:
    yes, no = (index.ask("Berlin", top=6, rerank=Reranker(judges["classify"], label=each)) for each in ("yes", "no"))
    assert [hit.row for hit in yes] == [hit.row for hit in reversed(no)]
    assert index.ask("Berlin", top=6, rerank=judges["classify"]) == yes


def test_models_that_do_not_read_pairs_are_refused(index: SearchIndex, judges: dict[str, Model]) -> None:
    three = model_for("classify", {"labels": ("a", "b", "c")})
    with refused(ConfigError, got="a, b, c", do="--rerank-label"):
        Reranker(three)
    assert Reranker(three, label="c").label == "c"
    with refused(ConfigError, got="'yess'", do="'yes'"):
        Reranker(judges["classify"], label="yess")
    tagger = model_for("tag", {"labels": ("O", "B-X")})
    with refused(ConfigError, do="--pair-column"):
        index.ask("Berlin", rerank=tagger)
    one = judges["classify"]
    data = ClassifyData(files=("a.tsv",))
    single = Model(one.module, one.tokenizer, task=one.task, data=data)
    with refused(ConfigError, wanted="pairs", got="single"):
        Reranker(single)
    assert judge_of(single) is None
    assert judge_of(one) is None  # nothing says that it reads pairs
    with refused(ConfigError, wanted="first", got="0"):
        index.ask("Berlin", rerank=one, first=0)
    judge, wrong = Reranker(one), (("a", [["b"]]), (["a"], [["b"], ["c"]]), (["a"], ["b"]))
    for questions, texts in wrong:
        with refused(DataError):
            judge.rank(questions, texts)


def test_the_command_prints_the_new_order(
    index: SearchIndex,
    encoder: Model,
    judges: dict[str, Model],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved, judge = encoder.save(tmp_path / "encoder"), judges["classify"].save(tmp_path / "judge")
    words = ["search", "ask", str(index.path), "Berlin", "--model", str(saved), "--top", "3", "--json"]
    assert main([*words, "--rerank", str(judge), "--rerank-first", "5"]) == 0
    out, output = capsys.readouterr()
    hits = json.loads(out)["hits"]
    wanted = index.ask("Berlin", top=3, rerank=judges["classify"], first=5)
    assert [hit["row"] for hit in hits] == [hit.row for hit in wanted]
    assert "'yes'" in output
    assert main([*words, "--rerank-label", "yes"]) == 2
    assert "--rerank MODEL" in capsys.readouterr().err
    assert main([*words, "--rerank", str(saved), "--rerank-label", "yes"]) == 2
    assert "'yes'" in capsys.readouterr().err


def test_a_served_model_of_pairs_ranks_by_its_answers(judges: dict[str, Model]) -> None:
    kept = judges["classify"]
    data = ClassifyData(files=("a.tsv",), pair="pair")
    model = Model(kept.module, kept.tokenizer, task=kept.task, data=data)
    with TestClient(served_by({"judge": model, "choose": judges["choose"]}), base_url=LOCAL) as client:
        for name, judge in (("judge", model), ("choose", judges["choose"])):
            body = {"model": name, "query": "Berlin", "documents": TEXTS}
            found = client.post("/v1/rerank", json=body).json()["results"]
            scores = expected(judge, "Berlin", TEXTS)
            assert [each["index"] for each in found] == sorted(range(len(TEXTS)), key=lambda place: -scores[place])
            got = [each["relevance_score"] for each in found]
            assert got == pytest.approx(sorted(scores, reverse=True), abs=1e-5)
            by_vectors = client.post("/v1/rerank", json={**body, "pooling": "mean"}).json()["results"]
            assert [each["relevance_score"] for each in by_vectors] != got
