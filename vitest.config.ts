import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** Two projects: `workers` runs inside workerd with real Durable Objects, `node` runs the command line and whole-repository checks. */
export default defineConfig({
  test: {
    projects: [
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.toml" } })],
        test: { name: "workers", include: ["test/**/*.test.ts"], exclude: ["test/node/**"] },
      },
      { test: { name: "node", include: ["test/node/**/*.test.ts"] } },
    ],
  },
});
