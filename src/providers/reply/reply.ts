/** What a provider answered, whatever the way it came: the types that assembling, reading and rendering share. */

/** What one frame of a streamed reply means to whoever forwards it. */
export interface Meaning {
  /**
   * `quiet`: a ping, a comment, nothing that a client needs. `opening`: a real event that commits nothing yet.
   * `content`: from the first text, thinking or call on. `terminal`: from the frame with the finish reason
   * on. `error`: the provider broke off and said why. `garbage`: not what the dialect allows.
   */
  kind: "quiet" | "opening" | "content" | "terminal" | "error" | "garbage";
  /** The frame tells usage and nothing else: it goes only to a client that asked for it. */
  usageOnly?: true;
  /** The provider's own error, decoded; `status` where the error states or names one. */
  error?: { status?: number; body: unknown };
}

export interface ReplyChoice {
  index: number;
  /** Native messages as raw JSON, as they have to be re-sent. Chat and Anthropic: one; Responses: one per item. */
  messages: Uint8Array[];
  /** The provider's word for the end of this choice. */
  finish?: string;
}

export interface Reply {
  choices: ReplyChoice[];
  /** Usage in the dialect's own shape, decoded. */
  usage: unknown;
  /** The first choice's finish or stop reason. Responses: `completed`, or why it is incomplete. */
  finish: string | undefined;
  model?: string;
  id?: string;
  /** Seconds since 1970. */
  created?: number;
  /** False when nothing in it can be stored: empty, garbage, broken off before its finish reason. */
  usable: boolean;
}

/** A reply whose id and model are known: every dialect's clients ask for both. */
export type StoredReply = Omit<Reply, "usable"> & { id: string; model: string };

/** Takes the frames of one stream in order. */
export interface Assembler {
  /** Never throws. After `error` or `garbage` every frame is `garbage`. */
  push(frame: Uint8Array): Meaning;
  /** The reply so far. */
  reply(): Reply;
  /** The provider has said its last word: `[DONE]`, `message_stop`, the final response. */
  readonly done: boolean;
}
