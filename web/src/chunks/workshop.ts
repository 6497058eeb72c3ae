/** The mask workshop. */

export { MaskView } from "../levels/mask/mask_view.tsx";
