/** The run that is kept as A, as the address holds it: `SENTENCE,MODEL,CHANGES`; `*` for all sentences. */

export interface Kept {
  /** The one sentence of it that every sentence of B is compared with; null = each with its own. */
  readonly row: number | null;
  /** As in the state: empty for the model that the page began with. */
  readonly model: string;
  readonly changes: string;
}

export function formatKept({ row, model, changes }: Kept): string {
  return [row ?? "*", encodeURIComponent(model), changes].join(",");
}

/** What an address keeps; null where it keeps nothing, or says so wrongly. */
export function parseKept(text: string): Kept | null {
  const [, row = "", model = "", changes = ""] = /^(\*|\d{1,6}),([^,]*),(.*)$/s.exec(text) ?? [];
  if (row === "") return null;
  try {
    return { row: row === "*" ? null : Number(row), model: decodeURIComponent(model), changes };
  } catch {
    return null;
  }
}
