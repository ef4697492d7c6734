// State that an anonymous caller makes: there has to be an end to it.

import { rowOf, type Attack, type Row } from "./report.ts";
import { didIt, type Json, type Target } from "./target.ts";

/** More than one address may begin in a minute, or have at once. */
const SESSIONS = 1100;
const AT_ONCE = 16;

export const growingState: Attack = {
  name: "growing state",
  classes: ["rows that only grow"],
  isAlone: true,
  run: async (target) => [await sessions(target), await keys(target), await resources(target)],
};

/** Each makes an object, a row that stays for days, and alarms. */
async function sessions(target: Target): Promise<Row> {
  const tenant = await target.tenant({ limits: undefined });
  const begin = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "attack", version: "1" } };
  const options = { revision: "2025-11-25" as const };
  let made = 0;
  let refused = 0;
  const lane = async () => {
    while (made + refused < SESSIONS && refused === 0) {
      const { headers, status } = await target.call(tenant, "initialize", begin, options);
      const session = headers.get("mcp-session-id");
      const set =
        session === null
          ? { status, json: {} as Json }
          : await target.call(
              tenant,
              "logging/setLevel",
              { level: "info" },
              { ...options, headers: { "mcp-session-id": session } },
            );
      if (set.status === 200 && set.json.result !== undefined) made += 1;
      else refused += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const seen = refused > 0 ? `refused after ${made}` : `${made} remembered sessions, none refused`;
  return rowOf(
    "9 state without bound",
    `up to ${SESSIONS} x initialize and setLevel, anonymous`,
    refused === 0 ? [seen] : [],
    seen,
  );
}

async function keys(target: Target): Promise<Row> {
  const tenant = await target.tenant({ mode: "key", limits: undefined });
  const { token } = await target.operator("tenant-admin", [tenant]);
  let made = 0;
  let status = 201;
  while (status === 201 && made < 1200) {
    const several = await Promise.all(
      Array.from({ length: 24 }, () => target.admin("POST", `/tenants/${tenant}/keys`, { name: "many" }, token)),
    );
    made += several.filter((one) => one.status === 201).length;
    status = several.find((one) => one.status !== 201)?.status ?? 201;
  }
  const seen = status === 201 ? `${made} keys, none refused` : `${made} keys, then ${status}`;
  return rowOf(
    "9 state without bound",
    "keys of a tenant without limits of its own",
    status === 201 || status >= 500 ? [seen] : [],
    seen,
  );
}

async function resources(target: Target): Promise<Row> {
  const gaveWay: string[] = [];
  const tenant = await target.tenant({ limits: { resources: 20, resourceBytes: 10_000 } });
  const store = async (id: string, bytes: number) =>
    didIt(await target.tool(tenant, "note_write", { id, title: "n", text: "x".repeat(bytes) }));
  if (await store("large", 10_001)) gaveWay.push("a note above the limit was stored");
  let stored = 0;
  for (let at = 0; at < 30; at += 1) if (await store(`n-${at}`, 9000)) stored += 1;
  if (stored !== 20) gaveWay.push(`${stored} notes are stored`);
  return rowOf(
    "9 limits of what is stored",
    "30 notes of 9 KB and a larger one, where 20 of 10 KB are allowed",
    gaveWay,
    "20 stored",
  );
}
