// Owns `ctx` as an author's TypeScript sees it: what the Worker, the tenant and a schema say of its members. No byte of it
// is left in a bundle. What the members do is `context.ts`'s.

import type { UntypedContext } from "./context.ts";
import type { ElicitAnswer, ElicitedContent, ElicitOptions } from "./elicitation.ts";
import type { SampleOptions, SampleParams, SampleResult } from "./sampling.ts";
import type { AnySchema } from "./schema.ts";

declare global {
  namespace Tenantry {
    /** What `ctx.settings` is. Redeclare it once, as `Cloudflare.Env`, or name the type in `ctx: Context<Env, Settings>`. */
    interface Settings {}
  }
}

/** What a handler is given. `Env`: the Worker's bindings, those of `wrangler types` where nothing else is said. */
export interface Context<Env = Cloudflare.Env, Settings = Tenantry.Settings, Config = unknown> extends Omit<
  UntypedContext,
  "config" | "env" | "settings" | "elicit" | "sample"
> {
  /** The Worker's bindings. */
  readonly env: Env;
  /** What the tenant says for everything in code, as the `settings` schema of the Worker reads it; frozen. */
  readonly settings: Settings;
  /** What the tenant says for this tool, as the tool's `config` schema reads it; frozen. */
  readonly config: Config;
  /**
   * Asks the person with a form or a URL; accepted content is as the schema says. The name must be unique within the call:
   * it finds the answer when the handler runs again. Throws where the client cannot be asked.
   */
  elicit<const Schema extends AnySchema = never>(
    name: string,
    options: ElicitOptions<Schema>,
  ): Promise<ElicitAnswer<ElicitedContent<Schema>>>;
  /** Asks the client's model. Only in era 2025 can a client report progress. */
  sample(name: string, params: SampleParams, options?: SampleOptions): Promise<SampleResult>;
}

/** What handlers read of the Worker, for the compiler alone: it is never there. */
export interface Wants<Env, Settings> {
  readonly wants?: (env: Env, settings: Settings) => never;
}
