/** The strip of the tour: one idea, a question, the answer; the picture below is the live page's own. */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useOpened, useStore } from "../frame/hooks.ts";
import { go, type State, state } from "../frame/state.ts";
import { toNumber } from "../frame/views.ts";
import type { Said } from "../scenes/said.ts";
import { scoutOf } from "../scenes/scout.ts";
import type { Told } from "./step.ts";
import { field, loadTexts, type Texts } from "./texts.ts";
import { comeBack, enter, leave, needed, stepsOf, told } from "./tour.ts";

export function Strip(): VNode | null {
  const store = useStore();
  const { tour, sentence } = state.value;
  const ready = useOpened(needed(store.names));
  const steps = ready ? stepsOf(store) : [];
  const step = steps[tour - 1];
  const scout = scoutOf(store, sentence);
  const opened = useOpened(step?.reads?.(scout) ?? []);
  const [asked, setAsked] = useState("");
  const [texts, setTexts] = useState<Texts | null>(null);
  useEffect(() => {
    void loadTexts().then(setTexts);
  }, []);
  const here = `${tour} ${sentence}`;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || writes(event.target)) return;
      if (event.key === "n") void enter(store, tour + 1).then(() => show(true));
      if (event.key === "p") void enter(store, tour - 1).then(() => show(true));
      if (event.key === "q") leave();
      if (event.key === "a") setAsked((known) => (known === here ? "" : here));
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [store, tour, here]);
  useEffect(() => show(), [tour]);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // The button that started the tour is gone: what is read next is the step.
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, [texts]);
  if (step === undefined || texts === null || !opened) return <section class="tour" aria-label="tour" />;
  const text = texts[step.key];
  const found = told(step, text, scout);
  const title = (key: string): string => field(texts[key], "title");
  const [source, act] = [field(text, "source"), field(text, "act")];
  const answered = asked === here || (found.touched?.(state.value) ?? false);
  const to = (number: number): void => void enter(store, number).then(() => show());
  const away = Object.keys(found.at).length > 0 && !at(found.at, state.value);
  return (
    <section class="tour" aria-label="tour">
      <div class="tour-says" aria-live="polite" aria-atomic="true">
        <p class="label">
          {source === "" ? <span class="tour-extra">not in this document</span> : `In the slides: ${source}`}
        </p>
        <h2 ref={heading} tabIndex={-1}>
          <span class="away">{`Step ${tour} of ${steps.length}: `}</span>
          {title(step.key)}
        </h2>
        <p>
          <Sentence parts={found.text} />
        </p>
        {found.note.length > 0 && (
          <p class="tour-note">
            <b>Where a document is imprecise ({found.correction}):</b> <Sentence parts={found.note} />
          </p>
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
            Show the answer <kbd>a</kbd>
          </button>
        )}
      </div>
      <div class="tour-ways">
        <button type="button" disabled={tour <= 1} onClick={() => to(tour - 1)}>
          ← <kbd>p</kbd>
          <span class="away">previous step</span>
        </button>
        <ol class="dots" aria-label="steps">
          {steps.map((each, order) => (
            <li key={each.key}>
              <button
                type="button"
                tabIndex={-1}
                title={`${order + 1} · ${title(each.key)}`}
                aria-label={`step ${order + 1}: ${title(each.key)}`}
                aria-current={order + 1 === tour ? "step" : undefined}
                data-extra={field(texts[each.key], "source") === ""}
                onClick={() => to(order + 1)}
              />
            </li>
          ))}
        </ol>
        <select aria-label="step of the tour" value={tour} onChange={(event) => to(Number(event.currentTarget.value))}>
          {steps.map((each, order) => (
            <option value={order + 1}>{`${order + 1} of ${steps.length} · ${title(each.key)}`}</option>
          ))}
        </select>
        {away && (
          <button type="button" onClick={() => to(tour)}>
            Back to this step’s picture
          </button>
        )}
        <button type="button" onClick={leave}>
          Leave <kbd>q</kbd>
        </button>
        <button type="button" class="tour-next" disabled={tour >= steps.length} onClick={() => to(tour + 1)}>
          Next <kbd>n</kbd> →
        </button>
      </div>
    </section>
  );
}

/** The button that starts the tour, or goes on where it was left. */
export function TourButton({ text }: { text: string }): VNode | null {
  const store = useStore();
  if (state.value.tour > 0) return null;
  return (
    <button type="button" class="tour-start" onClick={() => void comeBack(store).then(() => show())}>
      {text}
    </button>
  );
}

function Sentence({ parts }: { parts: readonly Said[] }): VNode {
  const { names } = useStore();
  return (
    <>
      {parts.map((part) => {
        if (typeof part === "string") return part;
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

/** A letter typed into a field is no key of the tour. */
function writes(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Brings the cell in hand into sight, and gives the keys to the picture where nothing else has them. */
function show(byKey = false): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const held = document.activeElement;
      if (byKey && (held === document.body || ["CANVAS", "H2"].includes(held?.tagName ?? ""))) {
        document.querySelector<HTMLElement>(".main canvas")?.focus({ preventScroll: true });
      }
      for (const frame of document.querySelectorAll(".main .frame-of-cell"))
        frame.scrollIntoView({ block: state.value.level === "block" ? "center" : "nearest" });
    }),
  );
}
