// What stands before a Worker in production: whoever connects while no process listens is kept waiting, and not
// refused.

import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_EVERY_MS = 25;

export interface Edge {
  readonly origin: string;
  stop(): void;
}

/** In front of this port of the loopback interface. */
export async function startEdge(port: number): Promise<Edge> {
  const near = new Set<Socket>();
  const server = createServer((socket) => {
    near.add(socket);
    // Nobody may be listening to its errors while it waits.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => near.delete(socket));
    void join(socket, port);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.close();
      for (const socket of near) socket.destroy();
    },
  };
}

async function join(near: Socket, port: number): Promise<void> {
  while (!near.destroyed) {
    const far = connect(port, "127.0.0.1");
    const isOpen = await once(far, "connect").then(
      () => true,
      () => false,
    );
    if (!isOpen) {
      await pause(LOOK_EVERY_MS);
      continue;
    }
    far.on("error", () => near.resetAndDestroy());
    far.on("close", () => near.destroy());
    near.on("close", () => far.destroy());
    if (near.destroyed) far.destroy();
    near.pipe(far);
    far.pipe(near);
    return;
  }
}
