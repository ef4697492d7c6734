// `tenantry key`: the API keys of a tenant's callers. The server shows a key's token once.

import type { Command } from "commander";
import type { ApiKeyShape, CreatedKeyShape, Infer } from "../../admin/contract.ts";
import { collectPages, createAdminApi } from "../admin/admin-client.ts";
import { readKey, withKeyOptions, type KeyOptions } from "./key-option.ts";
import { parseKeyId, parseMoment, parseSeconds } from "./option-values.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { runCommand, confirm, collectOption, type CommandContext } from "../command-context.ts";
import { repeatText } from "../terminal/changes.ts";
import { ResponseError } from "../terminal/server-error.ts";
import { formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

type ApiKey = Infer<typeof ApiKeyShape>;
type CreatedKey = Infer<typeof CreatedKeyShape>;

interface CreateOptions {
  readonly name: string;
  readonly scope?: readonly string[];
  readonly profile?: string;
  readonly expires?: string;
}

export function addKeyCommands(program: Command, terminal: Terminal): void {
  const key = program.command("key").description("Create, list, rotate and revoke API keys.");

  const create = key
    .command("create")
    .description("Create an API key. Stdout gets only the token, which is shown once.")
    .argument("<tenant>")
    .requiredOption("-n, --name <name>", "a name for the key")
    .option("-s, --scope <scope>", "limit the key to this scope of the document; repeatable", collectOption)
    .option("--profile <profile>", "limit the key to this profile")
    .option("--expires <when>", "when it expires: 30d, 2027-01-31, or a full ISO 8601 time", parseMoment)
    .addHelpText(
      "after",
      `
Examples:
  tenantry key create acme --name laptop
  tenantry key create acme --name ci --scope read --profile public --expires 90d
  KEY=$(tenantry key create acme --name test)`,
    );
  runCommand(create, terminal, createKey);

  const list = key
    .command("list")
    .description("List a tenant's keys, without their tokens.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry key list acme");
  runCommand(list, terminal, listKeys);

  const rotate = withKeyOptions(key.command("rotate"))
    .description("Replace a key. The old and the new key both work for a while. A customer needs only the old key.")
    .argument("<tenant>")
    .argument(
      "[key]",
      "the key's id or name, as key list shows; default: the key in --key-file or TENANTRY_KEY, once a day",
      parseKeyId,
    )
    .option("--overlap <time>", "how long the old key still works, such as 0s or 7d; default: a day", parseSeconds)
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry key rotate acme Yk3v0Qp8sD --overlap 1d\n  tenantry key rotate acme --key-file key.txt > new.txt",
    );
  runCommand(rotate, terminal, rotateKey);

  const revoke = key
    .command("revoke")
    .description("Revoke a key. When the command returns, the key no longer works.")
    .argument("<tenant>")
    .argument("<key>", "the key's id or name, as key list shows it", parseKeyId)
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry key revoke acme Yk3v0Qp8sD --yes");
  runCommand(revoke, terminal, revokeKey);
}

async function createKey(context: CommandContext, [tenant]: readonly [string], options: CreateOptions): Promise<void> {
  const { name, scope, profile, expires } = options;
  const [tenantId, profileInTenant] = tenant.split("/");
  if (profileInTenant !== undefined)
    throw usageError(
      `${tenant}: for a key of this profile, run tenantry key create ${tenantId} --profile ${profileInTenant}`,
    );
  const body = {
    name,
    ...(scope && { scopes: [...scope] }),
    ...(profile !== undefined && { profile }),
    ...(expires !== undefined && { expires }),
  };
  showCreatedKey(context, await context.api.request("POST /tenants/{id}/keys", { params: { id: tenant }, body }));
}

function showCreatedKey(context: CommandContext, created: CreatedKey): void {
  const { isTTY } = context.terminal.stdout;
  context.note(
    isTTY
      ? `Key ${created.id}. This is the only time its token is shown:`
      : `Key ${created.id} created. Its token is on stdout and cannot be shown again.`,
  );
  context.show(created, () => created.token);
}

async function listKeys(context: CommandContext, [tenant]: readonly [string]): Promise<void> {
  const keys = await collectPages(context.api.pages("GET /tenants/{id}/keys", { params: { id: tenant } }));
  if (keys.length === 0) context.note(`No keys: tenantry key create ${tenant} --name NAME makes one.`);
  context.show(keys, () => {
    const rows = keys.map((one) => [
      one.id,
      one.name,
      one.scopes?.join(", "),
      one.profile,
      formatTime(one.created),
      formatTime(one.lastUsed) ?? "never",
      endOf(one),
    ]);
    const titles = ["key", "name", "scopes", "profile", "created", "last used, to the hour", "ends"];
    return rows.length === 0 ? "" : formatTable(titles, rows, context.terminal.stdout);
  });
}

function endOf({ expires, retires }: ApiKey): string | null {
  const [first] = [expires, retires].filter((at) => at !== null).toSorted();
  return formatTime(first);
}

interface RotateOptions extends KeyOptions {
  readonly overlap?: number;
}

async function rotateKey(
  context: CommandContext,
  [tenant, key]: readonly [string, string?],
  { overlap, ...options }: RotateOptions,
): Promise<void> {
  const body = overlap === undefined ? {} : { overlapSeconds: overlap };
  if (key === undefined) return rotateOwn(context, tenant, { body, options });
  const rotate = (id: string) =>
    context.api.request("POST /tenants/{id}/keys/{key}/rotate", { params: { id: tenant, key: id }, body });
  const created = await rotate(key).catch(async (error: unknown) => {
    const isUnknown = isNotAnId(error, key) || (error instanceof ResponseError && error.status === 404);
    const foundId = isUnknown ? await findKeyId(context, tenant, key) : undefined;
    if (foundId === undefined) throw isNotAnId(error, key) ? keyNotFound(tenant, key) : error;
    return rotate(foundId);
  });
  showCreatedKey(context, created);
}

const KEY_ID = /^[0-9A-Za-z]{10}$/;

/** The server answers 422 to a text that cannot be an id. It may be a name. */
function isNotAnId(error: unknown, key: string): boolean {
  return error instanceof ResponseError && error.status === 422 && !KEY_ID.test(key);
}

function keyNotFound(tenant: string, key: string): CliError {
  return new CliError(EXIT.notFound, `there is no key ${key} in ${tenant}, or not any more`);
}

/** The id of the key with this name; undefined: no such key. */
async function findKeyId({ api }: CommandContext, tenant: string, key: string): Promise<string | undefined> {
  const keys = await collectPages(api.pages("GET /tenants/{id}/keys", { params: { id: tenant } }));
  const [first, ...more] = keys.filter(({ name }) => name === key).map(({ id }) => id);
  if (first === undefined || more.length === 0) return first;
  throw usageError(
    `${tenant} has several keys with the name ${key}: use one of the ids ${[first, ...more].join(", ")}`,
  );
}

/** Authenticates with the key itself; no operator token is sent. */
async function rotateOwn(
  context: CommandContext,
  tenant: string,
  { body, options }: { readonly body: { readonly overlapSeconds?: number }; readonly options: KeyOptions },
): Promise<void> {
  const key = await readKey(context.terminal, options);
  if (key === undefined) throw usageError("key rotate: name the key's id, or give the key itself with --key-file FILE");
  const { base } = context.api;
  const api = createAdminApi({ url: base, token: key.token, tokenSource: key.source }, context.terminal.signal);
  showCreatedKey(context, await api.request("POST /tenants/{id}/keys/self/rotate", { params: { id: tenant }, body }));
}

async function revokeKey(
  context: CommandContext,
  [tenant, key]: readonly [string, string],
  { yes }: { yes?: boolean },
): Promise<void> {
  await confirm(context, `Revoke key ${key} of ${tenant}`, yes);
  const revoke = (id: string) =>
    context.api.change("DELETE /tenants/{id}/keys/{key}", { params: { id: tenant, key: id } });
  let done = await revoke(key).catch((error: unknown) => {
    if (!isNotAnId(error, key)) throw error;
    return undefined;
  });
  const foundId = done?.changed && !done.repeated ? undefined : await findKeyId(context, tenant, key);
  if (foundId !== undefined) done = await revoke(foundId);
  // A mistyped id must not look like a revoked key.
  if (!done?.changed) throw keyNotFound(tenant, key);
  const label = foundId === undefined ? key : `${key} (${foundId})`;
  context.show(done, () => `${label} is revoked everywhere${repeatText(done)}`);
}
