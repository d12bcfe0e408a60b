/** What the naive projections consist of. */
import type { Role } from "../../src/dialects/dialect.ts";

export interface NaiveNode {
  seq: number;
  parent: number;
  role: Role;
  open: string[];
  branch: number;
  step: number;
  anchor: number;
}

export interface Content {
  upto: number;
  checkpoint: number;
  forms: Map<number, number>;
}

export interface NaiveView {
  seq: number;
  gen: number;
  kind: string;
  compaction: string;
  content: Content;
}

export interface NaiveBranch {
  id: number;
  name: string;
  /** The newest accepted node, and the newest of all: between them stands what a step in progress took along. */
  head: number;
  tip: number;
  /** Messages that wait, oldest first. */
  inbox: number[];
  views: NaiveView[];
  claim: string;
  step: number;
  stepDeadline: number;
  envelope: { hash: string; price: number };
  route: string;
  anchor: number;
  /** Forms and checkpoints that were written and not yet put in force. */
  loose: { forms: Map<number, number>; checkpoint: number };
}

export interface NaiveItem {
  seq: number;
  body: number;
  role: Role;
  open: number;
}
