/** The pictures of vectors of positions. */

export { distances } from "./distances.tsx";
export { map } from "./map.tsx";
export { waves } from "./waves.tsx";
