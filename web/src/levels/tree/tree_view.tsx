/** How an answer was searched for: the tree of all that was looked at, or the best way word by word. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { go, link, state } from "../../address/state.ts";
import { useSession } from "../../edit/session/context.ts";
import { counted, short } from "../../numbers/written.ts";
import { isServed } from "../../sources/served.ts";
import { usePalette, useStore } from "../../views/hooks.ts";
import { measure } from "../../views/picture.tsx";
import { Spots } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { openNode, useRead, useSearch, writingSide } from "./held.ts";
import { Theatre } from "./theatre.tsx";
import { SIGNS, treeScene } from "./tree_scene.ts";
import { TreeTable } from "./tree_table.tsx";
import { writtenBy } from "./written/options.ts";
import { isStrong, methodOf, type Search } from "./written/search.ts";

// An exported page lacks it: it asks no server.
const { Ways, Writer } = await import("./asked/asked.ts");

export function TreeView(): VNode {
  const { names, source } = useStore();
  const { picture } = state.value;
  const side = writingSide(names);
  const held = useSearch();
  const { search, why } = held;
  if (side === null) {
    return (
      <>
        <h1 class="big">{say`How it writes`}</h1>
        <p class="wrong">
          {say`${names.run.title} has no decoder: it writes nothing, so there is nothing to search for. Models that translate, as ${<b>{say`en-fr`}</b>}, have a search tree.`}
        </p>
      </>
    );
  }
  const words = picture === "words";
  const written = writtenBy(names.run);
  return (
    <>
      <h1 class="away">{say`${names.run.title}: how it writes`}</h1>
      <nav class="pictures" aria-label={say`how it is shown`}>
        <a href={link({ picture: "words", at: words ? state.value.at : [] })} aria-current={words}>
          {say`as it is written`}
        </a>
        <a href={link({ picture: "", at: state.value.at.slice(1) })} aria-current={!words}>
          {say`the search`}
        </a>
      </nav>
      {written !== null && isServed(source) && (
        <Writer written={written} search={search} waits={search === null && why === ""} />
      )}
      {words && search === null && why !== "" && isServed(source) && <p class="wrong">{why}</p>}
      {words && <Theatre side={side} held={held} />}
      {words && <About />}
      {isServed(source) && <Ways written={written} folded={words} />}
      {!words && search !== null && <Tree search={search} />}
      {!words && search === null && why !== "" && <p class="wrong">{why}</p>}
      {!words && search === null && why === "" && <p class="quiet">{say`Searching …`}</p>}
    </>
  );
}

/** What the numbers of a text as it is written are, and the keys. */
function About(): VNode {
  return (
    <details class="twin about">
      <summary>{say`what this shows, and its keys`}</summary>
      <p>
        {say`Every number is one of this run. A decoder that reads a text computes at each word what it computed when it wrote it: so one run has all steps.`}
      </p>
      <p class="quiet">
        {say`Space plays and pauses, ← and → go one step, ↑ and ↓ to another branch, Home to the first word that was written, + and − change the speed. A candidate that is chosen is written in place of the word, and the text goes on from there.`}
      </p>
    </details>
  );
}

function Tree({ search }: { search: Search }): VNode {
  const store = useStore();
  const session = useSession();
  const { names } = store;
  const palette = usePalette();
  const { sentence, at } = state.value;
  const read = useRead(store, sentence);
  const own = search.node(at[0]) ?? search.first;
  const drawn = useMemo(() => {
    const source = search.record.source === null ? [] : names.run.words.inputs[sentence];
    const labels = (source ?? []).map((_, token) => names.word("inputs", sentence, token));
    return treeScene(search, labels, palette, measure);
  }, [search, names, palette, sentence]);
  const { nodes, settings, answers } = search.record;
  const best = search.node(answers[0]);
  const strong = nodes.filter(isStrong).length;
  const signs = Object.entries(SIGNS).filter(([fate]) => nodes.some((node) => node.fate === fate));
  const choose = (id: string): void => go({ at: [Number(id)] }, true);
  return (
    <>
      <p class="answer">
        {best === undefined ? say`No complete answer was found.` : <bdi>{search.record.answer || say`(no words)`}</bdi>}
      </p>
      <p class="quiet tree-told">
        {say`${methodOf(settings)}: ${counted(search.columns.length, "step")}, ${counted(nodes.length, "candidate")} looked at, ${strong} kept${best !== undefined && settings.method === "beam" && <>{say`; best score ${short(best.score)} of ${counted(answers.length, "complete answer")}`}</>}`}
      </p>
      <section class="tree-scroll" tabIndex={0} aria-label={say`the search tree, which is wider than the page`}>
        <Spots
          scene={drawn.scene}
          spots={drawn.spots}
          label={say`Search tree. ${search.record.answer}. Left: where it comes from, right: how it goes on, up and down: the same step. Enter opens.`}
          inHand={String(own?.number ?? "")}
          next={(from, key) => {
            const node = search.node(Number(from));
            return node === undefined ? undefined : String(search.next(node, key)?.number ?? "");
          }}
          onMove={choose}
          onChoose={choose}
          onOpen={(id) => {
            const node = search.node(Number(id));
            if (node !== undefined) openNode(session, search, node, read);
          }}
        />
      </section>
      <ul class="tree-legend">
        <li>{say`${<i class="on-best" />} the way to the best answer`}</li>
        <li>
          <i class="goes-on" /> {settings.method === "beam" ? say`went on` : say`chosen`}
        </li>
        <li>{say`${<i class="left" />} looked at, not kept`}</li>
        {signs.map(([fate, [sign, text]]) => (
          <li key={fate}>
            <b>{sign}</b> {text}
          </li>
        ))}
        <li>
          {settings.method === "beam"
            ? say`number: log-probability of all words up to there`
            : say`number: probability`}
        </li>
      </ul>
      <TreeTable search={search} />
    </>
  );
}
