/** The texts of the tour, which travel beside the page: a block of an exported file, an answer of a server. */

import { unpacked } from "../run/source.ts";

export interface Text {
  readonly [field: string]: string | Readonly<Record<string, string>>;
}

export type Texts = Readonly<Record<string, Text>>;

let known: Promise<Texts> | undefined;

export function loadTexts(): Promise<Texts> {
  known ??= load();
  known.catch(() => {
    known = undefined;
  });
  return known;
}

async function load(): Promise<Texts> {
  if (document.getElementById("tour") !== null) {
    return JSON.parse(new TextDecoder().decode(await unpacked("tour"))) as Texts;
  }
  const answer = await fetch("api/tour");
  if (!answer.ok) throw new Error(`the server has not sent the texts of the tour: ${answer.statusText}`);
  return (await answer.json()) as Texts;
}

/** A field of a step's text, in the variant that fits the model. */
export function field(text: Text | undefined, name: string, variant = ""): string {
  const own = text?.[variant];
  const found = (typeof own === "object" ? own[name] : undefined) ?? text?.[name];
  return typeof found === "string" ? found : "";
}
