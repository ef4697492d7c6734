// Owns a socket to an object that is meant to stay: opened again after an accident, a deploy or an eviction, and ended
// when the object says that it is over. Refuses to know what travels on it.

import { pause, SYSTEM_CLOCK, type Clock } from "../mcp-client/clock.ts";
import { backOff } from "./back-off.ts";
import { isFinalClose } from "./socket-messages.ts";

/** Before the first try, for the object that comes to life again elsewhere; about so many milliseconds. */
const FIRST_RETRY_MS = 20;
const MAX_FAILURES = 12;
/** The code that `ended` is given when the object cannot be reached any more. */
export const UNREACHABLE = 4500;

export interface SocketHooks {
  onMessage(message: unknown): void;
  /** It was lost, and will be opened again. */
  onDisconnect?(): void;
  /** The socket was lost and is there again: something may have been missed. */
  onReconnect(): void;
  /** The socket is not reopened. `code`: one of `CLOSE`, `UNREACHABLE`, or 4000 plus the HTTP status of a refusal. */
  onEnd(code: number): void;
  /** Over how long all who lost this object with this socket come back, milliseconds; at once when absent. */
  readonly spreadMs?: number;
}

/** A socket, not accepted yet; or the HTTP status with which the object refused it. */
export type OpenedSocket = { readonly socket: WebSocket } | { readonly refused: number };

export async function openSocket(stub: Pick<Fetcher, "fetch">, query: Record<string, string>): Promise<OpenedSocket> {
  const url = `https://tenantry.internal/?${new URLSearchParams(query).toString()}`;
  const response = await stub.fetch(url, { headers: { upgrade: "websocket" } });
  const { webSocket, status } = response;
  if (webSocket) return { socket: webSocket };
  await response.body?.cancel();
  return { refused: status };
}

export class ReconnectingWebSocket {
  readonly #open: (again: boolean) => Promise<OpenedSocket>;
  readonly #hooks: SocketHooks;
  readonly #clock: Clock;
  #socket: WebSocket | undefined;
  #failures = 0;
  #closed = false;

  /** `open` gets `again: true` when the socket was open before and was lost. */
  constructor(open: (again: boolean) => Promise<OpenedSocket>, hooks: SocketHooks, clock = SYSTEM_CLOCK) {
    this.#open = open;
    this.#hooks = hooks;
    this.#clock = clock;
  }

  /** undefined: it is open. A number: the object refused it with that status. */
  async start(): Promise<number | undefined> {
    const opened = await this.#open(false);
    if ("refused" in opened) return opened.refused;
    this.#listen(opened.socket);
    return undefined;
  }

  /** Text sent while the socket is lost is dropped. */
  send(text: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  close(code = 1000): void {
    this.#closed = true;
    this.#socket?.close(code);
  }

  #listen(socket: WebSocket): void {
    if (this.#closed) {
      // A socket that was not accepted cannot be closed, and would stay open at the object.
      socket.accept();
      socket.close(1000);
      return;
    }
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (!this.#closed && typeof data === "string") this.#hooks.onMessage(JSON.parse(data));
    });
    socket.addEventListener("close", ({ code }) => {
      if (this.#socket === socket) this.#onSocketClosed(code);
    });
    socket.addEventListener("error", () => {
      if (this.#socket === socket) this.#onSocketClosed(1006);
    });
    socket.accept();
  }

  #onSocketClosed(code: number): void {
    this.#socket = undefined;
    if (this.#closed) return;
    if (isFinalClose(code)) return this.#endWith(code);
    this.#hooks.onDisconnect?.();
    void this.#reopen();
  }

  /** Tries until the socket is open, the object refuses it (a status below 500), or `MAX_FAILURES` tries failed. */
  async #reopen(): Promise<void> {
    const clock = this.#clock;
    let wait = FIRST_RETRY_MS * (0.5 + clock.random()) + (this.#hooks.spreadMs ?? 0) * clock.random();
    while (!this.#closed) {
      if (this.#failures >= MAX_FAILURES) return this.#endWith(UNREACHABLE);
      await pause(clock, wait, undefined);
      // Nobody opens a socket for who left meanwhile.
      if (this.#closed) return;
      // Counted as a failure below, and told as the end of the stream when there were too many.
      const opened = await this.#open(true).catch(() => undefined);
      if (opened && "socket" in opened) {
        this.#failures = 0;
        this.#listen(opened.socket);
        if (!this.#closed) this.#hooks.onReconnect();
        return;
      }
      if (opened && opened.refused < 500) return this.#endWith(REFUSED_CODE_BASE + opened.refused);
      wait = backOff(this.#failures, clock);
      this.#failures += 1;
    }
  }

  #endWith(code: number): void {
    this.#closed = true;
    this.#hooks.onEnd(code);
  }
}

/** Added to the HTTP status of a refused reopening, to make its close code: 410 becomes 4410. */
const REFUSED_CODE_BASE = 4000;
