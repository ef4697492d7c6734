// What zod/mini leaves out and tools need: writing its schemas as JSON Schema, and texts for what is wrong with a value.
// Import it once, for its effect, before the first definition. zod itself brings both.

import { en } from "zod/locales";
import { config, toJSONSchema, type $ZodType } from "zod/v4/core";
import { setZodMiniWriter } from "./handlers/schema.ts";

setZodMiniWriter((schema, how) => toJSONSchema(schema as unknown as $ZodType, how));
// As in zod itself, texts that the author has set are kept.
if (!config().localeError) config(en());
