import { Client } from "./api/client.js";
import { Problem } from "./api/problem.js";
import type { Generated, StudentProfile } from "./api/types.js";
import { wxTransport } from "./api/wx.js";
import { server } from "./config.js";
import { wxFiles } from "./recorder/files.js";
import { Outbox } from "./recorder/outbox.js";
import { Recorder } from "./recorder/recorder.js";
import { texts } from "./texts.js";

// What all pages use. The phone keeps the token, who the teacher is, the students of the last visit,
// and what a teacher has typed and is not saved.

export const teacher = (): string => String(wx.getStorageSync("teacher") || "");

export const client = new Client(server, wxTransport, {
  get: () => String(wx.getStorageSync("token") || ""),
  set: (token, of) => {
    if (of !== teacher()) wx.removeStorageSync("students"); // of another teacher
    wx.setStorageSync("token", token);
    wx.setStorageSync("teacher", of);
  },
});
export const outbox = new Outbox(client, wxFiles(), teacher);
export const recorder = new Recorder();

export const isSignedIn = (): boolean => !!wx.getStorageSync("token");

/** Signs in by the account of the phone. */
export async function signIn(): Promise<void> {
  const login = await wx.login().catch(({ errMsg }) => { throw new Problem(0, "no_answer", errMsg); });
  await client.signIn(login.code).catch((error: Problem) => {
    throw error.code === "not_found" ? new Error(texts.pageOnly) : error; // the server has another sign-in
  });
  void outbox.flush(); // recordings of before
}

/** Asks a question, and reports whether the teacher confirms. */
export const ask = async (content: string, cancelText: string, confirmText = texts.save): Promise<boolean> =>
  (await wx.showModal({ content, confirmText, cancelText })).confirm;

/** Keeps a value on the phone, and reports whether that has space for it. */
export function store(key: string, value: unknown): boolean {
  try {
    wx.setStorageSync(key, value);
    return true;
  } catch {
    return false;
  }
}

/** The key under which the phone keeps a text that the teacher has typed. */
export const draftKey = (id: string): string => `draft-${teacher()}-${id}`;

/** The key under which it keeps what is in no record yet. */
export const openKey = (student: string): string => `open-${teacher()}-${student}`;

/** Signs out, and forgets everything of the teacher, after a question if the server does not have it. */
export async function signOut(): Promise<void> {
  const { keys } = wx.getStorageInfoSync();
  const drafts = keys.filter((key) => key.startsWith(draftKey("")));
  const open = keys.filter((key) => key.startsWith(openKey("")));
  const left = (await outbox.recordings()).length + drafts.length;
  if (left > 0 && !(await ask(texts.signOutQuestion, texts.no, texts.yes))) return;
  await outbox.clear();
  for (const key of [...drafts, ...open]) wx.removeStorageSync(key);
  await client.signOut().catch(async (error) => {
    if (error instanceof Problem && error.status === 401) return;
    await wx.showModal({ content: texts.notTold, showCancel: false, confirmText: texts.ok }); // too long for a toast
  });
  await wx.reLaunch({ url: "/pages/signin/signin" });
}

/** Returns the records that are being deleted, unless they are brought back, also of before the program ended. */
export const removedRecords = (): string[] =>
  wx.getStorageInfoSync().keys.filter((key) => key.startsWith(draftKey("removed-"))).map((key) => key.slice(-36));

const deletions: Record<string, Promise<void>> = {};

/** Reports whether a record is being deleted, which cannot be undone. */
export const isDeleting = (id: string): boolean => id in deletions;

/** Deletes a record, with what was typed of it. */
export const deleteRecord = (id: string): Promise<void> =>
  deletions[id] ??= remove(id).finally(() => { delete deletions[id]; });

async function remove(id: string): Promise<void> {
  await client.deleteRecord(id).catch((error: Problem) => {
    if (error.code !== "not_found") throw error; // else the answer was lost
  });
  for (const of of ["", "day-", "removed-"]) wx.removeStorageSync(draftKey(of + id));
}

/** Returns the students of the last visit. */
export const keptStudents = (): StudentProfile[] => wx.getStorageSync("students") || [];

/** Returns names by students' identifiers, with what tells apart those of one name. */
export function namesOf(students: StudentProfile[]): Record<string, string> {
  const names: Record<string, string> = {};
  for (const { profile_id: id, name, grade, subject } of students) {
    const isAlone = students.every((s) => s.profile_id === id || s.name !== name);
    names[id] = isAlone ? name : [name, grade, subject].filter(Boolean).join(" · ");
  }
  return names;
}

export async function readStudents(): Promise<StudentProfile[]> {
  const of = teacher();
  const found = await client.students();
  if (of === teacher() && !store("students", found)) wx.removeStorageSync("students"); // they are too many
  return found;
}

/** Returns an identifier in the address of a page, which may be anybody's, or "". */
export const idOf = (text = ""): string => (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text) ? text : "");

/** Copies a text. If the phone refuses, it says so and returns the text, which is shown to be selected. */
export async function copy(text: string): Promise<string> {
  try {
    await wx.setClipboardData({ data: text });
    return "";
  } catch {
    report(new Error(texts.copyRefused));
    return text;
  }
}

export const isOffline = (error: unknown): boolean => error instanceof Problem && error.code === "no_answer";

/** Reports whether the same request may succeed later. */
export const isTemporary = (error: unknown): error is Problem =>
  error instanceof Problem && !error.permanent && error.status !== 401;

/** Returns what went wrong, in the words of the teacher. */
export function explain(error: unknown): string {
  if (error instanceof Problem) {
    const { code, status, message } = error;
    const fields = error.fields.map((name) => (texts.profile as Record<string, string>)[name]).filter(Boolean);
    if (fields.length > 0) return texts.checkFields.replace("{fields}", fields.join(texts.comma));
    return texts.problems[code] ?? texts.problems[status >= 500 ? "http_500" : ""] ?? texts.failed + message;
  }
  const { message, errMsg } = Object(error) as { message?: string; errMsg?: string }; // the platform's is no Error
  return message ?? texts.failed + (errMsg ?? error);
}

/** Returns in words what to know about a text that was generated, with what the server names. */
export function warningsOf({ warning = "", warning_codes }: Pick<Generated, "warning" | "warning_codes">): string[] {
  let i = 0;
  return warning.split("\n").filter(Boolean).map((line) =>
    line.startsWith("- ") ? line : texts.problems[warning_codes[i++] ?? ""] ?? line);
}

let going = false;

/** Opens a page, once if it was tapped twice. */
export function go(page: string): void {
  if (going) return;
  going = true;
  void wx.navigateTo({ url: "/pages/" + page }).catch(report).then(() => { going = false; });
}

/** Tells the user what went wrong. If the session has ended, the user signs in again, but not while recording. */
export function report(error: unknown): void {
  if (error instanceof Problem && error.code.startsWith("token_") && isSignedIn() && !recorder.isWanted) {
    wx.removeStorageSync("token");
    void wx.reLaunch({ url: "/pages/signin/signin" });
    return;
  }
  const title = explain(error);
  const wide = title.replace(/[^\x00-\xff]/g, "xx").length;
  if (wide <= 52) void wx.showToast({ title, icon: "none", duration: 4000 }); // it has two lines
  else void wx.showModal({ content: title, showCancel: false, confirmText: texts.ok });
}
