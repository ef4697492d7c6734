// What every client build is asked to do, step by step, and what it says of each: one process a build, its task as JSON
// in the first argument, its answer as JSON on the last line.

import { setTimeout as wait } from "node:timers/promises";

/** What was seen in a cell of the table. */
export interface Seen {
  readonly ok: boolean;
  /** How it failed; for a wrong key how the client says so. */
  readonly said: string;
}

export type Step = "list" | "call" | "read" | "prompt" | "notification" | "right key" | "wrong key" | "login";

export interface Task {
  /** What the package is called where it is installed. */
  readonly build: string;
  /** For clients that speak several eras: which. */
  readonly era?: string;
  /** URLs of tenants. */
  readonly open: string;
  readonly keyed: string;
  readonly login: string;
  /** Of the keyed one, and of the one with login. */
  readonly key: string;
  readonly wrongKey: string;
  readonly loginKey: string;
  readonly steps: readonly Step[];
}

/** A connection, as far as the client has one. */
export interface Session {
  /** Names of tools. */
  list(): Promise<readonly string[]>;
  /** Anything in which the answer's text stands. */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  read?(uri: string): Promise<unknown>;
  prompt?(name: string): Promise<unknown>;
  /** Whenever the client hears that the list of resources has changed. */
  onChange?(onNotification: () => void): Promise<void> | void;
  close(): Promise<unknown>;
}

export interface Driver {
  connect(url: string, key?: string): Promise<Session>;
  /** As the person who has that key. */
  logIn?(url: string, key: string): Promise<Session>;
}

const STEP_WITHIN_MS = 20_000;
const HEARD_WITHIN_MS = 15_000;
const WRITES_EVERY_MS = 500;
/** Says that it is about a key or about who calls. */
const SAYS_SO = /\b401\b|unauthori[sz]ed|authentication required|credential|\bkey\b/i;

export const task = JSON.parse(process.argv[2] ?? "{}") as Task;

export async function drive(driver: Driver): Promise<never> {
  const seen: Partial<Record<Step, Seen>> = {};
  const see = async (step: Step, doing: () => Promise<string | void>) => {
    if (!task.steps.includes(step)) return;
    seen[step] = await within(doing).then(
      (said) => ({ ok: true, said: said ?? "" }),
      (error: unknown) => ({ ok: false, said: textOf(error) }),
    );
  };
  await tryOpen(driver, see);
  await see("right key", async () => {
    await listed(await driver.connect(task.keyed, task.key));
  });
  await see("wrong key", () => refused(driver));
  await see("login", async () => {
    if (!driver.logIn) throw new Error("its driver has no login");
    await listed(await driver.logIn(task.login, task.loginKey));
  });
  await new Promise((written) => process.stdout.write(`\n${JSON.stringify(seen)}\n`, written));
  process.exit(0);
}

type See = (step: Step, doing: () => Promise<string | void>) => Promise<void>;

async function tryOpen(driver: Driver, see: See): Promise<void> {
  const connecting = driver.connect(task.open);
  connecting.catch(() => undefined);
  const note = `note-${task.build.replaceAll(/[^a-z0-9]/g, "-")}-${task.era ?? "any"}`;
  await see("list", async () => {
    const names = await (await connecting).list();
    // Some clients put the server's name before a tool's.
    if (!names.some((name) => name.endsWith("note_write"))) throw new Error(`it lists ${names.join(", ")}`);
  });
  const writing = connecting.then((session) => session.call("note_write", noteOf(note)));
  // What is read below is written, too, by a client that cannot take the answer.
  await writing.catch(() => undefined);
  await see("call", async () => holds(await writing, note));
  await see("read", async () => {
    holds(await (await connecting).read?.(`note://${note}`), `the text of ${note}`);
  });
  await see("prompt", async () => {
    holds(await (await connecting).prompt?.("summarize_notes"), `the text of ${note}`);
  });
  await see("notification", async () => untilHeard(await connecting, note));
  await connecting.then((session) => session.close()).catch(() => undefined);
}

function noteOf(id: string) {
  return { id, title: `Written by ${id}`, text: `This is the text of ${id}.` };
}

/** A client that has just connected may not listen yet, and none says when it does: so the change is made again until it is heard. */
async function untilHeard(session: Session, note: string): Promise<void> {
  if (!session.onChange) throw new Error("its driver hears nothing");
  const { promise, resolve } = Promise.withResolvers<boolean>();
  await session.onChange(() => resolve(true));
  for (let made = 1; made * WRITES_EVERY_MS < HEARD_WITHIN_MS; made += 1) {
    await session.call("note_write", noteOf(`${note}-${made}`));
    if (await Promise.race([promise, wait(WRITES_EVERY_MS, false)])) return;
  }
  throw new Error("it heard of no change");
}

async function refused(driver: Driver): Promise<string> {
  let names: readonly string[];
  try {
    const session = await driver.connect(task.keyed, task.wrongKey);
    names = await session.list();
  } catch (error) {
    const text = textOf(error);
    if (SAYS_SO.test(text)) return text;
    throw error;
  }
  throw new Error(`it is let in, and lists ${names.join(", ") || "nothing"}`);
}

async function listed(session: Session): Promise<void> {
  const names = await session.list();
  await session.close().catch(() => undefined);
  if (!names.some((name) => name.endsWith("note_write"))) throw new Error(`it lists ${names.join(", ")}`);
}

function holds(answer: unknown, text: string): void {
  const message = typeof answer === "string" ? answer : JSON.stringify(answer);
  if (!message?.includes(text)) throw new Error(`not in the answer: ${text}; but ${message?.slice(0, 300)}`);
}

async function within<T>(doing: () => Promise<T>): Promise<T> {
  const patience = new AbortController();
  const late = wait(STEP_WITHIN_MS, undefined, { signal: patience.signal, ref: true }).then(() => {
    throw new Error(`nothing within ${STEP_WITHIN_MS / 1000} s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([doing(), late]);
  } finally {
    patience.abort();
  }
}

/** What a person sees of an error, with what caused it. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === "string" ? error : JSON.stringify(error);
  const cause = error.cause === undefined ? "" : `: ${textOf(error.cause)}`;
  return `${error.name}: ${error.message}${cause}`.replaceAll(/\s+/g, " ").slice(0, 400);
}
