/** The wire shapes that a client of a drop-in endpoint may speak. */
export const wireDialects = ["openai-chat", "openai-responses", "anthropic"] as const;
export type WireDialect = (typeof wireDialects)[number];
