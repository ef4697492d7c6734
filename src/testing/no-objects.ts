// Owns what `tenantry/objects` is outside of Workers, where a test imports a module of tools: there are no classes to export.

export {};
