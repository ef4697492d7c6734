// Adds what zod/mini leaves out and tools need: JSON Schema output and error messages for invalid values. Import it
// once, for its side effect, before the first definition. Full zod needs no such import.

import { en } from "zod/locales";
import { config, toJSONSchema, type $ZodType } from "zod/v4/core";
import { setZodMiniWriter } from "./handlers/schema.ts";

setZodMiniWriter((schema, how) => toJSONSchema(schema as unknown as $ZodType, how));
// Keeps error messages that the author has set, as zod does.
if (!config().localeError) config(en());
