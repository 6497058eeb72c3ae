/** The colours of the roles as people see them who see colours otherwise. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

type Three = readonly [number, number, number];

/** What full colour blindness makes of linear red, green and blue (Machado, Oliveira and Fernandes 2009). */
const SEEN: Readonly<Record<string, readonly [Three, Three, Three]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const ROLES = ["query", "key", "value", "attention", "residual", "hidden"];

/** Two colours can be distinguished from this distance in OKLab on, times 100; a hidden word is crossed besides. */
const APART = 7;

/** The variables of a theme; what it does not set is as in the light one. */
function theme(name: string): Map<string, string> {
  const style = readFileSync("src/styles/theme.css", "utf8");
  const found = new Map<string, string>();
  for (const [, selector, body] of style.matchAll(/(:root[^{]*)\{([^}]*)\}/g)) {
    const own = selector?.includes("data-theme") === true ? selector.includes(`"${name}"`) : true;
    if (!own) continue;
    for (const [, variable, value] of (body ?? "").matchAll(/--([\w-]+):\s*([^;]+);/g)) {
      found.set(variable ?? "", value ?? "");
    }
  }
  return found;
}

function linear(hex: string): Three {
  const bits = Number.parseInt(hex.slice(1), 16);
  const part = (shift: number): number => {
    const share = ((bits >> shift) & 255) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [part(16), part(8), part(0)];
}

function seen([r, g, b]: Three, rows: readonly [Three, Three, Three]): Three {
  const mixed = rows.map(([x, y, z]) => Math.min(Math.max(x * r + y * g + z * b, 0), 1));
  return [mixed[0] ?? 0, mixed[1] ?? 0, mixed[2] ?? 0];
}

function lab([r, g, b]: Three): Three {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function distance(one: Three, two: Three): number {
  return 100 * Math.hypot(one[0] - two[0], one[1] - two[1], one[2] - two[2]);
}

for (const name of ["light", "dark", "contrast"]) {
  test(`roles are told apart in the ${name} theme, by every eye`, () => {
    const variables = theme(name);
    for (const [eye, rows] of Object.entries(SEEN)) {
      ROLES.forEach((one, place) => {
        for (const two of ROLES.slice(place + 1)) {
          const [a, b] = [one, two].map((role) => lab(seen(linear(variables.get(role) ?? ""), rows)));
          assert.ok(a !== undefined && b !== undefined);
          const apart = distance(a, b);
          assert.ok(apart >= APART, `${eye}: ${one} and ${two} are ${apart.toFixed(1)} apart`);
        }
      });
    }
  });
}
