"""One deliberate error: what is changed where, and which tests notice it."""

from dataclasses import dataclass
from pathlib import Path

PAGE_TEST = ".test.ts"


@dataclass(frozen=True, slots=True)
class Mutation:
    """`old`, which occurs exactly once in `file`, becomes `new`. `tests` are node ids of pytest; of a mutation of the
    page, files of its tests (`web/test/*.test.ts`): no test of pytest reads what is changed in web/. Paths are relative
    to the checkout.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def of_page(self) -> bool:
        """Whether it changes the page."""
        return self.file.startswith("web/")

    @property
    def page_tests(self) -> tuple[str, ...]:
        """The tests that run in node."""
        return tuple(test for test in self.tests if test.endswith(PAGE_TEST))

    @property
    def python_tests(self) -> tuple[str, ...]:
        """The tests that run in pytest."""
        return tuple(test for test in self.tests if not test.endswith(PAGE_TEST))

    def applied(self, checkout: Path) -> str:
        """The changed text of the file. Raises ValueError unless `old` occurs exactly once in it."""
        text = (checkout / self.file).read_text(encoding="utf-8")
        if (count := text.count(self.old)) != 1:
            raise ValueError(
                f"{self.name}: the old text must occur once in {self.file}; got {count} times: {self.old!r}"
            )
        return text.replace(self.old, self.new)
