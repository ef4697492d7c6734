// Rows as a store would send them to the authority.

import type { PutResource } from "../../src/resources/content-store.ts";

/** A resource to put; what is said about its row overrides, the rest is plain. */
export function putOf(
  uri: string,
  row: Partial<PutResource["row"]> = {},
  about: Partial<Omit<PutResource, "row">> = {},
): PutResource {
  return {
    row: {
      uri,
      name: uri,
      title: null,
      description: null,
      mimeType: "text/plain",
      binary: false,
      size: 1,
      hash: `hash of ${uri}`,
      audience: null,
      priority: null,
      tags: [],
      ...row,
    },
    searchText: "",
    copy: null,
    ifAbsent: false,
    maxResources: null,
    resendToken: null,
    ...about,
  };
}
