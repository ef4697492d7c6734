// The feature `webhooks()`: which webhooks receive which events, and the validation of webhooks in documents.

import type { BuiltInFeature, RefreshContext, WebhookTrial } from "../deployment/deployment.ts";
import type { Feature } from "../deployment/feature.ts";
import { outboundAllowOf } from "../outbound/guarded-fetch.ts";
import { findBrokenRuleInUrl } from "../outbound/url-policy.ts";
import { assertKnownKeys } from "../protocol/members.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { TENANT_EVENTS } from "../tenants/object/tenant-events.ts";
import type { TenantDocument, WebhookDocument, FieldRule } from "../tenants/document/tenant-document.ts";
import { SECRET_NAME_RULE, secretNameOf } from "../tenants/document/secret-name.ts";
import type { WebhookResult } from "./deliver-webhooks-entrypoint.ts";
import { sendWebhook, type WebhookTarget, type WebhookMessage } from "./send-webhook.ts";
import { webhookStore } from "./webhook-store.ts";

export interface WebhooksOptions {
  /** The platform's own webhooks, by name. They receive the events of every tenant. `secret` is in clear. */
  readonly platform?: (env: never) => Readonly<Record<string, WebhookDocument>>;
}

/** The tenant whose webhooks are called, and access to its secrets. */
export type WebhookContext = Pick<RefreshContext, "tenant" | "document" | "env" | "secret">;

const SECRET_REFERENCE = /^\{\{secret:(\w+)\}\}$/;
/**
 * A tenant's secret, and each of two during a rotation, must be strong. The receiver of signatures could guess a weak
 * secret with a word list.
 */
const SIGNING_SECRET = /^whsec_.{24,}$/;
/** The prefix of the platform's webhooks. Names in a document have no space, so they never collide. */
const PLATFORM = "platform ";

function enabledWebhooks({ document, env }: Pick<WebhookContext, "document" | "env">, { platform }: WebhooksOptions) {
  const own = Object.entries(document.webhooks ?? {});
  const all = Object.entries(platform?.(env as never) ?? {}).map(([name, hook]) => [PLATFORM + name, hook] as const);
  return [...own, ...all].filter(([, { enabled = true }]) => enabled);
}

/** undefined: the text names no secret. */
function secretNameIn(secret: string): string | undefined {
  return secretNameOf(SECRET_REFERENCE.exec(secret)?.[1] ?? "");
}

const wantsEvent = ({ events }: WebhookDocument, type: string) => events === undefined || events.includes(type);

async function resolveWebhook(
  name: string,
  { url, secret }: WebhookDocument,
  context: WebhookContext,
): Promise<WebhookTarget | string> {
  if (name.startsWith(PLATFORM)) return { url, secret };
  const secretName = secretNameIn(secret);
  if (secretName === undefined) return `its secret must be {{secret:NAME}}, where NAME is ${SECRET_NAME_RULE}`;
  // A Worker secret never stands in: the author of the webhook receives its signatures.
  const value = await context.secret(secretName);
  if (value === undefined) return `the tenant has no secret ${secretName}`;
  const isSigningSecret = value
    .trim()
    .split(/\s+/)
    .every((one) => SIGNING_SECRET.test(one));
  return isSigningSecret
    ? { url, secret: value }
    : "its secret is invalid: it must be whsec_ and at least 24 characters of Base64";
}

/** Sends one message to all webhooks that want it and have not received it. */
export async function dispatchWebhooks(
  message: WebhookMessage & { readonly deliveredTo: readonly string[] },
  context: WebhookContext,
  options: WebhooksOptions,
): Promise<WebhookResult[]> {
  const recipients = enabledWebhooks(context, options).filter(
    ([name, hook]) => wantsEvent(hook, message.type) && !message.deliveredTo.includes(name),
  );
  const sendTo = (hooks: typeof recipients) =>
    Promise.all(
      hooks.map(async ([name, hook]) => {
        const target = await resolveWebhook(name, hook, context);
        return { name, why: typeof target === "string" ? target : (await sendWebhook(target, message, context)).why };
      }),
    );
  const isPlatforms = ([name]: (typeof recipients)[number]) => name.startsWith(PLATFORM);
  // Sent first: an invocation has six connections at a time, and a tenant's own webhooks may each hold one until the
  // timeout.
  const platformResults = await sendTo(recipients.filter(isPlatforms));
  return [...platformResults, ...(await sendTo(recipients.filter((one) => !isPlatforms(one))))];
}

async function testWebhook(context: WebhookContext, name: string): Promise<WebhookTrial | undefined> {
  const hook = Object.hasOwn(context.document.webhooks ?? {}, name) ? context.document.webhooks?.[name] : undefined;
  if (!hook) return undefined;
  const target = await resolveWebhook(name, hook, context);
  if (typeof target === "string") return { delivered: false, status: null, why: target, milliseconds: 0 };
  const message = {
    id: `msg_${crypto.randomUUID()}`,
    type: "webhook.test",
    at: Date.now(),
    data: { tenant: context.tenant },
  };
  return sendWebhook(target, message, context);
}

function findBrokenWebhooks({ webhooks: webhooksByName = {} }: TenantDocument, allow: string | undefined): FieldRule[] {
  return Object.entries(webhooksByName).flatMap(([name, { url, secret, events = [] }]) => {
    const at = `webhooks.${name}`;
    const broken: FieldRule[] = [];
    if (!URL.canParse(url)) broken.push({ field: `${at}.url`, rule: "must be a URL" });
    else if (allow !== undefined) {
      const rule = findBrokenRuleInUrl(new URL(url), allow);
      if (rule !== undefined)
        broken.push({ field: `${at}.url`, rule: `must begin with https:// and lead to the public internet (${rule})` });
    }
    if (secretNameIn(secret) === undefined) {
      broken.push({ field: `${at}.secret`, rule: `must be {{secret:NAME}}, where NAME is ${SECRET_NAME_RULE}` });
    }
    const unknownEvent = events.find((event) => !(TENANT_EVENTS as readonly string[]).includes(event));
    if (unknownEvent !== undefined)
      broken.push({
        field: `${at}.events`,
        rule: `must be one of ${TENANT_EVENTS.join(", ")}, not "${unknownEvent}"`,
      });
    return broken;
  });
}

/** The feature as the sending entrypoint finds it. */
export interface WebhooksFeature extends BuiltInFeature {
  readonly options: WebhooksOptions;
}

/** Sends events of tenants to the webhooks of the tenant, and to the platform's webhooks. See `node_modules/tenantry/docs/webhooks.md`. */
export function webhooks(options: WebhooksOptions = {}): Feature {
  assertKnownKeys("webhooks", options, "platform");
  const feature: WebhooksFeature = {
    name: "webhooks",
    options,
    checkDocument: (document, env) => findBrokenWebhooks(document, env && outboundAllowOf(env)),
    emitEvent: (requestScope, event) => {
      // A failed webhook must not affect the caller whose call caused the event.
      requestScope.waitUntil(
        createRpcClient(requestScope.stub(), webhookStore)
          .enqueue(event)
          .catch(() => {}),
      );
    },
    webhooks: {
      test: testWebhook,
      queue: (stub) => createRpcClient(stub, webhookStore).queue(),
    },
  };
  return feature;
}
