/** Beside the picture: the number in hand and how it came about; at the last level what it comes from and what it makes. */

import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { headWords, toHead, toNumber, toTensor } from "../address/links.ts";
import { later } from "../address/state.ts";
import { CHUNKS } from "../chunks/chunks.ts";
import { viewIn } from "../chunks/later.tsx";
import { WithNumbers } from "../draw/mathml.tsx";
import { givenSentence, sentenceOf } from "../formulas/sentences.ts";
import { Check, Sentence, SetByHand } from "../levels/number/pieces.tsx";
import { short } from "../numbers/written.ts";
import type { Answer } from "../run/store.ts";
import { Corrections } from "../views/corrections.tsx";
import { useAnswer, useNextTask, useStore } from "../views/hooks.ts";
import { Labelled, Working } from "../views/pieces.tsx";
import { say } from "../words/say.ts";
import { LEVELS } from "./levels.ts";

const OfBoth = viewIn(CHUNKS.rail, (chunk) => chunk.OfBoth);
const Touch = viewIn(CHUNKS.rail, (chunk) => chunk.Touch);

const Chain = viewIn(CHUNKS.looking, (chunk) => chunk.Chain);

/** Drawn after the picture: a click or a key is seen there first. */
export function Inspector(props: { answer: Answer | null; loading: string; late: boolean }): VNode {
  const { answer, loading, late } = props;
  const [shown, now] = [useNextTask(answer), later.value];
  return useMemo(() => <Inside answer={shown} loading={loading} late={late} />, [shown, now, loading, late]);
}

function Inside(props: { answer: Answer | null; loading: string; late: boolean }): VNode | null {
  const { answer, loading, late } = props;
  const store = useStore();
  const { level } = later.value;
  const pointed = store.pointed.value;
  const hovered = useAnswer(level === "number" ? "" : (pointed?.name ?? ""), pointed?.cell ?? []);
  const shown = level === "number" ? answer : (hovered ?? answer);
  const [open, setOpen] = useState(false);
  const value = shown === null ? null : shown.kind === "computed" ? shown.found.value : shown.value;
  const { Beside } = LEVELS[level];
  if (Beside !== undefined) {
    return (
      <aside class="inspector drawer" data-open={open} aria-label={Beside.title}>
        <button type="button" class="handle" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span>{Beside.title}</span>
          <span class="quiet">{open ? "▾" : "▴"}</span>
        </button>
        <div class="inside">
          <Beside.View />
        </div>
      </aside>
    );
  }
  if (shown === null && loading === "") return null;
  // The room of a number that is on its way is kept. What is pointed at while nothing is in hand makes no room for itself:
  // the picture would move away from under the mouse.
  const over = answer === null && loading === "";
  return (
    <aside class="inspector drawer" data-open={open} data-over={over} aria-label={say`the number in hand`}>
      <button type="button" class="handle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="cut">
          {level === "number"
            ? say`Comes from, used by`
            : shown !== null && (store.names.cell(shown.name, shown.cell) || store.names.title(shown.name))}
        </span>
        {shown !== null && value !== null && (
          <b class={store.names.role(shown.name)}>
            {short(value)} {open ? "▾" : "▴"}
          </b>
        )}
      </button>
      <div class="inside" data-stale={late && shown === answer}>
        {late && <Working on={say`Loading ${loading}`} />}
        {shown !== null && level !== "number" && !over && <InHand answer={shown} />}
        {shown !== null && level === "number" && <Chain answer={shown} store={store} />}
        {shown !== null && !over && <Touch answer={shown} />}
      </div>
    </aside>
  );
}

function InHand({ answer }: { answer: Answer }): VNode {
  const { names } = useStore();
  const { name, cell } = answer;
  const value = answer.kind === "computed" ? answer.found.value : answer.value;
  const role = names.role(name);
  const head = toHead(name, cell, names);
  return (
    <>
      <Labelled label={say`The number in hand`}>
        <p class={`big ${role}`}>{value === null ? say`not in this page` : short(value)}</p>
        <p class="strong">{names.title(name)}</p>
        <p>{names.cell(name, cell)}</p>
        <p class="quiet">{names.place(name)}</p>
      </Labelled>
      {answer.kind === "computed" && (
        <div class="part">
          <p>
            <Sentence parts={sentenceOf(answer.found, names)} />
          </p>
        </div>
      )}
      {answer.kind === "set" && (
        <div class="part">
          <SetByHand answer={answer} />
        </div>
      )}
      {answer.kind === "difference" && (
        <div class="part">
          <OfBoth answer={answer} />
        </div>
      )}
      {answer.kind === "given" && value !== null && (
        <div class="part">
          <p>
            <Sentence parts={givenSentence(name, cell, value, names)} />
          </p>
        </div>
      )}
      {answer.kind === "computed" && (
        <div class="part small">
          <p class="label">{say`How it came about`}</p>
          <WithNumbers found={answer.found} names={names} few={2} />
          <Check found={answer.found} />
        </div>
      )}
      <Corrections of={say`this tensor`} tensors={[name]} />
      <div class="part">
        <ul class="links">
          <li>
            <a class="strong" href={toNumber(name, cell, names)}>
              {say`How it was computed →`}
            </a>
          </li>
          {head !== null && later.value.level !== "head" && (
            <li>
              <a href={head}>{headWords(name, cell, names)}</a>
            </li>
          )}
          {later.value.level !== "tensor" && (
            <li>
              <a href={toTensor(name, cell, names)}>{say`the whole tensor`}</a>
            </li>
          )}
        </ul>
      </div>
    </>
  );
}
