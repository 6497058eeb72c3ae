/** What a picture of a tensor is: what it is called, which tensors have it, what it reads, and how it is drawn. */

import type { ComponentChildren } from "preact";
import type { Look } from "../../../draw/box.ts";
import type { Scene } from "../../../draw/scene.ts";
import type { Sheet } from "../../../draw/sheet.ts";
import type { Names } from "../../../formulas/names.ts";
import type { Store } from "../../../run/store.ts";

/** The tensor, the cell in hand, and the sentence it belongs to. */
export interface Held {
  readonly sheet: Sheet;
  readonly cell: readonly number[];
  readonly sentence: number;
}

/** What a picture is drawn from. */
export interface Context extends Held {
  readonly store: Store;
  readonly names: Names;
  readonly look: Look;
  readonly width: number;
  /** How high a picture may be so that it is seen whole. */
  readonly height: number;
  /** Takes a cell of the tensor in hand. */
  pick(cell: readonly number[]): void;
}

export interface Drawing {
  readonly scene: Scene;
  /** What stands above and below the picture; below, instead of the slice as a table, a table of its own. */
  readonly above?: ComponentChildren;
  readonly below?: ComponentChildren;
  /** What is below is moved next to it where there is room. */
  readonly beside?: true;
  readonly table?: readonly Row[];
  /** The place in hand, where it is no cell of the tensor. */
  readonly at?: readonly number[];
  /** The cell that a place of the picture stands for; null: the place is only pointed at in the picture. */
  cellOf?(at: readonly number[]): { readonly name: string; readonly cell: readonly number[] } | null;
  /** The cell so many steps down and along from the one in hand. */
  step?(down: number, along: number): readonly number[] | null;
}

/** A line of the table next to a picture: a name, a number, where it leads, and a remark. */
export interface Row {
  readonly label: string;
  readonly digits: string;
  readonly tensor: string;
  readonly cell: readonly number[];
  readonly mark: string;
}

export interface Kind {
  readonly text: string;
  fits(sheet: Sheet): boolean;
  /** The tensors that are read in addition to this one. */
  reads?(sheet: Sheet): readonly string[];
  /** Null while something is not at hand. */
  draw(context: Context): Drawing | null;
}

export function ruleOf({ name, names }: Sheet): string {
  return names.formulas.get(name)?.rule.rule ?? "";
}
