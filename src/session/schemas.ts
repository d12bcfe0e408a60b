/** What the native routes take. Only keys that work; others are refused as unknown. */
import { z } from "zod";
import { policySchema } from "../compaction/policy.ts";
import { dialectNames } from "../dialects/dialect.ts";
import { capacitySchema } from "../log/events.ts";
import { namePattern, parseRouteName } from "../providers/route-name.ts";

const name = z.string().regex(namePattern, "must match [A-Za-z0-9][A-Za-z0-9._-]{0,127}");
const route = z.string().refine((text) => parseRouteName(text) !== undefined, "must be provider/model");
const seq = z.number().int().min(0);

export const dialectSchema = z.enum(dialectNames);

export const configureSchema = z.strictObject({
  dialect: dialectSchema.optional(),
  route: route.nullable().optional(),
  capacity: capacitySchema.optional(),
  policy: policySchema.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export const branchSchema = z.strictObject({ from: seq, name: name.optional() });

/** Members of `POST /prepare` that are decoded; `system`, `tools`, `params` and `messages` stay raw. */
const section = z.strictObject({ name: z.string().min(1).max(128), text: z.string().max(65_536) });

export const prepareSchema = z.strictObject({
  runtimeContext: z
    .union([z.string().max(65_536), z.array(section).max(64)])
    .nullable()
    .optional(),
  route: route.optional(),
  maxOutput: z.number().int().positive().optional(),
  strict: z.boolean().optional(),
  expect: seq.optional(),
});
export const prepareKeys = ["system", "tools", "params", "messages", ...Object.keys(prepareSchema.shape)];

export const stepSchema = prepareSchema.extend({ stream: z.boolean().optional() });

export const appendSchema = z.strictObject({
  prepareId: z.string().optional(),
  expect: seq.optional(),
  strict: z.boolean().optional(),
});
export const appendKeys = ["items", ...Object.keys(appendSchema.shape)];

export const overflowSchema = z.strictObject({
  prepareId: z.string(),
  status: z.number().int().min(100).max(599).optional(),
  body: z.unknown().optional(),
  usage: z.unknown().optional(),
  finish: z.string().max(64).optional(),
});
