/** The pictures of positions that turn queries and keys, or add to scores. */

export { angles } from "./angles.tsx";
export { bias } from "./bias.tsx";
