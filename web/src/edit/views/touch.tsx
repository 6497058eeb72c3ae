/** Beside a number: what can be done to it. The keys do the same from anywhere on the page. */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { inPicture, readLater, state } from "../../address/state.ts";
import { short } from "../../numbers/written.ts";
import type { Answer, Store } from "../../run/store.ts";
import { Command } from "../../views/command.tsx";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { type Act, actsFor, canSet } from "../changes/acts.ts";
import { formatChanges, replaces } from "../changes/changes.ts";
import { useSession } from "../session/context.ts";
import type { Session } from "../session/session.ts";
import { held, put, taken, unfit } from "./held.ts";
import { FromA } from "./of_both.tsx";

function make(session: Session, { change, back }: Act): void {
  if (back) session.set(session.changes.filter((each) => !replaces(change, each)));
  else session.add(change);
}

/** Takes a number along. */
function take(
  store: Store,
  session: Session,
  place: { readonly name: string; readonly cell: readonly number[] },
): void {
  taken(store, place).then(
    (found) => {
      held.value = found;
    },
    (error: unknown) => {
      session.told.value = [error instanceof Error ? error.message : String(error)];
    },
  );
}

/** The keys of changes, for the number in hand. */
export function useEditKeys(): void {
  const session = useSession();
  const store = useStore();
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || written(event.target)) return;
      if (session.engine.why !== "") return;
      if (event.key === "u") {
        if (session.canUndo) session.undo();
        return;
      }
      const { tensor, cell } = state.value;
      if (tensor === "" || !inPicture.value) return;
      if (event.key === "c") take(store, session, { name: tensor, cell });
      if ("vV".includes(event.key) && held.value !== null) {
        put(held.value, { name: tensor, cell }, event.key === "V", session, store);
      }
      if (!"fFhlL".includes(event.key)) return;
      void store
        .open([tensor.replace(/_attention\..*$/, "_attention.may_look")].filter((name) => store.names.knows(name)))
        .then(() => {
          const act = actsFor(tensor, cell, store.names, store.fetch, session.changes).find(
            ({ key }) => key === event.key,
          );
          if (act !== undefined) make(session, act);
        });
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [session, store]);
}

function written(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
  );
}

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
    <div class="part touch">
      <p class="label">{say`Change it`}</p>
      {was !== null && value !== null && was !== value && (
        <p class="quiet">{say`before the last change: ${<b>{short(was)}</b>}`}</p>
      )}
      {canSet(name, names) && <SetNumber key={`${name} ${cell.join()}`} answer={answer} />}
      <ul class="acts">
        <TakenAlong answer={answer} />
        <FromA answer={answer} />
        {acts.map((act) => (
          <li key={formatChanges([act.change])}>
            <button type="button" onClick={() => make(session, act)}>
              {act.text} {act.key !== "" && <kbd>{act.key}</kbd>}
            </button>
          </li>
        ))}
      </ul>
    </div>
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
  return Number(typed.trim().replace("−", "-").replace(",", "."));
}

function TooLarge(): VNode {
  const session = useSession();
  const { command = "" } = useStore().names.run.editing ?? {};
  return (
    <div class="part">
      <p class="label">{say`Change it`}</p>
      <p>
        {say`Numbers are checked here, not changed. ${session.engine.why} ${command !== "" && say`A live page changes them:`}`}
      </p>
      {command !== "" && <Command text={command} />}
    </div>
  );
}
