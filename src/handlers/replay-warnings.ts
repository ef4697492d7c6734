// Warns, during development only, of side effects before a question: in era 2026 a handler runs again with each answer.
// Pure computation is not reported, because repeating it does no harm.

import type { RequestScope } from "./request-scope.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Announcement } from "./publish-changes.ts";
import type { Question } from "./question.ts";
import { CallContext } from "./call-context.ts";
import { contextFactory } from "./run-handler-call.ts";
import { ReplayElicitor, type Elicitor } from "./elicitor.ts";
import type { ResourceStore } from "./resource-store.ts";

/** Warns once per tool and isolate (or test run). `where`: lines of a stack. */
export function warnOfRepeatedEffect(name: string, effect: string, where = ""): void {
  if (warnedEffects.has(name)) return;
  warnedEffects.add(name);
  // Not a warning: wrangler maps stack lines to source files in errors only.
  // oxlint-disable-next-line no-console
  console.error(
    `"${name}" repeated this after a question was answered: ${effect}. In era 2026 a handler runs again with each answer: ` +
      `use ctx.memo or ctx.once, or do this after the question.${where}`,
  );
}

/** Bound: the number of a developer's tools; not in a deployment. */
const warnedEffects = new Set<string>();

/** Takes effect for every later call in this isolate. */
export function enableReplayWarnings(): void {
  contextFactory.create = (call, requestScope, elicitor, name) => {
    const earlierState = elicitor instanceof ReplayElicitor ? elicitor.earlierState : undefined;
    // A first run repeats nothing.
    if (!earlierState) return new CallContext(call, requestScope, elicitor, name);
    return new ReplayWarningContext({ call, requestScope, elicitor, name }, Object.keys(earlierState.asked));
  };
}

interface ContextArguments {
  readonly call: McpRequest;
  readonly requestScope: RequestScope;
  readonly elicitor: Elicitor;
  readonly name: string;
}

/** Lines of a stack to skip: the error's message and this file's own frames. */
const OWN_FRAMES = 3;
const SHOWN_FRAMES = 2;
const WRITE_METHODS: readonly (string | symbol)[] = ["write", "delete"] satisfies (keyof ResourceStore)[];

class ReplayWarningContext extends CallContext {
  readonly #name: string;
  /**
   * Questions of an earlier run that this run has not reached. Effects before that point ran in the earlier run too.
   */
  readonly #pendingQuestions: Set<string>;
  /** False even if no earlier question is pending: such an earlier run ended at its first `once`. */
  #isPastReplay = false;

  constructor({ call, requestScope, elicitor, name }: ContextArguments, earlierQuestions: readonly string[]) {
    super(call, requestScope, elicitor, name);
    this.#name = name;
    this.#pendingQuestions = new Set(earlierQuestions);
  }

  #warnOfEffect(effect: string): void {
    if (this.#isPastReplay) return;
    const lines = String(new Error("again").stack)
      .split("\n")
      .slice(OWN_FRAMES, OWN_FRAMES + SHOWN_FRAMES);
    warnOfRepeatedEffect(this.#name, effect, ["", ...lines].join("\n"));
  }

  #noteQuestion(name: string): void {
    this.#pendingQuestions.delete(name);
    this.#isPastReplay ||= this.#pendingQuestions.size === 0;
  }

  override get env(): unknown {
    const env = super.env as object;
    return new Proxy(env, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member);
        if (isObject(value)) this.#warnOfEffect(`ctx.env.${String(member)}`);
        return value;
      },
    });
  }

  override get resources(): ResourceStore {
    const store = super.resources;
    return new Proxy(store, {
      get: (target, member) => {
        if (WRITE_METHODS.includes(member)) this.#warnOfEffect(`ctx.resources.${String(member)}`);
        return Reflect.get(target, member) as unknown;
      },
    });
  }

  override fetch(...[input, init]: Parameters<CallContext["fetch"]>): ReturnType<CallContext["fetch"]> {
    this.#warnOfEffect(`ctx.fetch of ${input instanceof Request ? input.url : String(input)}`);
    return super.fetch(input, init);
  }

  override link(...[body, options]: Parameters<CallContext["link"]>): ReturnType<CallContext["link"]> {
    this.#warnOfEffect("ctx.link");
    return super.link(body, options);
  }

  override announce(changed: Announcement): Promise<void> {
    this.#warnOfEffect("ctx.announce");
    return super.announce(changed);
  }

  override waitUntil(work: Promise<unknown>): void {
    this.#warnOfEffect("ctx.waitUntil");
    super.waitUntil(work);
  }

  override elicit(...[name, options]: Parameters<CallContext["elicit"]>): ReturnType<CallContext["elicit"]> {
    this.#noteQuestion(name);
    return super.elicit(name, options);
  }

  override sample(...[name, params, options]: Parameters<CallContext["sample"]>): ReturnType<CallContext["sample"]> {
    this.#noteQuestion(name);
    return super.sample(name, params, options);
  }

  override roots(name = "roots"): ReturnType<CallContext["roots"]> {
    this.#noteQuestion(name);
    return super.roots(name);
  }

  override ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, JsonObject>> {
    for (const name of Object.keys(questions)) this.#noteQuestion(name);
    return super.ask(questions);
  }

  override once<T>(name: string, act: () => T | Promise<T>): Promise<T> {
    if (this.#pendingQuestions.size === 0) this.#isPastReplay = true;
    return super.once(name, act);
  }
}
