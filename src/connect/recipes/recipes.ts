// The clients with recipes, in the order in which `tenantry connect`, the connect page and the table of docs/clients.md
// show them.

import { CONFIGURED_CLIENTS } from "./configured-clients.ts";
import { PROGRAMS } from "./programs.ts";
import type { Recipe } from "./recipe.ts";

export const RECIPES: readonly Recipe[] = [...CONFIGURED_CLIENTS, ...PROGRAMS];

export function findRecipe(client: string): Recipe | undefined {
  return RECIPES.find((recipe) => recipe.client === client);
}
