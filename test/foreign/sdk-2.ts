// The official SDK v2, by its own request handler: 2026-07-28 and, for clients of before, a server for each request.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { everything } from "./sdk-2-everything.ts";

const handle = toNodeHandler(createMcpHandler(everything));
createServer((request, response) => void handle(request, response)).listen(Number(process.env["PORT"]), "127.0.0.1");
