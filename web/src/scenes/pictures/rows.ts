/** Every picture of the source documents: where it is in this page, or why this run has none. */

import { parse, type State } from "../../address/state.ts";
import { MissingTensor } from "../../formulas/evaluator.ts";
import type { Scout } from "../../scout/scout.ts";
import { heard, say } from "../../words/say.ts";
import { SCENES, type TourScene } from "../scenes.ts";

/** A row of `glassformer/page/pictures.toml`. */
export interface Listed {
  readonly key: string;
  readonly document: string;
  readonly where: string;
  readonly title: string;
  readonly says: string;
  /** The part of an address that chooses the view. */
  readonly open?: string;
  /** The tensor in hand: its whole name, or `attention.query` and the like. */
  readonly tensor?: string;
  /** What a run must have, a key of `reasons`. */
  readonly needs?: string;
}

export interface Listing {
  readonly documents: Readonly<Record<string, string>>;
  readonly reasons: Readonly<Record<string, string>>;
  readonly picture: readonly Listed[];
}

/** Where a picture is, or why it is nowhere. */
export type Place = { readonly at: Partial<State> } | { readonly lacks: string };

const NEEDS: Readonly<Record<string, (s: Scout) => boolean>> = {
  attention: (s) => s.attends,
  hidden: (s) => s.names.run.words.answers.length > 0 || "inputs.masked_words" in s.names.run.facts,
  crossing: (s) => s.crossing !== "",
  ahead: (s) => s.formula(s.of("may_look"))?.rule["causal"] === true || s.crossing !== "",
  scaled: (s) => s.has(s.of("scaled")),
  norm: (s) => s.ending("norm").length > 0,
  vocabulary: (s) => s.has("head.probabilities"),
  sines: (s) => s.formula(s.embed("position"))?.rule.rule === "sinusoid",
  positions: (s) => s.has(s.embed("position")),
};

export function placeOf(row: Listed, listing: Listing, s: Scout): Place {
  if (row.needs !== undefined && NEEDS[row.needs]?.(s) !== true)
    return { lacks: heard(listing.reasons[row.needs] ?? "") };
  const view = parse(`#${row.open ?? ""}`);
  const { level, scene, picture, show, options, layout } = view;
  const seen = { level, scene, picture, show, options, layout, at: [], tour: view.tour };
  if (level === "scene") {
    const shown = SCENES[scene];
    if (shown === undefined) return { lacks: say`This version of the page does not have it.` };
    const lacks = lacksOf(shown, s);
    return lacks === null ? { at: seen } : { lacks };
  }
  if (row.tensor === undefined) return { at: seen };
  const name = nameOf(row.tensor, s);
  if (name === undefined)
    return {
      lacks: say`This model has no ${row.tensor
        .split(".")
        .map((part) => heard(part.replaceAll("_", " ")))
        .join(" ")}.`,
    };
  // Of a large run nothing has been fetched yet: the picture finds its own number.
  if (s.fetch(name) !== undefined || s.names.run.weights[name] !== undefined)
    return { at: { ...s.at(level, name), ...seen } };
  const unit = s.formula(name)?.unit ?? "";
  return { at: { unit, tensor: name, cell: s.names.axes(name).map(() => 0), ...seen } };
}

/** Why a run has no such picture; what has not been fetched yet is no reason. */
function lacksOf(shown: TourScene, s: Scout): string | null {
  try {
    return shown.lacks?.(s, shown.section === undefined || hasSection(shown.section, s) ? undefined : null) ?? null;
  } catch (error) {
    if (error instanceof MissingTensor) return null;
    throw error;
  }
}

/** Whether a page has a section, as its server says, or as it is in the file. */
function hasSection(name: string, { names: { run } }: Scout): boolean {
  const { sections } = run as { readonly sections?: readonly string[] };
  return (
    sections?.includes(name) ?? (typeof document !== "undefined" && document.getElementById(`section-${name}`) !== null)
  );
}

/** `attention.x`, `embed.x`, `block.x` and `cross.x` of the run; else the whole name. */
function nameOf(short: string, s: Scout): string | undefined {
  const [part, ...rest] = short.split(".");
  const last = rest.join(".");
  const cross = s.crossing.replace(/weights$/, last);
  const whole = {
    attention: s.of(last),
    embed: s.embed(last),
    block: s.after(last),
    cross,
    table: s.weight(s.of(last)),
  }[part ?? ""];
  return s.names.knows(whole ?? short) ? (whole ?? short) : undefined;
}

/** Pictures that no document has: those of the page's own table that no row names. */
export function others(listing: Listing): string[] {
  const named = new Set(listing.picture.map(({ open }) => parse(`#${open ?? ""}`).scene));
  return Object.keys(SCENES).filter((scene) => !named.has(scene));
}
