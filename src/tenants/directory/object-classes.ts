/** The classes of the Worker's own Durable Objects. */
export const OBJECT_CLASSES = [
  "TenantObject",
  "ContentObject",
  "SessionObject",
  "HubObject",
  "DirectoryObject",
  "PlatformObject",
  "UpstreamObject",
] as const;

export type ObjectClass = (typeof OBJECT_CLASSES)[number];
