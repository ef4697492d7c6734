// Owns the types of the bindings in test/fixtures/wrangler.toml, for tests that run inside the Worker.

import type { SessionObject, TenantObject } from "../../fixtures/worker.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      readonly TENANTS: DurableObjectNamespace<TenantObject>;
      readonly SESSIONS: DurableObjectNamespace<SessionObject>;
      readonly BODIES: KVNamespace;
    }
  }
}
