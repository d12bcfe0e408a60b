/**
 * The projections once more, from the raw events alone and the slow way: paths by walking parents, views by
 * replaying what each replacement says it did, prices by counting the bytes again, open calls by parsing
 * them. Knows nothing of `src/projections`; throws where an event does not follow from the ones before it.
 */
import type { Dialect, Role } from "../../src/dialects/dialect.ts";
import type { EventLog } from "../../src/log/event-log.ts";
import type { EventRow, EventType, Meta } from "../../src/log/events.ts";
import type { Meter } from "../../src/meter/price.ts";
import { foldRatio, noSamples, type RatioState, ratioOf } from "../../src/meter/ratio.ts";
import { images, openBehind, textOf } from "./naive-messages.ts";
import type { Content, NaiveBranch, NaiveItem, NaiveNode, NaiveView } from "./naive-types.ts";

const nothing = (): Content => ({ upto: 0, checkpoint: 0, forms: new Map() });

export class Naive {
  readonly nodes = new Map<number, NaiveNode>();
  readonly branches = new Map<number, NaiveBranch>();
  private readonly rows: EventRow[];
  private readonly ratios = new Map<string, RatioState>();
  private readonly log: EventLog;
  private readonly dialect: Dialect;
  private readonly meter: Meter;

  constructor(log: EventLog, dialect: Dialect, meter: Meter) {
    this.log = log;
    this.dialect = dialect;
    this.meter = meter;
    this.rows = log.read(0, { limit: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER });
    for (const row of this.rows) this.take(row);
  }

  // --- what it answers

  path(head: number): number[] {
    const path: number[] = [];
    for (let at = head; at !== 0; at = this.nodes.get(at)!.parent) path.push(at);
    return path.reverse();
  }

  /** Head and content of a branch, now or when the log ended at a seq. */
  standing(id: number, at = Number.POSITIVE_INFINITY): { head: number; gen: number; content: Content } {
    const branch = this.branches.get(id)!;
    const head = this.path(branch.tip).findLast((seq) => seq <= at) ?? 0;
    const view = branch.views.findLast((one) => one.seq <= at);
    return { head, gen: view?.gen ?? 0, content: view?.content ?? nothing() };
  }

  items(id: number, at?: number): NaiveItem[] {
    const { head, content } = this.standing(id, at);
    const items = this.path(head).map((seq) => this.item(seq, content));
    if (content.checkpoint === 0) return items;
    const cut = items.findIndex((item) => item.seq === content.upto);
    if (cut < 0) throw new Error("the checkpoint's last node is not on the path");
    const { checkpoint } = content;
    return [{ seq: checkpoint, body: checkpoint, role: "user", open: 0 }, ...items.slice(cut + 1)];
  }

  render(items: readonly NaiveItem[]): Uint8Array[] {
    return this.dialect.render(
      items.map(({ role, body }) => {
        const bytes = this.log.body(body);
        return { role, bytes, mend: bytes.byteLength > 0 && this.dialect.read(bytes, "m").mend };
      }),
    );
  }

  weight(items: readonly NaiveItem[]): { tokens: number; bytes: number; images: number } {
    const sum = { tokens: 0, bytes: 0, images: 0 };
    for (const { body } of items) {
      const bytes = this.log.body(body);
      sum.tokens += this.price(bytes);
      sum.bytes += bytes.byteLength;
      sum.images += bytes.byteLength === 0 ? 0 : images(JSON.parse(textOf(bytes)));
    }
    return sum;
  }

  price(bytes: Uint8Array): number {
    return bytes.byteLength === 0 ? 0 : this.meter.message(this.dialect.read(bytes, "m").parts).tokens;
  }

  /** Tokens of the next request with an empty batch. */
  pressure(id: number, route: string | null, prior: number): { tokens: number; source: string } {
    const branch = this.branches.get(id)!;
    const surface = this.weight(this.items(id)).tokens;
    const state = route === null ? undefined : this.ratios.get(route);
    const ratio = ratioOf(state ?? noSamples, prior);
    const usage = branch.anchor === 0 ? undefined : this.meta(branch.anchor, "usage/reported");
    const anchor = usage?.route === route ? usage.anchor : undefined;
    const exact = anchor
      ? anchor.total + ratio * (surface - anchor.surface + branch.envelope.price - anchor.envelope)
      : ratio * (surface + branch.envelope.price);
    return { tokens: Math.max(0, Math.ceil(exact - 1e-6)), source: anchor ? "usage" : "estimate" };
  }

  /** The branch's own newest compaction that no undo has taken back: undos are a stack over all that was made. */
  undoable(id: number): string | undefined {
    const stack: string[] = [];
    for (const { kind, compaction } of this.branches.get(id)!.views) {
      if (kind === "undo") stack.splice(stack.indexOf(compaction), 1);
      else if ((kind === "prune" || kind === "checkpoint") && stack.at(-1) !== compaction)
        stack.push(compaction);
    }
    return stack.at(-1);
  }

  claims(): string[] {
    return [...this.branches.values()].map(({ claim }) => claim).filter((claim) => claim !== "");
  }

  // --- how it gets there

  private item(seq: number, content: Content): NaiveItem {
    const { role, open } = this.nodes.get(seq)!;
    return { seq, body: content.forms.get(seq) ?? seq, role, open: open.length };
  }

  private meta<T extends EventType>(seq: number, type: T): Meta<T> {
    const row = this.rows[seq - 1]!;
    if (row.seq !== seq || row.type !== type) throw new Error(`event ${seq} is no ${type}`);
    return row.meta as Meta<T>;
  }

  private take(row: EventRow): void {
    const branch = this.branches.get(row.branch);
    if (row.type === "branch/opened") this.openBranch(row, row.meta as Meta<"branch/opened">);
    else if (row.type.startsWith("message/") || row.type === "context/runtime") this.takeNode(row, branch!);
    else this.takers[row.type]?.(branch!, row.meta as never, row);
  }

  private readonly takers: {
    [T in EventType]?: (branch: NaiveBranch, meta: Meta<T>, row: EventRow) => void;
  } = {
    "request/header": (branch, meta) => {
      branch.envelope = { hash: meta.envelope, price: meta.price };
    },
    "step/start": (branch, meta, row) => {
      Object.assign(branch, { step: row.seq, stepDeadline: meta.deadline, route: meta.route ?? "" });
    },
    "step/end": (branch) => closeStep(branch, branch.tip),
    "step/aborted": (branch) => closeStep(branch, branch.head),
    "step/cancelled": (branch) => closeStep(branch, branch.head),
    "step/failed": (branch, meta) => {
      if (!meta.resend) closeStep(branch, branch.head);
    },
    "inbox/enqueued": (branch, _, row) => {
      branch.inbox.push(row.seq);
    },
    "inbox/claimed": (branch, { seqs }) => {
      if (seqs.some((seq, index) => branch.inbox[index] !== seq)) throw new Error("claimed out of order");
      branch.inbox.splice(0, seqs.length);
    },
    "usage/reported": (branch, meta, row) => {
      if (meta.anchor !== null) branch.anchor = row.seq;
      if (meta.sample === undefined || meta.route === null) return;
      this.ratios.set(meta.route, foldRatio(this.ratios.get(meta.route) ?? noSamples, meta.sample));
    },
    "compaction/start": (branch, meta) => {
      if (branch.claim !== "") throw new Error("two compactions hold one branch");
      branch.claim = meta.compaction;
    },
    "compaction/end": (branch, meta) => {
      if (branch.claim !== meta.compaction) throw new Error("the end of another compaction");
      branch.claim = "";
    },
    "compaction/prune": (branch, meta, row) => {
      branch.loose.forms.set(meta.node, row.seq);
    },
    "compaction/summary": (branch, _, row) => {
      branch.loose.checkpoint = row.seq;
    },
    "surface/replace": (branch, meta, row) => this.replace(branch, meta, row, meta.kind),
    "compaction/undone": (branch, meta, row) => this.replace(branch, meta, row, "undo"),
  };

  private openBranch(row: EventRow, meta: Meta<"branch/opened">): void {
    const parent = this.branches.get(meta.parent);
    const path = this.path(meta.from);
    const view = this.fitting(parent, path, Number.POSITIVE_INFINITY);
    const forms = new Map([...(view?.content.forms ?? [])].filter(([node]) => path.includes(node)));
    const inherited = view && {
      ...{ seq: row.seq, gen: view.gen, kind: "inherit", compaction: "" },
      content: { ...view.content, forms },
    };
    this.branches.set(row.seq, {
      ...{
        id: row.seq,
        name: meta.name,
        head: meta.from,
        tip: meta.from,
        inbox: [],
        claim: "",
        step: 0,
        stepDeadline: 0,
      },
      views: inherited === undefined ? [] : [inherited],
      ...this.stepBehind(path, inherited?.content.upto ?? 0, parent),
      anchor: this.nodes.get(meta.from)?.anchor ?? 0,
      loose: { forms: new Map(), checkpoint: 0 },
    });
    if (meta.generation !== (inherited?.gen ?? 0)) throw new Error("a fork of another generation");
  }

  /** The newest view whose checkpoint lies on the path; a fork that has none asks what its own parent showed before it. */
  private fitting(
    branch: NaiveBranch | undefined,
    path: readonly number[],
    before: number,
  ): NaiveView | undefined {
    if (branch === undefined) return undefined;
    const fits = ({ seq, content }: NaiveView) =>
      seq < before && (content.upto === 0 || path.includes(content.upto));
    const { parent } = this.meta(branch.id, "branch/opened");
    return branch.views.findLast(fits) ?? this.fitting(this.branches.get(parent), path, branch.id);
  }

  /** Route and envelope that the newest reply on the path was made with; without one those of the parent. */
  private stepBehind(
    path: readonly number[],
    upto: number,
    parent: NaiveBranch | undefined,
  ): Pick<NaiveBranch, "route" | "envelope"> {
    const beyond = path.slice(path.indexOf(upto) + 1);
    const step = beyond.map((seq) => this.nodes.get(seq)!.step).findLast((seq) => seq !== 0);
    if (step === undefined)
      return { route: parent?.route ?? "", envelope: parent?.envelope ?? { hash: "", price: 0 } };
    const { route, envelope: hash } = this.meta(step, "step/start");
    const price = hash === "" ? 0 : this.log.envelope(hash)!.price;
    return { route: route ?? "", envelope: { hash, price } };
  }

  private takeNode(row: EventRow, branch: NaiveBranch): void {
    const before = this.nodes.get(branch.tip);
    const role = row.type === "context/runtime" ? "user" : (row.type.slice("message/".length) as Role);
    const message = JSON.parse(textOf(this.log.body(row.seq)));
    const open = openBehind(message, role, before?.open ?? [], before?.role);
    const { tip: parent, anchor, id } = branch;
    this.nodes.set(row.seq, { seq: row.seq, parent, role, open, branch: id, step: row.step, anchor });
    branch.tip = row.seq;
    if ((row.meta as Meta<"message/user">).entering === undefined) branch.head = row.seq;
  }

  /** The content that the event states must be what the forms and the checkpoint before it make of the old one. */
  private replace(branch: NaiveBranch, meta: Meta<"compaction/undone">, row: EventRow, kind: string): void {
    const { compaction } = meta;
    const base = kind === "undo" ? this.beforeCompaction(branch, compaction) : branch.views.at(-1)?.content;
    const content: Content = { ...(base ?? nothing()), forms: new Map(base?.forms) };
    // Forms of what a step took along and nobody accepted leave with it.
    const shown = this.path(branch.tip);
    for (const node of content.forms.keys()) if (!shown.includes(node)) content.forms.delete(node);
    for (const [node, form] of branch.loose.forms) content.forms.set(node, form);
    if (kind === "checkpoint" || kind === "adopt") {
      content.checkpoint = kind === "adopt" ? meta.checkpoint : branch.loose.checkpoint;
      if (kind === "adopt" && this.rowOf(meta.checkpoint).branch === branch.id)
        throw new Error("a branch adopts its own checkpoint");
      content.upto = this.meta(content.checkpoint, "compaction/summary").span.to;
      for (const node of shown.slice(0, shown.indexOf(content.upto) + 1)) content.forms.delete(node);
    }
    const stated = { upto: meta.upto, checkpoint: meta.checkpoint, forms: new Map(meta.forms) };
    if (shape(stated) !== shape(content)) {
      throw new Error(`event ${row.seq} (${kind}) puts ${shape(stated)} in force, not ${shape(content)}`);
    }
    const gen = (branch.views.at(-1)?.gen ?? 0) + 1;
    if (meta.generation !== gen) throw new Error("a generation was left out");
    branch.views.push({ seq: row.seq, gen, kind, compaction, content });
    branch.loose = { forms: new Map(), checkpoint: 0 };
  }

  private rowOf(seq: number): EventRow {
    const row = this.log.event(seq);
    if (row === undefined) throw new Error(`no event ${seq}`);
    return row;
  }

  private beforeCompaction(branch: NaiveBranch, compaction: string): Content | undefined {
    const own = (view: NaiveView) =>
      view.kind !== "undo" && view.kind !== "inherit" && view.kind !== "route" && view.kind !== "adopt";
    const first = branch.views.findIndex((view) => own(view) && view.compaction === compaction);
    if (first < 0) throw new Error("an undo of a compaction that the branch never made");
    return branch.views[first - 1]?.content;
  }
}

function closeStep(branch: NaiveBranch, at: number): void {
  Object.assign(branch, { step: 0, stepDeadline: 0, head: at, tip: at });
}

function shape({ upto, checkpoint, forms }: Content): string {
  return JSON.stringify([upto, checkpoint, [...forms].sort(([a], [b]) => a - b)]);
}
