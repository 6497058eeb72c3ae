/** What the files are called that are saved from a page, and how they are handed to the browser. */

import type { State } from "../address/state.ts";
import { say } from "../words/say.ts";

/** The longest part of a name that any system takes, with room for an ending and a folder. */
const LONGEST = 120;

/** `slides-encoder.blocks.0.self_attention.weights-0.1.2.3.svg`: model, tensor, cell; letters and digits of any script. */
export function fileName(parts: readonly (string | readonly number[])[], ending: string): string {
  const named = parts.map((part) => (typeof part === "string" ? part : part.join("."))).filter((part) => part !== "");
  const plain = named
    .join("-")
    .normalize("NFC")
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
  return `${[...plain].slice(0, LONGEST).join("") || "glassformer"}.${ending}`;
}

/** What a picture is named by: the part of the model, or the tensor, or one of its cells. */
export function placeName({ level, unit, tensor, cell }: State): (string | readonly number[])[] {
  if (level === "tensor" || level === "number") return [tensor, cell];
  return level === "block" ? [unit] : [level];
}

/** Has the browser save it. No policy of a page speaks of this: nothing is fetched and nothing is left. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads it after this turn; a large one takes its time.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Puts a text on the clipboard; throws where the browser forbids it. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    (document.querySelector("[data-saving]") ?? document.body).append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error(say`this browser does not let a page copy: copy the address above it`);
  }
}

/** 12 kB */
export function bytes(count: number): string {
  if (count < 1000) return say`${count} bytes`;
  return count < 1e6 ? say`${Math.round(count / 1000)} kB` : say`${(count / 1e6).toFixed(1)} MB`;
}
