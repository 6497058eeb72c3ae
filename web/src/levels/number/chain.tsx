/** Beside a number: what it comes from, what reads it, where it stands. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { factorLink, toNumber, toTensor } from "../../address/links.ts";
import { largestTerms } from "../../draw/terms.tsx";
import type { Factor, Term } from "../../formulas/evaluator.ts";
import { type Explanation, operandsIn } from "../../formulas/interpreter.ts";
import { lastOf, type Names } from "../../formulas/names.ts";
import { type Use, usedBy } from "../../formulas/used_by.ts";
import { counted, more, short } from "../../numbers/written.ts";
import type { Answer, Store } from "../../run/store.ts";
import { unlessGivenUp } from "../../views/hooks.ts";
import { Labelled } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { MOST } from "./bars_scene.ts";

export function Chain({ answer, store }: { answer: Answer; store: Store }): VNode {
  const { names } = store;
  const { name, cell } = answer;
  const axes = names.axes(name);
  const python = `trace.explain("${name}", {${axes.map((axis, place) => `"${axis}": ${cell[place] ?? 0}`).join(", ")}})`;
  const own = name.startsWith("parameters.") ? null : python;
  return (
    <>
      {answer.kind === "computed" && (
        <Labelled label={say`Comes from`}>
          <ComesFrom found={answer.found} names={names} />
        </Labelled>
      )}
      {answer.kind === "given" && (
        <Labelled label={say`Comes from`}>
          <p>
            {name.startsWith("parameters.") ? say`training: a learned weight` : say`the text: here the numbers end`}
          </p>
        </Labelled>
      )}
      <UsedBy answer={answer} store={store} />
      <Labelled label={say`Where it is`}>
        <p>
          <a href={toTensor(name, cell, names)}>{names.title(name)}</a>, {names.place(name)}
        </p>
        <p class="quiet">{names.cell(name, cell)}</p>
      </Labelled>
      {own !== null && (
        <Labelled label={say`The same in Python`}>
          <p class="code">{own}</p>
        </Labelled>
      )}
    </>
  );
}

/** At most so many cells of one tensor are listed. */
const LISTED = 6;

function ComesFrom({ found, names }: { found: Explanation; names: Names }): VNode {
  const groups = new Map<string, Factor[]>();
  const terms = largestTerms(found.sum, MOST);
  const left = found.sum.length - terms.length;
  for (const factor of operandsIn(terms)) {
    const known = groups.get(factor.name ?? "");
    if (known === undefined) groups.set(factor.name ?? "", [factor]);
    else known.push(factor);
  }
  const { rule } = found.formula;
  if (groups.size === 0) return <p>{rule.rule === "may_look" ? say`the masks of the text` : say`no other number`}</p>;
  return (
    <ul class="links">
      {[...groups].map(([name, factors]) => {
        const shown = largest(factors, LISTED);
        const axes = names.axes(name);
        const first = factors[0]?.index ?? [];
        const same = axes.filter((_, axis) => factors.every((factor) => factor.index[axis] === first[axis]));
        const differ = axes.filter((axis) => !same.includes(axis));
        return (
          <li key={name}>
            <b class={names.role(name)}>{names.title(name)}</b>
            <small>
              {[names.cell(name, first, factors.length > 1 ? same : axes), names.place(name)]
                .filter(Boolean)
                .join("; ")}
            </small>
            {shown.map((factor) => (
              <span class="entry" key={factor.index.join()}>
                <a href={factorLink(factor, names)} class={names.role(name)}>
                  {short(factor.value)}
                </a>{" "}
                <span class="quiet">{factors.length > 1 && names.cell(name, factor.index, differ)}</span>
              </span>
            ))}
            {factors.length > shown.length && (
              <small>
                {say`and ${more(factors.length - shown.length + left, factors.length + left)}: see the table`}
              </small>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function largest(factors: readonly Factor[], count: number): Factor[] {
  if (factors.length <= count) return [...factors];
  const kept = new Set([...factors].sort((one, two) => Math.abs(two.value) - Math.abs(one.value)).slice(0, count));
  return factors.filter((factor) => kept.has(factor));
}

interface Worked {
  readonly use: Use;
  readonly cells: readonly { readonly cell: readonly number[]; readonly part: number | null; readonly whole: number }[];
}

/** Upward: which numbers read this one, and how much of each it makes. */
function UsedBy({ answer, store }: { answer: Answer; store: Store }): VNode | null {
  const { names } = store;
  const { name, cell } = answer;
  const [worked, setWorked] = useState<{ of: string; uses: Worked[] } | null>(null);
  const key = `${name} ${cell.join()}`;
  useEffect(() => {
    const giveUp = new AbortController();
    workedOut(store, name, cell, giveUp.signal).then((uses) => {
      if (!giveUp.signal.aborted) setWorked({ of: key, uses });
    }, unlessGivenUp);
    return () => giveUp.abort();
  }, [store, key]);
  if (worked === null || worked.of !== key) return null;
  if (worked.uses.length === 0) {
    return (
      <Labelled label={say`Used by`}>
        <p>{say`nothing: it is an answer of the model, or no formula reads it here`}</p>
      </Labelled>
    );
  }
  return (
    <Labelled label={say`Used by`}>
      <ul class="links">
        {worked.uses.map(({ use, cells }) => (
          <li key={use.formula.name}>
            <b class={names.role(use.formula.name)}>{names.title(use.formula.name)}</b>
            <small>
              {use.count > 1 && `${counted(use.count, "number")}, `}
              {names.place(use.formula.name)}
            </small>
            {cells.map(({ cell: at, part, whole }, _, all) => (
              <span class="entry" key={at.join()}>
                <a href={toNumber(use.formula.name, at, names)}>{short(whole)}</a>{" "}
                <span class="quiet">
                  {part !== null && say`takes ${short(part)}, `}
                  {names.cell(use.formula.name, at, differing(names.axes(use.formula.name), all))}
                </span>
              </span>
            ))}
            {use.count > cells.length && <small>{more(use.count - cells.length, use.count)}</small>}
          </li>
        ))}
      </ul>
    </Labelled>
  );
}

/** The axes along which several cells differ; of a single one all. */
function differing(axes: readonly string[], cells: readonly { readonly cell: readonly number[] }[]): string[] {
  const first = cells[0]?.cell ?? [];
  return axes.filter((_, axis) => cells.length === 1 || cells.some(({ cell }) => cell[axis] !== first[axis]));
}

async function workedOut(store: Store, name: string, cell: readonly number[], signal: AbortSignal): Promise<Worked[]> {
  const read = [...store.names.readers(name).map(([formula]) => formula.name), name];
  await store.open(read.filter((each) => store.source.large?.shape(each) === undefined));
  const uses = usedBy(name, cell, store.names, store.shape, 4);
  const cells = uses.flatMap((use) => use.cells.map((at) => [use.formula.name, at] as const));
  await store.askTogether(cells, signal);
  const found = await Promise.all(
    uses.map(async (use) => ({ use, cells: await taking(store, use, name, cell, signal) })),
  );
  return found.filter(({ cells }) => cells.length > 0);
}

/** The cells of one tensor that read a number, each with what it takes of it. */
async function taking(
  store: Store,
  use: Use,
  name: string,
  cell: readonly number[],
  signal: AbortSignal,
): Promise<Worked["cells"]> {
  const answers = await Promise.all(
    use.cells.map(async (at) => ({ at, answer: await store.answer(use.formula.name, at, signal) })),
  );
  const sums = ["linear", "dot_product", "weighted_sum", "add", "activated_linear"].includes(use.formula.rule.rule);
  return answers.flatMap(({ at, answer }) => {
    if (answer.kind !== "computed") return [];
    const term = termOf(answer.found, name, cell);
    if (term === undefined && lastOf(use.formula.name) !== "norm") return [];
    const part = sums && answer.found.sum.length > 1 ? (term?.value ?? null) : null;
    return [{ cell: at, part, whole: answer.found.value }];
  });
}

/** The term of a sum that a number stands in. */
function termOf({ sum }: Explanation, name: string, cell: readonly number[]): Term | undefined {
  for (let place = 0; place < sum.length; place++) {
    const term = sum.at(place);
    const met = term?.factors.some((factor) => {
      return (
        factor.name === name &&
        factor.index.length === cell.length &&
        factor.index.every((at, axis) => at === cell[axis])
      );
    });
    if (met === true) return term;
  }
  return undefined;
}
