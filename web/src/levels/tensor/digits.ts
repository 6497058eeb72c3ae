/** The digits of a window: at hand where the tensor is, else fetched a little further than the window goes. */

import { useEffect, useState } from "preact/hooks";
import { Sheet } from "../../draw/sheet.ts";
import { Dots, type Part } from "../../numbers/dots.ts";
import { unlessGivenUp, useStore } from "../../views/hooks.ts";
import type { Window } from "./grid_scene.ts";

/** So many rows and columns beyond the window are fetched with it, so that few steps of the arrow keys need a request. */
const FURTHER = 32;

/** The sheet with digits in this window; null while they are on their way. */
export function useDigits(sheet: Sheet, base: readonly number[], seen: Window | null): Sheet | null {
  const { source } = useStore();
  const [known, setKnown] = useState<{ readonly of: Sheet; readonly sheet: Sheet; readonly part: Part } | null>(null);
  const pictured = sheet.tensor instanceof Dots ? sheet.tensor : null;
  const here = known !== null && known.of === sheet && seen !== null && covers(known.part, sheet, base, seen);
  const wanted = pictured === null || seen === null || here ? "" : `${base.join()} ${Object.values(seen).join()}`;
  useEffect(() => {
    if (wanted === "" || pictured === null || seen === null || source.large === undefined) return;
    const giveUp = new AbortController();
    const [from, to] = around(sheet, base, seen, pictured);
    source.large.window(sheet.name, from, to, giveUp.signal).then((part) => {
      if (giveUp.signal.aborted) return;
      setKnown({ of: sheet, sheet: new Sheet(sheet.name, part, sheet.names, sheet.layout, sheet.scale), part });
    }, unlessGivenUp);
    return () => giveUp.abort();
  }, [source, sheet, wanted]);
  if (pictured === null) return sheet;
  return here ? (known?.sheet ?? null) : null;
}

/** The part to ask for: the window and what lies around it; what is stored once for all is asked for once. */
function around(sheet: Sheet, base: readonly number[], seen: Window, { dots }: Dots): [number[], number[]] {
  const from = base.map((index, axis) => ((dots.shape[axis] ?? 1) === 1 ? 0 : index));
  const to = from.map((index) => index + 1);
  const spans = [
    [sheet.layout.rows, seen.row, seen.rows],
    [sheet.layout.columns, seen.column, seen.columns],
  ] as const;
  for (const [name, first, count] of spans) {
    const axis = name === null ? -1 : sheet.axes.indexOf(name);
    if (axis < 0 || (dots.shape[axis] ?? 1) === 1) continue;
    from[axis] = Math.max(first - FURTHER, 0);
    to[axis] = Math.min(first + count + FURTHER, sheet.size(name));
  }
  return [from, to];
}

function covers(part: Part, sheet: Sheet, base: readonly number[], seen: Window): boolean {
  return part.start.every((start, axis) => {
    const size = part.part.shape[axis] ?? 1;
    const name = sheet.axes[axis];
    const [first, count] =
      name === sheet.layout.rows
        ? [seen.row, seen.rows]
        : name === sheet.layout.columns
          ? [seen.column, seen.columns]
          : [base[axis] ?? 0, 1];
    const once = size === 1 && (sheet.tensor instanceof Dots ? sheet.tensor.dots.shape[axis] : 0) === 1;
    return once || (first >= start && first + count <= start + size);
  });
}
