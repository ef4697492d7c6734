// The Node entry of `tenantry/objects`: Node has no Durable Object classes to export.

/** Makes this file a module. */
export type NoObjects = never;
