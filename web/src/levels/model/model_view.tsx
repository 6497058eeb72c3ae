/** The whole model: what it was given, its parts with their weights, and what it answered. */

import type { FunctionComponent, VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { go, link, state } from "../../address/state.ts";
import { counted, grouped, percent } from "../../numbers/written.ts";
import type { Store } from "../../run/store.ts";
import { problemOf } from "../../sources/refused.ts";
import { useAsked, useFolded, usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure } from "../../views/picture.tsx";
import { Scroll } from "../../views/pieces.tsx";
import { Spots } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { headInHand } from "../heads/hand.ts";
import type { Row } from "../heads/heads_scene.ts";
import { attentionsOf, useRows } from "../heads/rows.ts";
import { Sentence } from "../number/pieces.tsx";
import { Expected } from "./expected.tsx";
import { colourOf, modelScene } from "./model_scene.ts";
import { KIND_WORDS, KINDS, type Part, partsOf, rough, unread } from "./parts.ts";
import { type Predicted, predictionsOf } from "./predictions.ts";
import { Texts } from "./texts.tsx";

/** Dots a side of the heads' pictures: they are drawn smaller than at their own level. */
const DOTS = 32;

export function ModelView({
  Insight,
}: {
  readonly Insight: FunctionComponent<{ readonly rows: readonly Row[] }>;
}): VNode {
  const { names, source } = useStore();
  const palette = usePalette();
  const { box, width } = useWidth();
  const { sentence, unit } = state.value;
  const parts = useMemo(() => partsOf(names), [names]);
  const attentions = useMemo(() => attentionsOf(names, source), [names, source]);
  const { rows } = useRows(attentions, sentence, DOTS);
  const predicted = usePredicted(sentence);
  const [spot, setSpot] = useState("");
  const drawn = useMemo(() => {
    if (width === 0) return null;
    const content = {
      parts,
      // The side stands above its column.
      title: (unit: string) => capital(names.unit(unit).replace(/^(en|de)coder[ -](?=.)/i, "")),
      sizes: (tensor: string) => (source.shape(tensor) ?? []).join(" × "),
      enters: (side: string) => {
        const fact = side === "decoder" && names.run.facts["decoder_inputs.ids"] ? "decoder_inputs" : "inputs";
        const shape = source.shape(`${fact}.ids`) ?? source.shape(`${fact}.vectors`) ?? [];
        return shape.length < 2 ? "" : say`${shape.slice(0, 2).join(" × ")} tokens`;
      },
      rows: new Map(rows.map((row) => [row.attention, row])),
      predictions: predicted?.rows ?? [],
    };
    return modelScene(content, { palette, measure }, width);
  }, [parts, names, source, palette, width, rows, predicted]);
  const total = names.run.model.parameters;
  const heads = attentions.reduce((sum, each) => sum + each.heads, 0);
  const inHand = spot === "" ? unit : spot;
  const unused = unread(parts, names);
  return (
    <>
      <h1 class="away">{say`${names.run.title}: the whole model`}</h1>
      <Texts />
      <p class="answer small-answer">{predicted !== null && <Sentence parts={predicted.said} />}</p>
      <Insight rows={rows} />
      <Expected />
      <p class="under">
        <span>
          {counted(total, "weight")}
          {unused > 0 && say`, ${rough(unused)} of them not used by this run`}:
        </span>
        {KINDS.filter((kind) => parts.some((part) => part.kinds[kind] > 0)).map((kind) => (
          <span key={kind}>
            <i style={{ background: colourOf(kind, palette) }} />
            {KIND_WORDS[kind]} {rough(parts.reduce((sum, part) => sum + part.kinds[kind], 0))}
          </span>
        ))}
        {heads > 0 && (
          <a href={link({ level: "heads" })} class="to-heads">
            {say`all ${counted(heads, "head")} →`}
          </a>
        )}
      </p>
      <div ref={box}>
        {drawn !== null && (
          <Spots
            scene={drawn.scene}
            spots={drawn.spots}
            label={say`The parts of the model in the order of computation. Arrow keys move from part to part, Enter opens one.`}
            inHand={inHand}
            onMove={(id) => {
              setSpot(id);
              if (!id.includes(" ")) go({ unit: id }, true);
            }}
            onOpen={open}
          />
        )}
      </div>
      <p class="label">{predicted?.note}</p>
      <Parts parts={parts} predicted={predicted} />
    </>
  );

  function open(id: string): void {
    const [kind, name = "", cell = ""] = id.split(" ");
    if (kind === "heads") go({ level: "heads", ...headInHand(source, `${name} 0`, state.value) });
    else if (kind === "number") {
      go({ level: "number", tensor: name, cell: cell.split(",").map(Number), layout: [] });
    } else go({ level: "block", unit: id, layout: [] });
  }
}

/** What was answered for a sentence; until that is known, what was for the one before. */
function usePredicted(sentence: number): Predicted | null {
  const { names, source } = useStore();
  const [predicted, setPredicted] = useState<Predicted | null>(null);
  useAsked(() => {
    let current = true;
    predictionsOf(names, source, sentence).then(
      (found) => {
        if (current) setPredicted(found);
      },
      (error: unknown) => {
        const said = [say`What it answers cannot be shown: ${problemOf(error)}`];
        if (current) setPredicted({ said, rows: [] });
      },
    );
    return () => {
      current = false;
    };
  }, [names, source, sentence]);
  return predicted;
}

/** The same as a table. */
function Parts({ parts, predicted }: { parts: readonly Part[]; predicted: Predicted | null }): VNode {
  const store = useStore();
  const { now, onToggle } = useFolded();
  return useMemo(() => tableOf(parts, predicted, store, onToggle), [parts, predicted, store, now]);
}

function tableOf(
  parts: readonly Part[],
  predicted: Predicted | null,
  { names, source }: Store,
  onToggle: ReturnType<typeof useFolded>["onToggle"],
): VNode {
  const kinds = KINDS.filter((kind) => parts.some((part) => part.kinds[kind] > 0));
  return (
    <details class="twin" onToggle={onToggle}>
      <summary>{say`the same as a table`}</summary>
      <Scroll label={say`the parts of the model`}>
        <table>
          <thead>
            <tr>
              <th>{say`part`}</th>
              <th>{say`weights`}</th>
              {kinds.map((kind) => (
                <th key={kind}>{KIND_WORDS[kind]}</th>
              ))}
              <th>{say`reads`}</th>
              <th>{say`ends with`}</th>
            </tr>
          </thead>
          <tbody>
            {parts.map((part) => (
              <tr key={part.unit} data-unit={part.unit} data-weights={part.weights}>
                <th>
                  <a href={link({ level: "block", unit: part.unit, layout: [] })}>{names.unit(part.unit)}</a>
                </th>
                <td>
                  {grouped(part.weights)}
                  {part.tied.length > 0 && say` + tied`}
                </td>
                {kinds.map((kind) => (
                  <td key={kind}>{grouped(part.kinds[kind])}</td>
                ))}
                <td>{[...part.reads.keys()].map((unit) => names.unit(unit)).join(", ") || say`the text`}</td>
                <td>
                  {names.title(part.last)}, {(source.shape(part.last) ?? []).join(" × ") || say`size not known`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <ul class="links">
          {predicted?.rows.map(({ asked, guesses }) => (
            <li key={asked}>
              {asked}:
              {guesses.map(({ text, name, cell, share }) => (
                <a
                  key={cell.join()}
                  href={toNumber(name, cell, names)}
                  data-answer={name}
                  data-cell={cell.join()}
                  data-share={share}
                >
                  {` ${text} ${percent(share)}`}
                </a>
              ))}
            </li>
          ))}
        </ul>
      </Scroll>
    </details>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
