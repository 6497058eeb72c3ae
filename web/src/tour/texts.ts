/** The texts of the tours, which travel beside the page: a block of an exported file, an answer of a server. */

import { unpacked } from "../run/source.ts";

export interface Text {
  readonly [field: string]: string | Readonly<Record<string, string>>;
}

/** The texts of each step by its key. */
export type Texts = Readonly<Record<string, Text>>;

let known: Promise<Readonly<Record<string, Texts>>> | undefined;

/** The texts of each tour by its name. */
export function loadTexts(): Promise<Readonly<Record<string, Texts>>> {
  known ??= load();
  known.catch(() => {
    known = undefined;
  });
  return known;
}

async function load(): Promise<Readonly<Record<string, Texts>>> {
  if (document.getElementById("tour") !== null) {
    return JSON.parse(new TextDecoder().decode(await unpacked("tour"))) as Readonly<Record<string, Texts>>;
  }
  const answer = await fetch("api/tour");
  if (!answer.ok) throw new Error(`the server has not sent the texts of the tour: ${answer.statusText}`);
  return (await answer.json()) as Readonly<Record<string, Texts>>;
}

/** A field of a step's text, in the variant that fits the model. */
export function field(text: Text | undefined, name: string, variant = ""): string {
  const own = text?.[variant];
  const found = (typeof own === "object" ? own[name] : undefined) ?? text?.[name];
  return typeof found === "string" ? found : "";
}
