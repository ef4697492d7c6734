// The feature `webhooks()`: which webhooks there are and want what, and what of a document is refused.

import type { BrokenMember, BuiltInFeature, TendGround, WebhookTrial } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { allowedBy } from "../outbound/outbound-door.ts";
import { refusedAsWritten } from "../outbound/destination.ts";
import { refuseStray } from "../protocol/members.ts";
import { remote } from "../tenants/authority/tables.ts";
import { NEWS } from "../tenants/authority/tenant-news.ts";
import type { TenantDocument, WebhookDocument } from "../tenants/document/tenant-document.ts";
import { SECRET_NAME_RULE, secretNameOf } from "../tenants/document/secret-name.ts";
import { sendWebhook, type OpenHook, type WebhookMessage } from "./send-webhook.ts";
import { webhookTables } from "./webhook-tables.ts";

export interface WebhooksOptions {
  /** Told of every tenant, by name: the platform's own. `secret`: in clear. */
  readonly platform?: (env: never) => Readonly<Record<string, WebhookDocument>>;
}

/** Who is told, and how the secret is found. */
export type HookGround = Pick<TendGround, "tenant" | "document" | "env" | "secret">;

const SECRET = /^\{\{secret:(\w+)\}\}$/;
/** A tenant's secret, each of two, is made to sign with: who is sent signatures can try a list of words on any other. */
const SIGNS = /^whsec_.{24,}$/;
/** What sets the platform's apart: no name in a document has a blank. */
const PLATFORM = "platform ";

function hooksOf({ document, env }: Pick<HookGround, "document" | "env">, { platform }: WebhooksOptions) {
  const own = Object.entries(document.webhooks ?? {});
  const all = Object.entries(platform?.(env as never) ?? {}).map(([name, hook]) => [PLATFORM + name, hook] as const);
  return [...own, ...all].filter(([, { enabled = true }]) => enabled);
}

/** undefined for what names no secret. */
function secretIn(secret: string): string | undefined {
  return secretNameOf(SECRET.exec(secret)?.[1] ?? "");
}

const wants = ({ events }: WebhookDocument, type: string) => events === undefined || events.includes(type);

async function openHook(
  name: string,
  { url, secret }: WebhookDocument,
  ground: HookGround,
): Promise<OpenHook | string> {
  if (name.startsWith(PLATFORM)) return { url, secret };
  const named = secretIn(secret);
  if (named === undefined) return `its secret is not {{secret:NAME}}, a name of ${SECRET_NAME_RULE}`;
  // Not the Worker's in its place: whoever writes the webhook is sent its signatures.
  const value = await ground.secret(named);
  if (value === undefined) return `the tenant has no secret ${named}`;
  const isMeant = value
    .trim()
    .split(/\s+/)
    .every((one) => SIGNS.test(one));
  return isMeant
    ? { url, secret: value }
    : "its secret is nothing to sign with: it takes whsec_ and at least 24 characters";
}

/** One message to all who want it and do not have it. */
export async function tellHooks(
  message: WebhookMessage & { readonly done: readonly string[] },
  ground: HookGround,
  options: WebhooksOptions,
): Promise<{ name: string; why: string | null }[]> {
  const wanting = hooksOf(ground, options).filter(
    ([name, hook]) => wants(hook, message.type) && !message.done.includes(name),
  );
  const sendTo = (hooks: typeof wanting) =>
    Promise.all(
      hooks.map(async ([name, hook]) => {
        const open = await openHook(name, hook, ground);
        return { name, why: typeof open === "string" ? open : (await sendWebhook(open, message, ground)).why };
      }),
    );
  const isPlatforms = ([name]: (typeof wanting)[number]) => name.startsWith(PLATFORM);
  // First: an invocation has six connections at a time, and a tenant's own webhooks may each hold one until the end.
  const told = await sendTo(wanting.filter(isPlatforms));
  return [...told, ...(await sendTo(wanting.filter((one) => !isPlatforms(one))))];
}

async function tryHook(ground: HookGround, name: string): Promise<WebhookTrial | undefined> {
  const hook = Object.hasOwn(ground.document.webhooks ?? {}, name) ? ground.document.webhooks?.[name] : undefined;
  if (!hook) return undefined;
  const open = await openHook(name, hook, ground);
  if (typeof open === "string") return { delivered: false, status: null, why: open, milliseconds: 0 };
  const message = {
    id: `msg_${crypto.randomUUID()}`,
    type: "webhook.test",
    at: Date.now(),
    data: { tenant: ground.tenant },
  };
  return sendWebhook(open, message, ground);
}

function brokenHooks({ webhooks: hooks = {} }: TenantDocument, allow: string | undefined): BrokenMember[] {
  return Object.entries(hooks).flatMap(([name, { url, secret, events = [] }]) => {
    const at = `webhooks.${name}`;
    const broken: BrokenMember[] = [];
    if (!URL.canParse(url)) broken.push({ field: `${at}.url`, rule: "must be a URL" });
    else if (allow !== undefined) {
      const rule = refusedAsWritten(new URL(url), allow);
      if (rule !== undefined)
        broken.push({ field: `${at}.url`, rule: `must lead to the public internet by https (${rule})` });
    }
    if (secretIn(secret) === undefined) {
      broken.push({ field: `${at}.secret`, rule: `must be {{secret:NAME}}, a name of ${SECRET_NAME_RULE}` });
    }
    const stray = events.find((event) => !(NEWS as readonly string[]).includes(event));
    if (stray !== undefined) broken.push({ field: `${at}.events`, rule: `"${stray}" is none of ${NEWS.join(", ")}` });
    return broken;
  });
}

/** As the entrypoint that sends finds it. */
export interface WebhooksFeature extends BuiltInFeature {
  readonly options: WebhooksOptions;
}

/** Tells the webhooks of tenants, and the platform's, what happens to tenants: docs/webhooks.md. */
export function webhooks(options: WebhooksOptions = {}): Feature {
  refuseStray("webhooks", options, "platform");
  const feature: WebhooksFeature = {
    name: "webhooks",
    options,
    checkDocument: (document, env) => brokenHooks(document, env && allowedBy(env)),
    tell: (host, news) => {
      // Nothing that is told on may cost the caller whose call met it.
      host.waitUntil(
        remote(host.stub(), webhookTables)
          .tell(news)
          .catch(() => {}),
      );
    },
    webhooks: {
      test: tryHook,
      queue: (stub) => remote(stub, webhookTables).queue(),
    },
  };
  return feature;
}
