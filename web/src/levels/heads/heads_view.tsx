/** All heads of all blocks at once: what each looks like, what it does, and how many do the same. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { go, link, state } from "../../address/state.ts";
import type { Palette } from "../../draw/colour.ts";
import { SCALE, strengthOf } from "../../draw/marks.ts";
import { counted, short } from "../../numbers/written.ts";
import { Command } from "../../views/command.tsx";
import { usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { Working } from "../../views/pieces.tsx";
import { Spots } from "../../views/spots.tsx";
import { heard, say } from "../../words/say.ts";
import { Filters } from "../head/filters.tsx";
import { textOf } from "../head/head_view.tsx";
import { arrangeIn, groupsOf, marksOf, ORDERS, onlyIn, opensAs } from "./about.ts";
import { headInHand } from "./hand.ts";
import { headsScene, idOf, sizeFor } from "./heads_scene.ts";
import { HeadsTable } from "./heads_table.tsx";
import { jobColours } from "./job_marks.tsx";
import { type Counted, headlineOf, type Job, RULE, whereOf } from "./jobs.ts";
import { FILTERED, usePart, withHidden } from "./part.ts";
import { attentionsOf, useRows } from "./rows.ts";
import { measuring, useWorth } from "./worth.ts";

export function HeadsView(): VNode {
  const store = useStore();
  const { names, source } = store;
  const palette = usePalette();
  const { box, width } = useWidth();
  const { sentence, tensor, cell } = state.value;
  const [arrange, only] = [arrangeIn(state.value.arrange), onlyIn(state.value.only)];
  const attentions = useMemo(() => attentionsOf(names, source), [names, source]);
  const most = Math.max(1, ...attentions.map(({ heads }) => heads));
  const tokens = Math.max(1, ...attentions.map(({ queries, keys }) => Math.max(queries, keys)));
  // Few heads are large: one row of them or two fill the window.
  const tall = ((globalThis.innerHeight || 720) - 280) / Math.min(attentions.length, 2) - 24;
  const size = sizeFor(width, most, tokens, Math.min(Math.max(tall, 112), 320));
  const asked = usePart(sentence);
  const part = tokens > FILTERED ? null : asked;
  const { rows, missing, wrong } = useRows(attentions, sentence, width === 0 ? 0 : size.dots, part);
  const { worth, offered, reason } = useWorth();
  const marks = useMemo(() => marksOf(names, sentence), [names, sentence]);
  const job = useMemo(jobColours, [palette]);
  const groups = useMemo(() => groupsOf(rows), [rows]);
  const drawn = useMemo(() => {
    if (rows.length === 0) return null;
    const title = (one: Job): string =>
      one === "few" || one === "many" ? whereOf(one, marks) : say`mostly ${whereOf(one, marks)}`;
    const look = { palette, job, arrange, only, title, worth: worth?.of };
    return headsScene(withHidden(rows, part, names, sentence), look, size, width);
  }, [rows, palette, job, arrange, only, size.dots, size.pixels, width, marks, worth]);
  const own = names.run.editing?.command.slice("glassformer explore ".length) || 'MODEL "a text"';
  const total = groups.reduce((sum, { heads }) => sum + heads.length, 0);
  const headline = headlineOf(groups, total, marks);
  const said = headline.map(({ text }) => text).join("");
  return (
    <>
      <h1 class="away">{say`${names.run.title}: all heads`}</h1>
      {attentions.length === 0 && <p class="wrong">{say`This model has no attention: there are no heads to show.`}</p>}
      {attentions.length > 0 && rows.length === 0 && missing.length === 0 && wrong === "" && (
        <Working on={say`All heads are measured`} />
      )}
      {wrong !== "" && <p class="wrong">{say`The heads cannot be shown: ${wrong}`}</p>}
      {missing.length > 0 && (
        <p class="wrong">
          {say`${counted(missing.length, "attention")} of ${attentions.length} cannot be shown: this page does not carry their weights.`}
        </p>
      )}
      {rows.length > 0 && <Headline parts={headline} only={only} groups={groups} />}
      <div class="controls">
        <label>
          {say`arranged by`}
          <select value={arrange} onChange={(event) => go({ arrange: arrangeIn(event.currentTarget.value) }, true)}>
            <option value="">{say`block and head`}</option>
            <option value="job">{say`what they do`}</option>
            {worth !== null && <option value="importance">{say`loss without it`}</option>}
            {Object.entries(ORDERS).map(([measure, text]) => (
              <option value={measure} key={measure}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {only !== null && (
          <button type="button" class="undo" onClick={() => go({ only: "" }, true)}>
            {say`show all heads`}
          </button>
        )}
        {tokens <= FILTERED && (
          <Filters
            text={textOf(store, attentions[0]?.band.startsWith("decoder") ? "decoder_inputs" : "inputs", sentence)}
          />
        )}
        <Ramp palette={palette} red={names.run.words.answers.some(([row]) => row === sentence)} />
      </div>
      {part !== null && rows.some(({ heads }) => heads.shown === undefined) && (
        <p class="quiet" aria-live="polite">
          {say`The heads are being measured for the part of the text that is shown …`}
        </p>
      )}
      <div ref={box}>
        {drawn !== null && (
          <Spots
            scene={drawn.scene}
            spots={drawn.spots}
            label={say`All heads. ${said} Arrow keys move from head to head, Enter opens one.`}
            inHand={idOf(tensor.replace(/\.weights$/, ""), cell[1] ?? 0)}
            onMove={(id) => go(headInHand(source, id, state.value), true)}
            onOpen={(id) => go({ ...headInHand(source, id, state.value), ...opensAs() })}
          />
        )}
      </div>
      {rows.length > 0 && (
        <p class="rule-of-heads">
          {RULE}{" "}
          {part !== null &&
            say`A part of the text is shown: labels and measures are of the attention there, “of .62” is its share. Words of several tokens: summed as keys, averaged as queries. `}
          {worth === null ? (
            <>
              {say`What a head is worth cannot be read off its attention; it is measured on texts that the model has not learned from: ${reason !== "" && reason}`}
              {offered && reason === "" && (
                <button type="button" class="undo" disabled={measuring.value} onClick={() => (measuring.value = true)}>
                  {measuring.value ? say`measuring, up to a minute …` : say`measure it now`}
                </button>
              )}
              {!offered && reason === "" && (
                <Command text={`glassformer explain ${own} --held-out FILE --html page.html`} />
              )}
            </>
          ) : (
            say`“Lost”: the ${heard(worth.measure)} without the head less that with it, ${heard(worth.unit)}, on ${worth.text}; with all heads it is ${short(worth.baseline)}.`
          )}
        </p>
      )}
      {rows.length > 0 && <HeadsTable rows={rows} marks={marks} worth={worth} />}
    </>
  );
}

/** The answer of this level in one sentence; each group in it can be picked out. */
function Headline({
  parts,
  only,
  groups,
}: {
  parts: ReturnType<typeof headlineOf>;
  only: Job | null;
  groups: readonly Counted[];
}): VNode {
  const alone = groups.length < 2;
  return (
    <p class="answer">
      {parts.map(({ text, job }) => {
        if (job === null || alone) return text;
        return (
          <a
            key={job}
            href={link({ only: only === job ? "" : job })}
            aria-current={only === job}
            style={{ borderColor: `var(--job-${job})` }}
          >
            {text}
          </a>
        );
      })}
    </p>
  );
}

/** What the colour of a dot says. */
function Ramp({ palette, red }: { palette: Palette; red: boolean }): VNode {
  return (
    <p class="ramp">
      <span>{say`row: the token that looks, column: where; share of its attention`}</span>
      {SCALE.map((share) => (
        <span key={share}>
          <i style={{ background: palette.cell("attention", strengthOf(share)) }} />
          {String(share).replace(/^0\./, ".")}
        </span>
      ))}
      {red && <span>{say`red: a word that was hidden`}</span>}
    </p>
  );
}
