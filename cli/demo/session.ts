import { addSinceOption, answerReview, findLeak, finish } from "./afternoon.ts";
import { createChance } from "./chance.ts";
import { fixFlakyBooking, renameLength, repairImport } from "./morning.ts";
import { Recorder } from "./recorder.ts";

/** The demo session: a day of coding on the harbour office, with parallel calls, long outputs, errors and a change of mind. */
export function demoSession(): string {
  const chance = createChance(20_261_012);
  const record = new Recorder();
  record.aside({ type: "summary", summary: "Harbour office: nightly import", leafUuid: "demo-00001" });
  repairImport(record, chance);
  fixFlakyBooking(record, chance);
  renameLength(record, chance);
  addSinceOption(record, chance);
  findLeak(record, chance);
  answerReview(record, chance);
  finish(record, chance);
  return record.text();
}
