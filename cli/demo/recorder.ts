/** Writes a session down the way Claude Code does: a line per content block, results as user lines. */

export interface Call {
  tool: string;
  input: Record<string, unknown>;
  /** Absent: the call never got a result. */
  result?: string;
  failed?: boolean;
}

export class Recorder {
  private readonly lines: string[] = [];
  private readonly session = "demo-0001";
  private clock = Date.UTC(2026, 9, 12, 7, 30);
  private messages = 0;
  private calls = 0;
  private parent: string | null = null;

  /** Something that is in such files and is no message. */
  aside(line: Record<string, unknown>): void {
    this.lines.push(JSON.stringify({ ...line, sessionId: this.session }));
  }

  user(text: string): void {
    this.put("user", { role: "user", content: text }, 40);
  }

  /** One reply of the model: what it says, then its calls, answered in the order given by `order`. */
  assistant(text: string, calls: readonly Call[] = [], order: readonly number[] = [...calls.keys()]): void {
    this.messages += 1;
    const id = `msg_demo_${String(this.messages).padStart(4, "0")}`;
    const block = (content: Record<string, unknown>) => {
      const message = { id, type: "message", role: "assistant", model: "demo-model", content: [content] };
      this.put("assistant", { ...message, stop_reason: null }, 4);
    };
    if (text !== "") block({ type: "text", text });
    const ids = calls.map(({ tool, input }) => {
      this.calls += 1;
      const call = `toolu_demo_${String(this.calls).padStart(4, "0")}`;
      block({ type: "tool_use", id: call, name: tool, input });
      return call;
    });
    for (const index of order) {
      const { result, failed } = calls[index] ?? {};
      if (result === undefined) continue;
      const answer = { type: "tool_result", tool_use_id: ids[index], content: result };
      this.put(
        "user",
        { role: "user", content: [failed === true ? { ...answer, is_error: true } : answer] },
        7,
      );
    }
  }

  text(): string {
    return `${this.lines.join("\n")}\n`;
  }

  private put(type: string, message: Record<string, unknown>, seconds: number): void {
    this.clock += seconds * 1000;
    const uuid = `demo-${String(this.lines.length + 1).padStart(5, "0")}`;
    const line = {
      parentUuid: this.parent,
      isSidechain: false,
      sessionId: this.session,
      type,
      message,
      uuid,
    };
    this.lines.push(JSON.stringify({ ...line, timestamp: new Date(this.clock).toISOString() }));
    this.parent = uuid;
  }
}
