// The types of what test/fixtures/wrangler.toml binds and the fixture Worker exports, for tests that run inside it.

import type * as fixtures from "../../fixtures/worker.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      readonly BODIES: KVNamespace;
      /** For `listDurableObjectIds`, which asks a binding: vitest.config.ts has it. */
      readonly SESSIONS_TO_LIST: DurableObjectNamespace;
    }
    interface GlobalProps {
      mainModule: typeof fixtures;
      durableNamespaces:
        | "TenantObject"
        | "ContentObject"
        | "SessionObject"
        | "HubObject"
        | "DirectoryObject"
        | "PlatformObject"
        | "UpstreamObject";
    }
  }
}

declare module "*.md?raw" {
  const text: string;
  export default text;
}
