// Owns the warning of code before a question that runs again, where a Worker is developed: in era 2026 a handler runs anew with
// each answer. Not in what is deployed. Refuses to warn of what only computes: nobody is harmed by doing that twice.

import type { CallHost } from "./call-host.ts";
import type { Call } from "../protocol/call.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Announcement } from "./announce.ts";
import type { Question } from "./answers.ts";
import { CallContext } from "./call-context.ts";
import { contexts } from "./handle.ts";
import { ReplayInterview, type Interview } from "./interview.ts";
import type { ResourceStore } from "./resource-store.ts";

/** Said once by this isolate, or this run of tests, of each tool. `where`: lines of a stack. */
export function warnOfAgain(name: string, what: string, where = ""): void {
  if (warned.has(name)) return;
  warned.add(name);
  // oxlint-disable-next-line no-console
  console.warn(
    `"${name}" did this again after a question was answered: ${what}. In era 2026 a handler runs anew with each answer: ` +
      `use ctx.memo or ctx.once, or do it after the question.${where}`,
  );
}

/** Bound: as many as a developer's tools; not in what is deployed. */
const warned = new Set<string>();

/** From now on, in this isolate. */
export function watchContexts(): void {
  contexts.make = (call, host, interview, name) => {
    const before = interview instanceof ReplayInterview ? interview.before : undefined;
    // A first run does nothing again.
    if (!before) return new CallContext(call, host, interview, name);
    return new WatchedContext({ call, host, interview, name }, Object.keys(before.asked));
  };
}

interface Watching {
  readonly call: Call;
  readonly host: CallHost;
  readonly interview: Interview;
  readonly name: string;
}

/** Of the lines of a stack: what was thrown, and this file's own. */
const OURS = 3;
const SHOWN = 2;
const WRITING: readonly (string | symbol)[] = ["write", "delete"] satisfies (keyof ResourceStore)[];

class WatchedContext extends CallContext {
  readonly #name: string;
  /** Asked by an earlier run and not yet by this one: what is done before that, the earlier run has done. */
  readonly #ahead: Set<string>;
  /** An earlier run that asked nothing ended at its first `once`. */
  #isNew = false;

  constructor({ call, host, interview, name }: Watching, asked: readonly string[]) {
    super(call, host, interview, name);
    this.#name = name;
    this.#ahead = new Set(asked);
  }

  #does(what: string): void {
    if (this.#isNew) return;
    const lines = String(new Error("again").stack)
      .split("\n")
      .slice(OURS, OURS + SHOWN);
    warnOfAgain(this.#name, what, ["", ...lines].join("\n"));
  }

  #asks(name: string): void {
    this.#ahead.delete(name);
    this.#isNew ||= this.#ahead.size === 0;
  }

  override get env(): unknown {
    const env = super.env as object;
    return new Proxy(env, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member);
        if (isObject(value)) this.#does(`ctx.env.${String(member)}`);
        return value;
      },
    });
  }

  override get resources(): ResourceStore {
    const store = super.resources;
    return new Proxy(store, {
      get: (target, member) => {
        if (WRITING.includes(member)) this.#does(`ctx.resources.${String(member)}`);
        return Reflect.get(target, member) as unknown;
      },
    });
  }

  override fetch(...[input, init]: Parameters<CallContext["fetch"]>): ReturnType<CallContext["fetch"]> {
    this.#does(`ctx.fetch of ${input instanceof Request ? input.url : String(input)}`);
    return super.fetch(input, init);
  }

  override link(...[body, options]: Parameters<CallContext["link"]>): ReturnType<CallContext["link"]> {
    this.#does("ctx.link");
    return super.link(body, options);
  }

  override announce(changed: Announcement): Promise<void> {
    this.#does("ctx.announce");
    return super.announce(changed);
  }

  override waitUntil(work: Promise<unknown>): void {
    this.#does("ctx.waitUntil");
    super.waitUntil(work);
  }

  override elicit(...[name, options]: Parameters<CallContext["elicit"]>): ReturnType<CallContext["elicit"]> {
    this.#asks(name);
    return super.elicit(name, options);
  }

  override sample(...[name, params, options]: Parameters<CallContext["sample"]>): ReturnType<CallContext["sample"]> {
    this.#asks(name);
    return super.sample(name, params, options);
  }

  override roots(name = "roots"): ReturnType<CallContext["roots"]> {
    this.#asks(name);
    return super.roots(name);
  }

  override ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, JsonObject>> {
    for (const name of Object.keys(questions)) this.#asks(name);
    return super.ask(questions);
  }

  override once<T>(name: string, act: () => T | Promise<T>): Promise<T> {
    if (this.#ahead.size === 0) this.#isNew = true;
    return super.once(name, act);
  }
}
