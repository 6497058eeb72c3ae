/** Commands that give what a page lacks, with the model and the texts of its own run. */

import type { RunRecord } from "./record.ts";

/** A word of a command as a shell reads it. */
export function quoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", `'"'"'`)}'` : `"${text}"`;
}

/** What the command line calls the model; null where the page does not know. */
export function modelOf({ editing }: Pick<RunRecord, "editing">): string | null {
  return /^glassformer explore ('[^']*'|\S+)/.exec(editing?.command ?? "")?.[1] ?? null;
}

/** `glassformer explain` for this run with more options; `texts` stand in the place of its own. */
export function explains(run: Pick<RunRecord, "editing">, options: string, texts = run.editing?.texts): string {
  const model = modelOf(run);
  const all = model === null ? ["MODEL", '"your text"'] : [model, ...(texts ?? []).map(quoted)];
  return `glassformer explain ${all.join(" ")} ${options} --html page.html`;
}

/** The same for two texts of which one is longer: half of the first one, and all of it. */
export function explainsPadded(run: Pick<RunRecord, "editing">): string {
  const known = modelOf(run) === null ? undefined : run.editing?.texts?.[0];
  if (known === undefined) {
    return 'glassformer explain english "She likes the [MASK]." "He loves to [MASK] every day." --html page.html';
  }
  const words = known.split(" ");
  const half = words.slice(0, Math.ceil(words.length / 2)).join(" ");
  return explains(run, "", words.length > 1 ? [half, known] : [known, `${known} ${known}`]).replace("  ", " ");
}
