// What is left in the memory of a Worker after a full collection, as its inspector tells it: what a Worker holds, and
// not what nobody has collected yet.

import type { OneWorker } from "./start-worker.ts";

/** What a Worker is called by the inspector that miniflare has named `one`. */
const TITLE = /core:user:one$/;
const SNAPSHOT = "HeapProfiler.takeHeapSnapshot";

export interface CollectedHeap {
  /** Of JavaScript and of buffers. */
  readonly bytes: number;
  /** How many objects of a class there are; those of the platform are named as `workerd / Request`. */
  count(name: string): number;
}

/** Of all the isolates in the process, so that none keeps what another waits for. */
export async function collectHeap(worker: OneWorker): Promise<CollectedHeap> {
  const targets = (await (await fetch(`${await worker.inspector()}/json`)).json()) as Target[];
  let own: CollectedHeap | undefined;
  for (const { id, webSocketDebuggerUrl } of targets) {
    const heap = await heapOf(webSocketDebuggerUrl);
    if (TITLE.test(id)) own = heap;
  }
  if (!own) throw new Error(`no Worker among ${JSON.stringify(targets)}`);
  return own;
}

interface Target {
  readonly id: string;
  readonly webSocketDebuggerUrl: string;
}

interface InspectorMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly chunk?: string };
  readonly result?: { readonly usedSize?: number; readonly backingStorageSize?: number };
}

async function heapOf(url: string): Promise<CollectedHeap> {
  const socket = new WebSocket(url);
  const chunks: string[] = [];
  const waiting = new Map<number, (message: InspectorMessage) => void>();
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as InspectorMessage;
    if (message.id === undefined) chunks.push(message.params?.chunk ?? "");
    else waiting.get(message.id)?.(message);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)));
  });
  const ask = async (id: number, method: string) =>
    new Promise<InspectorMessage>((resolve) => {
      waiting.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params: {} }));
    });
  try {
    // workerd does not answer `HeapProfiler.collectGarbage`; a snapshot collects first.
    await ask(1, SNAPSHOT);
    const { result } = await ask(2, "Runtime.getHeapUsage");
    const counts = countsIn(JSON.parse(chunks.join("")) as Snapshot);
    return {
      bytes: (result?.usedSize ?? 0) + (result?.backingStorageSize ?? 0),
      count: (name) => counts.get(name) ?? 0,
    };
  } finally {
    socket.close();
  }
}

interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: readonly string[] } };
  /** One after the other, as many numbers as there are fields for each node. */
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

function countsIn({ snapshot, nodes, strings }: Snapshot): ReadonlyMap<string, number> {
  const { node_fields: fields } = snapshot.meta;
  const counts = new Map<string, number>();
  for (let at = fields.indexOf("name"); at < nodes.length; at += fields.length) {
    const name = strings[nodes[at] ?? 0] ?? "";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
