// Shows a stored call's log on one connection: every event once, in order, after a given position.

import { ReconnectingWebSocket, type OpenedSocket } from "../streams/reconnecting-web-socket.ts";
import { withRetries } from "../streams/with-retries.ts";
import type { ViewerMessage } from "../streams/socket-messages.ts";

export interface ViewerHost {
  /** Opens a socket that sends the events after event `after`. */
  connect(after: number): Promise<OpenedSocket>;
  onEvent(seq: number, json: string): void;
  /** No more events follow: the call has ended, or another connection shows it. */
  onEnd(): void;
}

export class CallViewer {
  readonly #host: ViewerHost;
  readonly #socket: ReconnectingWebSocket;
  #seq = 0;
  #parts: string[] = [];

  constructor(host: ViewerHost) {
    this.#host = host;
    this.#socket = new ReconnectingWebSocket(
      () => {
        // An event that arrived in part is sent again from its first part.
        this.#parts = [];
        return host.connect(this.#seq);
      },
      {
        onMessage: (message) => {
          this.#onMessage(message as ViewerMessage);
        },
        onReconnect: () => {},
        onEnd: () => {
          host.onEnd();
        },
      },
    );
  }

  /** Starts after event `after`. undefined: the viewer is connected. A number: the HTTP status of a refusal. */
  async start(after: number): Promise<number | undefined> {
    this.#seq = after;
    return withRetries(() => this.#socket.start());
  }

  close(): void {
    this.#socket.close();
  }

  #onMessage(message: ViewerMessage): void {
    if ("over" in message) {
      this.close();
      this.#host.onEnd();
      return;
    }
    if (message.seq <= this.#seq) return;
    this.#parts.push(message.part);
    if (!message.last) return;
    this.#seq = message.seq;
    this.#host.onEvent(message.seq, this.#parts.splice(0).join(""));
  }
}
