// Owns whether the script exports the classes of `tenantry/objects`, which know no feature. Refuses to know the classes.

let areExported = false;

/** Said by the module that has them, which is evaluated before any Worker is made. */
export function exportPlainObjects(): void {
  areExported = true;
}

export function plainObjectsAreExported(): boolean {
  return areExported;
}
