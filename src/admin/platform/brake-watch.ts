// Owns hearing, for all streams of an isolate, that something else is stopped in every tenant: one socket to a replica, which
// one of the streams holds and the next one after it. Refuses to ask anything while nobody tells: idle streams cost nothing.

import type { BrakeGround } from "../../deployment/brakes.ts";
import { HeldSocket, type Opened } from "../../streams/held-socket.ts";
import { openWatch } from "./platform-door.ts";

/** A stream that has not kept itself alive for so long, which is twice and a half as long as that takes, is gone. */
const GONE_AFTER_MS = 55_000;
/** Over how many milliseconds isolates come back to a replica that was moved. */
const SPREAD_MS = 4000;

interface Watch {
  /** The visit whose stream holds the socket. */
  readonly by: BrakeGround;
  /** When that stream was last there; milliseconds since the epoch. */
  at: number;
}

let watch: Watch | undefined;
/** Of each visit: another one may hold the watch meanwhile, because its clock was ahead, and cannot close this one's. */
const sockets = new WeakMap<BrakeGround, HeldSocket>();

/** Call it when a stream begins and with each of its keepalives. `tell`: hears the version that a replica has now. */
export function watchBrakes(by: BrakeGround, replica: () => number, tell: (version: number) => void): void {
  const now = Date.now();
  if (watch && watch.by !== by && now < watch.at + GONE_AFTER_MS) letGo(by);
  else if (watch?.by === by) watch.at = now;
  else hold(by, replica, tell);
}

function hold(by: BrakeGround, replica: () => number, tell: (version: number) => void): void {
  const open = async (): Promise<Opened> => {
    const opened = await openWatch(by.env, replica());
    if ("socket" in opened) tell(Number(opened.hello));
    return opened;
  };
  const socket = new HeldSocket(open, {
    message: (version) => {
      tell(Number(version));
    },
    // What was missed meanwhile, it said first.
    reopened: () => {},
    ended: () => {
      unwatchBrakes(by);
    },
    spread: () => SPREAD_MS,
  });
  letGo(by);
  sockets.set(by, socket);
  watch = { by, at: Date.now() };
  // Where there is none, as where the replica is of an earlier release, the next keepalive tries again.
  socket.start().then(
    (refused) => {
      if (refused !== undefined) unwatchBrakes(by);
    },
    () => {
      unwatchBrakes(by);
    },
  );
}

/** Its stream is over: another one holds the socket from its next keepalive on. */
export function unwatchBrakes(by: BrakeGround): void {
  letGo(by);
  if (watch?.by === by) watch = undefined;
}

function letGo(by: BrakeGround): void {
  sockets.get(by)?.close();
  sockets.delete(by);
}
