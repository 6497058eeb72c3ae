/** One tensor: any slice of it as a grid of numbers, and the whole slice as a small map. */

import type { VNode } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { headWords, sentenceOf, toHead } from "../../address/links.ts";
import { go, state } from "../../address/state.ts";
import { General } from "../../draw/mathml.tsx";
import type { Scene } from "../../draw/scene.ts";
import { RED } from "../../draw/shades.ts";
import { arrangement, hasHidden, Sheet as Laid, type Sheet, sheetOf } from "../../draw/sheet.ts";
import { usePut } from "../../edit/views/held.ts";
import { isOperand } from "../../formulas/evaluator.ts";
import { spoken } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { sizeOf } from "../../numbers/safetensors.ts";
import { counted, grouped } from "../../numbers/written.ts";
import type { Store } from "../../run/store.ts";
import { useDrawn, usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { heard, say } from "../../words/say.ts";
import { AbsentView } from "./absent.tsx";
import { useDigits } from "./digits.ts";
import { gridScene, overviewImage, overviewScene, placeIn, type Window, windowOf } from "./grid_scene.ts";
import { Drawn, kindOf, Pictures } from "./pictures/drawn.tsx";
import { Twin } from "./twin.tsx";

export function TensorView(): VNode {
  const store = useStore();
  const { names } = store;
  const { tensor: name, cell, layout } = state.value;
  const formula = names.formulas.get(name);
  const before = formula?.rule["x"];
  const opened = useDrawn([name, ...(isOperand(before) ? [before.name] : [])]);
  const sheet = useMemo(() => {
    const found = opened ? sheetOf(name, names, store.drawn) : null;
    if (found === null || layout.length !== 2 || layout.some((axis) => !found.axes.includes(axis))) return found;
    const [rows = null, columns = null] = layout;
    return new Laid(name, found.tensor, names, { ...arrangement(found.axes), rows, columns }, found.scale);
  }, [opened, name, names, store, layout.join(" ")]);
  if (opened && (sheet === null || store.fetch(name)?.partial)) return <AbsentView name={name} />;
  const head = toHead(name, cell, names);
  return (
    <>
      <div class="headline">
        <div>
          <h1 class={`big ${names.role(name)}`}>{names.title(name)}</h1>
          <p class="quiet">{names.place(name)}</p>
        </div>
        <p>
          {(formula && heard(formula.title)) ??
            (name.startsWith("parameters.")
              ? say`Learned in training, the same for every text`
              : say`Given with the text`)}
          {name.endsWith("_attention.output") && joined(store, name)}
          {head !== null && (
            <>
              {" · "}
              <a href={head}>{say`See ${headWords(name, cell, names)}`}</a>
            </>
          )}
        </p>
      </div>
      {formula !== undefined && <General mathml={formula.mathml} />}
      {sheet !== null && <Shown sheet={sheet} cell={cell} />}
    </>
  );
}

/** What comes out of an attention is mixed of all its heads. */
function joined({ shape }: Store, name: string): string {
  const [heads, into, out] = [
    shape(name.replace(/output$/, "mixed"))?.[1] ?? 1,
    shape(name.replace(/output$/, "merged"))?.at(-1),
    shape(name)?.at(-1),
  ];
  const mixed = heads > 1 ? say`all ${heads} heads mixed` : say`one head`;
  return into === undefined ? `: ${mixed}.` : `: ${mixed}, ${say`${into} → ${out} channels`}.`;
}

/** The tensor as the picture that was asked for, or as numbers. */
function Shown({ sheet, cell }: { sheet: Sheet; cell: readonly number[] }): VNode {
  const kind = kindOf(sheet);
  const held = sheet.axes.map((_, axis) => Math.min(cell[axis] ?? 0, (sheet.tensor.shape[axis] ?? 1) - 1));
  const own = sheet.axes.indexOf("sentence");
  const sentence = own >= 0 ? (held[own] ?? 0) : state.value.sentence;
  return (
    <>
      <Pictures sheet={sheet} />
      {kind === null ? (
        <Slice sheet={sheet} cell={cell} />
      ) : (
        <Drawn kind={kind} sheet={sheet} cell={held} sentence={sentence} />
      )}
    </>
  );
}

function Slice({ sheet, cell }: { sheet: Sheet; cell: readonly number[] }): VNode {
  const store = useStore();
  const { names } = store;
  const palette = usePalette();
  const { box, width } = useWidth();
  const { sentence } = state.value;
  const base = sheet.axes.map((_, axis) => Math.min(cell[axis] ?? 0, (sheet.tensor.shape[axis] ?? 1) - 1));
  const [row, column] = placeIn(sheet, base);
  const room = Math.max(280, (globalThis.innerHeight || 720) - 400);
  const seen = useMemo(() => {
    return width === 0 ? null : windowOf(sheet, row, column, width, room);
  }, [sheet, width, room, row, column]);
  const own = sheet.axes.indexOf("sentence") >= 0 ? (base[sheet.axes.indexOf("sentence")] ?? 0) : sentence;
  const key = `${base.filter((_, axis) => ![sheet.layout.rows, sheet.layout.columns].includes(sheet.axes[axis] ?? "")).join()}`;
  const digits = useDigits(sheet, base, seen);
  const image = useMemo(() => {
    return width === 0 ? null : overviewImage(sheet, base, own, palette, width);
  }, [sheet, width, own, palette, key]);
  const map = useMemo(() => {
    return seen === null || image === null ? null : overviewScene(sheet, base, seen, palette, image);
  }, [image, seen]);
  const drawn = useMemo(() => {
    if (seen === null || digits === null) return null;
    return { scene: gridScene(digits, base, seen, own, palette, measure), digits, base, seen };
  }, [digits, seen, own, palette, key]);
  // The old window stays until the digits of the new one are here.
  const last = useRef<{ scene: Scene; digits: Sheet; base: readonly number[]; seen: Window } | null>(null);
  if (drawn !== null || last.current?.digits.name !== sheet.name) last.current = drawn;
  const grid = last.current;
  const onDrop = usePut();
  const pick = (at: number[]): void => go({ cell: at, ...sentenceOf(sheet.name, at, names) }, true);
  const open = (at: number[]): void => go({ level: "number", cell: at, ...sentenceOf(sheet.name, at, names) });
  return (
    <>
      <Controls sheet={sheet} cell={base} />
      <div ref={box}>
        {map !== null && (
          <div class="block">
            <p class="label">
              {say`the whole slice, ${grouped(sheet.rows)} × ${grouped(sheet.columns)}; the frame is what is below`}
            </p>
            <Picture scene={map} label={say`the whole slice`} tensor="" cell={[]} onChoose={(_, at) => pick(at)} />
          </div>
        )}
        {grid !== null && (
          <Picture
            scene={grid.scene}
            label={say`${names.title(sheet.name)} as a grid. Arrow keys move, Enter opens the number.`}
            tensor={sheet.name}
            cell={base}
            step={(at, down, along) => {
              const [r, c] = placeIn(sheet, at);
              const bound = (place: number, count: number): number => Math.min(Math.max(place, 0), count - 1);
              return sheet.cell(base, bound(r + down, sheet.rows), bound(c + along, sheet.columns));
            }}
            onPoint={(_, at, by) => {
              if (by === "key") pick(at);
              else store.pointed.value = { name: sheet.name, cell: at };
            }}
            onChoose={(_, at, further) => (further ? open(at) : pick(at))}
            onDrop={onDrop}
          />
        )}
        {grid !== null && hasHidden(sheet, own) && <p class="label">{RED}</p>}
        {grid !== null && (
          <Twin
            sheet={grid.digits}
            base={grid.base}
            row={grid.seen.row}
            column={grid.seen.column}
            rows={grid.seen.rows}
            columns={grid.seen.columns}
            sentence={own}
          />
        )}
      </div>
    </>
  );
}

/** Which axes stand where, and which step of the others is shown. */
function Controls({ sheet, cell }: { sheet: Sheet; cell: readonly number[] }): VNode {
  const { names } = useStore();
  const { rows, columns } = sheet.layout;
  const others = sheet.axes.flatMap((axis, place) => (axis === rows || axis === columns ? [] : [{ axis, place }]));
  const choosable = sheet.axes.filter((_, place) => (sheet.tensor.shape[place] ?? 1) > 1);
  const lay = (which: "rows" | "columns", axis: string): void => {
    const [one, two] =
      which === "rows" ? [axis, axis === columns ? rows : columns] : [axis === rows ? columns : rows, axis];
    go({ layout: [one ?? "", two ?? ""] }, true);
  };
  const count = sizeOf(sheet.tensor.shape);
  return (
    <div class="controls">
      <span class="quiet">
        {sheet.tensor.shape.length > 1 && `${sheet.tensor.shape.join(" × ")} = `}
        {counted(count, "number")}
      </span>
      {others
        .filter(({ place }) => (sheet.tensor.shape[place] ?? 1) > 1)
        .map(({ axis, place }) => (
          <label key={axis}>
            {spoken(axis)}
            <select
              value={cell[place]}
              onChange={(event) => {
                const next = cell.map((index, at) => (at === place ? Number(event.currentTarget.value) : index));
                go({ cell: next, ...sentenceOf(sheet.name, next, names) }, true);
              }}
            >
              {range(sheet.tensor.shape[place] ?? 1, (step) => (
                <option value={step}>{names.label(sheet.name, axis, step, cell[0] ?? 0).text}</option>
              ))}
            </select>
          </label>
        ))}
      {choosable.length > 2 &&
        (["rows", "columns"] as const).map((which) => (
          <label key={which}>
            {which === "rows" ? say`rows` : say`columns`}
            <select value={sheet.layout[which] ?? ""} onChange={(event) => lay(which, event.currentTarget.value)}>
              {choosable.map((axis) => (
                <option value={axis}>{spoken(axis)}</option>
              ))}
            </select>
          </label>
        ))}
    </div>
  );
}
