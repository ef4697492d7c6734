// Owns which clients there are recipes for, in the order in which a person is shown them: `tenantry connect` prints them. Pure, and of
// the lowest rank. The connect page has the same in fewer bytes, src/connect/client-snippets.ts: test/connect-recipes.test.ts.

import { CONFIGURED_CLIENTS } from "./configured-clients.ts";
import { PROGRAMS } from "./programs.ts";
import type { Recipe } from "./recipe.ts";

export const RECIPES: readonly Recipe[] = [...CONFIGURED_CLIENTS, ...PROGRAMS];

export function recipeFor(client: string): Recipe | undefined {
  return RECIPES.find((recipe) => recipe.client === client);
}
