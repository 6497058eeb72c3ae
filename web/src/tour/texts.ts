/** The texts of the tours, which are sent with the page: a block of an exported file, an answer of a server. */

import { unpacked } from "../sources/source.ts";
import { heard, say } from "../words/say.ts";

export interface Text {
  readonly [field: string]: string | Readonly<Record<string, string>>;
}

/** The texts of each step by its key. */
export type Texts = Readonly<Record<string, Text>>;

const known = new Map<string, Promise<unknown>>();

/** The texts of each tour by its name. */
export function loadTexts(): Promise<Readonly<Record<string, Texts>>> {
  return loadBlock("tour");
}

/** What is sent with a page: a block of an exported file, an answer of a server. */
export function loadBlock<Block>(name: "tour" | "pictures" | "quiz"): Promise<Block> {
  const asked = known.get(name) ?? load(name);
  known.set(name, asked);
  asked.catch(() => known.delete(name));
  return asked as Promise<Block>;
}

async function load(name: string): Promise<unknown> {
  if (document.getElementById(name) !== null) return JSON.parse(new TextDecoder().decode(await unpacked(name)));
  const answer = await fetch(`api/${name}`);
  if (!answer.ok) throw new Error(say`the server has not sent the ${name}: ${answer.statusText}`);
  return answer.json();
}

/** A field of a step's text, in the variant that fits the model. */
export function field(text: Text | undefined, name: string, variant = ""): string {
  const own = text?.[variant];
  const found = (typeof own === "object" ? own[name] : undefined) ?? text?.[name];
  return typeof found === "string" ? heard(found) : "";
}
