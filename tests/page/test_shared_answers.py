"""Pages of one class ask for the same: what is worked out once, and what one request answers."""

import threading
from collections.abc import Iterator, Sequence

import pytest

from glassformer.page.page import texts_of_page
from glassformer.page.server.answers import Run
from glassformer.page.server.kept import Kept
from tests.page.serving import ATTENTION, Page, desk_of, served

CELLS = {f"{ATTENTION}.scores": "0,1,2,3", f"{ATTENTION}.weights": "0,0,1,2", f"{ATTENTION}.query": "0,1,0,1"}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with served(desk_of()) as page:
        yield page


@pytest.fixture(scope="module")
def key(page: Page) -> str:
    return str(page.overview()["run"])


def test_several_numbers_in_one_answer_are_those_of_single_ones(page: Page, key: str) -> None:
    numbers = ";".join(f"{name}:{cell}" for name, cell in CELLS.items())
    together = page.get(f"api/runs/{key}/explained", numbers=numbers).json()
    alone = [page.get(f"api/runs/{key}/explain", name=name, cell=cell).json() for name, cell in CELLS.items()]
    assert together == alone
    assert [each["name"] for each in together] == [*CELLS]


@pytest.mark.parametrize(
    ("numbers", "status"),
    [("", 400), ("scores", 400), (f"{ATTENTION}.scores:0,1,2,x", 400), (";".join(["a:1"] * 65), 400),
     ("nothing:0", 404), (f"{ATTENTION}.scores:0,1", 404)],
)  # fmt: skip
def test_numbers_that_cannot_be_are_refused(page: Page, key: str, numbers: str, status: int) -> None:
    page.error(page.get(f"api/runs/{key}/explained", numbers=numbers), status)


def test_an_explanation_is_worked_out_once_for_all_pages(page: Page, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    own = Run.explanation

    def explanation(run: Run, name: str, cell: Sequence[int]) -> bytes:
        made.append(name)
        return own(run, name, cell)

    monkeypatch.setattr(Run, "explanation", explanation)
    cell = {"name": f"{ATTENTION}.key", "cell": "1,0,0,1"}
    first, *others = (page.get(f"api/runs/{key}/explain", **cell).json() for _ in range(4))
    assert others == [first] * 3
    assert made == [f"{ATTENTION}.key"]


def test_who_asks_at_the_same_time_waits_for_the_one_that_works() -> None:
    kept, begun, go, made = Kept[str](), threading.Event(), threading.Event(), []

    def make() -> bytes:
        made.append("once")
        begun.set()
        assert go.wait(120)
        return b"answer"

    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(kept.fetch("a", make))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(120)
    go.set()
    for thread in threads:
        thread.join(120)
    assert (found, made) == ([b"answer"] * 3, ["once"])


def test_what_was_used_least_recently_is_forgotten_and_an_error_is_not_kept() -> None:
    kept = Kept[int](most_bytes=10)
    for key in (1, 2):
        kept.fetch(key, lambda: b"12345")
    kept.fetch(1, lambda: b"")
    kept.fetch(3, lambda: b"12345")
    assert ([*kept.answers], kept.nbytes) == ([1, 3], 10)
    with pytest.raises(ZeroDivisionError):
        kept.fetch(4, lambda: b"1" * (1 // 0))
    assert kept.fetch(4, lambda: b"1") == b"1"
    assert kept.working == {}


def test_texts_sent_with_a_page_are_read_once(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = {name: page.get(f"api/{name}").json() for name in texts_of_page()}
    assert {*stated} == {"tour", "pictures", "quiz"}
    monkeypatch.setattr("glassformer.page.tour._read", lambda name: pytest.fail(f"{name} was read again"))
    assert page.get("api/quiz").json() == stated["quiz"]
