/** The levels from the first screen to one number. */

export { HeadView } from "../levels/head/head_view.tsx";
export { HeadsBeside } from "../levels/heads/heads_beside.tsx";
export { HeadsView } from "../levels/heads/heads_view.tsx";
export { Chain } from "../levels/number/chain.tsx";
export { NumberView } from "../levels/number/number_view.tsx";
export { TensorView } from "../levels/tensor/tensor_view.tsx";
