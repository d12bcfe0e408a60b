/**
 * What peers' own compaction code does on real sessions: measured in November 2026 with their npm packages, on 27 sessions that include these
 * here, with a fixed summary of 600 tokens in place of a model's. Resumed copies were played too, so there are more steps.
 */

export interface PeerRow {
  who: string;
  window: number;
  /** Requests that were evaluated. */
  steps: number;
  compactions: number;
  /** Requests that were not smaller after a compaction; unknown for some. */
  notSmaller: number | undefined;
  illegal: number;
  /** Over the window less 4,000 tokens. */
  over: number;
  msPerStep: number;
  /** Percent of the previous request's bytes, the mean over all steps. */
  prefix: number;
  /** Percent of the file paths in arguments named like paths, and in all arguments, that the last request holds. */
  named: number;
  all: number;
  /** Sessions over the limit whose last request holds the first 200 characters of the first user message. */
  first: string;
}

const measured = `who | window | steps | compactions | not smaller | illegal | over | ms | prefix | named | all | first
(no compaction) | 32000 | 3284 | 0 | - | 0 | 2671 | 0.00 | 100.0 | 100 | 100 | 20/20
pi default, every step | 32000 | 3284 | 2699 | 1676 | 0 | 80 | 0.63 | 66.7 | 74 | 62 | 2/20
pi default, own timing | 32000 | 3284 | 551 | 79 | 0 | 80 | 0.14 | 88.0 | 75 | 65 | 2/20
pi scaled, every step | 32000 | 3284 | 98 | 18 | 0 | 27 | 0.15 | 97.3 | 65 | 54 | 2/20
agents Sessions docs, one row per step | 32000 | 3284 | 823 | - | 0 | 1425 | 7.38 | 75.1 | 61 | 61 | 20/20
agents Sessions docs, one row per turn | 32000 | 3284 | 135 | - | 0 | 2185 | 2.41 | 96.3 | 72 | 76 | 20/20
agents Sessions scaled, one row per step | 32000 | 3284 | 685 | - | 0 | 485 | 4.23 | 79.5 | 42 | 45 | 20/20
ai 6.0.326 prune before-last-2-messages, every step | 32000 | 3284 | 3226 | - | 0 | 50 | 0.29 | 11.1 | 7 | 13 | 20/20
ai 6.0.326 prune before-last-20-messages when chars/4 > 80% | 32000 | 3284 | 2778 | - | 0 | 239 | 2.57 | 24.3 | 27 | 33 | 20/20
ai 7.0.173 prune before-last-2-messages, every step | 32000 | 3284 | 3226 | - | 0 | 50 | 0.16 | 11.1 | 7 | 13 | 20/20
LangChain summarization, trigger 0.8, keep 20 messages | 32000 | 3284 | 239 | 30 | 0 | 109 | 0.47 | 93.4 | 37 | 39 | 2/20
LangChain summarization, trigger 0.8, keep fraction 0.1 | 32000 | 3284 | 109 | 3 | 0 | 8 | 0.40 | 96.7 | 42 | 42 | 2/20
LangChain context editing, default 100k trigger, keep 3 | 32000 | 944 | 179 | - | 0 | 603 | 33.30 | 86.4 | 100 | 100 | 20/20
LangChain context editing, trigger 0.5 window, keep 3 | 32000 | 944 | 731 | - | 0 | 238 | 41.35 | 34.7 | 100 | 100 | 20/20
LangChain trimMessages last, startOn human, endOn human/tool | 32000 | 944 | 619 | - | 118 | 130 | 39.59 | 82.6 | 44 | 36 | 3/20
LangChain trimMessages last, no startOn | 32000 | 944 | 619 | - | 561 | 375 | 42.22 | 77.5 | 67 | 65 | 3/20
(no compaction) | 128000 | 3284 | 0 | - | 0 | 900 | 0.00 | 100.0 | 100 | 100 | 7/7
pi default, every step | 128000 | 3284 | 14 | 1 | 0 | 1 | 0.14 | 99.6 | 74 | 56 | 1/7
pi default, own timing | 128000 | 3284 | 14 | 2 | 0 | 2 | 0.02 | 99.6 | 73 | 54 | 1/7
pi scaled, every step | 128000 | 3284 | 13 | 1 | 0 | 1 | 0.12 | 99.6 | 71 | 52 | 1/7
agents Sessions docs, one row per step | 128000 | 3284 | 25 | - | 0 | 0 | 3.97 | 99.2 | 59 | 58 | 7/7
agents Sessions docs, one row per turn | 128000 | 3284 | 17 | - | 0 | 98 | 2.77 | 99.5 | 62 | 63 | 7/7
agents Sessions scaled, one row per step | 128000 | 3284 | 68 | - | 0 | 0 | 4.44 | 97.9 | 39 | 39 | 7/7
ai 6.0.326 prune before-last-2-messages, every step | 128000 | 3284 | 3226 | - | 0 | 0 | 0.27 | 11.1 | 7 | 12 | 7/7
ai 6.0.326 prune before-last-20-messages when chars/4 > 80% | 128000 | 3284 | 1370 | - | 0 | 0 | 2.67 | 62.8 | 17 | 20 | 7/7
ai 7.0.173 prune before-last-2-messages, every step | 128000 | 3284 | 3226 | - | 0 | 0 | 0.16 | 11.1 | 7 | 12 | 7/7
LangChain summarization, trigger 0.8, keep 20 messages | 128000 | 3284 | 14 | 0 | 0 | 0 | 0.53 | 99.6 | 42 | 42 | 1/7
LangChain summarization, trigger 0.8, keep fraction 0.1 | 128000 | 3284 | 14 | 0 | 0 | 0 | 0.54 | 99.6 | 39 | 40 | 1/7
LangChain context editing, default 100k trigger, keep 3 | 128000 | 944 | 179 | - | 0 | 15 | 39.58 | 86.4 | 100 | 100 | 7/7
LangChain context editing, trigger 0.5 window, keep 3 | 128000 | 944 | 341 | - | 0 | 15 | 45.58 | 70.4 | 100 | 100 | 7/7
LangChain trimMessages last, startOn human, endOn human/tool | 128000 | 944 | 125 | - | 29 | 69 | 17.64 | 97.4 | 67 | 67 | 3/7
LangChain trimMessages last, no startOn | 128000 | 944 | 125 | - | 119 | 134 | 18.09 | 96.2 | 79 | 85 | 3/7`;

export const peerRows: readonly PeerRow[] = measured
  .split("\n")
  .slice(1)
  .map((line) => {
    const [who = "", ...cells] = line.split(" | ");
    const first = cells.pop() ?? "";
    const [window, steps, compactions, notSmaller, illegal, over, msPerStep, prefix, named, all] = cells.map(
      (cell) => (cell === "-" ? Number.NaN : Number(cell)),
    ) as [number, number, number, number, number, number, number, number, number, number];
    return {
      ...{ who, window, steps, compactions, illegal, over, msPerStep, prefix, named, all, first },
      notSmaller: Number.isNaN(notSmaller) ? undefined : notSmaller,
    };
  });
