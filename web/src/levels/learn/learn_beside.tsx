/** The number in hand: the gradient that moved it in the last step, and what that gradient is made of, up to the loss. */

import type { VNode } from "preact";
import { LOSS } from "../../formulas/program.ts";
import { BETA1, BETA2, CLIP } from "../../learn/adam.ts";
import type { Moved } from "../../learn/learner.ts";
import { short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { type Lesson, lesson, shown, tick, trail } from "./lesson.ts";
import { calledAt, cellIn, titleIn } from "./places.ts";

/** So many terms are listed, the largest. */
const TERMS = 10;

export function LearnBeside(): VNode {
  const now = lesson.value;
  void tick.value;
  const held = trail.value.at(-1);
  if (now === null || held === undefined)
    return (
      <p class="quiet">
        {say`Click a weight or a cell of a box, or go to it with Tab and arrow keys: its gradient is here.`}
      </p>
    );
  return <Held now={now} name={held.name} at={held.at} />;
}

/** What made the last step, worked out once for each picture. */
let last: { readonly now: Lesson; readonly tick: number; readonly moved: Moved | null } | null = null;

function movedNow(now: Lesson): Moved | null {
  if (last?.now !== now || last.tick !== tick.peek()) last = { now, tick: tick.peek(), moved: now.learner.moved() };
  return last.moved;
}

function Held({ now, name, at }: { now: Lesson; name: string; at: number }): VNode {
  const moved = movedNow(now);
  const stretch = shown(now).stretches.get(name);
  const before = trail.value.slice(0, -1);
  const value = moved?.program.fetch(name)?.data[at] ?? shown(now).fetch(name)?.data[at] ?? Number.NaN;
  return (
    <>
      <div class="part">
        {before.length > 0 && (
          <p class="label">
            {before.map((each, place) => (
              <>
                <button type="button" class="undo" onClick={() => (trail.value = trail.value.slice(0, place + 1))}>
                  {titleIn(now.names, each.name)}
                </button>{" "}
                ←{" "}
              </>
            ))}
          </p>
        )}
        <p class="strong">{titleIn(now.names, name)}</p>
        <p>{name === LOSS ? "" : cellIn(now, name, at)}</p>
        {stretch === undefined && (
          <p class="quiet">
            {moved === null ? say`now` : say`before step ${moved.after.step}`}: {short(value, 4)}
          </p>
        )}
      </div>
      {stretch !== undefined && moved !== null && <Update moved={moved} flat={stretch.start + at} />}
      {moved === null ? (
        <div class="part">
          <p class="big">{short(shown(now).fetch(name)?.data[at] ?? Number.NaN)}</p>
          <p class="quiet">{say`Drawn at random: nothing has moved it yet. Make a step.`}</p>
        </div>
      ) : (
        <Gradient now={now} moved={moved} name={name} at={at} />
      )}
    </>
  );
}

/** What Adam made of the gradient of a weight. */
function Update({ moved, flat }: { moved: Moved; flat: number }): VNode {
  const { before, after, rate, length, by, program } = moved;
  const [was, is] = [before.weights[flat] ?? 0, after.weights[flat] ?? 0];
  const [mean, square] = [after.mean[flat] ?? 0, after.square[flat] ?? 0];
  const [first, second] = [mean / (1 - BETA1 ** after.step), square / (1 - BETA2 ** after.step)];
  const gradient = program.gradient[flat] ?? 0;
  return (
    <div class="part" data-was={String(was)} data-is={String(is)}>
      <p class="big" data-weight>
        {short(is, 4)}
      </p>
      <p hidden={gradient === 0}>
        {gradient < 0
          ? say`Gradient ${short(gradient)}: if this weight grows, the loss falls.`
          : say`Gradient ${short(gradient)}: if this weight grows, the loss rises.`}
      </p>
      <p>{say`Step ${after.step} moved it from ${short(was, 4)} by ${<b>{signed(is - was)}</b>}.`}</p>
      <dl class="step-facts">
        <dt>{say`gradient`}</dt>
        <dd>{short(gradient, 5)}</dd>
        {by < 1 && (
          <>
            <dt>{say`shortened: all gradients together are ${short(length)} long, more than ${CLIP}`}</dt>
            <dd>{short(gradient * by, 5)}</dd>
          </>
        )}
        <dt>{say`mean of the last gradients (Adam)`}</dt>
        <dd>{short(first, 5)}</dd>
        <dt>{say`root of the mean of their squares`}</dt>
        <dd>{short(Math.sqrt(second), 5)}</dd>
        <dt>{say`− rate ${short(rate)} × mean ÷ root`}</dt>
        <dd>{signed(is - was)}</dd>
      </dl>
      {after.step === 1 && gradient !== 0 && (
        <p>{say`In the first step mean ÷ root is 1 or −1: a weight moves by the learning rate, against its gradient.`}</p>
      )}
    </div>
  );
}

/** A gradient as the sum of its terms; each leads to the gradient that it is made of. */
function Gradient({ now, moved, name, at }: { now: Lesson; moved: Moved; name: string; at: number }): VNode {
  const { program } = moved;
  if (name === LOSS)
    return (
      <div class="part">
        <p>{say`The loss moves with itself one to one: here all gradients begin.`}</p>
      </div>
    );
  const gradient = program.gradientAt(name, at);
  const terms = program.terms(name, at).sort((one, two) => Math.abs(two.value) - Math.abs(one.value));
  const few = terms.slice(0, TERMS);
  const rest = terms.slice(TERMS).reduce((sum, { value }) => sum + value, 0);
  return (
    <div class="part" data-gradient={String(gradient)} data-terms={terms.length}>
      <p class="label">{say`Its gradient: how the loss moves with it`}</p>
      <p class="strong">{short(gradient, 6)}</p>
      {terms.length === 0 && (
        <p class="quiet">
          {program.moves(name)
            ? say`No gradient reaches it in this step: nothing that the loss is made of reads it.`
            : say`No weight goes into this number: it is given, and no training moves it.`}
        </p>
      )}
      <ol class="gradient-terms">
        {few.map((term) => (
          <li key={`${term.result.name} ${term.result.at} ${term.other?.name} ${term.other?.at}`}>
            <span>
              {short(term.partial, 4)}{" "}
              <small class="quiet">
                {term.other === null ? term.how : calledAt(now, term.other.name, term.other.at)}
              </small>
            </span>
            <span>
              × {short(term.upstream, 5)}{" "}
              <button type="button" class="undo" onClick={() => (trail.value = [...trail.value, term.result])}>
                {say`gradient of ${calledAt(now, term.result.name, term.result.at)}`}
              </button>
            </span>
            <b>{signed(term.value)}</b>
          </li>
        ))}
      </ol>
      {terms.length > TERMS && (
        <p class="quiet">{say`${terms.length - TERMS} more of ${terms.length}: ${signed(rest)}`}</p>
      )}
    </div>
  );
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${short(value, 5)}`;
}
