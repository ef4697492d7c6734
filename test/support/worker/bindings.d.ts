// Owns the types of the bindings in test/fixtures/wrangler.toml, for tests that run inside the Worker.

import type {
  ContentObject,
  DirectoryObject,
  HubObject,
  PlatformObject,
  SessionObject,
  TenantObject,
  UpstreamObject,
} from "../../fixtures/worker.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      readonly TENANTS: DurableObjectNamespace<InstanceType<typeof TenantObject>>;
      readonly CONTENT: DurableObjectNamespace<InstanceType<typeof ContentObject>>;
      readonly SESSIONS: DurableObjectNamespace<InstanceType<typeof SessionObject>>;
      readonly HUBS: DurableObjectNamespace<InstanceType<typeof HubObject>>;
      readonly DIRECTORY: DurableObjectNamespace<InstanceType<typeof DirectoryObject>>;
      readonly PLATFORM: DurableObjectNamespace<InstanceType<typeof PlatformObject>>;
      readonly UPSTREAMS: DurableObjectNamespace<InstanceType<typeof UpstreamObject>>;
      readonly BODIES: KVNamespace;
    }
  }
}

declare module "*.md?raw" {
  const text: string;
  export default text;
}
