/** A picture of a document or of the tour, on the page like any other level. */

import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { sentenceOf, toNumber } from "../address/links.ts";
import { go, state } from "../address/state.ts";
import type { Look } from "../draw/box.ts";
import type { Panel, Scene } from "../draw/scene.ts";
import { RED, shades } from "../draw/shades.ts";
import { useSession } from "../edit/session/context.ts";
import { MissingTensor } from "../formulas/evaluator.ts";
import type { Names } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";
import { at } from "../numbers/safetensors.ts";
import { inCell, percent } from "../numbers/written.ts";
import { type Scout, scoutOf } from "../scout/scout.ts";
import type { Source } from "../sources/source.ts";
import { Command } from "../views/command.tsx";
import { useInPicture, useOpened, usePalette, useStore, useWidth } from "../views/hooks.ts";
import { measure, Picture } from "../views/picture.tsx";
import { Scroll } from "../views/pieces.tsx";
import { heard, say } from "../words/say.ts";
import { quotedOf } from "./board/shares.ts";
import { hasHidden } from "./hidden.ts";
import { boardOf, chosen, SCENES, type TourScene, tourScene } from "./scenes.ts";
import { Told } from "./told.tsx";

// An exported page whose texts cannot be read anew lacks it.
const { TextFields } = await import("../edit/views/texts_view.tsx");

export function SceneView(): VNode {
  const store = useStore();
  const { scene: name, tensor, sentence, at } = state.value;
  const { words } = useSession().engine;
  const shown = SCENES[name];
  // A picture of the decoder's attention has one of its tensors in hand.
  const within = /^(parameters\.)?decoder\./.test(tensor) ? "decoder" : "";
  const scout = useMemo(() => scoutOf(store, sentence, within), [store, sentence, within]);
  const told = useSection(shown?.section);
  const ready = useOpened([...attentionOf(scout), ...(shown?.reads?.(scout, at, told) ?? [])]);
  const opened = ready && told !== undefined;
  const lacks = opened ? (shown?.lacks?.(scout, told) ?? null) : null;
  useInPicture(lacks === null && shown?.draw !== undefined ? null : false);
  if (shown === undefined) return <p class="wrong">{say`This page has no picture called ${name}.`}</p>;
  return (
    <>
      <h1 class="big">{shown.title}</h1>
      {lacks === null && <p class="quiet scene-says">{shown.says}</p>}
      {lacks !== null && (
        <p class="wrong">
          <Told text={lacks} />
        </p>
      )}
      {lacks === null && opened && shown.View !== undefined && <shown.View s={scout} told={told} />}
      {shown.writes === true && words === "text" && <TextFields />}
      {lacks === null && shown.draw !== undefined && (
        <Drawn key={name} shown={shown} scout={scout} opened={opened} told={told} />
      )}
    </>
  );
}

/** A section of the run: undefined until it is here, null where the run has none. */
function useSection(name: string | undefined): unknown {
  const { source } = useStore();
  const [found, setFound] = useState<{ of: Source; name: string | undefined; told: unknown } | null>(null);
  useEffect(() => {
    let current = true;
    const take = (told: unknown): void => {
      if (current) setFound({ of: source, name, told: told ?? null });
    };
    if (name !== undefined) source.section(name).then(take, () => take(null));
    return () => {
      current = false;
    };
  }, [source, name]);
  if (name === undefined) return null;
  // What the same model's run before had stays until the next is here.
  return found?.of.run.title === source.run.title && found.name === name ? found.told : undefined;
}

/** A picture with what can be chosen above it and the table below it. */
function Drawn(props: { shown: TourScene; scout: Scout; opened: boolean; told: unknown }): VNode {
  const { shown, scout, opened, told } = props;
  const store = useStore();
  const { names } = store;
  const palette = usePalette();
  const { box, width } = useWidth();
  const { scene: name, tensor, cell, sentence, at: asked } = state.value;
  const scene = useMemo(() => {
    if (!opened || width === 0) return null;
    const side = width < 560 ? 12 : 16;
    const look: Look = { palette, measure, side, step: width < 560 ? 3 : 6, sentence, text: "", word: -1 };
    try {
      return tourScene(name, scout, look, width, { tensor, cell, at: asked, told });
    } catch (error) {
      if (error instanceof MissingTensor) return error.tensor;
      throw error;
    }
  }, [opened, width, palette, name, scout, tensor, cell.join(), asked.join(), told]);
  const drawn = typeof scene === "string" ? null : scene;
  const red = hasHidden(drawn, palette.text("hidden"), names, sentence);
  // A number that was in hand elsewhere is none of this picture.
  useInPicture(isDrawn(drawn, tensor, cell));
  const same = drawnAs(drawn, tensor, cell, names);
  useEffect(() => {
    if (same !== null) go({ tensor: same }, true);
  }, [same]);
  const tabled = (): string[][] | undefined => {
    const look: Look = { palette, measure, side: 12, step: 3, sentence, text: "", word: -1 };
    const board = boardOf(name, scout, look, width, { tensor, cell, at: asked, told });
    return shown.table?.(scout, board.at, board);
  };
  const pick = (to: string, index: number[]): void => {
    go({ tensor: to, cell: index, ...sentenceOf(to, index, names) }, true);
  };
  return (
    <>
      {scene !== null && <Asks name={name} scout={scout} told={told} />}
      <div ref={box}>
        {typeof scene === "string" && (
          <p class="wrong">
            {say`This picture needs ${scene}: it was left out of this page, or is too large to be fetched.`}
          </p>
        )}
        {drawn !== null && (
          <>
            <Picture
              scene={drawn}
              label={`${shown.title}. ${shown.says}`}
              tensor={tensor}
              cell={cell}
              step={(index, down, along) =>
                stepped(drawn.panels, tensor, index, down, along, store.fetch(tensor)?.shape)
              }
              onPoint={(to, index, by) => {
                if (by === "key") pick(to, index);
                else store.pointed.value = { name: to, cell: index };
              }}
              onChoose={(to, index, further) => {
                if (further) go({ level: "number", tensor: to, cell: index, ...sentenceOf(to, index, names) });
                else pick(to, index);
              }}
            />
            {shown.shades !== false && drawn.panels.length > 0 && (
              <p class="label">
                {shades(drawn.panels)}
                {red && ` ${RED}`}
                {shown.boxes === true &&
                  scout.sentences > 1 &&
                  say` The ${scout.sentences} at a slanted edge: ${scout.sentences} sentences, one after the other.`}
              </p>
            )}
            {shown.alone?.(scout) === true && <Alone picture={shown.document ?? ""} scout={scout} />}
            <Twin panels={drawn.panels} rows={tabled() ?? printed(scout, shown.document)} />
          </>
        )}
      </div>
    </>
  );
}

/** Of a number that is not drawn: a tensor with the same axes that is, where its cell is the one that is framed. */
function drawnAs(scene: Scene | null, tensor: string, cell: readonly number[], names: Names): string | null {
  if (scene === null || tensor === "" || isDrawn(scene, tensor, cell)) return null;
  const axes = names.axes(tensor).join();
  return scene.panels.find((panel) => names.axes(panel.tensor).join() === axes && panel.find(cell))?.tensor ?? null;
}

function isDrawn(scene: Scene | null, tensor: string, cell: readonly number[]): boolean {
  return scene?.panels.some((panel) => panel.tensor === tensor && panel.find(cell) !== null) === true;
}

/** Why this run has no such picture of its own, and how one is made that has. */
function Alone({ picture, scout }: { picture: string; scout: Scout }): VNode | null {
  const quoted = quotedOf(scout, picture);
  if (quoted === undefined) return null;
  return (
    <section class="scene-lacks" aria-label={say`how to make such a run`}>
      <p>{say`${heard(quoted.lacks)} Such a run is made by`}</p>
      <pre tabIndex={0}>
        {quoted.make.map((command) => (
          <div key={command}>
            <Command text={command} />
          </div>
        ))}
      </pre>
    </section>
  );
}

/** What a document prints, as rows of a table. */
function printed(scout: Scout, picture: string | undefined): string[][] {
  const quoted = picture === undefined ? undefined : quotedOf(scout, picture);
  if (quoted === undefined) return [];
  const { text, second, shares, source } = quoted;
  const words = second === undefined ? text : `${text} / ${second}`;
  return [
    [say`the document`, ...Object.keys(shares)],
    [`${words} (${source})`, ...Object.values(shares).map(percent)],
  ];
}

/** The facts of the texts and the tensors of the attention: what every picture may read. */
function attentionOf(s: Scout): string[] {
  const { facts, formulas } = s.names.run;
  const own = s.attends ? formulas.filter(({ name }) => name.startsWith(`${s.attention}.`)) : [];
  return [...Object.keys(facts), ...own.map(({ name }) => name)];
}

/** What can be chosen above the picture. */
function Asks({ name, scout, told }: { name: string; scout: Scout; told: unknown }): VNode | null {
  const asks = SCENES[name]?.asks?.(scout, told) ?? [];
  const at = chosen(name, scout, state.value.at, told);
  if (asks.length === 0) return null;
  return (
    <p class="controls">
      {asks.map(({ label, options }, place) => (
        <label key={label}>
          {label}
          <select
            value={at[place]}
            onChange={(event) => go({ at: at.with(place, Number(event.currentTarget.value)) }, true)}
          >
            {options.map((text, index) => (
              <option value={index} key={`${index} ${text}`}>
                {text}
              </option>
            ))}
          </select>
        </label>
      ))}
    </p>
  );
}

/** A step further in the tensor itself, where the picture shows only a part of it. */
function stepped(
  panels: readonly Panel[],
  tensor: string,
  cell: readonly number[],
  down: number,
  along: number,
  shape: readonly number[] | undefined,
): number[] | null {
  const panel = panels.find((each) => each.tensor === tensor && each.find(cell) !== null);
  const found = panel?.find(cell);
  if (panel === undefined || found == null || shape === undefined) return null;
  const [row, column] = found;
  const axis = changed(panel, down !== 0);
  const index = axis < 0 ? -1 : (cell[axis] ?? 0) + down + along;
  const inside = row + down >= 0 && row + down < panel.rows && column + along >= 0 && column + along < panel.columns;
  if (inside) return panel.cell(row + down, column + along);
  if (axis < 0 || index < 0 || index >= (shape[axis] ?? 0)) return [...cell];
  return cell.map((each, place) => (place === axis ? index : each));
}

/** The axis of the tensor along which the rows, or the columns, of a panel go. */
function changed(panel: Panel, rows: boolean): number {
  const [one, two] = [panel.cell(0, 0), rows ? panel.cell(1, 0) : panel.cell(0, 1)];
  if ((rows ? panel.rows : panel.columns) < 2) return -1;
  const axis = one.findIndex((index, place) => index !== two[place]);
  // Where the next step of the axis is not next to it, as with the likeliest words, the picture ends.
  return two[axis] === (one[axis] ?? 0) + 1 ? axis : -1;
}

/** At most so many rows and columns of a panel are written into the table. */
const [ROWS, COLUMNS] = [12, 16];

/** Every number of the picture as a link, and those that are no cells of the run. */
function Twin({ panels, rows }: { panels: readonly Panel[]; rows: readonly (readonly string[])[] }): VNode {
  const { names, fetch } = useStore();
  return (
    <details class="twin">
      <summary>{say`the same as a table`}</summary>
      <Scroll label={say`the numbers of this picture`}>
        {rows.length > 0 && <Rows rows={rows} />}
        <table>
          <thead>
            <tr>
              <th>{say`tensor`}</th>
              <th>{say`cell`}</th>
              <th>{say`numbers`}</th>
            </tr>
          </thead>
          <tbody>
            {panels.flatMap((panel) =>
              range(Math.min(panel.rows, ROWS), (row) => (
                <tr key={`${panel.tensor} ${panel.cell(row, 0).join()}`}>
                  <th scope="row">{names.title(panel.tensor)}</th>
                  <td>{names.cell(panel.tensor, panel.cell(row, 0))} …</td>
                  {range(Math.min(panel.columns, COLUMNS), (column) => {
                    const cell = panel.cell(row, column);
                    const tensor = fetch(panel.tensor);
                    return (
                      <td key={column}>
                        <a href={toNumber(panel.tensor, cell, names)}>
                          {tensor === undefined ? "…" : inCell(at(tensor, cell))}
                        </a>
                      </td>
                    );
                  })}
                </tr>
              )),
            )}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}

/** A table whose first row are its headings. */
function Rows({ rows: [heads = [], ...rows] }: { rows: readonly (readonly string[])[] }): VNode {
  return (
    <table class="scene-table">
      <thead>
        <tr>
          {heads.map((text) => (
            <th key={text}>{text}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([first = "", ...others], order) => (
          <tr key={`${order} ${first}`}>
            <th scope="row">{first}</th>
            {others.map((text, column) => (
              <td key={column}>{text}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
