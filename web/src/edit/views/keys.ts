/** The keys that change the number in hand, from anywhere on the page. */

import { useLayoutEffect } from "preact/hooks";
import { state } from "../../address/state.ts";
import type { Store } from "../../run/store.ts";
import { problemOf } from "../../sources/refused.ts";
import { useStore } from "../../views/hooks.ts";
import { plain } from "../../views/plain.ts";
import { type Act, actsFor } from "../changes/acts.ts";
import { replaces } from "../changes/changes.ts";
import { useSession } from "../session/context.ts";
import type { Session } from "../session/session.ts";
import { held, put, taken } from "./held.ts";

export function make(session: Session, { change, back }: Act): void {
  if (back) session.set(session.changes.filter((each) => !replaces(change, each)));
  else session.add(change);
}

/** Takes a number along. */
export function take(
  store: Store,
  session: Session,
  place: { readonly name: string; readonly cell: readonly number[] },
): void {
  taken(store, place).then(
    (found) => {
      held.value = found;
    },
    (error: unknown) => {
      session.told.value = [problemOf(error)];
    },
  );
}

/** The keys of changes, for the number in hand where one is shown. */
export function useEditKeys(shown: boolean): void {
  const session = useSession();
  const store = useStore();
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!plain(event) || session.engine.why !== "") return;
      if (event.key === "u") {
        if (session.canUndo) session.undo();
        return;
      }
      if (!shown) return;
      const { tensor, cell } = state.value;
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
  }, [session, store, shown]);
}
