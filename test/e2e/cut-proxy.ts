// The cable between a client and a server, which a test can pull out: TCP, whatever speaks over it.

import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export class CutProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Those on which the last request was a GET. */
  readonly #streams = new Set<Socket>();
  #isOut = false;
  #opened = 0;
  #waiting: (() => void)[] = [];
  origin = "";

  private constructor(port: number) {
    this.#server = createServer((near) => {
      if (this.#isOut) near.resetAndDestroy();
      else this.#join(near, connect(port, "127.0.0.1"));
    });
  }

  /** In front of a server on this machine, until the test ends. */
  static async start(origin: string): Promise<CutProxy> {
    const proxy = new CutProxy(Number(new URL(origin).port));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    proxy.origin = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    onTestFinished(() => {
      proxy.pull();
      proxy.#server.close();
    });
    return proxy;
  }

  /** Every connection there is ends in the middle of what it was saying; says how many there were. */
  cut(): number {
    const sockets = [...this.#sockets];
    for (const socket of sockets) socket.resetAndDestroy();
    return sockets.length / 2;
  }

  /** The same, and there is no way through until `plug`. */
  pull(): void {
    this.#isOut = true;
    this.cut();
  }

  plug(): void {
    this.#isOut = false;
  }

  /** A cut that its client has noticed: until it has come back with a GET. What it sends before may be lost with the cable. */
  async cutAndReturn(what: "everything" | "streams" = "everything"): Promise<void> {
    const before = this.#opened;
    if (what === "everything") this.cut();
    else for (const stream of this.#streams) stream.resetAndDestroy();
    await this.opened(before + 1);
  }

  /** Until the server has begun to answer this many GETs. */
  async opened(count: number): Promise<void> {
    while (this.#opened < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #join(near: Socket, far: Socket): void {
    let asked = "";
    near.on("data", (chunk) => {
      asked = chunk.toString("latin1", 0, 4);
      if (asked === "GET ") this.#streams.add(near);
      else this.#streams.delete(near);
    });
    far.on("data", () => {
      if (asked === "GET ") this.#open();
      asked = "";
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        this.#streams.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }

  #open(): void {
    this.#opened += 1;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
