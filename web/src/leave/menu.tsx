/** The menu of what can be taken along: the picture, the numbers of the tensor in hand, the page, a link. */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { format, type State, state } from "../address/state.ts";
import { type Palette, pagePalette } from "../draw/colour.ts";
import { cardOf, rasterOf } from "../draw/raster.ts";
import { arrangement } from "../draw/sheet.ts";
import { svgOf } from "../draw/svg.ts";
import type { Names } from "../formulas/names.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import { dtypeOf, writeTensor } from "../record/write_safetensors.ts";
import { problemOf } from "../sources/refused.ts";
import { isServed } from "../sources/served.ts";
import type { Source } from "../sources/source.ts";
import { useStore } from "../views/hooks.ts";
import { say } from "../words/say.ts";
import { cellsCsv, sheetCsv } from "./csv.ts";
import { bytes, copy, fileName, placeName, save } from "./files.ts";
import { plateOf } from "./plate.ts";
import { wholePage, wholeTensor } from "./whole.ts";

interface Here {
  readonly at: State;
  readonly names: Names;
  readonly source: Source;
}

interface Entry {
  readonly text: string;
  readonly tells: string;
  /** Whether a page has it; left out: each has. */
  has?(source: Source): boolean;
  /** What is to be saved and under which name; null where nothing is saved, only copied. */
  make(here: Here): Promise<readonly [Blob, string] | null>;
}

const PICTURES: readonly Entry[] = [
  {
    text: say`SVG`,
    tells: say`any size, text stays text`,
    make: async (here) => [new Blob([await svgOf(plate(here))], { type: "image/svg+xml" }), pictureName(here, "svg")],
  },
  {
    text: say`PNG`,
    tells: say`2 dots a pixel`,
    make: async (here) => [await rasterOf(plate(here)), pictureName(here, "png")],
  },
  {
    text: say`Card`,
    tells: say`1200 × 630, for links`,
    make: async (here) => [await cardOf(plate(here)), pictureName(here, "card.png")],
  },
];

const NUMBERS: readonly Entry[] = [
  {
    text: say`CSV, this slice`,
    tells: say`rows × columns`,
    async make({ at, names, source }) {
      const [tensor, base] = await inHand(at, source, names);
      const axes = names.axes(at.tensor);
      const [rows, columns] = at.level === "tensor" ? at.layout.filter((axis) => axes.includes(axis)) : [];
      const layout = rows === undefined || columns === undefined ? arrangement(axes) : { rows, columns };
      const left = base.map((step, axis) =>
        [layout.rows, layout.columns].includes(axes[axis] ?? "") ? "x" : `${step}`,
      );
      const sheet = left.length > 2 ? left.join(".") : "";
      const text = sheetCsv(at.tensor, tensor, layout, base, names);
      return [new Blob([text], { type: "text/csv" }), fileName([names.run.title, at.tensor, sheet], "csv")];
    },
  },
  {
    text: say`CSV, all cells`,
    tells: say`one a row`,
    async make({ at, names, source }) {
      const [tensor] = await inHand(at, source, names);
      const text = cellsCsv(at.tensor, tensor, names);
      return [new Blob([text], { type: "text/csv" }), fileName([names.run.title, at.tensor], "csv")];
    },
  },
  {
    text: say`safetensors`,
    tells: say`bit for bit`,
    async make({ at, names, source }) {
      const [tensor] = await inHand(at, source, names);
      const { run } = names;
      const metadata = {
        name: at.tensor,
        axes: names.axes(at.tensor).join(", "),
        model: run.title,
        inputs: JSON.stringify(run.words.inputs),
        ...(run.words.decoder_inputs.length > 0 && { decoder_inputs: JSON.stringify(run.words.decoder_inputs) }),
        ...(run.changes !== "" && { changes: run.changes }),
      };
      const file = writeTensor(at.tensor, tensor, dtypeOf(tensor, run), metadata);
      return [file, fileName([run.title, at.tensor], "safetensors")];
    },
  },
];

const PAGES: readonly Entry[] = [
  {
    text: say`HTML file`,
    tells: say`with all numbers`,
    make: async ({ at, names, source }) => [await wholePage(source, at), fileName([names.run.title], "html")],
  },
  {
    text: say`Link`,
    tells: say`copied`,
    // An address that ends with its server is still one for the same reader.
    has: () => location.protocol !== "about:",
    async make({ at }) {
      await copy(addressOf(at));
      return null;
    },
  },
  {
    text: say`Frame`,
    tells: say`this view in another page, copied`,
    has: lasts,
    async make({ at }) {
      const address = `${addressOf(at)}&embed`.replaceAll("&", "&amp;");
      await copy(`<iframe src="${address}" title="glassformer" style="width:100%;height:480px;border:0"></iframe>`);
      return null;
    },
  },
  {
    text: say`Citation`,
    tells: say`BibTeX, copied`,
    async make({ at, names, source }) {
      const name = names.run.title.replaceAll(/[^\w-]/g, "");
      const today = new Date().toISOString().slice(0, 10);
      const title = [names.run.title, ...placeName(at)].join(", ");
      await copy(
        `@misc{glassformer-${name},\n  title = {${title.replaceAll(/[{}\\]/g, "")}},\n` +
          `${lasts(source) ? `  howpublished = {\\url{${addressOf(at)}}},\n` : ""}` +
          `  note = {Page of glassformer, accessed ${today}}\n}`,
      );
      return null;
    },
  },
];

const addressOf = (at: State): string => new URL(format(at), location.href).href;

function plate({ at, names }: Here): ReturnType<typeof plateOf> {
  const main = document.querySelector<HTMLElement>(".main");
  if (main === null) throw new Error(say`there is nothing to be seen here yet`);
  const palette: Palette = pagePalette();
  const cell = names.cell(at.tensor, at.cell);
  const what = at.level === "block" ? names.unit(at.unit) : `${names.place(at.tensor)}, ${names.title(at.tensor)}`;
  const place = at.level === "block" || at.level === "tensor" || at.level === "number" ? what : at.level;
  const title = [names.run.title, place, at.level === "number" ? cell : ""].filter((part) => part !== "");
  return plateOf(main, title.join(" · "), palette);
}

function pictureName({ at, names }: Here, ending: string): string {
  return fileName([names.run.title, ...placeName(at)], ending);
}

async function inHand(at: State, source: Source, names: Names): Promise<[Tensor, number[]]> {
  if (at.tensor === "") throw new Error(say`no tensor is in hand: click a number first`);
  const tensor = await wholeTensor(source, at.tensor);
  const base = names.axes(at.tensor).map((_, axis) => Math.min(at.cell[axis] ?? 0, (tensor.shape[axis] ?? 1) - 1));
  return [tensor, base];
}

/** Whether a page's address is one for others: in a notebook it has none of its own, and that of a live page ends with its server. */
function lasts(source: Source): boolean {
  return location.protocol !== "about:" && !isServed(source);
}

/** Its first entry has the keys when it opens. */
export function Menu(): VNode {
  const { names, source } = useStore();
  const [told, setTold] = useState<{ readonly text: string; readonly wrong: boolean } | null>(null);
  const menu = useRef<HTMLElement>(null);
  useEffect(() => menu.current?.querySelector<HTMLElement>("li button")?.focus(), []);
  const take = (entry: Entry): void => {
    setTold({ text: "…", wrong: false });
    entry
      .make({ at: state.value, names, source })
      .then((made) => {
        if (made !== null) save(...made);
        setTold({ text: made === null ? say`copied` : say`saved ${made[1]}, ${bytes(made[0].size)}`, wrong: false });
      })
      .catch((error: unknown) => setTold({ text: problemOf(error), wrong: true }));
  };
  const groups = [
    { title: say`This picture`, entries: PICTURES },
    { title: state.value.tensor === "" ? "" : names.title(state.value.tensor), entries: NUMBERS },
    { title: say`This page`, entries: PAGES.filter(({ has }) => has?.(source) !== false) },
  ].filter(({ title }) => title !== "");
  return (
    <section class="menu" aria-label={say`save`} ref={menu}>
      {groups.map(({ title, entries }) => (
        <div class="part" key={title}>
          <p class="label">{title}</p>
          <ul>
            {entries.map((entry) => (
              <li key={entry.text}>
                <button type="button" onClick={() => take(entry)}>
                  {entry.text} <span class="quiet">{entry.tells}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <p class="told" role="status" data-wrong={told?.wrong === true}>
        {told?.text ?? ""}
      </p>
    </section>
  );
}
