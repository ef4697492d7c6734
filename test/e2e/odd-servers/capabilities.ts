// What a server says of itself when a session begins.

import type { Json } from "../../support/mcp-client.ts";
import { at, everywhere, onInitialize, resultIn } from "./odd-request.ts";
import type { OddKind, OddRow } from "./odd-row.ts";

const USUAL = { tools: {}, prompts: {}, resources: {} };
const capable = (more: Json): Json => ({ capabilities: { ...USUAL, ...more } });

const SAID: readonly (readonly [id: string, what: string, change: Json])[] = [
  ["cap-missing", "capabilities are missing", { capabilities: undefined }],
  ["cap-null", "capabilities: null", { capabilities: null }],
  ["cap-list", "capabilities: []", { capabilities: [] }],
  ["cap-empty", "capabilities: {}", { capabilities: {} }],
  ["cap-tools-alone", "only tools are declared", { capabilities: { tools: {} } }],
  ["cap-tools-true", "tools: true", capable({ tools: true })],
  ["cap-tools-false", "tools: false", capable({ tools: false })],
  ["cap-tools-null", "tools: null", capable({ tools: null })],
  ["cap-tools-list", "tools: []", capable({ tools: [] })],
  ["cap-tools-text", 'tools: "yes"', capable({ tools: "yes" })],
  ["cap-prompts-true", "prompts: true", capable({ prompts: true })],
  ["cap-prompts-null", "prompts: null", capable({ prompts: null })],
  ["cap-resources-list", "resources: []", capable({ resources: [] })],
  ["cap-changed-text", 'listChanged: "yes"', capable({ tools: { listChanged: "yes" } })],
  ["cap-changed-null", "listChanged: null", capable({ tools: { listChanged: null } })],
  ["cap-logging-null", "logging: null", capable({ logging: null })],
  ["cap-logging-true", "logging: true", capable({ logging: true })],
  ["cap-completions-true", "completions: true", capable({ completions: true })],
  ["cap-experimental", "experimental: []", capable({ experimental: [] })],
  ["cap-unknown", "capabilities that nobody knows", capable({ telepathy: { range: 5 }, batch: true })],
  ["cap-tasks", "tasks: {}", capable({ tasks: {} })],
  ["version-future", 'protocolVersion: "2099-01-01"', { protocolVersion: "2099-01-01" }],
  ["version-2024", 'protocolVersion: "2024-11-05"', { protocolVersion: "2024-11-05" }],
  ["version-oldest", 'protocolVersion: "2024-10-07"', { protocolVersion: "2024-10-07" }],
  ["version-semver", 'protocolVersion: "1.0"', { protocolVersion: "1.0" }],
  ["version-2026", 'protocolVersion: "2026-07-28"', { protocolVersion: "2026-07-28" }],
  ["version-missing", "no protocolVersion", { protocolVersion: undefined }],
  ["version-null", "protocolVersion: null", { protocolVersion: null }],
  ["version-number", "protocolVersion: 20251125", { protocolVersion: 20251125 }],
  ["server-missing", "no serverInfo", { serverInfo: undefined }],
  ["server-null", "serverInfo: null", { serverInfo: null }],
  ["server-empty", "serverInfo: {}", { serverInfo: {} }],
  ["server-versionless", "serverInfo without a version", { serverInfo: { name: "odd" } }],
  ["server-version-number", "the version is a number", { serverInfo: { name: "odd", version: 1 } }],
  ["server-title-null", "serverInfo.title: null", { serverInfo: { name: "odd", version: "1", title: null } }],
  ["server-text", "serverInfo is a text", { serverInfo: "odd 1.0" }],
  ["instructions-null", "instructions: null", { instructions: null }],
  ["instructions-number", "instructions: 5", { instructions: 5 }],
  ["instructions-list", "instructions: []", { instructions: ["Use it."] }],
  ["instructions-long", "instructions of 100,000 characters", { instructions: "Use it. ".repeat(12_500) }],
  ["hello-meta-null", "_meta: null", { _meta: null }],
  ["hello-more", "members that nobody knows", { sessionId: "s1", status: "ok" }],
];

const ALONE: readonly OddRow[] = [
  {
    id: "prompts-unknown",
    what: "prompts are declared, and all their methods unknown",
    odd: at(["prompts/list", "prompts/get"], (asked) => asked.error(-32601, "Method not found")),
  },
  {
    id: "resources-unknown",
    what: "resources are declared, and all their methods unknown",
    odd: at(["resources/list", "resources/templates/list"], (asked) => asked.error(-32601, "Method not found")),
  },
  {
    id: "session-empty",
    what: "an empty Mcp-Session-Id",
    isStateless: true,
    odd: at(["initialize"], (asked) => asked.json(asked.usual, { headers: { "mcp-session-id": "" } })),
  },
  {
    id: "session-spaces",
    what: "an Mcp-Session-Id with spaces",
    worse: "the session id is not visible ASCII",
    isStateless: true,
    odd: at(["initialize"], (asked) => asked.json(asked.usual, { headers: { "mcp-session-id": "a b c" } })),
  },
  {
    id: "discover-cap-null",
    what: "capabilities: null in 2026",
    speaksBoth: true,
    odd: at(["server/discover"], (asked) => asked.result({ ...resultIn(asked), capabilities: null })),
  },
  {
    id: "discover-cap-true",
    what: "prompts: true in 2026",
    speaksBoth: true,
    odd: at(["server/discover"], (asked) => asked.result({ ...resultIn(asked), ...capable({ prompts: true }) })),
  },
  {
    id: "discover-future",
    what: 'supportedVersions: ["2099-01-01"]',
    speaksBoth: true,
    odd: at(["server/discover"], (asked) => asked.result({ ...resultIn(asked), supportedVersions: ["2099-01-01"] })),
  },
  {
    id: "discover-unstamped",
    what: "no resultType in 2026",
    speaksBoth: true,
    odd: everywhere((asked, usual) => asked.json({ ...usual, result: { ...resultIn(asked), resultType: undefined } })),
  },
  {
    id: "hello-result",
    what: "the result of initialize within another",
    odd: at(["initialize"], (asked) => asked.result({ result: resultIn(asked) })),
  },
];

export const CAPABILITIES: OddKind = {
  kind: "capabilities",
  rows: [...SAID.map(([id, what, change]) => ({ id, what, odd: onInitialize(change) })), ...ALONE],
};
