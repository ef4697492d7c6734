// `ctx` with an author's types for bindings, settings and config. `context.ts` documents the members. Types only, so
// nothing lands in the bundle.

import type { UntypedContext } from "./context.ts";
import type { ElicitAnswer, ElicitedContent, Elicitations } from "./elicitation.ts";
import type { SampleOptions, SampleParams, SampleResult } from "./sampling.ts";
import type { AnySchema } from "./schema.ts";

declare global {
  namespace Tenantry {
    /**
     * The type of `ctx.settings`. Redeclare it once, like `Cloudflare.Env`, or pass the type in `ctx: Context<Env,
     * Settings>`.
     */
    interface Settings {}
  }
}

/**
 * The `ctx` of a handler. `Env` is the type of the Worker's bindings; by default the one that `wrangler types`
 * generates.
 */
export interface Context<Env = Cloudflare.Env, Settings = Tenantry.Settings, Config = unknown> extends Omit<
  UntypedContext,
  "config" | "env" | "settings" | "elicit" | "sample"
> {
  /** The Worker's bindings. */
  readonly env: Env;
  /** The tenant's settings, parsed by the Worker's `settings` schema; frozen. */
  readonly settings: Settings;
  /** The tenant's configuration of this tool, parsed by the tool's `config` schema; frozen. */
  readonly config: Config;
  /**
   * Asks the person with a form or a URL; accepted content has the schema's type. `name` must be unique within the
   * call: it finds the answer when the handler runs again. Rejects if the client does not support it (`can` says so),
   * and inside `once`.
   */
  elicit<const Schema extends AnySchema = AnySchema>(
    name: string,
    options: Elicitations<Schema>["form" | "page"],
  ): Promise<ElicitAnswer<ElicitedContent<Schema>>>;
  /** Asks the client's model. Clients can report progress only in era 2025. */
  sample(name: string, params: SampleParams, options?: SampleOptions): Promise<SampleResult>;
}

/** The bindings and settings that handlers read. A type for the compiler only; the member never exists. */
export interface Wants<Env, Settings> {
  readonly wants?: (env: Env, settings: Settings) => never;
}
