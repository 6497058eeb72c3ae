/** The page's colours as numbers: the theme's variables, and how strongly a cell takes the colour of its role. */

import type { Role } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";

type Rgb = readonly [number, number, number];
type Lab = readonly [number, number, number];

export interface Palette {
  readonly paper: string;
  readonly ink: string;
  readonly quiet: string;
  readonly hair: string;
  readonly faint: string;
  /** A role's colour as text. */
  text(role: Role): string;
  /** A role's colour at full strength. */
  fill(role: Role): string;
  /** A cell's colour: its strength from 0 to 1. */
  cell(role: Role, strength: number): string;
  /** The same as bytes, for images. */
  bytes(role: Role, strength: number): Rgb;
  /** The side and the top of a box. */
  shade(role: Role, strength: number, by: number): string;
  /** Ink or paper, whichever can be read on a cell. */
  on(role: Role, strength: number): string;
}

const STEPS = 64;

/** The colours of a role at each step of strength; `shades`: those of the sides of a box, mixed when they are first met. */
interface Ramp {
  readonly rgb: readonly Rgb[];
  readonly css: readonly string[];
  readonly light: readonly boolean[];
  readonly shades: Map<number, string[]>;
  readonly text: string;
  readonly fill: string;
}

const ROLES: readonly Role[] = ["query", "key", "value", "attention", "residual", "hidden"];

/** The palette of colours by the names of the theme's variables. */
export function paletteOf(read: (variable: string) => string): Palette {
  const [paper, ink] = [parse(read("--paper")), parse(read("--ink"))];
  const least = Number(read("--least"));
  const text = (name: string): string => css(parse(read(`--${name}`)));
  const ramps = new Map<Role, Ramp>();
  for (const role of ROLES) {
    const full = toLab(parse(read(`--${role}`)));
    const labs = range(STEPS + 1, (step) => {
      return mix(toLab(paper), full, least + (1 - least) * (step / STEPS));
    });
    const rgb = labs.map(toRgb);
    const light = labs.map(([lightness]) => lightness > 0.62);
    ramps.set(role, { rgb, css: rgb.map(css), light, shades: new Map(), text: text(`${role}-text`), fill: text(role) });
  }
  const step = (strength: number): number => Math.round(Math.min(Math.max(strength, 0), 1) * STEPS);
  const bytes = (role: Role, strength: number): Rgb => ramps.get(role)?.rgb[step(strength)] ?? [0, 0, 0];
  const [dark, bright] = luminous(paper) ? [css(ink), css(paper)] : [css(paper), css(ink)];
  return {
    paper: css(paper),
    ink: css(ink),
    quiet: text("quiet"),
    hair: text("hair"),
    faint: text("faint"),
    text: (role) => ramps.get(role)?.text ?? "",
    fill: (role) => ramps.get(role)?.fill ?? "",
    cell: (role, strength) => ramps.get(role)?.css[step(strength)] ?? "",
    bytes,
    shade(role, strength, by) {
      const [shades, place] = [ramps.get(role)?.shades, step(strength)];
      const known = shades?.get(by) ?? [];
      shades?.set(by, known);
      known[place] ??= css(toRgb(mix(toLab(bytes(role, strength)), toLab(ink), by)));
      return known[place];
    },
    on: (role, strength) => (ramps.get(role)?.light[step(strength)] === true ? dark : bright),
  };
}

/** An image of many cells: the colours of these strengths as [red, green, blue, 255] each, nothing for one below 0. */
export function imageOf(strengths: Float32Array, role: Role, palette: Palette): Uint8ClampedArray<ArrayBuffer> {
  const words = wordsOf(role, palette);
  const pixels = new Uint32Array(strengths.length);
  for (let at = 0; at < strengths.length; at++) {
    const strength = strengths[at] ?? 0;
    if (strength >= 0) pixels[at] = wordAt(words, strength);
  }
  return new Uint8ClampedArray(pixels.buffer);
}

const mixed = new WeakMap<Palette, Map<Role, Uint32Array>>();

/** The colour of a strength from 0 on, among those of a role. */
export function wordAt(words: Uint32Array, strength: number): number {
  return words[Math.round(Math.min(strength, 1) * 4 * STEPS)] ?? 0;
}

/** The colours of a role as they stand in memory, mixed once. */
export function wordsOf(role: Role, palette: Palette): Uint32Array {
  const known = mixed.get(palette) ?? new Map<Role, Uint32Array>();
  mixed.set(palette, known);
  let words = known.get(role);
  if (words === undefined) {
    words = Uint32Array.from({ length: 4 * STEPS + 1 }, (_, step) => {
      return new Uint32Array(Uint8Array.of(...palette.bytes(role, step / STEPS / 4), 255).buffer)[0] ?? 0;
    });
    known.set(role, words);
  }
  return words;
}

/** The page's own palette. */
export function pagePalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const known = new Map<string, string>();
  return paletteOf((variable) => {
    // Each look at a style has the browser work out all of them that have changed.
    const value = known.get(variable) ?? style.getPropertyValue(variable).trim();
    known.set(variable, value);
    return value;
  });
}

/** A colour so far on the way from one to another, both as `#rrggbb`. */
export function blended(from: string, to: string, share: number): string {
  return css(toRgb(mix(toLab(parse(from)), toLab(parse(to)), share)));
}

function luminous(colour: Rgb): boolean {
  return toLab(colour)[0] > 0.62;
}

function parse(hex: string): Rgb {
  const bits = Number.parseInt(hex.slice(1), 16);
  return [(bits >> 16) & 255, (bits >> 8) & 255, bits & 255];
}

function css(colour: Rgb): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function mix(one: Lab, two: Lab, share: number): Lab {
  const [a, b, c] = one;
  return [a + (two[0] - a) * share, b + (two[1] - b) * share, c + (two[2] - c) * share];
}

/** To OKLab (Ottosson 2020), in which equal steps look equal. */
function toLab([red, green, blue]: Rgb): Lab {
  const [r, g, b] = [linear(red), linear(green), linear(blue)];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function toRgb([lightness, a, b]: Lab): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    byte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function linear(part: number): number {
  const share = part / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

function byte(share: number): number {
  const bound = Math.min(Math.max(share, 0), 1);
  return Math.round(255 * (bound <= 0.0031308 ? bound * 12.92 : 1.055 * bound ** (1 / 2.4) - 0.055));
}
