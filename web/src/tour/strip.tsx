/** The strip of the tour: one idea, a question, the answer; the picture below is the live page's own. */

import type { VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { toNumber } from "../address/links.ts";
import { go, link, type State, state } from "../address/state.ts";
import type { Said } from "../scout/said.ts";
import { scoutOf } from "../scout/scout.ts";
import { unbroken } from "../views/command.tsx";
import { useOpened, useStore } from "../views/hooks.ts";
import { plain } from "../views/plain.ts";
import { say } from "../words/say.ts";
import { Choice } from "./choice.tsx";
import { type Note, Notes, PresenterLine, present, usePresenterKeys } from "./presenter.tsx";
import { intoSight } from "./sight.ts";
import type { Told } from "./step.ts";
import { field, loadTexts, type Texts } from "./texts.ts";
import { enter, leave, needed, stepsOf, told } from "./tour.ts";
import { addressOf, placeIn, type Tour, textsOf } from "./tours.ts";

export function Strip(): VNode {
  const { names } = useStore();
  const { tour, step } = placeIn(state.value.tour);
  return tour?.suits(names) === true ? <Step tour={tour} number={step} /> : <Nowhere />;
}

/** A place that does not exist, with a way back. */
function Nowhere(): VNode {
  return (
    <section class="tour" aria-label={say`tour`}>
      <p>{say`This run has no step ${state.value.tour} of a tour.`}</p>
      <div class="tour-ways">
        <Choice text={say`Choose a tour`} />
        <button type="button" onClick={leave}>
          {say`Leave`}
        </button>
      </div>
    </section>
  );
}

function Step({ tour, number }: { tour: Tour; number: number }): VNode {
  const store = useStore();
  const { sentence } = state.value;
  const ready = useOpened(needed(store.names, tour.stack));
  const steps = ready ? stepsOf(store, tour) : [];
  const step = steps[number - 1];
  const scout = scoutOf(store, sentence, tour.stack);
  const opened = useOpened(step?.reads?.(scout) ?? []);
  const [asked, setAsked] = useState("");
  const [texts, setTexts] = useState<Texts | null>(null);
  useEffect(() => {
    void loadTexts().then((all) => setTexts(textsOf(all, tour)));
  }, [tour]);
  const here = placeOfAnswer();
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!plain(event)) return;
      // Of the place as it is now: a key may come before this function has been put in the place of the last step's.
      const { step: at } = placeIn(state.value.tour);
      if (event.key === "n") void enter(store, addressOf(tour, at + 1)).then(() => intoSight(true));
      if (event.key === "p") void enter(store, addressOf(tour, at - 1)).then(() => intoSight(true));
      if (event.key === "q") leave();
      if (event.key === "P") present();
      if (event.key === "a") setAsked((known) => (known === placeOfAnswer() ? "" : placeOfAnswer()));
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [store, tour]);
  useEffect(() => intoSight(), [tour, number]);
  const by = useCallback(
    (steps: number) =>
      void enter(store, addressOf(tour, placeIn(state.value.tour).step + steps)).then(() => intoSight()),
    [store, tour],
  );
  usePresenterKeys(by);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // The button that started the tour is gone: what is read next is the step.
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, [texts]);
  const text = texts?.[step?.key ?? ""];
  const found = step === undefined || texts === null || !opened ? null : told(step, text, scout);
  // What it lacks is opened; what the run does not have is still missing then.
  const missing = found?.missing ?? "";
  const [sought, setSought] = useState("");
  useEffect(() => {
    if (missing !== "") void store.open([missing]).then(() => setSought(missing));
  }, [store, missing]);
  if (ready && step === undefined) return <Nowhere />;
  if (step === undefined || texts === null || found === null || (missing !== "" && missing !== sought)) {
    return <section class="tour" aria-label={say`tour`} />;
  }
  const title = (key: string): string => field(texts[key], "title");
  const [source, act] = [field(text, "source"), field(text, "act")];
  const answered = asked === here || (found.touched?.(state.value) ?? false);
  const to = (place: number): void => void enter(store, addressOf(tour, place)).then(() => intoSight());
  const away = Object.keys(found.at).length > 0 && !at(found.at, state.value);
  const next = steps[number];
  const correction = say`Where a tutorial is imprecise (${found.correction})`;
  const notes: Note[] = [
    { label: say`The answer`, parts: found.answer },
    { label: correction, parts: found.note },
    { label: say`In the document`, parts: source === "" ? [] : [`${tour.follows}${source}`] },
    { label: say`Next`, parts: next === undefined ? [] : [title(next.key)] },
  ].flatMap(({ label, parts }) => (parts.length === 0 ? [] : [{ label, text: <Sentence parts={parts} /> }]));
  return (
    <>
      <section class="tour" aria-label={say`tour`}>
        <div class="tour-says" aria-live="polite" aria-atomic="true">
          <p class="label">
            {source !== "" && say`In ${tour.follows}${source}`}
            {source === "" && <span class="tour-extra">{say`an extra step, not in the tutorial`}</span>}
          </p>
          <h2 ref={heading} tabIndex={-1}>
            <span class="away">{say`${tour.title}, step ${number} of ${steps.length}: `}</span>
            {title(step.key)}
          </h2>
          <p>
            <Sentence parts={found.text} />
          </p>
          {found.note.length > 0 && (
            <details class="tour-note">
              <summary>{correction}</summary>
              <Sentence parts={found.note} />
            </details>
          )}
        </div>
        <div class="tour-asks">
          {found.question.length > 0 && (
            <p class="tour-question">
              <Sentence parts={found.question} />
            </p>
          )}
          {found.act !== undefined && state.value.scene !== found.act.scene && (
            <button type="button" class="tour-act" onClick={() => go(found.act ?? {}, true)}>
              {act}
            </button>
          )}
          <p class="tour-answer" aria-live="polite">
            {answered && <Sentence parts={found.answer} />}
          </p>
          {!answered && found.answer.length > 0 && (
            <button type="button" class="tour-show" onClick={() => setAsked(here)}>
              {say`Show the answer ${<kbd>a</kbd>}`}
            </button>
          )}
        </div>
        <div class="tour-ways">
          <button type="button" disabled={number <= 1} onClick={() => to(number - 1)}>
            ← <kbd>p</kbd>
            <span class="away">{say`previous step`}</span>
          </button>
          <ol class="dots" aria-label={say`steps`}>
            {steps.map((each, order) => (
              <li key={each.key}>
                <button
                  type="button"
                  tabIndex={-1}
                  title={`${order + 1} · ${title(each.key)}`}
                  aria-label={say`step ${order + 1}: ${title(each.key)}`}
                  aria-current={order + 1 === number ? "step" : undefined}
                  data-extra={field(texts[each.key], "source") === ""}
                  onClick={() => to(order + 1)}
                />
              </li>
            ))}
          </ol>
          <select
            aria-label={say`step of the tour`}
            value={number}
            onChange={(event) => to(Number(event.currentTarget.value))}
          >
            {steps.map((each, order) => (
              <option value={order + 1}>{say`${order + 1} of ${steps.length} · ${title(each.key)}`}</option>
            ))}
          </select>
          {away && (
            <button type="button" onClick={() => to(number)}>
              {say`Back to this step’s picture`}
            </button>
          )}
          <Choice text={say`Other tours`} />
          <button type="button" onClick={leave}>
            {say`Leave ${<kbd>q</kbd>}`}
          </button>
          <button type="button" onClick={present}>
            {say`Present ${<kbd>P</kbd>}`}
          </button>
          {next === undefined ? (
            <a class="tour-next" href={link({ level: "quiz", tour: "", options: [], at: [] })}>
              {say`Take the quiz →`}
            </a>
          ) : (
            <button type="button" class="tour-next" onClick={() => to(number + 1)}>
              {say`Next ${<kbd>n</kbd>} →`}
            </button>
          )}
        </div>
        {state.value.present !== "" && <PresenterLine at={number} of={steps.length} />}
      </section>
      {state.value.present === "notes" && <Notes notes={notes} />}
    </>
  );
}

/** Where an answer was asked for: it is another one at the next step, and in another sentence. */
const placeOfAnswer = (): string => `${state.value.tour} ${state.value.sentence}`;

function Sentence({ parts }: { parts: readonly Said[] }): VNode {
  const { names } = useStore();
  return (
    <>
      {parts.map((part) => {
        if (typeof part === "string") return unbroken(part);
        if (!("name" in part)) return <b class={part.of}>{part.text}</b>;
        const cell = part.cell.join();
        return (
          <a
            class={part.of}
            href={toNumber(part.name, part.cell, names)}
            data-shown={part.name}
            data-at={cell}
            data-value={part.value}
          >
            {part.text}
          </a>
        );
      })}
    </>
  );
}

/** Whether the page shows the picture of a step; another cell of it may be in hand. */
function at(wanted: Told["at"], now: State): boolean {
  if (wanted.level !== now.level) return false;
  if (wanted.level === "block") return wanted.unit === now.unit;
  return now.level === "scene" ? wanted.scene === now.scene : wanted.tensor === now.tensor;
}
