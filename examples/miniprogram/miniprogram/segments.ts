import type { AudioSegment, FeedbackSession } from "./api/types.js";
import { client, draftKey } from "./service.js";
import { texts } from "./texts.js";

/** What the pages show of a lesson. */
export interface Lesson { id: string; name: string; applied: boolean; open: boolean; again: boolean; parts: Part[] }

/** What the pages show of a segment: its text, and in words how it stands. */
export interface Part {
  id: string;
  text: string;
  sentences: Sentence[];
  busy: string;
  problem: string;
  done: boolean;
  failed: boolean;
  audible: boolean;
}

/** A sentence, and where it begins and ends in the text of its part. */
export interface Sentence { text: string; at: number; end: number }

export async function lessonOf(lesson: FeedbackSession["lessons"][number]): Promise<Lesson> {
  const { keys } = wx.getStorageInfoSync();
  const segments = lesson.truncated ? await client.segments(lesson.lesson_id) : lesson.segments;
  return {
    id: lesson.lesson_id,
    name: texts.lesson.replace("{n}", String(lesson.number)),
    applied: lesson.applied,
    open: lesson.state === "recording",
    again: segments.some((s) => s.state === "transcribed"),
    parts: segments.map((s) => partOf(s, keys.includes(draftKey(s.segment_id)))),
  };
}

export const isBusy = (lessons: Lesson[]): boolean => lessons.some(({ parts }) => parts.some((part) => part.busy));

/** Reports whether a correction is not saved yet. */
export function isUnsaved(lessons: Lesson[]): boolean {
  const { keys } = wx.getStorageInfoSync();
  return lessons.some(({ parts }) => parts.some(({ id }) => keys.includes(draftKey(id))));
}

/** Returns a mark for each text that is to be summed up: its part, and a number of the text. */
export function marksOf(lessons: Lesson[]): string[] {
  const parts = lessons.filter(({ applied }) => !applied).map((lesson) => lesson.parts);
  return ([] as Part[]).concat(...parts).filter(({ text }) => text)
    .map(({ id, text }) => id + ":" + markOf(text));
}

/** Returns a number of a text. */
export const markOf = (text: string): string =>
  String([...text].reduce((mark, c) => (mark * 31 + (c.codePointAt(0) ?? 0)) | 0, 7));

function partOf(s: AudioSegment, isUnsaved: boolean): Part {
  const text = s.edited_text ?? s.text;
  const seconds = s.estimated_wait_seconds;
  const doubt = s.edited_text === null ? s.warning_code : null;
  return {
    id: s.segment_id,
    text,
    sentences: sentencesOf(text),
    busy: s.state !== "queued" && s.state !== "transcribing" ? ""
      : s.paused ? texts.recognitionPaused
      : texts.becomesText + (seconds === null ? "" : texts.inAbout.replace("{n}", String(seconds))),
    problem: isUnsaved ? texts.unsaved
      : texts.problems[s.error_code || doubt || ""] ?? s.error ?? (doubt ? s.warning : "") ?? "",
    done: s.state === "transcribed",
    failed: s.state === "failed",
    audible: !s.audio_deleted_at,
  };
}

/** Returns the sentences of a text, which together are the text. */
export function sentencesOf(text: string): Sentence[] {
  let end = 0;
  return (text.match(/[^]+?(?:[。！？!?…]+["”’」』)]*|\.(?=\s|$)|\n|$)\s*/g) ?? []).map((sentence) => {
    const at = end;
    end += sentence.length;
    return { text: sentence, at, end };
  });
}
