// Owns what `tenantry/objects` is outside of Workers, where a test imports a module of tools: there are no classes to export.

/** So that this is a module. */
export type NoObjects = never;
