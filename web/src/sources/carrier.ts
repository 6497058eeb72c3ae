/** Who carries the page's requests: the browser to a server, or in a notebook a port to the kernel. */

export const carrier: { fetch(path: string, options: RequestInit): Promise<Response> } = {
  fetch: (path, options) => fetch(path, options),
};

/** A request to the kernel, and its answer; a page may wait for several. */
export interface ToKernel {
  readonly id: number;
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface FromKernel {
  readonly id: number;
  readonly status: number;
  readonly bytes: ArrayBuffer;
}

/** What the page says to the notebook when it can listen; the notebook answers with a port. */
export const READY = "glassformer is ready";

/** Has every request of this page carried to the kernel of the notebook around it. */
export async function reachKernel(): Promise<void> {
  const port = await new Promise<MessagePort>((resolve) => {
    const listen = (event: MessageEvent): void => {
      const [given] = event.ports;
      if (event.source !== parent || given === undefined) return;
      removeEventListener("message", listen);
      resolve(given);
    };
    addEventListener("message", listen);
    parent.postMessage(READY, "*");
  });
  const waiting = new Map<number, (answer: Response) => void>();
  port.onmessage = ({ data }: MessageEvent<FromKernel>) => {
    waiting.get(data.id)?.(new Response(data.bytes, { status: data.status }));
    waiting.delete(data.id);
  };
  let count = 0;
  carrier.fetch = (path, { method = "GET", body, signal }) => {
    return new Promise((resolve, reject) => {
      const id = count++;
      // The kernel goes on with what it has begun; nobody waits for it any more.
      signal?.addEventListener("abort", () => {
        waiting.delete(id);
        reject(signal.reason);
      });
      waiting.set(id, resolve);
      port.postMessage({ id, method, path, body: String(body ?? "") } satisfies ToKernel);
    });
  };
}
