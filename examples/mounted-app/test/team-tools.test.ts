// The tools as the app's users have them.

import { runTool } from "tenantry/testing";
import { describe, expect, it } from "vitest";
import { renameTeam, whoami } from "../src/team-tools.ts";
import { authenticate } from "../src/users.ts";

/** As tenantry has it of what `authenticate` says. */
function principalOf(token: string) {
  const user = authenticate(
    new Request("https://app.example/ai/mcp", { headers: { authorization: `Bearer ${token}` } }),
  );
  if (user instanceof Response) throw new Error("nobody");
  const { id, name, claims } = user;
  return { kind: "app" as const, id: `app ${id}`, subject: id, name, claims };
}

describe.each(["2025", "2026"] as const)("in era %s", (era) => {
  const ann = { era, tenant: "red", principal: principalOf("token-of-ann") };
  const ben = { era, tenant: "red", principal: principalOf("token-of-ben") };

  it("knows who is signed in", async () => {
    expect((await runTool(whoami, {}, ann)).text).toBe("Ann of the team red");
    expect((await runTool(whoami, {}, ben)).text).toBe("Ben of the team red");
  });

  it("renames the team when its lead says so, and not else", async () => {
    const renamed = await runTool(renameTeam, { name: "Ruby" }, { ...ann, answers: { sure: {} } });
    expect(renamed).toMatchObject({ text: "The team is Ruby now.", repeated: [] });
    const declined = await runTool(renameTeam, { name: "Ruby" }, { ...ann, answers: { sure: { action: "decline" } } });
    expect(declined).toMatchObject({ isError: true, text: "The person said no.", effects: [] });
  });

  it("has no such tool for who does not lead", async () => {
    expect((await runTool(renameTeam, { name: "Ruby" }, ben)).error?.code).toBe(-32602);
  });
});

it("refuses whom the app does not know, in the app's own words", async () => {
  for (const authorization of ["", "Bearer ", "Bearer nobody", "Bearer __proto__", "Basic token-of-ann"]) {
    const answer = authenticate(new Request("https://app.example/ai/mcp", { headers: { authorization } }));
    expect(answer).toBeInstanceOf(Response);
    expect((answer as Response).status).toBe(401);
  }
});
