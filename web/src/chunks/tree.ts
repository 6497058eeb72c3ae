/** How a model writes: the tree of a search, and the same word by word. */

export { TreeBeside } from "../levels/tree/tree_beside.tsx";
export { TreeView } from "../levels/tree/tree_view.tsx";
