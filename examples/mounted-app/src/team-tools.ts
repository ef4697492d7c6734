// Owns what a model can do for somebody who is signed in to the app.

import { defineTool, UserError } from "tenantry";
import * as z from "zod";

export const whoami = defineTool({
  name: "whoami",
  description: "Who is signed in.",
  annotations: { readOnlyHint: true },
  handler: (_args, { principal, tenant }) => `${principal.name} of the team ${tenant.id}`,
});

export const renameTeam = defineTool({
  name: "rename_team",
  description: "Renames the team after the person has confirmed.",
  input: z.object({ name: z.string().min(1).max(80) }),
  visible: ({ principal }) => principal.claims["lead"] === true,
  handler: async ({ name }, ctx) => {
    const { action } = await ctx.elicit("sure", { message: `Rename to ${name}?`, schema: z.object({}) });
    if (action !== "accept") throw new UserError("The person said no.");
    await ctx.resources.write({ uri: "team:name", name: "Name of the team", text: name });
    return `The team is ${name} now.`;
  },
});
