// The tools against the schema that is deployed, in a D1 of this test alone.

import { readFile } from "node:fs/promises";
import { listFrom, readFrom, runPrompt, runTool } from "tenantry/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { getPlatformProxy } from "wrangler";
import { companyOf } from "../src/companies.ts";
import { companiesWithOverdue } from "../src/ticket-store.ts";
import { closeTicket, listTickets, openTicket, ticketTemplate, triage } from "../src/ticket-tools.ts";

let platform: Awaited<ReturnType<typeof getPlatformProxy<Env>>>;
let statements: string[];

beforeAll(async () => {
  platform = await getPlatformProxy<Env>({ configPath: "test/wrangler.toml", persist: false });
  const schema = await readFile("schema.sql", "utf8");
  statements = schema
    .replaceAll(/ *--.*$/gm, "")
    .split(/;\s*/)
    .filter(Boolean);
}, 30_000);

afterAll(() => platform.dispose());

beforeEach(async () => {
  const tables = ["companies", "tickets", "history"].map((name) => `DROP TABLE IF EXISTS ${name}`);
  await platform.env.DB.batch([...tables, ...statements].map((sql) => platform.env.DB.prepare(sql)));
});

describe.each(["2025", "2026"] as const)("in era %s", (era) => {
  const acme = () => ({ era, tenant: "acme", env: platform.env });
  const globex = () => ({ ...acme(), tenant: "globex" });

  it("lists a company's own tickets, in pages", async () => {
    const { structured } = await runTool(listTickets, {}, acme());
    expect(structured).toMatchObject({ tickets: [{ id: 7 }, { id: 8 }] });
    expect(await runTool(listTickets, { after: 7 }, acme())).toMatchObject({ structured: { tickets: [{ id: 8 }] } });
    expect(await runTool(listTickets, {}, globex())).toMatchObject({ structured: { tickets: [{ id: 9 }] } });
  });

  it("opens one, due when the company says, and tells who listens", async () => {
    const opened = await runTool(openTicket, { title: "Rain" }, { ...acme(), config: { dueInDays: 2 } });
    const due = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
    expect(opened.structured).toEqual({ id: 10, title: "Rain", state: "open", due });
    expect(opened.announcements).toHaveLength(1);
  });

  it("closes one once, when the person has said so", async () => {
    const closed = await runTool(closeTicket, { id: 7 }, { ...acme(), answers: { sure: { close: true } } });
    expect(closed).toMatchObject({ text: "Ticket 7 is closed.", repeated: [], errors: [] });
    expect((await platform.env.DB.prepare("SELECT ticket, what FROM history").all()).results).toEqual([
      { ticket: 7, what: "closed" },
    ]);
    const again = await runTool(closeTicket, { id: 7 }, { ...acme(), answers: { sure: { close: true } } });
    expect(again.text).toBe("Ticket 7 was closed already.");
  });

  it("leaves it open when the person declines, or leaves the box empty", async () => {
    for (const sure of [{ action: "decline" }, { close: false }]) {
      const { text } = await runTool(closeTicket, { id: 7 }, { ...acme(), answers: { sure } });
      expect(text).toBe("Ticket 7 stays open.");
    }
  });

  it("says that there is no such ticket, also of another company's", async () => {
    const refused = await runTool(closeTicket, { id: 9 }, acme());
    expect(refused).toMatchObject({ isError: true, text: "There is no ticket 9.", errors: [], questions: [] });
    expect((await readFrom(ticketTemplate, "ticket://9", acme())).error?.message).toBe("There is no ticket 9.");
  });

  it("reads a ticket, and lists all of them", async () => {
    const { text } = await readFrom(ticketTemplate, "ticket://7", acme());
    expect(JSON.parse(text)).toMatchObject({ id: 7, title: "The printer is on fire" });
    const many = Array.from(
      { length: 130 },
      (_, at) => `INSERT INTO tickets (company, title) VALUES ('acme', 'T${at}')`,
    );
    await platform.env.DB.batch(many.map((sql) => platform.env.DB.prepare(sql)));
    const { result } = await listFrom(ticketTemplate, acme());
    expect(new Set((result["resources"] as { uri: string }[]).map(({ uri }) => uri)).size).toBe(132);
  });

  it("sorts them for a team", async () => {
    expect((await runPrompt(triage, { team: "the night shift" }, { era })).text).toContain("for the night shift");
  });
});

it("a row is a company, with the tools and the days that it says", async () => {
  expect(await companyOf("acme", platform.env)).toEqual({
    title: "Acme",
    tools: ["*"],
    config: { open_ticket: { dueInDays: 14 } },
  });
  expect(await companyOf("globex", platform.env)).toMatchObject({ tools: ["list_tickets"] });
  expect(await companyOf("nobody", platform.env)).toBeUndefined();
});

it("knows what is overdue, by company", async () => {
  expect(await companiesWithOverdue(platform.env.DB, "2026-11-21")).toEqual([{ company: "acme", ids: [7] }]);
});
