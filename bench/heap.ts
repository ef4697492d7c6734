// What an isolate holds after a full collection, as its inspector tells it.

/** What the inspector of miniflare calls the Worker that `start` names so. */
const TITLE = /core:user:bench$/;

interface Target {
  id: string;
  webSocketDebuggerUrl: string;
}

/** Bytes of JavaScript and of buffers. */
export async function collectedHeap(inspector: URL): Promise<number> {
  const targets = (await (await fetch(`http://${inspector.host}/json`)).json()) as Target[];
  const own = targets.find(({ id }) => TITLE.test(id));
  if (!own) throw new Error(`no Worker of ours among ${JSON.stringify(targets)}`);
  const socket = new WebSocket(own.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error(`no inspector at ${own.webSocketDebuggerUrl}`)));
  });
  const ask = async (id: number, method: string): Promise<Record<string, number>> =>
    new Promise((resolve, reject) => {
      socket.addEventListener("close", () => reject(new Error("the inspector closed the connection")));
      socket.addEventListener("message", ({ data }) => {
        const text = String(data);
        // What a snapshot consists of is not looked at.
        if (text.startsWith('{"method"')) return;
        const { id: of, result } = JSON.parse(text) as { id?: number; result?: Record<string, number> };
        if (of === id) resolve(result ?? {});
      });
      socket.send(JSON.stringify({ id, method, params: {} }));
    });
  try {
    // workerd does not answer `HeapProfiler.collectGarbage`; a snapshot collects first.
    await ask(1, "HeapProfiler.takeHeapSnapshot");
    const { usedSize = Number.NaN, backingStorageSize = 0 } = await ask(2, "Runtime.getHeapUsage");
    return usedSize + backingStorageSize;
  } finally {
    socket.close();
  }
}
