/** A number that is put in the place of another, or its row in the place of another row: dragged there, or by the keys c and v. */

import { signal } from "@preact/signals";
import { state } from "../../address/state.ts";
import type { Store } from "../../run/store.ts";
import { problemOf } from "../../sources/refused.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { canSet } from "../changes/acts.ts";
import { type Change, withChange } from "../changes/changes.ts";
import { useSession } from "../session/context.ts";
import type { Session } from "../session/session.ts";

/** A row is put number by number, one change each: the address has to hold them. */
export const LONGEST = 32;

/** A cell of a tensor. */
export interface Place {
  readonly name: string;
  readonly cell: readonly number[];
}

/** A number as it was when it was taken along. */
export interface Held extends Place {
  readonly value: number;
  /** The numbers along its last axis, itself among them; empty where they are too many to be put one by one. */
  readonly row: readonly number[];
}

export const held = signal<Held | null>(null);

/** Reads a number and its row; throws where they cannot be had. */
export async function taken({ source, shape }: Store, { name, cell }: Place): Promise<Held> {
  const long = shape(name)?.[cell.length - 1] ?? 0;
  const whole = long <= LONGEST && cell.length > 1;
  const numbers = await source.numbersAt(name, whole ? cell.slice(0, -1) : cell);
  const value = numbers?.[whole ? (cell.at(-1) ?? 0) : 0];
  if (numbers === undefined || value === undefined) throw new Error(say`This page does not carry ${name}.`);
  return { name, cell, value, row: whole ? Array.from(numbers) : [] };
}

/** Why a number, or a row, cannot be put there, in a sentence; null where it can. */
export function unfit({ value, row }: Held, to: Place, whole: boolean, session: Session, store: Store): string | null {
  if (session.engine.why !== "") return session.engine.why;
  if (state.value.shown !== "") return say`Only B can be changed: show it first.`;
  if (!canSet(to.name, store.names)) return say`${store.names.title(to.name)} cannot be set: no formula works it out.`;
  const numbers = whole ? row : [value];
  if (whole && row.length === 0) return say`A row of more than ${LONGEST} numbers is not put number by number.`;
  const long = store.shape(to.name)?.[to.cell.length - 1] ?? 0;
  if (whole && row.length !== long) return say`A row of ${row.length} numbers does not fit into one of ${long}.`;
  return numbers.every(Number.isFinite) ? null : say`−∞ cannot be put in the place of a number.`;
}

/** Puts it there, or all of its row, as one change that can be undone. */
export function put(found: Held, to: Place, whole: boolean, session: Session, store: Store): void {
  const wrong = unfit(found, to, whole, session, store);
  if (wrong !== null) {
    session.told.value = [wrong];
    return;
  }
  const last = to.cell.length - 1;
  const steps = (whole ? found.row : [found.value]).map((by, step): Change => {
    const cell = whole ? to.cell.map((index, axis) => (axis === last ? step : index)) : to.cell;
    return { kind: "replace", where: to.name, by, cell: [...cell] };
  });
  session.set(steps.reduce((all, step) => withChange(all, step), session.changes));
}

/** What a picture does with a cell that was dragged onto another; undefined where nothing can be changed. */
export function usePut(): ((from: Place, to: Place, whole: boolean) => void) | undefined {
  const session = useSession();
  const store = useStore();
  if (session.engine.why !== "") return undefined;
  return (from, to, whole) => {
    taken(store, from).then(
      (found) => put(found, to, whole, session, store),
      (error: unknown) => {
        session.told.value = [problemOf(error)];
      },
    );
  };
}
