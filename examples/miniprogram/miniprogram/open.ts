import { type Tagged, today } from "./api/client.js";
import type { FeedbackSession, RecordFields } from "./api/types.js";
import { Draft, type Version } from "./draft.js";
import { client, openKey, store } from "./service.js";

/** What is known of a student's work that is in no record yet. */
export interface Open {
  said: boolean; // something that was said or corrected here, of which a text may have to be made
  of: string[]; // what the text was made of: a mark for each part
  day: string; // of the last recording here, until the record has its date
  sent?: Sent | undefined; // early
}

/** What was sent as a record, on a day, of which there is no answer. Early: its lessons, if not all was text. */
export interface Sent { record: RecordFields; key: string; day: string; early: string[] | undefined }

export const openOf = (student: string): Open | undefined => wx.getStorageSync(openKey(student)) || undefined;

/** Keeps what changes of a student's work, or forgets it. */
export function setOpen(student: string, change: Partial<Open> | undefined): void {
  const key = openKey(student);
  const isKept = change && store(key, { said: false, of: [], day: "", ...openOf(student), ...change });
  if (!isKept) wx.removeStorageSync(key); // what was known no longer holds
}

/** Returns the text of a session, and its version with the session: all begin with the same. */
export const versionOf = ({ session_id, feedback_text, etag }: Tagged<FeedbackSession>): Version =>
  ({ text: feedback_text, etag: session_id + " " + etag });

/** Saves the text of a student's session, if the one with the etag is still there. */
export async function saveText(
  student: string, session: string, date: string, text: string, etag: string,
): Promise<Version> {
  const [of, version] = etag.split(" ");
  const edit = { feedback_text: text, feedback_date: date };
  const saved = await client.saveSession(session, edit, of === session ? version : '"-1"');
  if (openOf(student)?.day === date) setOpen(student, { day: "" });
  return versionOf(saved);
}

/** Saves what was typed for a student when the program ended. If it has changed elsewhere, the student's page asks. */
export function saveTyped(student: string): void {
  let session: Tagged<FeedbackSession>;
  const draft = new Draft(student, {
    ready: async () => { session = await client.openSession(student, openOf(student)?.day || today()); },
    read: async () => versionOf(session),
    write: (text, etag) => saveText(student, session.session_id, session.feedback_date, text, etag),
  }, () => {});
  draft.open({ text: "", etag: "" });
  draft.close();
}
