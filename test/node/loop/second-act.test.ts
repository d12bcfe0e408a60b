/** The demo's second act: both halves played, and the picture of them. */
import { describe, expect, it } from "vitest";
import { runSecondAct } from "../../../cli/demo/second-act.ts";
import { drawSecondAct } from "../../../cli/demo/second-act-picture.ts";
import { startProvider } from "../../../cli/loop/provider.ts";
import { withProvider } from "./clients.ts";

describe("the second act", () => {
  it("dies at the window when it is played direct, and says where and why", async () => {
    await withProvider({ window: 32_000 }, async ({ provider }) => {
      const steps: string[] = [];
      const played = await runSecondAct({
        direct: provider.openai,
        onStep: (half, step, tokens) => steps.push(`${half} ${step} ${tokens}`),
      });
      const { direct, gateway, picture } = played;
      expect(gateway).toBeUndefined();
      expect(direct).toMatchObject({
        finished: false,
        died: { code: "context_length_exceeded", overflow: true, request: direct.tokens.length + 1 },
      });
      expect(direct.died?.refusedTokens).toBeGreaterThan(32_000);
      expect(steps).toEqual(direct.tokens.map((tokens, at) => `direct ${at + 1} ${tokens}`));
      expect(picture.join("\n")).toContain(
        `dies at step ${direct.tokens.length + 1}, context_length_exceeded`,
      );
      expect(picture.join("\n")).not.toContain("Plimsoll");
    });
  });

  it("finishes at an address with room, with the headers that it was given", async () => {
    const seen: (string | null)[] = [];
    const roomy = await startProvider({
      fault: ({ headers }) => void seen.push(headers.get("x-session")),
    });
    try {
      await withProvider({ window: 8_000 }, async ({ provider }) => {
        const gateway = { url: roomy.anthropic, headers: { "x-session": "s1" }, model: "p/m" };
        const played = await runSecondAct({
          direct: provider.anthropic,
          gateway,
          agent: "anthropic",
          rounds: 20,
          window: 8_000,
        });
        expect(played.direct.died?.overflow).toBe(true);
        expect(played.gateway).toMatchObject({ finished: true, answer: "DONE second-act after 20 rounds" });
        expect(new Set(seen)).toEqual(new Set(["s1"]));
        expect(played.picture.join("\n")).toMatch(/through Plimsoll: ✓ DONE second-act after 20 rounds/);
      });
    } finally {
      await roomy.close();
    }
  });

  const saw = Array.from({ length: 200 }, (_, step) => 10_000 + (step % 20) * 800);
  const died = {
    request: 31,
    status: 400,
    code: "context_length_exceeded",
    message: "too long",
    overflow: true,
  };
  const play = {
    window: 32_000,
    rounds: 200,
    direct: {
      finished: false,
      answer: "",
      tokens: saw.slice(0, 30).map((_, step) => step * 1_050),
      died: { ...died, refusedTokens: 33_000 },
    },
    gateway: { finished: true, answer: "DONE", tokens: saw },
  };

  it("draws two lines, the window and how each ends, no wider than the paper", () => {
    for (const width of [30, 80, 200]) {
      const lines = drawSecondAct(play, { width, colour: false });
      expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(width);
      const body = lines.slice(0, 14);
      expect(body.filter((line) => line.includes("─"))).toHaveLength(1);
      expect(body.join("").match(/✗/g)).toHaveLength(1);
      expect(body.join("").match(/✓/g)).toHaveLength(1);
      expect(body.findIndex((line) => line.includes("✗"))).toBeLessThanOrEqual(
        body.findIndex((line) => line.includes("─")),
      );
      // The line through Plimsoll stays under the window.
      const windowRow = body.findIndex((line) => line.includes("─"));
      expect(body.slice(0, windowRow + 1).join("")).not.toContain("◆");
    }
    const legend = drawSecondAct(play, { width: 80, colour: false }).slice(-4);
    expect(legend[0]).toBe("● direct: ✗ dies at step 31, context_length_exceeded");
    expect(legend[3]).toBe("  200 requests, the largest 25,200 tokens, made smaller 9 times");
  });

  it("colours only where the paper takes colours", () => {
    expect(drawSecondAct(play, { width: 80, colour: true }).join("")).toContain("\u001b[");
    expect(drawSecondAct(play, { width: 80, colour: false }).join("")).not.toContain("\u001b[");
  });
});
