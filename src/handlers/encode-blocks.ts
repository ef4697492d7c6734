// Writes bytes in content blocks as base64. No other member of a block is read.

import { toBase64 } from "../auth/seal.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";

/** Returns the same array when no block has bytes, so such results pay nothing. */
export function encodeBlocks(blocks: readonly unknown[]): readonly unknown[] {
  return blocks.some((block) => isObject(block) && findBytes(block)) ? blocks.map(encodeBlock) : blocks;
}

/** Encodes `data` of an image or audio, and `blob` of an embedded resource. */
export function encodeBlock(block: unknown): unknown {
  const bytesMember = isObject(block) && findBytes(block);
  if (!bytesMember) return block;
  const [parent, member] = bytesMember;
  const encoded = { ...parent, [member]: toBase64(parent[member] as Uint8Array) };
  return parent === block ? encoded : { ...block, resource: encoded };
}

function findBytes(block: JsonObject): readonly [parent: JsonObject, member: string] | undefined {
  if (block.data instanceof Uint8Array) return [block, "data"];
  const { resource } = block;
  return isObject(resource) && resource.blob instanceof Uint8Array ? [resource, "blob"] : undefined;
}
