"""How long a step of a training takes in the page, with everything that is drawn meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.page.models import Models
from bench.page.window import Case, Samples, show, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# 2,000 steps a second of the slides' model, 100 of a decoder of 4,000 weights; the others have no goal.
GOALS = {"slides": 0.5, "letters": 10.0, "letters-norms": None, "letters-large": None}

PLAY = """async (seconds) => {
  const step = () => Number(document.querySelector("h1").dataset.step);
  const button = document.querySelector("[data-do=play]");
  button.click();
  await probe.sleep(1000);
  const [first, began] = [step(), performance.now()];
  await probe.sleep(1000 * seconds);
  const [last, end] = [step(), performance.now()];
  button.click();
  return [last - first, end - began];
}"""


def learning(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """Each model that is trained in the page, played as fast as it goes; the step is that of the last picture."""
    cases = []
    for exercise, goal in GOALS.items():
        with window(browser) as page:
            show(page, models.file("slides").as_uri(), f"level=learn&options=x.{exercise}")
            page.wait_for_selector(".learn-curve svg")
            page.select_option("[aria-label=pace]", "fast")
            weights = page.evaluate("[...document.querySelectorAll('h2')].at(-1).textContent.match(/[\\\\d,]+/)[0]")
            steps, took = page.evaluate(PLAY, samples.seconds)
        more = {"steps_a_second": round(1000 * steps / took, 1)}
        cases.append(Case(f"a step of {exercise}, {weights} weights", took / max(steps, 1), "ms", goal, more))
    return cases
