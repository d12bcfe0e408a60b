/** The messages of the golden session, as JSON texts with whatever spelling a client may use. */
import type { DialectName } from "../../src/dialects/dialect.ts";

const lines = (step: number, count: number) =>
  Array.from(
    { length: count },
    (_, n) => `${step}.${n} high water ${(n * 37) % 24}:${(n * 11) % 60} ${3 + (n % 4)}.${n % 10} m`,
  );

export function user(dialect: DialectName, step: number): string {
  const text = `Step ${step}: print the tides of berth ${step % 4}, schön lesbar, 潮汐表 please. Escapes: \\" \\u00e9 \\ud800.`;
  if (step % 5 !== 0) return `{ "role": "user",\n  "content": "${text}" }`;
  const image =
    dialect === "anthropic"
      ? '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}'
      : '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}';
  return `{"role":"user","content":[{"type":"text","text":"${text}"},${image}]}`;
}

/** A reply with one call, two parallel calls or none; Anthropic's begin with signed thinking. */
export function assistant(dialect: DialectName, step: number, signature: string | undefined): string {
  const text = step % 3 === 0 ? `Berth ${step % 4} is done.` : `I look at gauge ${step}.`;
  const ids = [[], [`call_${step}`], [`call_${step}a`, `call_${step}b`]][step % 3]!;
  const number = "12345678901234567890";
  if (dialect === "openai-chat") {
    const calls = ids.map(
      (id) =>
        `{"id":"${id}","type":"function","function":{"name":"run","arguments":"{\\"cmd\\": \\"tides ${step}\\", \\"n\\": ${number}}"}}`,
    );
    const tail = calls.length === 0 ? "" : `,"tool_calls":[${calls.join(",")}]`;
    return `{"type":"message","message":{"role":"assistant","content":"${text}"${tail}}}`;
  }
  const blocks = [
    `{"type":"thinking","thinking":"Gauge ${step} first.","signature":"${signature}"}`,
    `{"type":"text","text":"${text}"}`,
    ...ids.map(
      (id) =>
        `{"type":"tool_use","id":"${id}","name":"run","input":{"cmd": "tides ${step}", "n": ${number}}}`,
    ),
  ];
  return `{"type":"message","message":{"role":"assistant","content":[${blocks.join(", ")}]}}`;
}

/** Results of these calls, long ones now and then; one message each. */
export function results(dialect: DialectName, ids: readonly string[], step: number): string[] {
  return ids.map((id, n) => {
    const text = lines(step, (step + n) % 2 === 0 ? 32 : 6).join("\\n");
    if (dialect === "openai-chat") return `{"role":"tool","tool_call_id":"${id}","content":"${text}"}`;
    const error = n === 1 ? ',"is_error":true' : "";
    return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"${id}"${error},"content":"${text}"}]}`;
  });
}

export function system(dialect: DialectName): string {
  const role = dialect === "anthropic" ? "system" : "developer";
  return `{"role":"${role}","content":"The gauge of berth 2 is off by 4 cm."}`;
}
