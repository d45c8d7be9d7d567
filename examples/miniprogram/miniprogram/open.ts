import { openKey, store } from "./service.js";

/** What is known of a student's work that is in no record yet. */
export interface Open {
  said: boolean; // something that was said or corrected here, of which a text may have to be made
  of: string[]; // what the text was made of: a mark for each part
  day: string; // of the last recording here, until the record has its date
}

export const openOf = (student: string): Open | undefined => wx.getStorageSync(openKey(student)) || undefined;

/** Keeps what changes of a student's work, or forgets it. */
export function setOpen(student: string, change: Partial<Open> | undefined): void {
  const key = openKey(student);
  const isKept = change && store(key, { said: false, of: [], day: "", ...openOf(student), ...change });
  if (!isKept) wx.removeStorageSync(key); // what was known no longer holds
}
