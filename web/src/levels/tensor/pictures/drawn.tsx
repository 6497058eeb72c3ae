/** Draws a tensor as the picture that was asked for, with its choices above and its table below. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { sentenceOf, toNumber } from "../../../address/links.ts";
import { go, link, state } from "../../../address/state.ts";
import type { Look } from "../../../draw/box.ts";
import type { Sheet } from "../../../draw/sheet.ts";
import { useOpened, usePalette, useStore, useWidth } from "../../../views/hooks.ts";
import { measure, Picture } from "../../../views/picture.tsx";
import { Scroll } from "../../../views/pieces.tsx";
import { say } from "../../../words/say.ts";
import { TwinOf } from "./choices.tsx";
import type { Held, Kind, Row } from "./kind.ts";
import { KINDS } from "./kinds.tsx";

/** The picture that was asked for; null where the tensor has none of that name, and is shown as numbers. */
export function kindOf(sheet: Sheet): Kind | null {
  const kind = KINDS[state.value.picture];
  return kind?.fits(sheet) === true ? kind : null;
}

/** The links from one picture to another. */
export function Pictures({ sheet }: { sheet: Sheet }): VNode {
  const shown = kindOf(sheet) === null ? "" : state.value.picture;
  const offered = Object.entries(KINDS).filter(([, kind]) => kind.fits(sheet));
  return (
    <nav class="pictures" aria-label={say`how it is drawn`}>
      {[["", say`as numbers`], ...offered.map(([name, { text }]) => [name, text])].map(([name = "", text]) => (
        <a href={link({ picture: name, at: [] })} aria-current={name === shown} key={name}>
          {text}
        </a>
      ))}
    </nav>
  );
}

export function Drawn({ kind, ...held }: Held & { kind: Kind }): VNode {
  const { sheet, cell, sentence } = held;
  const store = useStore();
  const { names } = store;
  const { box, width } = useWidth();
  const look = useLook(held, width < 560);
  const opened = useOpened((kind.reads?.(sheet) ?? []).filter((name) => name !== ""));
  const { options, at } = state.value;
  const height = Math.max(280, (globalThis.innerHeight || 720) - 400);
  const pick = (to: readonly number[]): void => {
    go({ cell: to, at: [], ...sentenceOf(sheet.name, to, names) }, true);
  };
  const drawing = useMemo(() => {
    return opened && width > 0 ? kind.draw({ ...held, store, names, look, width, height, pick }) : null;
  }, [kind, opened, sheet, cell.join(), sentence, look, width, height, options, at, store]);
  const open = (tensor: string, to: readonly number[]): void => {
    go({ level: "number", tensor, cell: to, at: [], ...sentenceOf(tensor, to, names) });
  };
  /** A cell of a tensor is taken in hand or opened; a place of the picture alone may stand for one. */
  const choose = (name: string, place: number[], further: boolean): void => {
    const found = name === "" ? (drawing?.cellOf?.(place) ?? null) : { name, cell: place };
    if (found?.name === sheet.name && !further) pick(found.cell);
    else if (found !== null && (further || name !== "")) open(found.name, found.cell);
    else go({ at: place }, true);
  };
  return (
    <>
      {opened && width > 0 && drawing === null && (
        <p class="says plain">{say`This picture reads tensors that this page does not carry.`}</p>
      )}
      {drawing?.above}
      <div ref={box} class={drawing?.beside === true ? "beside" : ""}>
        {drawing !== null && (
          <Picture
            scene={drawing.scene}
            label={say`${names.title(sheet.name)} ${kind.text}. Arrow keys, Page Up and Page Down move, Enter opens the number.`}
            tensor={drawing.at === undefined ? sheet.name : ""}
            cell={drawing.at ?? cell}
            step={(_, down, along) => {
              const next = drawing.step?.(down, along);
              return next == null ? null : [...next];
            }}
            onPoint={(name, place, by) => {
              if (by === "mouse" && name !== "") store.pointed.value = { name, cell: place };
              else if (by === "key" && (name === "" || name === sheet.name)) choose(name, place, false);
            }}
            onChoose={choose}
          />
        )}
        <div>{drawing?.below}</div>
      </div>
      {drawing?.table === undefined ? <TwinOf {...held} /> : <Table rows={drawing.table} />}
    </>
  );
}

/** What the boxes of a picture have in common: the palette, the sentence in front, the word that is framed. */
function useLook({ sheet, cell, sentence }: Held, small: boolean): Look {
  const palette = usePalette();
  const rows = sheet.layout.rows ?? "";
  const index = cell[sheet.axes.indexOf(rows)] ?? -1;
  const word = rows === "place" ? (sheet.names.run.places[index]?.[1] ?? -1) : index;
  const text = rows === "place" ? "" : (sheet.names.side(sheet.name, rows) ?? "");
  return useMemo(() => {
    return { palette, measure, side: small ? 28 : 40, step: small ? 8 : 14, sentence, text, word };
  }, [palette, small, sentence, text, word]);
}

function Table({ rows }: { rows: readonly Row[] }): VNode {
  const { names } = useStore();
  return (
    <details class="twin">
      <summary>{say`the same as a table`}</summary>
      <Scroll label={say`the picture as a table`}>
        <table>
          <tbody>
            {rows.map(({ label, digits, tensor, cell, mark }) => (
              <tr>
                <th scope="row">{label}</th>
                <td>{tensor === "" ? digits : <a href={toNumber(tensor, cell, names)}>{digits}</a>}</td>
                <td>{mark}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
