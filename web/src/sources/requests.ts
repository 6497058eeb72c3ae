/** Requests to the server. */

import { QUERIES, RUN_PATH } from "./addresses.ts";
import { carrier } from "./carrier.ts";
import { RefusedError } from "./refused.ts";
import { bytesBeside, toldBeside } from "./source.ts";

export function modelPath(name: string): string {
  return `api/models/${encodeURIComponent(name)}`;
}

/** What a part of a run is asked with. */
export type Query<What extends keyof typeof QUERIES> = Readonly<Record<(typeof QUERIES)[What][number], string>>;

/** Where that part of a run is asked for, written as the server writes it. */
export function runPath<What extends keyof typeof QUERIES>(key: string, what: What, query: Query<What>): string {
  const names: readonly (typeof QUERIES)[What][number][] = QUERIES[what];
  const asked = new URLSearchParams(names.map((name) => [name, query[name]])).toString();
  return RUN_PATH.replace("{key}", key).replace("{what}", what) + (asked === "" ? "" : `?${asked}`);
}

export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const answer = await carrier.fetch(path, options);
  if (answer.ok) return answer;
  const told = (await answer.json().catch(() => null)) as {
    error?: ConstructorParameters<typeof RefusedError>[1];
  } | null;
  throw new RefusedError(answer.status, told?.error ?? { text: answer.statusText, wanted: "", got: "", do: "" });
}

/** What is asked for; at once where it came with the page. */
export async function inJson(path: string, signal?: AbortSignal): Promise<unknown> {
  return toldBeside(path) ?? (await request(path, { signal: signal ?? null })).json();
}

export async function inBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return bytesBeside(path) ?? (await request(path, { signal: signal ?? null })).arrayBuffer();
}
