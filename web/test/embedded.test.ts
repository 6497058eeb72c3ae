/** Which addresses ask for a view alone, in a page of others. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../src/address/state.ts";
import { asksToEmbed } from "../src/leave/embedded.ts";

test("an address asks for its view alone, and still names it", () => {
  const address = "#level=head&cell=0,1,2,3&embed";
  assert.equal(asksToEmbed(address), true);
  assert.equal(parse(address).level, "head");
  assert.deepEqual(parse(address).cell, [0, 1, 2, 3]);
  for (const other of ["", "#", "#level=head", "#scene=embed", "#embedded=1"]) assert.equal(asksToEmbed(other), false);
});
