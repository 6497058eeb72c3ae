/** What an answer owes to each word by its gradient, next to where attention looks: two questions with two answers. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toNumber, toTensor } from "../../address/links.ts";
import { go, link, state } from "../../address/state.ts";
import { blockOf } from "../../formulas/attention.ts";
import { short } from "../../numbers/written.ts";
import type { Attributed, Attributions, Goal, Integrated } from "../../record/sums.ts";
import { type Looks, looksOf } from "../../run/looks.ts";
import { isLacking, useFound, useSection } from "../../views/found.ts";
import { useInPicture, useStore } from "../../views/hooks.ts";
import { Lack } from "../../views/lack.tsx";
import { Choice, Table, Working } from "../../views/pieces.tsx";
import { heard, say } from "../../words/say.ts";
import { kindsOf } from "../ties/ties.ts";
import { AddedUp, signed } from "./added.tsx";
import { alikeness } from "./ranks.ts";

export function GradientsView(): VNode {
  const { names } = useStore();
  const told = useSection<Attributions>("attributions");
  useInPicture(false);
  if (!names.run.formulas.some(({ name }) => name.endsWith("logits"))) {
    return (
      <p class="wrong">
        {say`This model answers with vectors: there is no score whose gradient says what it owes to a word.`}
      </p>
    );
  }
  return (
    <>
      <h1 class="away">{say`${names.run.title}: attention and gradients`}</h1>
      {told === null && <Working on={say`The gradients of the answers are worked out`} />}
      {told !== null && isLacking(told) && <Lack what={say`No gradients`} told={told} />}
      {told !== null && !isLacking(told) && <Goals all={told} />}
    </>
  );
}

function Goals({ all }: { all: Attributions }): VNode {
  const { names } = useStore();
  const { at, options, sentence } = state.value;
  const first = all.goals.findIndex((goal) => goal.sentence === sentence);
  const place = at[0] !== undefined && at[0] < all.goals.length ? at[0] : first;
  const goal = all.goals[place];
  if (goal === undefined)
    return <p class="wrong">{say`No number of this run was chosen to be explained by its gradient.`}</p>;
  const side = goal.of.find((each) => each.side === options[0]) ?? goal.of[0];
  // The place that answers is one of the last stack’s: it looks at words of its own side, or across.
  const own = names.formulas.get(goal.name)?.tokens ?? "inputs";
  const kind = kindsOf(names).find(({ queries, keys }) => queries === own && keys === side?.side);
  const last = (kind?.weights.length ?? 1) - 1;
  const block = Math.min(at[1] ?? last, last);
  return (
    <>
      <p class="answer">
        {say`What ${<b class="hidden">{called(goal)}</b>} owes to each word: score ${<a href={toNumber(goal.name, goal.cell, names)}>{short(goal.value)}</a>}`}
      </p>
      <div class="controls">
        <Choice
          label={say`the answer`}
          value={place}
          of={all.goals.map((each, order) => [order, called(each)])}
          onChoose={(order) => go({ at: [Number(order)] }, true)}
        />
        {goal.of.length > 1 && (
          <Choice
            label={say`words of`}
            value={side?.side ?? ""}
            of={goal.of.map((each) => [each.side, each.side === "inputs" ? say`the source` : say`the target`])}
            onChoose={(each) => go({ options: [each] }, true)}
          />
        )}
        {kind !== undefined && kind.weights.length > 1 && (
          <Choice
            label={say`attention of block`}
            value={block}
            of={kind.weights.map((name, order) => [order, blockOf(name)])}
            onChoose={(order) => go({ at: [place, Number(order)] }, true)}
          />
        )}
      </div>
      {goal.added.length > 0 && <AddedUp goal={goal} />}
      <h2>{say`What the score owes to each word`}</h2>
      {side !== undefined && <Words goal={goal} order={place} of={side} weights={kind?.weights[block]} />}
      <AboutGradients />
    </>
  );
}

/** Of more words only those that one of the columns names among its largest are listed. */
const LISTED = 40;

interface WordsProps {
  readonly goal: Goal;
  /** Its place among the goals. */
  readonly order: number;
  readonly of: Attributed;
  /** The attention next to it; undefined where the place does not look at these words. */
  readonly weights: string | undefined;
}

function Words({ goal, order, of, weights = "" }: WordsProps): VNode {
  const { names, source } = useStore();
  const [wanted, setWanted] = useState<Goal | null>(null);
  const integrated = useSection<Integrated>(`integrated-${order}`, wanted === goal);
  const shares = integrated === null || isLacking(integrated) ? undefined : integrated.shares[of.side]?.slice();
  const { sentence } = goal;
  const query = placeOf(goal, names);
  const asked = `${weights} ${sentence} ${query}`;
  const { value } = useFound(asked, async () => {
    return { asked, looks: query === null ? undefined : await looksOf(source, weights, sentence, [query]) };
  });
  const looks = value?.asked === asked ? value.looks : undefined;
  // Padding is no word: its zeros would make any two columns alike.
  const count = names.run.words[of.side][sentence]?.length ?? of.gradient.length;
  const gradients = of.gradient.slice(0, count);
  const tokens = [...gradients.keys()];
  const mean = tokens.map((token) => meanOf(looks, token));
  const sizes = of.product.slice(0, count).map(Math.abs);
  const columns = [mean, gradients, sizes];
  const found = columns.flatMap((column) => largest(column, tokens.length <= LISTED ? LISTED : LISTED / 4));
  const listed = [...new Set(found)].sort((one, two) => one - two);
  const most = columns.map((column) => Math.max(1e-30, ...column));
  const bar = (column: number, value: number): VNode => (
    <i
      data-column={column}
      data-below={value < 0}
      style={{ width: `${(100 * Math.abs(value)) / (most[column] ?? 1)}%` }}
    />
  );
  const alike = alikeness(mean, sizes);
  return (
    <>
      <Table
        kind="owed"
        label={say`attention and gradients of each word`}
        head={[
          say`word`,
          say`attention: mean of the heads`,
          say`its strongest head`,
          say`length of the gradient`,
          say`input × gradient`,
          ...(shares === undefined ? [] : [say`integrated gradients`]),
        ]}
        rows={listed.map((token) => {
          const word = names.word(of.side, sentence, token);
          const [gradient, product] = [of.gradient[token] ?? 0, of.product[token] ?? 0];
          const head = largest(looks?.heads.map((row) => row[token] ?? 0) ?? [], 1)[0];
          const weight = head === undefined ? 0 : (looks?.heads[head]?.[token] ?? 0);
          return {
            data: { "data-token": token, "data-gradient": gradient, "data-product": product },
            cells: [
              <bdi class={word.hidden ? "hidden" : ""}>{word.text}</bdi>,
              looks !== undefined && [bar(0, mean[token] ?? 0), short(mean[token] ?? 0)],
              head !== undefined && [
                `${head}: `,
                <a class="attention" href={toNumber(weights, [sentence, head, query ?? 0, token], names)}>
                  {short(weight)}
                </a>,
              ],
              [bar(1, gradient), short(gradient)],
              [bar(2, product), product > 0 && "+", short(product)],
              ...(shares === undefined ? [] : [signed(shares[token] ?? 0)]),
            ],
          };
        })}
      />
      <p class="then">
        {wanted !== goal && (
          <button type="button" class="undo" onClick={() => setWanted(goal)}>
            {say`Shares that sum: integrated gradients`}
          </button>
        )}{" "}
        {wanted === goal && integrated === null && (
          <Working on={say`Gradients on the way from no words are worked out`} />
        )}
        {integrated !== null && isLacking(integrated) && <Lack what={say`No integrated gradients`} told={integrated} />}
        {integrated !== null && !isLacking(integrated) && (
          <span data-missing={integrated.missing}>
            {say`Without words (each the mean of all words) the score is ${short(integrated.baseline)}, with them ${short(integrated.value)}. The shares sum to the difference ${signed(integrated.value - integrated.baseline)}, but for ${short(integrated.missing)}; input × gradient sums to ${signed(of.product.reduce((sum, each) => sum + each, 0))}.`}{" "}
          </span>
        )}
        {weights === "" && say`The place that answers does not look at these words in one step. `}
        {listed.length < tokens.length && say`Of ${tokens.length} words those with the largest numbers are listed. `}
        {looks !== undefined &&
          !Number.isNaN(alike) &&
          say`How alike attention and the size of input × gradient order these words: ${<b data-alike={alike}>{short(alike, 2)}</b>} (Spearman’s rank correlation).`}
      </p>
    </>
  );
}

/** How the numbers are made, and what attention does not tell. */
function AboutGradients(): VNode | null {
  const { names } = useStore();
  const told = useSection<Attributions>("attributions");
  const tensor = told === null || isLacking(told) ? undefined : told.goals[0]?.of[0]?.tensor;
  if (told === null || isLacking(told) || tensor === undefined) return null;
  return (
    <details class="twin about">
      <summary>{say`what attention does not tell, and how this was made`}</summary>
      <div class="part">
        <p>{heard(told.note)}</p>
        <p class="then">
          {say`What a head is worth is measured by switching it off: see ${<a href={link({ level: "heads" })}>{say`all heads`}</a>}.`}
        </p>
      </div>
      <div class="part">
        <p>
          {say`The gradient of the score was taken at ${(
            <a
              href={toTensor(
                tensor,
                names.axes(tensor).map(() => 0),
                names,
              )}
            >
              {names.place(tensor)}
            </a>
          )}: how much the score changes if a word’s vector changes a little. Times the vector, summed over its channels, it is what the score owes to the word to first order. A striped bar lowers the score.`}
        </p>
        {told.left_out !== "" && <p class="then">{heard(told.left_out)}</p>}
      </div>
    </details>
  );
}

/** The token whose place answers; null where the answer is for the whole text. */
function placeOf({ name, cell }: Goal, names: ReturnType<typeof useStore>["names"]): number | null {
  const axes = names.axes(name);
  const place = axes.indexOf("place");
  if (place >= 0) return names.run.places[cell[place] ?? 0]?.[1] ?? null;
  const token = axes.indexOf("token");
  return token < 0 ? null : (cell[token] ?? null);
}

function meanOf(looks: Looks | undefined, token: number): number {
  const heads = looks?.heads ?? [];
  return heads.reduce((sum, row) => sum + (row[token] ?? 0) / heads.length, 0);
}

function largest(values: readonly number[], count: number): number[] {
  return [...values.keys()].sort((one, two) => (values[two] ?? 0) - (values[one] ?? 0)).slice(0, count);
}

/** `garden at [MASK]`: an answer and the place that gives it, as the package writes them. */
function called({ text }: { readonly text: string }): string {
  const [answer, ...place] = text.split(" at ");
  return place.length === 0 ? text : say`${answer} at ${place.join(" at ")}`;
}
