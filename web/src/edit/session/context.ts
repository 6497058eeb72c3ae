/** The session that the views of a page share. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./session.ts";

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("a view stands outside of the page");
  return session;
}
