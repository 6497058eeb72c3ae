/** The page: what is looked at on the left, the picture in the middle, why on the right. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { BlockView } from "./block_view.tsx";
import { StoreContext, useAnswer, usePalette, useStore } from "./hooks.ts";
import { Inspector } from "./inspector.tsx";
import { NumberView } from "./number_view.tsx";
import { counted, power, short } from "./numbers.ts";
import { go, link, state, type Theme } from "./state.ts";
import type { Store } from "./store.ts";
import { TensorView } from "./tensor_view.tsx";
import { toNumber, toTensor } from "./views.ts";

export function App({ store }: { store: Store }): VNode {
  return (
    <StoreContext.Provider value={store}>
      <Page />
    </StoreContext.Provider>
  );
}

function Page(): VNode {
  const store = useStore();
  const { names } = store;
  usePalette();
  const { level, tensor, cell } = state.value;
  const answer = useAnswer(tensor, cell);
  const help = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") help.current?.showModal();
      if (event.key === "Escape" && help.current?.open !== true) up(store);
      if (event.key === "t" && level !== "tensor" && tensor !== "") location.hash = toTensor(tensor, cell, names);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    main.current?.scrollTo(0, 0);
    if (level === "number") store.pointed.value = null;
  }, [level, level === "number" ? `${tensor} ${cell.join()}` : ""]);
  const value = answer === null ? null : answer.kind === "computed" ? answer.found.value : answer.value;
  return (
    <div class="frame">
      <Top onHelp={() => help.current?.showModal()} />
      <Rail />
      <main class="main" ref={main}>
        {level === "block" && <BlockView />}
        {level === "tensor" && <TensorView />}
        {level === "number" && <NumberView answer={answer} />}
      </main>
      <Inspector answer={answer} />
      <Foot />
      <Help dialog={help} />
      <p class="away" aria-live="polite">
        {answer !== null &&
          value !== null &&
          `${names.title(answer.name)}, ${names.cell(answer.name, answer.cell)}: ${short(value)}`}
      </p>
    </div>
  );
}

/** One level up: a number to its tensor, a tensor to its part of the model. */
function up(store: Store): void {
  const { level, tensor } = state.value;
  const unit = store.names.formulas.get(tensor)?.unit ?? store.names.readers(tensor)[0]?.[0].unit ?? "";
  if (level === "number") go({ level: "tensor", layout: [] });
  else if (level === "tensor") go({ level: "block", unit: unit === "" ? state.value.unit : unit, layout: [] });
}

function Top({ onHelp }: { onHelp: () => void }): VNode {
  const { names } = useStore();
  const { level, tensor, cell, unit } = state.value;
  const formula = names.formulas.get(tensor);
  const part = (level === "block" ? unit : (formula?.unit ?? names.readers(tensor)[0]?.[0].unit)) ?? "";
  const together = names.run.formulas.length <= 30;
  const crumbs: { text: string; href: string }[] = [
    { text: names.run.title, href: link({ level: "block", layout: [] }) },
  ];
  if (!together && part !== "")
    crumbs.push({ text: names.unit(part), href: link({ level: "block", unit: part, layout: [] }) });
  if (level !== "block") crumbs.push({ text: names.title(tensor), href: toTensor(tensor, cell, names) });
  if (level === "number")
    crumbs.push({ text: names.cell(tensor, cell) || "the number", href: toNumber(tensor, cell, names) });
  return (
    <header class="top">
      <a class="brand" href={link({ level: "block", layout: [] })}>
        glassformer
      </a>
      <nav aria-label="where this is" style={{ flex: 1, minWidth: 0 }}>
        <ol class="crumbs">
          {crumbs.map(({ text, href }, place) => (
            <li key={href}>
              {place === crumbs.length - 1 ? <span aria-current="page">{text}</span> : <a href={href}>{text}</a>}
            </li>
          ))}
        </ol>
      </nav>
      <div class="tools">
        <Themes />
        <button type="button" onClick={onHelp} aria-label="the keys of this page">
          ?
        </button>
      </div>
    </header>
  );
}

const THEMES: Readonly<Record<Theme, string>> = {
  auto: "as the system",
  light: "light",
  dark: "dark",
  contrast: "high contrast",
};

function Themes(): VNode {
  return (
    <label>
      <span class="away">colours of the page</span>
      <select value={state.value.theme} onChange={(event) => go({ theme: event.currentTarget.value as Theme }, true)}>
        {Object.entries(THEMES).map(([theme, text]) => (
          <option value={theme}>{text}</option>
        ))}
      </select>
    </label>
  );
}

function Rail(): VNode {
  const { names } = useStore();
  const { run } = names;
  const { unit, sentence, level } = state.value;
  const [open, setOpen] = useState(false);
  const units = [...new Set(run.formulas.map((formula) => formula.unit))];
  const together = run.formulas.length <= 30;
  const texts = Math.max(run.words.inputs.length, run.words.decoder_inputs.length);
  return (
    <aside class="rail drawer" data-open={open} aria-label="model and text">
      <button type="button" class="handle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span>Model, text, parts</span>
        <span class="quiet">{open ? "▴" : "▾"}</span>
      </button>
      <div class="inside">
        <div class="part">
          <p class="label">Model</p>
          <p class="strong">{run.title}</p>
          {run.model.stacks.map((stack) => (
            <p class="quiet" key={stack.side}>
              {stack.side}: {counted(stack.layers, "block")}, {counted(stack.heads, "head")}, {stack.width} wide
            </p>
          ))}
          <p class="quiet">{counted(run.model.parameters, "weight")}</p>
        </div>
        <div class="part">
          <p class="label">{texts > 1 ? "Sentences" : "Text"}</p>
          {Array.from({ length: texts }, (_, row) => (
            <a
              class="choice"
              key={row}
              href={link({ sentence: row, ...moved(names.axes(state.value.tensor), row) })}
              aria-current={row === sentence}
            >
              <Words row={row} />
            </a>
          ))}
        </div>
        {!together && (
          <nav class="part" aria-label="parts of the model">
            <p class="label">Parts, in the order of computation</p>
            {units.map((each) => (
              <a
                class="choice"
                key={each}
                href={link({ level: "block", unit: each, layout: [] })}
                aria-current={each === unit && level === "block"}
              >
                {names.unit(each)}
              </a>
            ))}
          </nav>
        )}
        <div class="part">
          <p class="label">Changes</p>
          {run.changes === "" ? <p>None.</p> : <p class="code">{run.changes}</p>}
        </div>
        {Object.keys(run.left_out).length > 0 && (
          <div class="part">
            <p class="label">Not in this page</p>
            <p>
              {counted(Object.keys(run.left_out).length, "tensor")} beyond the limit of {Math.round(run.limit / 1e6)}{" "}
              MB. Formulas that read them cannot be worked out here.
            </p>
          </div>
        )}
      </div>
    </aside>
  );
}

/** The cell in hand, moved to another sentence. */
function moved(axes: readonly string[], row: number): { cell?: number[] } {
  const place = axes.indexOf("sentence");
  if (place < 0) return {};
  return { cell: state.value.cell.map((index, axis) => (axis === place ? row : index)) };
}

function Words({ row }: { row: number }): VNode {
  const { names } = useStore();
  const parts: ComponentChildren[] = [];
  for (const side of ["inputs", "decoder_inputs"] as const) {
    const words = names.run.words[side][row] ?? [];
    if (parts.length > 0 && words.length > 0) parts.push(" → ");
    words.slice(0, 24).forEach((_, token) => {
      const { text, hidden } = names.word(side, row, token);
      parts.push(token > 0 ? " " : "", hidden ? <span class="masked">{text}</span> : text);
    });
    if (words.length > 24) parts.push(` … ${words.length} tokens`);
  }
  return <>{parts}</>;
}

function Foot(): VNode {
  const store = useStore();
  const { honesty, error_limit } = store.names.run;
  const checked = store.checked.value;
  const holds = checked === null || checked.error <= error_limit;
  return (
    <footer class="foot">
      <span>{HINTS[state.value.level]}</span>
      <span data-holds={holds} data-checked={checked?.count ?? 0}>
        {checked !== null &&
          (holds
            ? `${counted(checked.count, "number")}${checked.count < checked.of ? ` of ${checked.of.toLocaleString("en")}` : ""} recomputed in this page, max error ${power(checked.error)}`
            : `${checked.worst} does not agree with its formula: ${power(checked.error)}`)}
      </span>
      {honesty !== null && (
        <span data-holds={honesty.holds} title={honesty.text}>
          {honesty.holds ? `watched = unwatched, max ${power(honesty.watched)}` : honesty.text}
        </span>
      )}
    </footer>
  );
}

const HINTS = {
  block: "Point at a cell: its number. Click: its word is framed. Enter or double click: the number. ? all keys",
  tensor: "Click or arrow keys: the number in hand. Enter or double click: its formula. Escape: back to the boxes",
  number: "Click a bar or a number: where it comes from. Escape: back to its tensor",
};

function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }): VNode {
  const keys = [
    ["Tab", "to the picture, and to every link"],
    ["← ↑ → ↓", "the next cell"],
    ["Page Up, Page Down", "the tensor before and after"],
    ["Enter", "open the number"],
    ["t", "the tensor of the number in hand"],
    ["Escape", "one level up"],
    ["Alt ←", "back"],
  ];
  return (
    <dialog ref={dialog} aria-label="keys">
      <p class="strong">Keys</p>
      <dl>
        {keys.map(([key, does]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="strong">
          Close
        </button>
      </form>
    </dialog>
  );
}
