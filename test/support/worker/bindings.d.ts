// Owns the types of the bindings in test/fixtures/wrangler.toml, for tests that run inside the Worker.

import type { DirectoryObject, HubObject, PlatformObject, SessionObject, TenantObject } from "../../fixtures/worker.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      readonly TENANTS: DurableObjectNamespace<TenantObject>;
      readonly SESSIONS: DurableObjectNamespace<SessionObject>;
      readonly HUBS: DurableObjectNamespace<HubObject>;
      readonly DIRECTORY: DurableObjectNamespace<DirectoryObject>;
      readonly PLATFORM: DurableObjectNamespace<PlatformObject>;
      readonly BODIES: KVNamespace;
    }
  }
}
