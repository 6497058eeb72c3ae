/** The page: what is looked at on the left, the picture in the middle, why on the right. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { firstWeights, largestWeight, withoutModel } from "../address/first.ts";
import { sentenceOf, toTensor } from "../address/links.ts";
import { go, goTo, inPicture, type Level, link, state } from "../address/state.ts";
import { CHUNKS } from "../chunks/chunks.ts";
import { Awaited, viewIn } from "../chunks/later.tsx";
import { SessionContext, useSession } from "../edit/session/context.ts";
import type { Session } from "../edit/session/session.ts";
import { BusyLine } from "../edit/views/busy.tsx";
import { useEditKeys } from "../edit/views/keys.ts";
import { short } from "../numbers/written.ts";
import { StoreContext, useAnswer, useLate, useNextTask, usePalette, useStore } from "../views/hooks.ts";
import { Working } from "../views/pieces.tsx";
import { plain } from "../views/plain.ts";
import { say } from "../words/say.ts";
import { Foot } from "./foot.tsx";
import { Inspector } from "./inspector.tsx";
import { LEVELS } from "./levels.ts";
import { Rail } from "./rail.tsx";
import { Top } from "./top.tsx";

/** The levels that show the tensor of the address. */
const NUMBERED: readonly Level[] = ["head", "tensor", "number"];

const Help = viewIn(CHUNKS.saving, (chunk) => chunk.Help);
const Strip = viewIn(CHUNKS.tours, (chunk) => chunk.Strip);

export function App({ session }: { session: Session }): VNode {
  return (
    <SessionContext.Provider value={session}>
      <StoreContext.Provider value={session.store.value}>
        <Page />
      </StoreContext.Provider>
    </SessionContext.Provider>
  );
}

/** What is next to the picture follows another run one task after it, as it follows the address. */
function Beside({ children }: { children: ComponentChildren }): VNode {
  return <StoreContext.Provider value={useNextTask(useStore())}>{children}</StoreContext.Provider>;
}

/** In the place of a tensor that this run does not have. An address without any opens the first number of the run. */
function NoTensor({ name }: { name: string }): VNode {
  const store = useStore();
  useEffect(() => {
    if (name !== "") return;
    void store.open(firstWeights(store.names.run.formulas)).then(() => go(largestWeight(store), true));
  }, [name, store]);
  return (
    <>
      <h1 class="big">{name === "" ? say`No tensor is chosen` : say`There is no such tensor`}</h1>
      <p class="wrong">
        {say`${name !== "" && <>{say`This run has no tensor ${<b>{name}</b>}.`} </>}Choose one from ${<a href={link({ level: "model", tensor: "", cell: [] })}>{say`the whole model`}</a>}.`}
      </p>
    </>
  );
}

function Page(): VNode {
  const store = useStore();
  const { names } = store;
  const busy = useSession().busy.value;
  usePalette();
  const { level, tensor, cell } = state.value;
  // A page without a model has no boxes.
  const bare = names.run.formulas.length === 0 ? withoutModel(names.run.facts) : level;
  const { View, Beside: beside, chunk } = LEVELS[level === "block" || bare === "training" ? bare : level];
  const lost = NUMBERED.includes(level) && names.run.formulas.length > 0 && !names.knows(tensor);
  // An address may name a tensor alone: its first number is in hand. Or a cell alone: its text is the one in front.
  const first = cell.length === 0 && (level === "tensor" || level === "number");
  const held = first ? names.axes(tensor).map(() => 0) : cell;
  useLayoutEffect(() => go({ cell: held, ...sentenceOf(tensor, held, names) }, true), [`${tensor} ${held}`]);
  // Where no number is in hand, none is opened: of a large run it would have to be fetched.
  const answer = useAnswer(beside === undefined && inPicture.value ? tensor : "", held);
  // Until the number of this address is here, the one before stays: dimmed, and without its mark.
  const asked = beside === undefined && tensor !== "" && !lost && inPicture.value;
  useEditKeys(asked);
  const stale = asked && (answer === null || answer.name !== tensor || answer.cell.join() !== held.join());
  const late = useLate(stale);
  const up = (): void => {
    const above = LEVELS[state.value.level].up(state.value, names);
    if (above !== null) go(above);
  };
  const help = useRef<HTMLDialogElement>(null);
  // They come with what is fetched later; one task after that they are drawn.
  const keys = (): void =>
    void CHUNKS.saving.load().then(
      () => setTimeout(() => help.current?.showModal()),
      () => null,
    );
  // Keys are followed as soon as what they change is drawn, here and elsewhere: an effect comes some frames later.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!plain(event)) return;
      if (event.key === "?") keys();
      if (event.key === "Escape") up();
      if (event.key === "t" && level !== "tensor" && tensor !== "" && inPicture.value)
        goTo(toTensor(tensor, cell, names));
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  const main = useRef<HTMLElement>(null);
  const toPicture = (): void =>
    (main.current?.querySelector<HTMLElement>("canvas[tabindex], .quiz input, .play") ?? main.current)?.focus({
      preventScroll: true,
    });
  const seen = useRef(false);
  const shown = level === "number" ? `${tensor} ${cell.join()}` : level;
  useEffect(() => {
    main.current?.scrollTo(0, 0);
    if (level === "number") store.pointed.value = null;
  }, [shown]);
  useEffect(() => {
    // A link in the rail leads to the picture; it is drawn a moment later.
    const link = document.activeElement;
    // What was in focus may be gone with the view, the change, or the run that had it.
    if (link?.closest(".rail nav") || (seen.current && link === document.body))
      setTimeout(() => document.activeElement === link && toPicture(), 200);
    seen.current = true;
  }, [state.value, store, busy]);
  // What does not show the answer is not drawn again when it comes.
  const [top, rail, foot, dialog] = useMemo(
    () => [<Top onHelp={keys} />, <Rail />, <Foot />, <Help dialog={help} />] as const,
    [],
  );
  // Nor is a picture that does not read it.
  const read = level === "number" ? answer : null;
  const view = useMemo(() => <View answer={read} />, [View, read]);
  const value = answer === null ? null : answer.kind === "computed" ? answer.found.value : answer.value;
  return (
    <div
      class="frame"
      data-tour={state.value.tour !== ""}
      data-present={state.value.tour !== "" && state.value.present}
    >
      <button type="button" class="away" onClick={toPicture}>
        {say`to the picture`}
      </button>
      <Beside>
        {top}
        <BusyLine />
        {rail}
      </Beside>
      {state.value.tour !== "" && <Strip />}
      {state.value.tour !== "" && <Awaited chunk={CHUNKS.tours} />}
      <main
        class="main"
        ref={main}
        tabIndex={-1}
        data-level={level}
        data-stale={late && level === "number"}
        aria-busy={stale}
      >
        {late && level === "number" && (
          <Working on={say`Loading ${names.title(tensor)}, ${names.cell(tensor, held)}`} />
        )}
        {lost ? <NoTensor name={tensor} /> : view}
        {chunk !== undefined && <Awaited chunk={chunk} lacks={LEVELS[level].lacks?.(store.source) ?? ""} />}
      </main>
      <Beside>
        <Inspector answer={answer} loading={stale ? names.cell(tensor, held) || names.title(tensor) : ""} late={late} />
        {foot}
        {dialog}
      </Beside>
      <p class="away" aria-live="polite">
        {answer !== null &&
          !stale &&
          value !== null &&
          `${names.title(answer.name)}, ${names.cell(answer.name, answer.cell)}: ${short(value)}`}
      </p>
    </div>
  );
}
