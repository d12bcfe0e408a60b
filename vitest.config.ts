import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** Two projects: `workers` runs inside workerd with real Durable Objects, `node` runs the command line and whole-repository checks. */
export default defineConfig({
  test: {
    // A loaded machine must not decide whether a test passes.
    testTimeout: 60_000,
    projects: [
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.toml" } })],
        test: {
          name: "workers",
          include: ["test/**/*.test.ts"],
          exclude: ["test/node/**"],
          testTimeout: 60_000,
          setupFiles: ["test/support/runs.ts"],
        },
      },
      {
        test: {
          name: "node",
          include: ["test/node/**/*.test.ts"],
          testTimeout: 60_000,
          setupFiles: ["test/support/runs.ts"],
        },
      },
    ],
  },
});
