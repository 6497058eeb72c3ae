/** Beside all heads: the one in hand in numbers and words, and what the groups are called. */

import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { go, later, link } from "../../address/state.ts";
import type { Measure, Measured } from "../../measures/heads.ts";
import { range } from "../../numbers/arithmetic.ts";
import { percent, short } from "../../numbers/written.ts";
import { useFound } from "../../views/found.ts";
import { useStore } from "../../views/hooks.ts";
import { Labelled } from "../../views/pieces.tsx";
import { pointedSpot } from "../../views/spots.tsx";
import { heard, say } from "../../words/say.ts";
import { groupsOf, marksOf, onlyIn, opensAs } from "./about.ts";
import { evenHead } from "./even.ts";
import { headInHand } from "./hand.ts";
import { type Head, headsIn, idOf, nameOf } from "./heads_scene.ts";
import { Mark } from "./job_marks.tsx";
import { atOnce, PLACES, sentenceOf, whereOf } from "./jobs.ts";
import { drawnRows } from "./rows.ts";
import { lostBy, useWorth } from "./worth.ts";

export function HeadsBeside(): VNode {
  const { names, source } = useStore();
  const { sentence, tensor, cell } = later.value;
  const rows = drawnRows.value;
  const marks = useMemo(() => marksOf(names, sentence), [names, sentence]);
  const [groups, heads] = useMemo(() => [groupsOf(rows), headsIn(rows)], [rows]);
  const only = onlyIn(later.value.only);
  const inHand = pointedSpot.value ?? idOf(tensor.replace(/\.weights$/, ""), cell[1] ?? 0);
  const head = heads.find(({ id }) => id === inHand);
  const { worth } = useWorth();
  const lost = head === undefined ? undefined : worth?.of.get(head.id);
  const measured = head?.row.heads.measured[head.index];
  const opened = head === undefined ? "" : link({ ...headInHand(source, head.id, later.value), ...opensAs() });
  return (
    <>
      {head === undefined || measured === undefined ? (
        <p class="quiet part">
          {say`Point at a head, or press an arrow key: what it does is shown here. Click opens it.`}
        </p>
      ) : (
        <Labelled label={say`The head in hand`}>
          <p class="big">{nameOf(head)}</p>
          <p class="quiet">{say`block ${head.row.block}, head ${head.index}, ${head.row.band.replace(/:.*/, "")}`}</p>
          <p class="said">{sentenceOf(measured, marks)}</p>
          {lost !== undefined && worth !== null && (
            <p class="then">{say`Without it: ${heard(worth.measure)} ${<b>{lostBy(lost, worth.unit)}</b>}`}</p>
          )}
          <Bars head={head} measured={measured} />
          <Strongest head={head} />
          <p>
            <a class="strong" href={opened}>
              {say`Open this head →`}
            </a>
          </p>
        </Labelled>
      )}
      <Labelled label={say`What the heads do, and how that looks in a picture`}>
        <ul class="groups">
          {groups.map(({ job, heads }) => (
            <li key={job}>
              <button
                type="button"
                aria-pressed={only === job}
                onClick={() => go({ only: only === job ? "" : job }, true)}
              >
                <Mark job={job} />
                <span>{whereOf(job, marks)}</span>
                <b>{heads.length}</b>
              </button>
            </li>
          ))}
        </ul>
      </Labelled>
    </>
  );
}

/** Each of these is one token, wherever there is one. */
const ONE: readonly Measure[] = ["previous", "self", "next", "first"];

/** The shares of a head's attention as bars on one scale; the tick is what an even look would give. */
function Bars({ head, measured }: { head: Head; measured: Measured }): VNode {
  const { names, source } = useStore();
  const { sentence } = later.value;
  // The measures of a part of a text are of what goes there.
  const key = head.row.heads.shown === undefined ? `${head.id} ${sentence}` : null;
  const { value } = useFound(key, async () => ({
    of: key,
    even: await evenHead(source, names, head.row.attention, sentence, head.index),
  }));
  const even = value?.of === key && key !== null ? value.even : undefined;
  const tick = (measure: Measure): number => {
    return even?.[measure] ?? (ONE.includes(measure) ? measured.even : Number.NaN);
  };
  return (
    <>
      <dl class="bars">
        {PLACES.filter(([measure]) => !Number.isNaN(measured[measure])).map(([measure, text]) => (
          <div key={measure}>
            <dt>{text}</dt>
            <dd>
              <i style={{ width: `${100 * measured[measure]}%`, background: `var(--job-${measure})` }} />
              {!Number.isNaN(tick(measure)) && (
                <s data-even={tick(measure)} style={{ left: `${100 * Math.min(tick(measure), 1)}%` }} />
              )}
            </dd>
            <dd>{percent(measured[measure])}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        {say`${short(atOnce(measured), 1)} tokens on average${Number.isNaN(measured.distance) ? "" : say`, ${short(measured.distance, 1)} tokens away`}; largest share ${percent(measured.largest)}. Tick: what a head would give that looks evenly, ${percent(measured.even)} for each token`}
      </p>
    </>
  );
}

/** So many pairs of words are named. */
const PAIRS = 4;

/** The pairs of words with the largest weights, each with another word that looks. */
function Strongest({ head }: { head: Head }): VNode | null {
  const { names, source } = useStore();
  const { sentence } = later.value;
  const [found, setFound] = useState<{ of: string; pairs: [number[], number][] }>({ of: "", pairs: [] });
  const name = `${head.row.attention}.weights`;
  const key = `${head.id} ${sentence}`;
  useEffect(() => {
    let current = source.whole;
    if (!current) return;
    const [sentences = 1, , queries = 1, keys = 1] = source.shape(name) ?? [];
    const index = [Math.min(sentence, sentences - 1), head.index];
    void source.numbersAt(name, index).then((square) => {
      if (!current || square === undefined) return;
      const best = range(queries, (query): [number[], number] => {
        let most = 0;
        for (let at = 0; at < keys; at++) {
          if ((square[query * keys + at] ?? 0) > (square[query * keys + most] ?? 0)) most = at;
        }
        return [[...index, query, most], square[query * keys + most] ?? 0];
      });
      setFound({ of: key, pairs: best.sort((one, two) => two[1] - one[1]).slice(0, PAIRS) });
    });
    return () => {
      current = false;
    };
  }, [source, key]);
  if (found.of !== key) return null;
  return (
    <ul class="pairs">
      {found.pairs.map(([cell, share]) => (
        <li key={cell.join()}>
          {names.cell(name, cell, ["query", "key"])}{" "}
          <a class="attention" href={toNumber(name, cell, names)}>
            {short(share)}
          </a>
        </li>
      ))}
    </ul>
  );
}
