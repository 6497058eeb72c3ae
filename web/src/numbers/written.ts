/** Numbers as they are written: three digits that matter, a true minus sign, powers of ten as such. */

import { heard, say, THOUSANDS } from "../words/say.ts";

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Three digits after the point, or as many as the size of the number calls for. */
export function short(value: number, digits = 3): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return minus(String(value));
  const size = Math.abs(value);
  if (size >= 1e5 || size < 10 ** -digits / 2) return power(value);
  const after = size >= 1000 ? 0 : size >= 100 ? 1 : digits;
  return minus(value.toFixed(after));
}

/** All digits that a float32 or float64 has. */
export function full(value: number, precision: "float32" | "float64"): string {
  if (!Number.isFinite(value)) return short(value);
  const digits = precision === "float32" ? shortest(value) : String(value);
  return minus(digits);
}

/** The fewest digits that give the same number again, as programs read them. */
export function digits(value: number, precision: "float32" | "float64"): string {
  return precision === "float32" && Math.fround(value) === value ? shortest(value) : String(value);
}

/** The fewest digits that give the same float32. */
function shortest(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

/** 3·10⁻⁷ */
export function power(value: number): string {
  if (value === 0) return "0";
  const [digits = "", exponent = "0"] = value.toExponential(0).split("e");
  const raised = [...String(Math.abs(Number(exponent)))].map((digit) => SUPERSCRIPT[Number(digit)]).join("");
  return minus(`${digits}·10${Number(exponent) < 0 ? "⁻" : ""}${raised}`);
}

/** In a cell of a grid: two digits; "0" is exactly zero, "0.00" is small. */
export function inCell(value: number): string {
  if (!Number.isFinite(value) || Number.isInteger(value)) return short(value);
  const size = Math.abs(value);
  if (size >= 1e4) return power(value);
  return minus(value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2));
}

export function percent(share: number): string {
  const size = share * 100;
  return size >= 10 ? `${size.toFixed(0)} %` : percentBeside(share);
}

/** With a digit after the point whatever its size, for a share that is shown next to another. */
export function percentBeside(share: number): string {
  const size = share * 100;
  if (size === 0 || size >= 100) return `${size.toFixed(0)} %`;
  return size < 0.05 ? "< 0.1 %" : `${size.toFixed(1)} %`;
}

/** What each of so many would get if all got the same: `1 of 14, 7.1 %`. */
export function evenly(count: number): string {
  return say`1 of ${count}, ${percentBeside(1 / count)}`;
}

/** A whole number with its thousands apart. The browser's own way takes tens of ms when it is first used. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, THOUSANDS);
}

/** What of a sum is not written out: always with how many there are, for each place has room for others. */
export function more(left: number, of: number): string {
  return say`${grouped(left)} more of ${grouped(of)}`;
}

/** `1 head`, `12 heads`: both words together are one entry of a table, `head|heads`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${heard(`${one}|${many}`).split("|")[count === 1 ? 0 : 1]}`;
}

function minus(text: string): string {
  return text.replaceAll("-", "−");
}
