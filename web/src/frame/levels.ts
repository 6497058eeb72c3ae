/** The levels of the page, from the widest to the last: what each draws, what it says, what lies above it. */

import { type FunctionComponent, h } from "preact";
import { ofHeads, toHead, toNumber, toTensor } from "../address/links.ts";
import type { Level, State } from "../address/state.ts";
import { link } from "../address/state.ts";
import type { Chunk } from "../chunks/chunk.ts";
import { CHUNKS } from "../chunks/chunks.ts";
import { viewIn } from "../chunks/later.tsx";
import { cellNear } from "../formulas/attention.ts";
import type { Names } from "../formulas/names.ts";
import { BlockView } from "../levels/block/block_view.tsx";
import { ModelBeside } from "../levels/model/model_beside.tsx";
import { ModelView } from "../levels/model/model_view.tsx";
import type { Answer } from "../run/store.ts";
import type { Source } from "../sources/source.ts";
import { useStore } from "../views/hooks.ts";
import { say } from "../words/say.ts";
import { TourButton } from "./tour_button.tsx";

export interface LevelView {
  /** What has to be here before it is drawn; left out: the page begins with it. */
  readonly chunk?: Chunk<unknown>;
  /** The picture; `answer` is what is known of the number in hand. */
  readonly View: FunctionComponent<{ readonly answer: Answer | null }>;
  /** What is next to the picture; where it is left out, the number in hand. */
  readonly Beside?: { readonly title: string; readonly View: FunctionComponent };
  /** What the rail calls it among what sums the run up; left out: it stands elsewhere in the rail, or on the path. */
  readonly sums?: string;
  /** Why a run has nothing to show here, in a few words; empty or left out: it has. The view itself says more. */
  lacks?(source: Source): string;
  /** What can be done here, in one line at the foot. */
  readonly hint: string;
  /** What this place is called in the path above, and its address; null where the level above says it already. */
  crumb(state: State, names: Names): { readonly text: string; readonly href: string } | null;
  /** Where Escape leads; null where nothing lies above. */
  up(state: State, names: Names): Partial<State> | null;
}

/** The path above names these levels, in this order, down to the one that is shown. */
export const ORDER: readonly Level[] = ["model", "heads", "block", "scene", "head", "tensor", "number"];

const Quiz = viewIn(CHUNKS.tours, (chunk) => chunk.QuizView);
const Insight = viewIn(CHUNKS.summed_up, (chunk) => chunk.Insight);

const whole = (): Partial<State> => ({ level: "model", options: [], at: [] });

/** What a level is called on the path that needs no name of a part. */
function named(level: Level, text: string): LevelView["crumb"] {
  return () => ({ text, href: link({ level }) });
}

/** The same of one that sums the run up: the rail calls it so too. */
function summing(level: Level, text: string): Pick<LevelView, "sums" | "crumb"> {
  return { sums: text, crumb: named(level, text) };
}

export const LEVELS: Readonly<Record<Level, LevelView>> = {
  model: {
    View: () => h(ModelView, { Insight }),
    Beside: { title: say`The part in hand`, View: ModelBeside },
    hint: say`Click or Enter: open a part, its heads, or the number of an answer. Arrow keys: the next part. ? all keys`,
    // The path begins with the model's name.
    crumb: () => null,
    up: () => null,
  },
  heads: {
    chunk: CHUNKS.looking,
    lacks: noAttention,
    View: viewIn(CHUNKS.looking, (chunk) => chunk.HeadsView),
    Beside: { title: say`The head in hand`, View: viewIn(CHUNKS.looking, (chunk) => chunk.HeadsBeside) },
    hint: say`Click or Enter: open a head. Arrow keys: the next one. Escape: the whole model. ? all keys`,
    crumb: ({ level }) => (level === "heads" ? { text: say`all heads`, href: link({ level: "heads" }) } : null),
    up: () => ({ level: "model" }),
  },
  block: {
    View: () => h(BlockView, { Tour: TourButton }),
    hint: say`Point at a cell: its number. Click: its word is framed. Enter or double click: the number. ? all keys`,
    crumb(state, names) {
      const unit = unitInHand(state, names);
      // A small model is drawn in one picture.
      if (names.run.formulas.length <= 30)
        return { text: say`all tensors`, href: link({ level: "block", layout: [] }) };
      if (unit === "") return null;
      return { text: names.unit(unit), href: link({ level: "block", unit, layout: [] }) };
    },
    up: (state, names) => ({ level: "model", unit: unitInHand(state, names) }),
  },
  head: {
    chunk: CHUNKS.looking,
    View: viewIn(CHUNKS.looking, (chunk) => chunk.HeadView),
    hint: say`Point at a word: its lines. Arrow keys: the cell in hand. [ ] { }: another head or block. 0–9: a second head next to it`,
    crumb({ tensor, cell }, names) {
      const href = toHead(tensor, cell, names);
      return href === null || !ofHeads(tensor, names) ? null : { text: headInHand(tensor, cell, names), href };
    },
    up: (state, names) => ({ level: "block", unit: unitInHand(state, names), layout: [] }),
  },
  scene: {
    chunk: CHUNKS.scenes,
    View: viewIn(CHUNKS.scenes, (chunk) => chunk.SceneView),
    hint: say`Arrow keys, Page Up and Down: the number in hand. Enter: its formula. Escape: back to the boxes`,
    crumb({ level, scene }) {
      return level === "scene"
        ? { text: CHUNKS.scenes.here.value?.SCENES[scene]?.title ?? scene, href: link({}) }
        : null;
    },
    up: (state, names) => ({ level: "block", unit: unitInHand(state, names), layout: [] }),
  },
  tensor: {
    chunk: CHUNKS.looking,
    View: viewIn(CHUNKS.looking, (chunk) => chunk.TensorView),
    hint: say`Click or arrow keys: the number in hand. Enter or double click: its formula. Escape: back to the boxes`,
    crumb: ({ tensor, cell }, names) => ({ text: names.title(tensor), href: toTensor(tensor, cell, names) }),
    up: (state, names) => ({ level: "block", unit: unitInHand(state, names), layout: [] }),
  },
  number: {
    chunk: CHUNKS.looking,
    View: viewIn(CHUNKS.looking, (chunk) => chunk.NumberView),
    hint: say`Click a bar or a number: where it comes from. Escape: back to its tensor`,
    crumb: ({ tensor, cell }, names) => ({
      text: names.cell(tensor, cell) || say`the number`,
      href: toNumber(tensor, cell, names),
    }),
    up: () => ({ level: "tensor", layout: [] }),
  },
  mask: {
    chunk: CHUNKS.workshop,
    View: viewIn(CHUNKS.workshop, (chunk) => chunk.MaskView),
    hint: say`Click a word to hide it, a cell to forbid or allow it. Arrow keys move, Enter changes the cell`,
    crumb: named("mask", say`mask workshop`),
    up: () => ({ level: "block", options: [], at: [] }),
  },
  ties: {
    chunk: CHUNKS.summed_up,
    View: viewIn(CHUNKS.summed_up, (chunk) => chunk.TiesView),
    lacks: noAttention,
    hint: say`Arrow keys: the next head. Click or Enter: open it. Escape: all heads. ? all keys`,
    ...summing("ties", say`heads that tie two words`),
    up: () => ({ level: "heads", options: [], at: [] }),
  },
  rollout: {
    chunk: CHUNKS.summed_up,
    View: viewIn(CHUNKS.summed_up, (chunk) => chunk.RolloutView),
    lacks: noAttention,
    hint: say`Click or arrow keys: the word and block in hand. Page Down: the blocks. Escape: all heads. ? all keys`,
    ...summing("rollout", say`attention through all blocks`),
    up: () => ({ level: "heads", options: [], at: [] }),
  },
  lens: {
    chunk: CHUNKS.summed_up,
    View: viewIn(CHUNKS.summed_up, (chunk) => chunk.LensView),
    lacks: (source) => noneOf(source, ["head.logits"], say`no output layer over words`) || noWeights(source),
    Beside: { title: say`The guesses in hand`, View: viewIn(CHUNKS.summed_up, (chunk) => chunk.LensBeside) },
    hint: say`Click or Enter: the guesses of a place after a block. Escape: the whole model. ? all keys`,
    ...summing("lens", say`the answer, block by block`),
    up: whole,
  },
  gradients: {
    chunk: CHUNKS.summed_up,
    View: viewIn(CHUNKS.summed_up, (chunk) => chunk.GradientsView),
    lacks: (source) => noneOf(source, SCORES, say`no answer to explain`) || noWeights(source),
    hint: say`Choose an answer, a block and a head. Escape: the whole model. ? all keys`,
    ...summing("gradients", say`attention and gradients`),
    up: whole,
  },
  pictures: {
    chunk: CHUNKS.scenes,
    View: viewIn(CHUNKS.scenes, (chunk) => chunk.PicturesView),
    hint: say`Tab: the next picture. Enter: open it. Escape: the whole model`,
    crumb: () => ({ text: say`pictures of the documents`, href: link({ level: "pictures", picture: "" }) }),
    up: () => ({ level: "model", picture: "" }),
  },
  tree: {
    chunk: CHUNKS.tree,
    View: viewIn(CHUNKS.tree, (chunk) => chunk.TreeView),
    lacks: ({ run }) => (run.model.stacks.some(({ side }) => side === "decoder") ? "" : say`no decoder`),
    Beside: { title: say`The word in hand`, View: viewIn(CHUNKS.tree, (chunk) => chunk.TreeBeside) },
    hint: say`← → step by step, ↑ ↓ another branch. Space: play. Enter or double click: open it. Escape: back`,
    crumb: ({ picture }) => ({
      text: picture === "words" ? say`as it is written` : say`the search`,
      href: link({ level: "tree" }),
    }),
    up: ({ picture, at }) =>
      picture === "words" ? { picture: "", at: at.slice(1) } : { level: "model", picture: "", options: [], at: [] },
  },
  training: {
    chunk: CHUNKS.training,
    View: viewIn(CHUNKS.training, (chunk) => chunk.TrainingView),
    lacks: (source) => (source.lacks?.("training") ? say`not in this page` : ""),
    Beside: { title: say`The step in hand`, View: viewIn(CHUNKS.training, (chunk) => chunk.TrainingBeside) },
    hint: say`← → the record before and after. Home, End: the first and the last. Space: play. A, B: keep this step to compare`,
    crumb: named("training", say`training`),
    up: whole,
  },
  learn: {
    chunk: CHUNKS.learning,
    View: viewIn(CHUNKS.learning, (chunk) => chunk.LearnView),
    lacks: ({ run }) => (run.model.family === "slides" ? "" : say`the slides’ model`),
    Beside: { title: say`The gradient in hand`, View: viewIn(CHUNKS.learning, (chunk) => chunk.LearnBeside) },
    hint: say`Space: play. ← → a step. Home, End: the first and the last. Click a weight: its gradient`,
    crumb: named("learn", say`learning`),
    up: whole,
  },
  quiz: {
    chunk: CHUNKS.tours,
    View: () => {
      const { source } = useStore();
      return h(Quiz, { lacks: (level) => LEVELS[level].lacks?.(source) ?? "" });
    },
    hint: say`Tab: the next question. Arrow keys: another choice. Escape: the whole model`,
    crumb: named("quiz", say`quiz`),
    up: whole,
  },
};

/** The scores of the heads that gradients explain. */
const SCORES = ["head.logits", "sentence_head.logits", "token_head.logits"];

function noneOf({ run }: Source, tensors: readonly string[], reason: string): string {
  return run.formulas.some(({ name }) => tensors.includes(name)) ? "" : reason;
}

function noAttention({ run }: Source): string {
  return run.formulas.some(({ name }) => name.endsWith("attention.weights")) ? "" : say`no attention`;
}

/** A trace that was saved without its model cannot be run again. */
function noWeights({ run }: Source): string {
  return Object.values(run.left_out).includes("not saved") ? say`saved without the model` : "";
}

/** The levels that sum a run up, as the rail lists them. */
export const SUMS = (Object.keys(LEVELS) as Level[]).filter((level) => LEVELS[level].sums !== undefined);

/** What the head is called that a number is part of: `head 3`, after its kind where a block has two attentions. */
function headInHand(tensor: string, cell: readonly number[], names: Names): string {
  const [, head = 0] = cellNear(tensor, cell, names);
  return say`${tensor.includes("cross_attention") ? say`cross-attention ` : ""}head ${head}`;
}

/** The part of the model that is drawn, or that the tensor in hand belongs to. */
export function unitInHand({ level, tensor, unit }: State, names: Names): string {
  if (level === "block") return unit;
  return names.formulas.get(tensor)?.unit ?? names.readers(tensor)[0]?.[0].unit ?? unit;
}
