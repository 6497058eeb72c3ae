"""An index of texts: a directory with their vectors and words, the texts, and which model made it; whole or absent.

N texts · M vectors, of texts or of their sentences · W numbers of a vector · Q questions · K hits
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args, overload

import numpy as np

from glassformer.answering.answers import Texts, check_text, is_table, listed
from glassformer.base.errors import CheckpointError, ConfigError, DataError, ShapeError
from glassformer.base.json_text import in_json, parse_json
from glassformer.base.plain import counted, is_missing, plain
from glassformer.features.embed import embed, vectors_of
from glassformer.features.search import building, reading
from glassformer.features.search.nearest import Backend, Floats, Integers, Reals, nearest, ordered
from glassformer.features.search.rerank import Reranker
from glassformer.features.search.words import largest, words_of
from glassformer.features.strategies import Mix
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import HUB
from glassformer.tasks.predictor import Within

By = Literal["vectors", "words", "both"]
Judge = Reranker | Artefact | str | Path
# Of a score by both: the share of the words, and how many texts vectors and words propose each at least. Chosen on
# paragraphs of SQuAD 2.0: decisions/2026-11-24-words-and-vectors.md.
_SHARE, _PROPOSED = 0.4, 100
# Hits of a question that are ordered anew by a model of pairs, where it is not said how many.
FIRST = 20


@dataclass(frozen=True)
class Hit:
    """A text of an index: its place in the answer, from 1, its score for the question, its row in the index, from 0,
    and its id where it has one. The score is the cosine of the vectors, of words BM25's, of both 0.6 times the cosine
    plus 0.4 times BM25's score as a share of the best text's; of a hit ordered anew it is that of the model of pairs.
    Where each sentence has a vector, the cosine is that of the nearest `sentence`; None in other indexes, and by words.
    `kept` has what `search build --keep` has kept with the text, by column.
    """

    rank: int
    score: float
    row: int
    text: str
    id: Any = None
    sentence: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)


class SearchIndex:
    """Texts that can be searched by meaning and by words, with the model that made their vectors."""

    def __init__(self, path: Path, facts: building.IndexFacts, model: Artefact, backend: Backend = "auto") -> None:
        self.path, self.facts, self.model = path, facts, model
        # Of questions, each of which is read as a whole.
        self.maker = vectors_of(model, [facts.mix or facts.strategy], [facts.pooling])
        try:
            if self.maker.widths != (facts.width,):
                raise ValueError(f"vectors of {facts.width} numbers, where its model makes {self.maker.widths[0]}")
            self._vectors, self._places = reading.arrays(path, facts)  # [M, W] and [N + 1], bytes in TEXTS
            self._words, self._sentences = reading.words(path, facts), reading.sentences(path, facts)
        except (OSError, ValueError) as error:
            raise reading.damaged(path, error) from None
        self.nearest = nearest(self._vectors, backend, empty=facts.empty)

    def __len__(self) -> int:
        return self.facts.texts

    def __repr__(self) -> str:
        return f"SearchIndex({str(self.path)!r}, {len(self):,} texts, {self.nearest.name})"

    @classmethod
    def build(
        cls,
        path: str | Path,
        texts: Iterable[str | Mapping[str, Any]],
        model: Artefact | str | Path,
        *,
        strategy: str | Mix = "last",
        pooling: str | None = None,
        per: building.Per | None = None,
        backend: Backend = "auto",
    ) -> SearchIndex:
        """Make an index of texts, by an opened model or one that is named, and write it to a new directory. A record
        has its `text`, perhaps an `id`, and more that each hit brings back as `kept`. `per`: what has a vector, each
        "sentence" or each "text"; by default each sentence where the pooling (by default the model's own) is
        mean or max. Raises DataError for no texts, for anything but texts, and for an existing directory; ConfigError
        for another pooling of sentences.
        """
        named = model if isinstance(model, str) and model.startswith(HUB) else ""
        model, records = _opened(model), _records(texts)
        with building.building(path, model, strategy=strategy, pooling=pooling, per=per, named=named) as begun:
            _fill(begun, records)
        return cls.open(path, model, backend=backend)

    def extended(
        self, path: str | Path, texts: Iterable[str | Mapping[str, Any]], *, backend: Backend = "auto"
    ) -> SearchIndex:
        """A new index, in a new directory, of the texts of this one and of more, whose rows come after them. The texts
        are given as to `build`, and become vectors as in this index, whose own are copied. Raises DataError as `build`,
        and CheckpointError where the files of this index have changed since it was opened.
        """
        records = _records(texts)
        if reading.read_facts(self.path) != self.facts:
            raise reading.damaged(self.path, ValueError("another index than the one that was opened"))
        with building.building(path, self.model, extends=self, named=self.facts.model) as begun:
            _fill(begun, records)
        return type(self).open(path, self.model, backend=backend)

    @classmethod
    def open(
        cls,
        path: str | Path,
        model: Artefact | str | Path | None = None,
        *,
        backend: Backend = "auto",
        device: str | None = None,
    ) -> SearchIndex:
        """Open an index, by default with the model that is named in it. Raises CheckpointError for anything but an
        index, for a damaged one, and for another model than the one that made it.
        """
        facts = reading.read_facts(path)
        if model is None:
            if not facts.model or facts.model.startswith(HUB):  # a hub is asked only where the user names one
                raise CheckpointError(
                    f"{path} needs the model that made it",
                    got=f"{facts.model}, which is not on this machine" if facts.model else "an index that names none",
                    do=f"name it: --model {facts.model or 'FOLDER'}, in Python model={facts.model or 'FOLDER'!r}",
                )
            try:
                model = _opened(facts.model, device)
            except CheckpointError as error:
                raise CheckpointError(
                    f"{path} needs the model that made it: {error.wanted}",
                    got=error.got,
                    do="give its present folder with --model, in Python with model=",
                ) from None
        model = _opened(model, device)
        if building.model_digest(model) != facts.digest:
            raise CheckpointError(
                f"{path} must be searched with the model that made it ({facts.model or 'one given in Python'})",
                got="another model: its weights, settings or tokenizer differ",
                do="name that model with --model, or rebuild the index with this one",
            )
        return cls(Path(path), facts, model, backend)

    @overload
    def ask(
        self, text: str, *, top: int = 5, by: By | None = None, rerank: Judge | None = None, first: int = FIRST
    ) -> list[Hit]: ...
    @overload
    def ask(
        self, text: Texts, *, top: int = 5, by: By | None = None, rerank: Judge | None = None, first: int = FIRST
    ) -> list[list[Hit]]: ...
    def ask(
        self, text: str | Texts, *, top: int = 5, by: By | None = None, rerank: Judge | None = None, first: int = FIRST
    ) -> list[Hit] | list[list[Hit]]:
        """The `top` texts with the largest scores for a question, or for each of many questions: by vectors, words or
        both, by default by both where the index has words. The vector of a text without any token is never found, by
        words alone no text without a word of the question. With `rerank`, a model of pairs (`Reranker`), the `first`
        texts found, or `top` if that is more, are ordered anew by it. Raises DataError for a question of only blanks,
        or of characters for which the tokenizer has no token, by words alone for one without a word.
        """
        asked = listed(text, "question")
        found = self.answers(asked, top=top, by=by, rerank=rerank, first=first)
        for number, (each, hits) in enumerate(zip(asked, found, strict=True), 1):
            if hits is None:
                which = f"question {number} of {len(asked):,}" if len(asked) > 1 else "a question"
                raise DataError(f"{which} must hold words", got=repr(each)[:60])
        hits_of_each = [hits or [] for hits in found]
        return hits_of_each[0] if isinstance(text, str) else hits_of_each

    def answers(
        self,
        questions: Sequence[str],
        *,
        top: int = 5,
        by: By | None = None,
        rerank: Judge | None = None,
        first: int = FIRST,
        within: Within = lambda done, total: None,
    ) -> list[list[Hit] | None]:
        """The same for each of many questions; None for one without any token, by words for one without a word.
        `within` is called with the progress of a long one, in parts.
        """
        top, by = counted(top, "top"), self.usable(by)
        if rerank is None:
            return self._answers(questions, top, by, within)
        judge = rerank if isinstance(rerank, Reranker) else Reranker(rerank)
        found = self._answers(questions, max(top, counted(first, "first")), by, within)
        some = [(question, hits) for question, hits in zip(questions, found, strict=True) if hits]
        texts = [[hit.text for hit in hits] for _, hits in some]
        ranked = iter(judge.rank([question for question, _ in some], texts))
        return [hits and _in_order(hits, next(ranked)[:top]) for hits in found]

    def _answers(self, questions: Sequence[str], top: int, by: By, within: Within) -> list[list[Hit] | None]:
        if by == "words" and self._words:
            scores = (self._words.scores(each) if words_of(each) else None for each in questions)
            return [None if its is None else self._hits(*largest(its, top)) for its in scores]
        found = list(embed(self.model, self.maker, (({"text": each}, "") for each in questions), within=within))
        name = self.maker.features[0].name
        vectors = [each.vectors[name] for each in found if each.tokens]
        asked = np.array(vectors, np.float32).reshape(len(vectors), self._vectors.shape[1])
        texts = [text for text, each in zip(questions, found, strict=True) if each.tokens]
        hits = iter(self.near(asked, top=top) if by == "vectors" else self._both(asked, texts, top))
        return [next(hits) if each.tokens else None for each in found]

    def usable(self, by: By | None = None) -> By:
        """What is searched by, where this is asked for; raises ConfigError for what the index does not have."""
        if by not in (None, *get_args(By)):
            raise ConfigError("an index is searched by vectors, words or both", got=repr(by)[:60])
        if by in ("words", "both") and not self._words:
            raise ConfigError(
                f"{self.path} must have words to be searched by them",
                got="an index of vectors alone: of an older version, or of texts without any word",
                do="build it again with search build, or search by vectors",
            )
        return by or ("both" if self._words else "vectors")

    def _both(self, vectors: Floats, questions: Sequence[str], top: int) -> Iterator[list[Hit]]:
        """The hits of questions whose vectors [Q, W] are known."""
        assert self._words is not None
        vectors, proposed = building.normalized(vectors), max(top, _PROPOSED)
        for vector, (_, near, _), question in zip(vectors, self._near(vectors, proposed), questions, strict=True):
            scores = self._words.scores(question)  # [N]
            rows = np.union1d(near, largest(scores, proposed)[1])
            cosines, sentences = self._nearest_of(rows, vector)
            shares = scores[rows] / (scores.max() or 1.0)
            found, chosen = ordered((1 - _SHARE) * cosines + _SHARE * shares, rows, top)
            yield self._hits(found, chosen, sentences[rows.searchsorted(chosen)])

    def near(self, vectors: Reals, *, top: int = 5) -> list[list[Hit]]:
        """The same for questions whose vectors [Q, W] are known, of any length. Raises ShapeError for others."""
        asked, width = np.asarray(vectors, np.float32), self._vectors.shape[1]
        if asked.ndim != 2 or asked.shape[1] != width:
            raise ShapeError(f"questions to this index must be vectors [Q, {width}]", got=str(list(asked.shape)))
        if not np.isfinite(asked).all():
            raise ShapeError("vectors of questions must be finite numbers", got="NaN or infinity")
        return [self._hits(*each) for each in self._near(building.normalized(asked), counted(top, "top"))]

    def _near(self, vectors: Floats, top: int) -> Iterator[tuple[Reals, Integers, Integers]]:
        """Of each question [Q, W] the scores of the `top` nearest texts, their rows, and those of their vectors."""
        if self._sentences is None:
            for scores, rows in zip(*self.nearest.find(vectors, top), strict=True):
                yield scores, rows, rows
            return
        wanted = 4 * top  # vectors, of which several may be of the same text
        found = zip(*self.nearest.find(vectors, wanted), strict=True)
        for vector, (scores, rows) in zip(vectors, found, strict=True):
            asked = wanted
            while True:
                texts, first = np.unique(self._sentences.spans[rows, 0], return_index=True)
                if len(texts) >= top or len(rows) < asked:
                    break
                asked *= 4
                ((scores,), (rows,)) = self.nearest.find(vector[None], asked)
            first = np.sort(first)[:top]
            yield scores[first], self._sentences.spans[rows[first], 0], rows[first]

    def _nearest_of(self, rows: Integers, vector: Floats) -> tuple[Floats, Integers]:
        """The cosine of each of these texts [K] with a question [W], and the row of the vector that has it; 0 and the
        row -1 of a text without vectors.
        """
        if self._sentences is None:
            return self._vectors[rows] @ vector, rows
        first, end = self._sentences.first[rows], self._sentences.first[rows + 1]  # [K]
        cosines, nearest = np.zeros(len(rows), np.float32), np.full(len(rows), -1)
        for place in np.flatnonzero(first < end):
            its = self._vectors[first[place] : end[place]] @ vector
            cosines[place], nearest[place] = its.max(), first[place] + its.argmax()
        return cosines, nearest

    def _hits(self, scores: Reals, rows: Integers, vectors: Integers | None = None) -> list[Hit]:
        found = []
        for rank, (score, row) in enumerate(zip(scores, rows, strict=True), start=1):
            text, own, kept = self._text(int(row))
            sentence = None
            if self._sentences is not None and vectors is not None and vectors[rank - 1] >= 0:
                _, begin, end = self._sentences.spans[vectors[rank - 1]]
                sentence = text[begin:end]
            found.append(Hit(rank, float(score), int(row), text, own, sentence, kept))
        return found

    def vector(self, row: int, near: Reals | None = None) -> Floats:
        """The vector of a text, [W], of length 1; of zeros where the text has no token. Where each sentence has one,
        that of the sentence nearest to the vector `near` [W], by default of the first.
        """
        if not 0 <= row < len(self):
            raise DataError(f"a text of this index has a number from 0 to {len(self) - 1}", got=str(row))
        question = np.zeros(self.facts.width, np.float32) if near is None else np.asarray(near, np.float32)
        place = int(self._nearest_of(np.array([row]), question)[1][0])
        return np.array(self._vectors[place]) if place >= 0 else np.zeros(self.facts.width, np.float32)

    def _text(self, row: int) -> tuple[str, Any, dict[str, Any]]:
        """A text of the index, its id, and what is kept with it."""
        begin, end = int(self._places[row]), int(self._places[row + 1])
        try:
            with (self.path / building.TEXTS).open("rb") as file:
                file.seek(begin)
                line = file.read(end - begin)
            values = parse_json(line)
            if not isinstance(values, dict):
                raise ValueError("a text that is no object")
            kept = values.get("kept", {})
            if not isinstance(kept, dict):
                raise ValueError("kept columns that are no object")
            return check_text(values.get("text"), f"text {row} of the index"), values.get("id"), kept
        except (OSError, ValueError, DataError) as error:
            raise reading.damaged(self.path, error) from None


def _records(texts: Iterable[str | Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records of texts that are given to an index; raises DataError for anything else."""
    if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable) or is_table(texts):
        do = "give its records: df.to_dict('records')" if is_table(texts) else ""  # of one text, each letter
        raise DataError("an index is made of a list of texts", got=repr(texts)[:60].partition("\n")[0], do=do)
    given = (each if isinstance(each, Mapping) else {"text": each} for each in texts)
    return ({**each, "text": check_text(each.get("text"), f"text {n}")} for n, each in enumerate(given, 1))


def _fill(begun: building.Building, records: Iterator[dict[str, Any]]) -> None:
    """Put the vectors of records into the file of an index, with the id of each and what is kept with it."""
    while some := list(islice(records, building.TOGETHER)):
        found = embed(begun.model, begun.maker, (({"text": each["text"]}, "") for each in some))
        for vectors, each in zip(found, some, strict=True):
            # Not what is missing in a DataFrame.
            there = {str(name): of for name, of in each.items() if of is None or not is_missing(plain(of))}
            kept = {name: in_json(of) for name, of in there.items() if name != "text"}
            begun.file.put(vectors, kept.pop("id", None), kept)
        begun.file.commit()


def _in_order(hits: Sequence[Hit], ranked: Iterable[tuple[int, float]]) -> list[Hit]:
    return [replace(hits[place], rank=rank, score=score) for rank, (place, score) in enumerate(ranked, start=1)]


def _opened(model: Artefact | str | Path, device: str | None = None) -> Artefact:
    """The model itself where it is one, else that of a folder or a name."""
    from glassformer.saved.opening import open_model

    return model if isinstance(model, Artefact) else open_model(model, Artefact, device)
