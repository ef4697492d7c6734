// Owns showing a stored call's log to one connection: every event once, in order, from a place in the log on.

import { HeldSocket, type Opened } from "../streams/held-socket.ts";
import { persistently } from "../streams/persistently.ts";
import type { ViewerMessage } from "../streams/wire.ts";

export interface ViewerHost {
  /** Opens a socket that sends what follows event `after`. */
  connect(after: number): Promise<Opened>;
  event(seq: number, json: string): void;
  /** No event comes any more: the call is over, or another connection shows it. */
  over(): void;
}

export class CallViewer {
  readonly #host: ViewerHost;
  readonly #socket: HeldSocket;
  #seq = 0;
  #parts: string[] = [];

  constructor(host: ViewerHost) {
    this.#host = host;
    this.#socket = new HeldSocket(
      () => {
        // An event whose parts were cut off is sent again from its first part.
        this.#parts = [];
        return host.connect(this.#seq);
      },
      {
        message: (message) => {
          this.#hear(message as ViewerMessage);
        },
        reopened: () => {},
        ended: () => {
          host.over();
        },
      },
    );
  }

  /** Begins after event `after`. undefined: it shows. A number: refused with that HTTP status. */
  async start(after: number): Promise<number | undefined> {
    this.#seq = after;
    return persistently(() => this.#socket.start());
  }

  close(): void {
    this.#socket.close();
  }

  #hear(message: ViewerMessage): void {
    if ("over" in message) {
      this.close();
      this.#host.over();
      return;
    }
    if (message.seq <= this.#seq) return;
    this.#parts.push(message.part);
    if (!message.last) return;
    this.#seq = message.seq;
    this.#host.event(message.seq, this.#parts.splice(0).join(""));
  }
}
