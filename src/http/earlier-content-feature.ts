// Owns the feature `earlierContent()` as a Worker's author imports it: content that release 0.1.0 stored is taken over at its
// first use. A Worker that never was one of that release does without it.

import { takeOverBy } from "../content/store/admission.ts";
import { earlierPages } from "../content/store/earlier-pages.ts";
import { Takeover } from "../content/store/takeover.ts";
import type { Feature } from "../deployment/deployment.ts";
import { refuseOptions } from "../protocol/members.ts";

/** For a Worker whose storage release 0.1.0 began: `docs/operations.md`. */
export function earlierContent(...options: readonly never[]): Feature {
  refuseOptions("earlierContent", options);
  takeOverBy((admission) => new Takeover(admission));
  return { name: "earlierContent", tables: [earlierPages] };
}
