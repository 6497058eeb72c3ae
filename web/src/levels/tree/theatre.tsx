/** A text as it is written: in large type, with what could have come, where the draw fell, and what each word looked at. */

import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { go, state } from "../../address/state.ts";
import { useSession } from "../../edit/session/context.ts";
import { range } from "../../numbers/arithmetic.ts";
import { short } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import { isServed } from "../../sources/served.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { BranchesView, beside } from "./branches_view.tsx";
import { Candidates } from "./candidates.tsx";
import { Drawn } from "./drawn.tsx";
import { type Held, placeOf, useRead } from "./held.ts";
import { Aligned, LookChoice, Looks, SoFar } from "./looks.tsx";
import { Player } from "./player.tsx";
import { Rivals } from "./rivals.tsx";
import { Sliders } from "./sliders.tsx";
import { type Beam, Stage, Turns } from "./stage.tsx";
import { type Chosen, chosenAttention, crosses, type Share, useAttention } from "./weights.ts";
import { branches, branchOf, continued, isOf, rowsOf, withBranch } from "./written/branches.ts";
import { type Line, lineOf, nodesAt, targetIn } from "./written/line.ts";
import { begun, draws, isCold, isStill, option, playing, withOption, writing, writtenBy } from "./written/options.ts";

// An exported page lacks it: it asks no server.
const { goBack, rewrite, write } = await import("./asked/asked.ts");

/** So many tokens more are written at the end of a text that was cut. */
const MORE = 40;

export function Theatre({ side, held }: { side: Side; held: Held }): VNode {
  const store = useStore();
  const session = useSession();
  const { names, source } = store;
  const { sentence, at, options, changes } = state.value;
  const live = isServed(source);
  const target = live ? targetIn(changes, sentence) : null;
  // What was written on this page is known before its run is, and when the server is gone.
  const search =
    branches.value.find((each) => each.ids.join() === target?.join() && isOf(each, store))?.search ?? held.search;
  const read = useRead(store, sentence);
  useEffect(
    () => () => {
      playing.value = false;
    },
    [],
  );
  const of = continued(store, search?.record.text ?? "");
  useEffect(() => {
    if (held.search === null) return;
    const { search } = held;
    const count = search.record.settings.method === "sample" ? search.record.answers.length : 1;
    for (let answer = 0; answer < count; answer++) {
      const branch = branchOf(continued(store, search.record.text), search, held.options, answer);
      if (branch !== null) branches.value = withBranch(branches.value, branch);
    }
  }, [held.search]);
  const chosen = chosenAttention(names, source, side);
  const [own, crossing] = [false, true].map((kind) => chosen.names.find((name) => crosses(name) === kind));
  const [back, across] = [useAttention(own), useAttention(crossing)];
  const line = lineOf(search, { read, target, begun: begun(options).length, answer: Number(option("answer")), live });
  const { ids, covered, given } = line;
  const step = Math.min(at[0] ?? given - 1, Math.max(0, ids.length - 1));
  const waits = live && target === null && covered < ids.length;
  // Beyond what the run has read, the run of the whole text is made; what went wrong is not tried again by itself.
  const beyond = waits && read !== null && step >= covered && !writing.value.busy && writing.value.again === null;
  useEffect(() => {
    if (beyond) void write(session, { options, step });
  }, [beyond]);
  if (read === null && target === null && search === null) return <p class="quiet">{say`Reading …`}</p>;
  const to = (next: number): void => {
    const bound = Math.min(Math.max(next, 0), ids.length - 1);
    if (bound !== step) go({ at: [bound, ...at.slice(1)] }, true);
  };
  const rows = rowsOf(branches.value, of);
  const searches = [...(search === null ? [] : [search]), ...rows.map(({ branch }) => branch.search).reverse()];
  const looked = nodesAt(searches, step, ids, search?.node(at[1]));
  const nodes = looked?.nodes ?? [];
  const inHand = search?.node(at[1]);
  const asked = inHand !== undefined && nodes.includes(inHand) ? inHand.token : undefined;
  const next = ids[step + 1];
  const taken = nodes.find(({ number, token }) => {
    return next === undefined ? looked?.search.best.has(number) === true : token === next;
  });
  const here = step < covered;
  const lookSide = crossing !== undefined && option("look") !== "own" ? "source" : "own";
  const shown = lookSide === "source" ? across : back;
  const wordOf = (id: number): string => names.run.words.vocabulary[id] ?? String(id);
  const words = ids.map(
    (id, place) => (place < covered ? names.run.words[side][sentence]?.[place] : null) ?? wordOf(id),
  );
  const from = crossing === undefined ? null : (names.run.words.inputs[sentence] ?? []);
  const jump = (branch: Parameters<typeof goBack>[1], place: number): void => {
    playing.value = false;
    if (live) goBack(session, branch, Math.max(given, place) - 1);
    else {
      const answer = rows.findIndex((row) => row.branch === branch);
      go({ options: withOption("answer", answer < 1 ? "" : String(answer)), at: [Math.max(given, place) - 1] });
    }
  };
  const written = writtenBy(names.run);
  const drawn = draws(written);
  const still = live
    ? ""
    : say`This page was saved: it shows what was recorded. On a live page, they rewrite the text.`;
  return (
    <div class="theatre">
      <Player
        step={step}
        count={ids.length}
        first={given - 1}
        written={search !== null}
        ready={covered === ids.length || session.busy.value === null}
        behind={words[step] ?? ""}
        to={to}
        prepare={
          waits
            ? () => void write(session, { options, step: isStill() ? ids.length - 1 : step, plays: true })
            : undefined
        }
        other={(by) => {
          const row = beside(rows, ids, by);
          if (row !== undefined) jump(row.branch, step + 1);
        }}
      />
      {drawn && search !== null && (
        <Sliders
          temperature={isCold() ? 0 : search.record.settings.temperature}
          seed={search.record.settings.seed}
          still={still}
          from={step < given ? say`the text` : say`what comes after “${words[step]?.replace("▁", "")}”`}
          onMove={(name, value) => void rewrite(session, line, step, withOption(name, String(value)))}
        />
      )}
      {from === null && <Turns turns={search?.record.turns ?? []} />}
      <div class="scene">
        <div>
          <Stage
            words={words}
            source={from}
            step={step}
            given={given}
            end={endOf(line, taken === undefined ? "" : (looked?.search.word(taken) ?? ""))}
            hides={playing.value || (search !== null && option("whole") !== "1")}
            playing={playing.value}
            beams={here && shown !== null ? beamsOf(shown, chosen, step, lookSide, from?.length ?? 0) : []}
            aligned={
              here && across !== null && from !== null ? aligned(across(chosen.head), given, step, from.length) : []
            }
            talks={(search?.record.turns ?? []).length > 0 && from !== null}
            label={
              written === "translation" ? say`the translation` : written === "reply" ? say`the reply` : say`the text`
            }
            onGo={(token) => {
              playing.value = false;
              to(Math.max(0, token - 1));
            }}
          />
          <LookChoice chosen={chosen} side={lookSide} />
          {!here && (
            <p class="quiet">
              {live && writing.value.again === null
                ? say`The run of this text is being made: then it shows what each word looked at.`
                : say`The run of this page has not read these words: what they looked at is on a live page.`}
            </p>
          )}
          {step === ids.length - 1 && line.end === "cut" && live && (
            <p>
              <button
                type="button"
                class="opens strong"
                onClick={() => {
                  const tokens = String(ids.length - given + MORE);
                  void rewrite(session, line, step, withOption("tokens", tokens));
                }}
              >
                {say`Write on →`}
              </button>
            </p>
          )}
          {looked !== null && (
            <Rivals
              search={looked.search}
              step={step}
              ids={ids}
              onFork={
                live
                  ? (node) => {
                      const begins = looked.search.readWith(node).slice(given).join(".");
                      void write(session, { options: withOption("begins", begins), step });
                    }
                  : null
              }
            />
          )}
        </div>
        <div>
          {looked !== null && <Drawn search={looked.search} nodes={nodes} chosen={taken} />}
          <Candidates
            place={here ? placeOf(names, sentence, step) : -1}
            next={next}
            asked={asked}
            nodes={nodes}
            chosen={taken}
            search={looked?.search ?? search}
            onFork={live ? (token) => void rewrite(session, line, step, options, token) : null}
          />
        </div>
      </div>
      <div class="step-parts">
        <BranchesView
          rows={rows}
          ids={ids}
          given={given}
          wordOf={(id) => wordOf(id).replace("▁", " ")}
          onChoose={jump}
        />
        {here && <Looks step={step} chosen={chosen} />}
        {here && crossing !== undefined && (
          <Aligned
            words={words.slice(given).map((word) => word.replace("▁", ""))}
            first={given - 1}
            step={step}
            chosen={chosen}
          />
        )}
        {here && <SoFar side={side} step={step} chosen={chosen} />}
      </div>
      <p class="away" aria-live="polite">
        {words[step + 1]?.replace("▁", "") ?? ""}
        {!playing.value && taken?.share != null && say`: drawn with ${short(taken.share)}`}
      </p>
    </div>
  );
}

/** What follows the last word. */
function endOf({ end }: Line, word: string): string {
  return end === "ended" ? say`end` : end === "cut" ? "…" : word || "?";
}

/** The lines of the word that is written: those of the mean or of one head, or of all, each in its colour. */
function beamsOf(
  of: (head: number | null) => Share,
  { each, heads, head }: Chosen,
  step: number,
  side: Beam["side"],
  source: number,
): Beam[] {
  const count = side === "source" ? source : step + 1;
  const shares = (one: number | null): number[] => range(count, (key) => of(one)(step, key));
  if (!each) return [{ side, colour: "var(--attention)", shares: shares(head) }];
  return range(heads, (one) => ({ side, colour: `var(--head-${one + 1})`, shares: shares(one) }));
}

/** Of each word that was written the word of the source that it looked at most. */
function aligned(share: Share, given: number, step: number, source: number): [number, number][] {
  return range(Math.max(0, step - given + 1), (place): [number, number] => {
    const query = given - 1 + place;
    let best = 0;
    for (let key = 1; key < source; key++) if (share(query, key) > share(query, best)) best = key;
    return [query + 1, best];
  });
}
