// What the language and the browser name, by names that a minifier may shorten: `Math.max` has eight letters wherever it is
// used. `build.mjs` reads this file and writes `$max` for `Math.max` in the script of a page, and so on for each row.
export const { Error: $Error, Float32Array: $Float32Array, Float64Array: $Float64Array, Number: $Number } = globalThis;
export const { String: $String, Uint8Array: $Uint8Array, addEventListener: $on, document: $document } = globalThis;
export const { removeEventListener: $off, undefined: $none } = globalThis;
export const { abs: $abs, ceil: $ceil, exp: $exp, floor: $floor, log: $log, max: $max, min: $min } = Math;
export const { round: $round, sqrt: $sqrt } = Math;
export const { entries: $entries, fromEntries: $fromEntries, keys: $keys, values: $values } = Object;
export const { isFinite: $isFinite, isInteger: $isInteger, isNaN: $isNaN, NaN: $NaN } = Number;
export const { POSITIVE_INFINITY: $infinity } = Number;
export const { from: $arrayFrom } = Array;
export const { stringify: $json } = JSON;
