/** The page in a notebook, as anywidget asks for it: the page in a frame of its own, and its requests to the kernel. */

import { type FromKernel, READY, type ToKernel } from "../sources/carrier.ts";

/** What anywidget gives to a view of what Python has made. */
interface Shown {
  get(name: "page" | "height" | "title"): unknown;
  send(content: unknown): void;
  on(event: "msg:custom", heard: Heard): void;
  off(event: "msg:custom", heard: Heard): void;
}

type Heard = (content: { view: string; id: number; status: number }, buffers: readonly DataView[]) => void;

/** Shows it; what is returned ends it. The frame keeps the notebook's styles and keys away, and the page from the notebook. */
export function inNotebook({ model, el }: { model: Shown; el: HTMLElement }): () => void {
  // One widget may be shown in several places: each hears its own answers.
  const view = crypto.randomUUID();
  const { port1, port2 } = new MessageChannel();
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.allow = "clipboard-write";
  frame.title = String(model.get("title"));
  frame.srcdoc = String(model.get("page"));
  frame.style.cssText = `width:100%;height:${Number(model.get("height"))}px;box-sizing:border-box;border:1px solid #8888;display:block`;
  const ready = (event: MessageEvent): void => {
    if (event.source !== frame.contentWindow || event.data !== READY) return;
    frame.contentWindow?.postMessage("", "*", [port2]);
    removeEventListener("message", ready);
  };
  const heard: Heard = (content, buffers) => {
    if (content.view !== view) return;
    const { id, status } = content;
    const bytes = copied(buffers[0]);
    port1.postMessage({ id, status, bytes } satisfies FromKernel, [bytes]);
  };
  port1.onmessage = ({ data }: MessageEvent<ToKernel>) => model.send({ view, ...data });
  addEventListener("message", ready);
  model.on("msg:custom", heard);
  el.append(frame);
  return () => {
    removeEventListener("message", ready);
    model.off("msg:custom", heard);
    port1.close();
    frame.remove();
  };
}

function copied(buffer: DataView | undefined): ArrayBuffer {
  if (buffer === undefined) return new ArrayBuffer(0);
  const found = new ArrayBuffer(buffer.byteLength);
  new Uint8Array(found).set(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
  return found;
}
