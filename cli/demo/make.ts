import { writeFile } from "node:fs/promises";
import { demoSession } from "./session.ts";

/** Writes the bundled demo session: `node cli/demo/make.ts`. */
await writeFile(new URL("../demo-session.jsonl", import.meta.url), demoSession());
