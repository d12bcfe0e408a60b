/**
 * Public providers that need no configuration but a key: where they listen, what they speak, which secret
 * holds the key. Base URLs are what the vendors' own SDKs take: OpenAI's ends before `/chat/completions`,
 * Anthropic's before `/v1/messages`. Sources: the vendors' API references, read in November 2026.
 */
import type { DialectName } from "../dialects/dialect.ts";

export interface Timeouts {
  /** Milliseconds until the status line. */
  readonly firstByteMs: number;
  /** Longest silence inside a body, in milliseconds. */
  readonly idleMs: number;
}

/** Ten minutes, as both vendors' own SDKs wait; then two minutes of silence, which no ping rhythm reaches. */
export const defaultTimeouts: Timeouts = { firstByteMs: 600_000, idleMs: 120_000 };

export interface Provider {
  /**
   * One base URL for each dialect that the provider speaks, the preferred dialect first. Without a trailing
   * slash.
   */
  readonly baseUrls: Readonly<Partial<Record<DialectName, string>>>;
  /** Name of the Worker secret with the key; absent: the provider is called without a key. */
  readonly secret?: string;
  /** The client's own key goes to this provider, instead of a secret of the deployment. */
  readonly forward?: true;
  /** Name of the Worker secret with the token of an AI Gateway in front of the provider. */
  readonly gatewaySecret?: string;
  /** Absent numbers are `defaultTimeouts`. */
  readonly timeouts?: Readonly<Partial<Timeouts>>;
}

export const builtinProviders: Readonly<Record<string, Provider>> = {
  anthropic: { baseUrls: { anthropic: "https://api.anthropic.com" }, secret: "ANTHROPIC_API_KEY" },
  cerebras: { baseUrls: { "openai-chat": "https://api.cerebras.ai/v1" }, secret: "CEREBRAS_API_KEY" },
  deepseek: {
    baseUrls: {
      "openai-chat": "https://api.deepseek.com",
      anthropic: "https://api.deepseek.com/anthropic",
    },
    secret: "DEEPSEEK_API_KEY",
  },
  fireworks: {
    baseUrls: { "openai-chat": "https://api.fireworks.ai/inference/v1" },
    secret: "FIREWORKS_API_KEY",
  },
  google: {
    baseUrls: { "openai-chat": "https://generativelanguage.googleapis.com/v1beta/openai" },
    secret: "GEMINI_API_KEY",
  },
  groq: { baseUrls: { "openai-chat": "https://api.groq.com/openai/v1" }, secret: "GROQ_API_KEY" },
  mistral: { baseUrls: { "openai-chat": "https://api.mistral.ai/v1" }, secret: "MISTRAL_API_KEY" },
  moonshot: {
    baseUrls: {
      "openai-chat": "https://api.moonshot.ai/v1",
      anthropic: "https://api.moonshot.ai/anthropic",
    },
    secret: "MOONSHOT_API_KEY",
  },
  openai: {
    baseUrls: {
      "openai-chat": "https://api.openai.com/v1",
      "openai-responses": "https://api.openai.com/v1",
    },
    secret: "OPENAI_API_KEY",
  },
  openrouter: {
    baseUrls: {
      "openai-chat": "https://openrouter.ai/api/v1",
      anthropic: "https://openrouter.ai/api",
    },
    secret: "OPENROUTER_API_KEY",
  },
  together: { baseUrls: { "openai-chat": "https://api.together.xyz/v1" }, secret: "TOGETHER_API_KEY" },
  xai: { baseUrls: { "openai-chat": "https://api.x.ai/v1" }, secret: "XAI_API_KEY" },
  zai: {
    baseUrls: {
      "openai-chat": "https://api.z.ai/api/paas/v4",
      anthropic: "https://api.z.ai/api/anthropic",
    },
    secret: "ZAI_API_KEY",
  },
};
