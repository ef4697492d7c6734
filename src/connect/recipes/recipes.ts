// The clients that there are recipes for, in the order in which a person is shown them: by `tenantry connect` and the connect page.

import { CONFIGURED_CLIENTS } from "./configured-clients.ts";
import { PROGRAMS } from "./programs.ts";
import type { Recipe } from "./recipe.ts";

export const RECIPES: readonly Recipe[] = [...CONFIGURED_CLIENTS, ...PROGRAMS];

export function findRecipe(client: string): Recipe | undefined {
  return RECIPES.find((recipe) => recipe.client === client);
}
