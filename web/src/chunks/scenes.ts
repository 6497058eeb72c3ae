/** The pictures of the documents and of the tours. */

export { PicturesView } from "../scenes/pictures/pictures_view.tsx";
export { SceneView } from "../scenes/scene_view.tsx";
export { SCENES } from "../scenes/scenes.ts";
