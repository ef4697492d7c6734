// A WebSocket to an object that reopens after an error, a deployment or an eviction. It ends when the object closes it
// for good.

import { pause, SYSTEM_CLOCK, type Clock } from "../mcp-client/clock.ts";
import { isFinalClose } from "./socket-messages.ts";

/** The wait before the first attempt, in milliseconds (about), while the object starts again elsewhere. */
const FIRST_RETRY_MS = 20;
const MAX_FAILURES = 12;
const FIRST_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 8000;
/** The code for `onEnd` if the object cannot be reached any more. */
export const UNREACHABLE = 4500;

/** Milliseconds: about twice as many after each failure. `failures`: the number before this one. */
export function backOff(failures: number, { random }: Pick<Clock, "random">): number {
  return Math.min(FIRST_BACK_OFF_MS * 2 ** failures, MAX_BACK_OFF_MS) * (0.5 + random());
}

export interface SocketHooks {
  onMessage(message: unknown): void;
  /** The socket was lost, and will be reopened. */
  onDisconnect?(): void;
  /** The socket was lost and is open again. Messages may have been missed. */
  onReconnect(): void;
  /** The socket is not reopened. `code`: one of `CLOSE`, `UNREACHABLE`, or 4000 plus the HTTP status of a refusal. */
  onEnd(code: number): void;
  /** The time over which all sockets that lost this object together reconnect, in milliseconds; absent: at once. */
  readonly spreadMs?: number;
}

/** A socket that is not accepted yet, or the HTTP status with which the object refused it. */
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
  readonly #open: (isReconnect: boolean) => Promise<OpenedSocket>;
  readonly #hooks: SocketHooks;
  readonly #clock: Clock;
  #socket: WebSocket | undefined;
  #failures = 0;
  #closed = false;

  /** `open` gets `isReconnect: true` if the socket was open before and was lost. */
  constructor(open: (isReconnect: boolean) => Promise<OpenedSocket>, hooks: SocketHooks, clock = SYSTEM_CLOCK) {
    this.#open = open;
    this.#hooks = hooks;
    this.#clock = clock;
  }

  /** undefined: the socket is open. A number: the object refused it with that status. */
  async start(): Promise<number | undefined> {
    const opened = await this.#open(false);
    if ("refused" in opened) return opened.refused;
    this.#listen(opened.socket);
    return undefined;
  }

  /** Text that is sent while the socket is lost is dropped. */
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

  /**
   * Retries until the socket is open, the object refuses it (a status below 500), or `MAX_FAILURES` attempts failed.
   */
  async #reopen(): Promise<void> {
    const clock = this.#clock;
    let wait = FIRST_RETRY_MS * (0.5 + clock.random()) + (this.#hooks.spreadMs ?? 0) * clock.random();
    while (!this.#closed) {
      if (this.#failures >= MAX_FAILURES) return this.#endWith(UNREACHABLE);
      await pause(clock, wait, undefined);
      // The caller may have closed it meanwhile.
      if (this.#closed) return;
      // Counted as a failure below. Too many failures end the stream.
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

/** Added to the HTTP status of a refused reopening to make its close code: 410 becomes 4410. */
const REFUSED_CODE_BASE = 4000;
