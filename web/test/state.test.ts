import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, format, go, holdBack, later, parse, START, type State } from "../src/address/state.ts";

test("an address leads back to its state", () => {
  const state: State = {
    level: "number",
    unit: "encoder.blocks.0",
    tensor: "encoder.blocks.0.self_attention.weights",
    cell: [0, 1, 2, 3],
    sentence: 2,
    layout: ["query", "key"],
    heads: ["3.1", "2.0"],
    show: ["words", "across"],
    arrange: "previous",
    only: "first",
    picture: "distances",
    options: ["halves", "cosine"],
    at: [3, 7],
    scene: "cells",
    tour: "decoder.7",
    present: "notes",
    kept: "2,,mask,inputs,0,1,-",
    shown: "A-B",
    theme: "dark",
    language: "de",
    model: "english",
    changes: "text,0,likes ~; loves;forbid,encoder.blocks.0.self_attention,0,*,1,2",
  };
  assert.deepEqual(parse(format(state)), state);
  assert.deepEqual(parse(format(START)), START);
});

test("what an address says wrongly is as at the start", () => {
  assert.deepEqual(parse("#level=nowhere&cell=1,x&theme=pink&sentence=-3&heads=one"), START);
  assert.deepEqual(parse("#%E0%A4%A"), START);
});

test("what stands beside the picture waits for the answer that the picture waits for, and not for long", async () => {
  // What the state takes from a window.
  const [location, history] = [
    { hash: "#", href: "http://page/" },
    { pushState: () => {}, replaceState: () => {} },
  ];
  Object.assign(globalThis, { location, history, addEventListener: () => {} });
  follow();
  await sleep(5);
  const release = holdBack();
  go({ level: "number", tensor: "a" });
  await sleep(10);
  assert.equal(later.value.tensor, "");
  release();
  await sleep(5);
  assert.equal(later.value.tensor, "a");
  holdBack();
  go({ tensor: "b" });
  await sleep(150);
  assert.equal(later.value.tensor, "b");
});

function sleep(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time));
}
