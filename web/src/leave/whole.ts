/** What leaves the page whole: a tensor of any size, and the page itself with all its numbers. */

import { format, type State } from "../address/state.ts";
import { sizeOf, type Tensor } from "../numbers/safetensors.ts";
import { grouped } from "../numbers/written.ts";
import { DifferenceSource } from "../sources/difference.ts";
import { isServed } from "../sources/served.ts";
import type { Source } from "../sources/source.ts";
import { LANGUAGE } from "../words/say.ts";
import { withoutScript } from "./notice.ts";

/** What a server sends at once, and what a page gathers of it. */
const [AT_ONCE, AT_MOST] = [1 << 22, 1 << 27];

/** A tensor with all its numbers, fetched in parts where it is too large for one; throws where it cannot be had. */
export async function wholeTensor(source: Source, name: string): Promise<Tensor> {
  const found = await source.tensor(name);
  if (found !== undefined) return found;
  if (!isServed(source)) throw new Error(`this page does not carry ${name}`);
  const shape = source.run.shapes[name] ?? source.run.weights[name];
  if (shape === undefined) throw new Error(`nobody knows the sizes of ${name}`);
  const size = sizeOf(shape);
  if (size > AT_MOST) {
    const most = grouped(AT_MOST);
    throw new Error(`at most ${most} numbers are saved from here, this tensor has ${grouped(size)}`);
  }
  let data: Float32Array | Float64Array | undefined;
  let dtype: string | undefined;
  let filled = 0;
  for (const part of partsOf(shape)) {
    const piece = await source.part(name, part);
    data ??= piece.data instanceof Float64Array ? new Float64Array(size) : new Float32Array(size);
    dtype ??= piece.dtype;
    data.set(piece.data, filled);
    filled += piece.data.length;
  }
  return { shape, data: data ?? [], ...(dtype === undefined ? {} : { dtype }) };
}

/** Ranges along the axes that follow each other in memory, none larger than what is sent at once: `0,3:5`. */
export function partsOf(shape: readonly number[], most = AT_ONCE): string[] {
  const [count = 1, ...rest] = shape;
  const each = sizeOf(rest);
  if (count * each <= most) return [""];
  const found: string[] = [];
  if (each > most) {
    const inner = partsOf(rest, most);
    for (let step = 0; step < count; step++) for (const part of inner) found.push(`${step},${part}`);
  } else {
    const steps = Math.floor(most / each);
    for (let start = 0; start < count; start += steps) found.push(`${start}:${Math.min(start + steps, count)}`);
  }
  return found;
}

/**
 * The page of a run as one file. An exported page is written again from what it carries; of a live one the server
 * writes it, with its changes made. It opens at the view of `at`; of A − B it is the page of B.
 */
export async function wholePage(shown: Source, at: State): Promise<Blob> {
  const source = shown instanceof DifferenceSource ? shown.b : shown;
  const served = isServed(source);
  const text = served ? await source.page() : ownPage();
  const place = format(served ? { ...at, model: "", changes: "", kept: "", shown: "" } : at);
  // What the server has written has its language already.
  const spoken = text.includes("data-language") || LANGUAGE === "en" ? "" : ` data-language="${LANGUAGE}"`;
  return new Blob([text.replace('<html lang="en"', `<html lang="en"${spoken} data-place="${attribute(place)}"`)], {
    type: "text/html",
  });
}

/** The file that this page was read from: what the script has made of it is taken out again. */
function ownPage(): string {
  const page = document.documentElement.cloneNode(true) as HTMLElement;
  for (const name of page.getAttributeNames()) page.removeAttribute(name);
  page.lang = "en";
  for (const element of page.querySelectorAll("body > *")) {
    if (element.id === "explorer") element.replaceChildren(...withoutScript());
    else if (element.localName !== "script") element.remove();
  }
  for (const element of page.querySelectorAll("[data-unpacked]")) element.remove();
  // What follows the body in a file is read into it.
  while (page.lastElementChild?.lastChild instanceof Text) page.lastElementChild.lastChild.remove();
  return `<!doctype html>\n${page.outerHTML}\n`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
