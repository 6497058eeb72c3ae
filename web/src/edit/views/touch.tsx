/** Next to a number: what can be done to it. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { readLater } from "../../address/state.ts";
import { short } from "../../numbers/written.ts";
import type { Answer } from "../../run/store.ts";
import { Command } from "../../views/command.tsx";
import { useStore } from "../../views/hooks.ts";
import { Labelled } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { actsFor, canSet } from "../changes/acts.ts";
import { replaces } from "../changes/changes.ts";
import { useSession } from "../session/context.ts";
import { FromA } from "./from_a.tsx";
import { held, put, unfit } from "./held.ts";
import { make, take } from "./keys.ts";

export function Touch({ answer }: { answer: Answer }): VNode | null {
  const session = useSession();
  const store = useStore();
  const { names } = store;
  const { name, cell } = answer;
  const [, opened] = useState("");
  const mask = name.replace(/_attention\..*$/, "_attention.may_look");
  useEffect(() => {
    if (names.formulas.has(mask)) void store.open([mask]).then(() => opened(`${mask} ${store.names.run.changes}`));
  }, [store, mask]);
  if (!names.formulas.has(name)) return null;
  if (session.engine.why !== "") return <TooLarge />;
  const acts = readLater(() => actsFor(name, cell, names, store.fetch, session.changes));
  const was = session.was(name, cell);
  const value = answer.kind === "computed" ? answer.found.value : answer.value;
  return (
    <Labelled label={say`Change it`}>
      {was !== null && value !== null && was !== value && (
        <p class="quiet">{say`before the last change: ${<b>{short(was)}</b>}`}</p>
      )}
      {canSet(name, names) && <SetNumber key={`${name} ${cell.join()}`} answer={answer} />}
      <ul class="acts">
        <TakenAlong answer={answer} />
        <FromA answer={answer} />
        {acts.map((act) => (
          <li key={act.key || act.text}>
            <button type="button" onClick={() => make(session, act)}>
              {act.text} {act.key !== "" && <kbd>{act.key}</kbd>}
            </button>
          </li>
        ))}
      </ul>
    </Labelled>
  );
}

/** To take this number along, and to put the one that was taken along in its place. */
function TakenAlong({ answer }: { answer: Answer }): VNode {
  const session = useSession();
  const store = useStore();
  const { names } = store;
  const { name, cell } = answer;
  const found = held.value;
  const elsewhere = found !== null && !(found.name === name && found.cell.join() === cell.join());
  const fits = (whole: boolean): boolean => elsewhere && unfit(found, answer, whole, session, store) === null;
  return (
    <>
      <li>
        <button type="button" onClick={() => take(store, session, answer)}>
          {say`Take this number along ${<kbd>c</kbd>}`}
        </button>
      </li>
      {fits(false) && found !== null && (
        <li>
          <button type="button" onClick={() => put(found, answer, false, session, store)}>
            {say`Put ${short(found.value)} here: ${names.title(found.name)}, ${names.cell(found.name, found.cell)} ${<kbd>v</kbd>}`}
          </button>
        </li>
      )}
      {fits(true) && found !== null && (
        <li>
          <button type="button" onClick={() => put(found, answer, true, session, store)}>
            {say`Put its row of ${found.row.length} numbers here ${<kbd>V</kbd>}`}
          </button>
        </li>
      )}
    </>
  );
}

/** A field for a number in the place of this one. */
function SetNumber({ answer }: { answer: Answer }): VNode {
  const session = useSession();
  const { name, cell } = answer;
  const value = answer.kind === "computed" ? answer.found.value : (answer.value ?? 0);
  const [typed, setTyped] = useState("");
  const wrong = typed !== "" && !Number.isFinite(number(typed));
  const change = { kind: "replace", where: name, by: number(typed), cell: [...cell] } as const;
  return (
    <form
      class="set"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed === "" || wrong) return;
        setTyped("");
        session.add({ ...change });
      }}
    >
      <label>
        {say`set it to`}{" "}
        <input
          inputMode="decimal"
          placeholder={short(value)}
          value={typed}
          aria-invalid={wrong}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </label>
      <button type="submit" disabled={typed === "" || wrong}>
        {say`Set`}
      </button>
      {answer.kind === "set" && (
        <button type="button" onClick={() => session.set(session.changes.filter((each) => !replaces(change, each)))}>
          {say`Take back`}
        </button>
      )}
    </form>
  );
}

/** A number as people write it: a true minus sign and a comma are read too. */
function number(typed: string): number {
  return Number(typed.trim().replace("−", "-").replace(",", ".") || Number.NaN);
}

function TooLarge(): VNode {
  const session = useSession();
  const { command = "" } = useStore().names.run.editing ?? {};
  return (
    <Labelled label={say`Change it`}>
      <p>
        {say`Numbers are checked here, not changed. ${session.engine.why} ${command !== "" && say`A live page changes them:`}`}
      </p>
      {command !== "" && <Command text={command} />}
    </Labelled>
  );
}
