/** A text word by word: what was written so far, what could have come next, and what the step looked at. */

import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { go, link, state } from "../../address/state.ts";
import { short } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import { useStore } from "../../views/hooks.ts";
import { Candidates } from "./candidates.tsx";
import { chose, option, placeOf, playing, reads, stepOf, useRead } from "./held.ts";
import { Looks, SoFar } from "./looks.tsx";
import { Player } from "./player.tsx";
import type { Node, Search } from "./search.ts";
import { Tokens, Turns } from "./story.tsx";
import { chosenAttention, crosses, useShares } from "./weights.ts";

export function WordsView({ side, search }: { side: Side; search: Search | null }): VNode {
  const store = useStore();
  const { names, source } = store;
  const { sentence, at } = state.value;
  const read = useRead(store, sentence);
  useEffect(
    () => () => {
      playing.value = false;
    },
    [],
  );
  const chosen = chosenAttention(names, source, side);
  const [own, crossing] = [false, true].map((kind) => chosen.names.find((name) => crosses(name) === kind));
  const back = useShares(own, chosen.head);
  const across = useShares(crossing, chosen.head);
  if (read === null) return <p class="quiet">Reading …</p>;
  const given = givenTokens(search, read);
  const step = Math.min(at[0] ?? given - 1, Math.max(0, read.length - 1));
  const to = (next: number): void => {
    const bound = Math.min(Math.max(next, 0), read.length - 1);
    go({ at: [bound, ...at.slice(1)] }, true);
  };
  const nodes = (search === null ? [] : nodesAt(search, at[1], read)).filter((node) => stepAt(search, node) === step);
  const most = back === null ? 0 : Math.max(...read.slice(0, step + 1).map((_, token) => back(step, token)));
  const inHand = search?.node(at[1]);
  const asked = inHand !== undefined && stepAt(search, inHand) === step ? inHand.token : undefined;
  const taken = nodes.find(({ number, token }) => {
    return read[step + 1] === undefined ? search?.best.has(number) === true : token === read[step + 1];
  });
  return (
    <>
      <Player
        step={step}
        count={read.length}
        first={given - 1}
        written={search !== null}
        ready={search === null || (given === search.record.prompt.length && read.length > given)}
        behind={names.word(side, sentence, step).text}
        to={to}
      />
      <Turns turns={search?.record.turns ?? []} />
      {across !== null && (
        <p class="written-so-far read-too">
          <span class="away">the source, with what this step looked at there: </span>
          <Tokens side="inputs" step={Infinity} given={Infinity} share={(key) => across(step, key)} />
        </p>
      )}
      <p class="written-so-far" data-role={(search?.record.turns?.length ?? 0) > 0 ? "model" : undefined}>
        <Tokens
          side={side}
          step={step}
          given={given}
          hides={playing.value || (search !== null && option("whole") !== "1")}
          share={back === null ? undefined : (key) => back(step, key)}
          onGo={(token) => {
            playing.value = false;
            to(token);
          }}
        />
      </p>
      <p class="quiet">
        The decoder has read up to the framed word, and chooses what comes next. The bars show how much it looks at
        each; the tallest is {short(most, 2)}.
        {side === "decoder_inputs" && step === 0 && " It begins with a start mark."}
      </p>
      <div class="step-parts">
        <Candidates
          place={placeOf(names, sentence, step)}
          next={read[step + 1]}
          asked={asked}
          nodes={nodes}
          chosen={taken}
          search={search}
        />
        <Looks step={step} chosen={chosen} />
        <SoFar side={side} step={step} chosen={chosen} />
      </div>
    </>
  );
}

/** How many of the tokens were given, and not written: the prompt of the search. */
function givenTokens(search: Search | null, read: readonly number[]): number {
  const prompt = search?.record.prompt ?? [];
  const same = prompt.length <= read.length && prompt.every((id, place) => read[place] === id);
  return same ? Math.max(1, prompt.length) : 1;
}

/** The nodes that were looked at along the way of one of them, or of this run; of samples those of one. */
function nodesAt(search: Search, number: number | undefined, read: readonly number[]): readonly Node[] {
  const way = search.node(number);
  const nodes = search.record.nodes.filter((node) => chose(search, node, read));
  if (way !== undefined && !nodes.includes(way)) return [];
  if (search.record.settings.method !== "sample") return nodes;
  const ends = search.record.answers.flatMap((each) => search.node(each) ?? []);
  const mine = way ?? ends.find((each) => reads(search, each, read));
  return mine === undefined ? nodes : nodes.filter(({ hypothesis }) => hypothesis === mine.hypothesis);
}

function stepAt(search: Search | null, node: Node): number {
  return search === null ? -1 : stepOf(search, node);
}

export function StepBeside({ search }: { search: Search | null }): VNode {
  const store = useStore();
  const { sentence, at } = state.value;
  const read = useRead(store, sentence);
  const node = search?.node(at[1]);
  const all = read !== null && search !== null && node !== undefined && chose(search, node, read);
  return (
    <>
      <div class="part">
        <p class="label">What is shown here</p>
        <p>
          Every number is one of this run. A decoder that reads a text computes at each word what it computed when it
          wrote it: so one run has all steps.
        </p>
        <p class="quiet">
          Space plays and pauses, ← and → go one step, Home to the first that was written, + and − change the speed.
        </p>
      </div>
      {search !== null && node !== undefined && (
        <div class="part">
          <p class="label">From the search</p>
          <p class="strong">
            <bdi>{search.textUpTo(node) || search.word(node)}</bdi>
          </p>
          <p>{search.why(node)}</p>
          {!all && read !== null && <p class="quiet">This run has not read it.</p>}
          <p>
            <a class="strong" href={link({ picture: "", at: [node.number] })}>
              Back to the search tree
            </a>
          </p>
        </div>
      )}
      <div class="part">
        <p class="label">More of this run</p>
        <ul class="links">
          <li>
            <a href={link({ level: "model" })}>the whole model</a>
          </li>
          <li>
            <a href={link({ level: "heads" })}>all heads</a>
          </li>
        </ul>
      </div>
    </>
  );
}
