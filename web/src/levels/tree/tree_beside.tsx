/** Beside the search: the node in hand, its score as a sum with each addend, and why it did or did not go on. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { link, state } from "../../address/state.ts";
import { useSession } from "../../edit/session/context.ts";
import { counted, power, short } from "../../numbers/written.ts";
import { Command } from "../../views/command.tsx";
import { useStore } from "../../views/hooks.ts";
import { Labelled } from "../../views/pieces.tsx";
import { pointedSpot } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { canOpen, openNode, placeOf, useRead, useSearch } from "./held.ts";
import { chose, stepOf } from "./written/line.ts";
import type { Node, Search } from "./written/search.ts";

export function TreeBeside(): VNode | null {
  const { search } = useSearch();
  const { at, picture } = state.value;
  const pointed = pointedSpot.value;
  if (picture === "words") return <StepBeside search={search} />;
  const own = search?.node(pointed === null ? at[0] : Number(pointed)) ?? search?.first;
  if (search === null || own === undefined) return null;
  return <Inside search={search} node={own} />;
}

function Inside({ search, node }: { search: Search; node: Node }): VNode {
  const store = useStore();
  const session = useSession();
  const { sentence } = state.value;
  const read = useRead(store, sentence);
  const here = read !== null && chose(search, node, read);
  const text = search.textUpTo(node);
  return (
    <>
      <Labelled label={say`The word in hand, at step ${node.step + 1}`}>
        <p class="big">
          <bdi>{search.word(node)}</bdi>
        </p>
        {text !== "" && (
          <p>
            <bdi>{text}</bdi>
          </p>
        )}
        <p class="said">{search.why(node)}</p>
        {node.draw !== null && (
          <p>
            {say`Drawn: ${short(node.draw[0])} lies between ${short(node.draw[1])} and ${short(node.draw[2])}, the part of this word among all, ${short(node.share ?? 0)} long.`}
          </p>
        )}
      </Labelled>
      <div class="part">
        {here || canOpen(session) ? (
          <button type="button" class="opens strong" onClick={() => openNode(session, search, node, read)}>
            {say`Open as a trace →`}
          </button>
        ) : (
          <p>
            {say`This page carries the run of the answer alone. This word opens live:${<Command text={session.store.value.names.run.editing?.command ?? ""} />}`}
          </p>
        )}
      </div>
      <Sum search={search} node={node} read={read} />
      <Answers search={search} />
    </>
  );
}

/** The sum of the log-probabilities, and what it is divided by. */
function Sum({ search, node, read }: { search: Search; node: Node; read: readonly number[] | null }): VNode {
  const { names, source } = useStore();
  const { sentence } = state.value;
  const path = search.path(node);
  const { settings, never } = search.record;
  const sum = path.reduce((total, each) => total + each.log_probability, 0);
  const places = path.map((each) => {
    return read !== null && chose(search, each, read) ? placeOf(names, sentence, stepOf(search, each)) : -1;
  });
  const [off, setOff] = useState<{ of: string; error: number; count: number } | null>(null);
  const key = `${node.number} ${places.join()}`;
  useEffect(() => {
    let current = true;
    const check = async (): Promise<void> => {
      let [error, count] = [0, 0];
      for (const [at, place] of places.entries()) {
        const row = place < 0 ? undefined : await source.numbersAt("head.log_probabilities", [place]);
        if (row === undefined) continue;
        const none = never.reduce((share, token) => share + Math.exp(row[token] ?? -Infinity), 0);
        const found = (row[path[at]?.token ?? 0] ?? 0) - Math.log1p(-none);
        error = Math.max(error, Math.abs(found - (path[at]?.log_probability ?? 0)));
        count += 1;
      }
      if (current) setOff({ of: key, error, count });
    };
    void check();
    return () => {
      current = false;
    };
  }, [source, key, search]);
  const checked = off?.of === key && off.count > 0 ? off : null;
  const n = path.length;
  const power_ = settings.length_penalty;
  const other = Math.abs(sum - node.total) > 1e-4 * Math.max(1, Math.abs(sum));
  return (
    <Labelled label={say`Its total: the log-probability of each word, added up`}>
      <table class="addends">
        <tbody>
          {path.map((each, at) => {
            const place = places[at] ?? -1;
            const value = short(each.log_probability);
            const cell = [place, each.token];
            return (
              <tr key={each.number}>
                <th>
                  <a href={link({ at: [each.number] })}>
                    <bdi>{search.word(each)}</bdi>
                  </a>
                </th>
                <td data-value={each.log_probability}>
                  {place < 0 ? value : <a href={toNumber("head.log_probabilities", cell, names)}>{value}</a>}
                </td>
              </tr>
            );
          })}
          <tr class="total">
            <th>{say`total`}</th>
            <td data-value={node.total}>{short(node.total)}</td>
          </tr>
        </tbody>
      </table>
      {other && <p>{say`The settings change words that have occurred: without that it were ${short(sum)}.`}</p>}
      {settings.method === "beam" && (
        <>
          <p class="label">{node.fate === "answer" ? say`Its score` : say`Its score, if it ended here`}</p>
          <p class="tree-score">
            {short(node.total)} / {settings.length_penalty_form === "power" ? `${n}` : `((5 + ${n}) / 6)`}
            <sup>{power_}</sup>
            {node.coverage !== 0 && ` − ${short(-node.coverage)}`} = <b data-value={node.score}>{short(node.score)}</b>
          </p>
          <p class="quiet">
            {say`Divided by ${short(node.penalty)}, for ${counted(n, "token")}, α = ${power_}${node.coverage !== 0 && say`; less what source words that were not looked at cost`}.`}
          </p>
        </>
      )}
      {checked !== null && (
        <p class="quiet">
          {say`${checked.count === n ? say`Each` : say`${checked.count} of ${n}`} compared with the trace${never.length > 0 && say`, where tokens that no answer has keep their share`}: same to ${power(checked.error)}.`}
        </p>
      )}
    </Labelled>
  );
}

/** The complete answers, the best first. */
function Answers({ search }: { search: Search }): VNode | null {
  const { answers } = search.record;
  if (answers.length < 2) return null;
  return (
    <Labelled label={say`Complete answers`}>
      <ol class="answers-found">
        {answers.map((number) => {
          const node = search.node(number);
          if (node === undefined) return null;
          return (
            <li key={number}>
              <a href={link({ at: [number] })}>
                <bdi>{search.textUpTo(node) || say`(no words)`}</bdi>
              </a>{" "}
              <b>{short(node.score)}</b>
            </li>
          );
        })}
      </ol>
    </Labelled>
  );
}

/** Beside a text as it is written: the node of the search that was opened. */
function StepBeside({ search }: { search: Search | null }): VNode | null {
  const store = useStore();
  const { sentence, at } = state.value;
  const read = useRead(store, sentence);
  const node = search?.node(at[1]);
  if (search === null || node === undefined) return null;
  return (
    <Labelled label={say`From the search`}>
      <p class="strong">
        <bdi>{search.textUpTo(node) || search.word(node)}</bdi>
      </p>
      <p>{search.why(node)}</p>
      {read !== null && !chose(search, node, read) && <p class="quiet">{say`This run has not read it.`}</p>}
      <p>
        <a class="strong" href={link({ picture: "", at: [node.number] })}>
          {say`Back to the search tree`}
        </a>
      </p>
    </Labelled>
  );
}
