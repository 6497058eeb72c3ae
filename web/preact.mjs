// What JSX is compiled to, given to each file that has some, by names that no variable of the page has.
import { h } from "preact";

export { Fragment as $Fragment } from "preact";

/**
 * As preact's `h`. `build.mjs` writes `"quiet"` for properties that are nothing but `class="quiet"`, 0 for none, and leaves
 * out `type="button"`.
 */
export function $element(type, given, ...children) {
  const properties = typeof given === "string" ? { class: given } : given;
  return h(type, type === "button" ? { type, ...properties } : properties, ...children);
}
