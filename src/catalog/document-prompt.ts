// Prompts from a tenant's document: templates with arguments, embedded resources and images.

import { AppError } from "../protocol/app-error.ts";
import { UserError } from "../protocol/user-error.ts";
import { omitUndefined } from "../protocol/members.ts";
import { toBase64 } from "../auth/seal.ts";
import type { PromptContent, PromptDocument } from "../tenants/document/tenant-document.ts";
import type { Context } from "../handlers/context.ts";
import type { ContentBlock } from "../handlers/content-block.ts";
import { createPrompt, type Prompt } from "../handlers/prompt.ts";

export function createDocumentPrompt(name: string, document: PromptDocument): Prompt<never, never> {
  const { title, description, messages } = document;
  return createPrompt({
    name,
    ...omitUndefined({ title, description }),
    arguments: Object.fromEntries((document.arguments ?? []).map(({ name: argument, ...about }) => [argument, about])),
    handler: (args, ctx) => {
      if (filledLength(messages, args) > MAX_CHARACTERS) {
        const message = `With these arguments the prompt is larger than ${MAX_CHARACTERS} characters`;
        throw new AppError("invalidParams", { message });
      }
      return Promise.all(
        messages.map(async ({ role, content }) => ({ role, content: await toContentBlock(content, args, ctx) })),
      );
    },
  });
}

async function toContentBlock(
  content: PromptContent,
  args: Record<string, string>,
  ctx: Context,
): Promise<ContentBlock> {
  switch (content.type) {
    case "text":
      return { type: "text", text: fillPlaceholders(content.text, args) };
    case "image":
      return { ...content };
    case "resource": {
      const uri = fillPlaceholders(content.uri, args);
      const resource = await ctx.resources.read(uri);
      if (!resource) throw new UserError(`the prompt needs the resource ${uri}, which does not exist`);
      const { mimeType, text, blob } = resource;
      const body = text === undefined ? { blob: toBase64(blob) } : { text };
      return { type: "resource", resource: { uri, mimeType, ...body } };
    }
  }
}

const PLACEHOLDER = /\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}/g;
/**
 * Limit for all texts of a prompt with its arguments filled in: a short template may repeat a long argument many times.
 */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Computed before any text is built. */
function filledLength(messages: PromptDocument["messages"], args: Readonly<Record<string, string>>): number {
  const texts = messages.map(({ content }) => {
    if (content.type === "image") return "";
    return content.type === "text" ? content.text : content.uri;
  });
  const lengthOf = (text: string) =>
    [...text.matchAll(PLACEHOLDER)].reduce(
      (length, [whole, name = ""]) => length - whole.length + valueOf(args, name).length,
      text.length,
    );
  return texts.reduce((sum, text) => sum + lengthOf(text), 0);
}

function valueOf(args: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(args, name) ? (args[name] ?? "") : "";
}

/** Replaces `{{name}}` by the arguments; a missing argument becomes the empty text. */
function fillPlaceholders(template: string, args: Readonly<Record<string, string>>): string {
  return template.replaceAll(PLACEHOLDER, (_whole, name: string) => valueOf(args, name));
}
