import type { Client } from "../api/client.js";
import { Problem } from "../api/problem.js";

/** Where an outbox keeps recordings. */
export interface Files {
  path(name: string): string;
  list(): Promise<string[]>;
  /** Moves a temporary file. */
  keep(temporary: string, name: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
}

/** A recording that waits for its upload, or that the server refused. */
export interface Recording {
  /** Of the file, which has all the other fields: nothing else must be kept in step with the files. */
  name: string;
  /** When it was made, in ms: recordings are uploaded in this order. */
  at: number;
  teacher: string;
  student: string;
  /** Of the session that is opened for it, if none is open. */
  day: string;
  durationMS: number;
  /** Its place at the server. There is none before its upload: a recording is made without a network. */
  place: { lesson: string; sequence: number } | undefined;
  /** The code of the refusal, or "". The file is kept. */
  refused: string;
  /** The path of its file, if the phone had no space to keep it: the platform deletes it with the program. */
  temporary?: string;
}

const firstDelay = 2; // seconds before an upload is tried again, doubled each time
const longestDelay = 300;

/**
 * Keeps recordings until the server has them, in the order in which they were made. A recording is
 * removed only after the server has answered that it has it; one that is uploaded twice is one
 * segment, because it has the same place and the same bytes. Recordings of other teachers stay
 * where they are and are not shown, until these sign in.
 */
export class Outbox {
  private running: Promise<void> | undefined;
  private wanted = false;
  private timer = 0;
  private delay = firstDelay;
  private last = 0;
  private left: Recording[] = [];
  private unkept: Recording[] = []; // those with temporary files
  private listener: (recordings: Recording[], problem: Problem | undefined) => void = () => {};

  constructor(
    private readonly client: Pick<Client, "upload" | "openSession" | "startLesson" | "segments">,
    private readonly files: Files,
    private readonly teacher: () => string,
  ) {}

  /** Names the one who is told what is left, and why, now and after each change. */
  onChange(listener: (recordings: Recording[], problem: Problem | undefined) => void): void {
    this.listener = listener;
    void this.tell(undefined);
  }

  /** Returns the recordings of the teacher that are left, oldest first. */
  async recordings(): Promise<Recording[]> {
    const teacher = this.teacher();
    return [...(await this.files.list()).map(parse), ...this.unkept]
      .filter((r): r is Recording => r?.teacher === teacher)
      .sort((a, b) => a.at - b.at);
  }

  /** Takes a recording from a temporary file and starts its upload. It fails if the phone cannot keep it. */
  async add(
    recording: Pick<Recording, "teacher" | "student" | "day" | "durationMS">, temporary: string,
  ): Promise<void> {
    this.last = Math.max(Date.now(), this.last + 1);
    const made = { ...recording, at: this.last, place: undefined, refused: "" };
    const name = nameOf(made);
    const failure = await this.files.keep(temporary, name).then(() => undefined, (cause: unknown) => {
      this.unkept.push({ ...made, name, temporary });
      return new Problem(0, "phone_full", String(cause));
    });
    await this.tell(undefined);
    void this.flush();
    if (failure) throw failure;
  }

  /** Sends a recording again that was refused, to a place that may be another. */
  async resend(name: string): Promise<void> {
    const refused = (await this.recordings()).find((r) => r.name === name);
    if (refused) await this.rename(refused, { refused: "", place: undefined });
    await this.flush();
  }

  async discard(name: string): Promise<void> {
    await this.remove(name).catch(() => {}); // it is gone already, or stays in view
    await this.tell(undefined);
  }

  /** Forgets the recordings of the teacher. */
  async clear(): Promise<void> {
    for (const { name } of await this.recordings()) await this.remove(name);
  }

  /** Uploads what is left, now. If that fails, it is tried again after a while. It never rejects. */
  flush(): Promise<void> {
    this.wanted = true;
    this.running ??= this.run();
    return this.running;
  }

  private async run(): Promise<void> {
    while (this.wanted) { // also by a recording that was added after upload had looked
      this.wanted = false;
      await this.upload();
    }
    this.running = undefined;
  }

  private async upload(): Promise<void> {
    clearTimeout(this.timer);
    let problem: Problem | undefined;
    try {
      for (let next = await this.next(); next && !problem; next = await this.next()) {
        problem = await this.uploadOne(next);
        await this.tell(problem);
      }
    } catch (cause) {
      problem = new Problem(0, "storage_failed", String(cause)); // of the phone
      this.listener(this.left, problem);
    }
    if (!problem) {
      this.delay = firstDelay;
      return;
    }
    if (problem.status === 401) return; // until somebody has signed in
    this.timer = setTimeout(() => void this.flush(), 1000 * (problem.retryAfter || this.delay));
    this.delay = Math.min(2 * this.delay, longestDelay);
  }

  private async tell(problem: Problem | undefined): Promise<void> {
    this.left = await this.recordings();
    this.listener(this.left, problem);
  }

  private async next(): Promise<Recording | undefined> {
    return (await this.recordings()).find((r) => !r.refused);
  }

  /** Returns the problem because of which this and other recordings must wait. */
  private async uploadOne(r: Recording): Promise<Problem | undefined> {
    try {
      const { lesson, sequence } = r.place ?? await this.choosePlace(r);
      const placed = await this.rename(r, { place: { lesson, sequence } });
      await this.client.upload(lesson, placed.temporary ?? this.files.path(placed.name), sequence, r.durationMS);
      await this.remove(placed.name);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (this.teacher() !== r.teacher) return undefined; // signed out meanwhile
      if (!error.permanent) return error;
      // Another phone took the place, or saved the record: the next attempt finds another.
      const change = ["sequence_taken", "session_completed"].includes(error.code) ? { place: undefined }
        : { refused: /^[a-z]\w{0,40}$/.test(error.code) ? error.code : "refused" };
      const now = (await this.recordings()).find(({ at }) => at === r.at);
      if (now) await this.rename(now, change);
    }
    return undefined;
  }

  /** Finds the place after all others in the lesson that is open, or in a new one. */
  private async choosePlace({ student, day }: Recording): Promise<{ lesson: string; sequence: number }> {
    const session = await this.client.openSession(student, day);
    const open = session.lessons.find((l) => l.state === "recording");
    const lesson = open?.lesson_id ?? (await this.client.startLesson(session.session_id)).lesson_id;
    const there = open && !open.truncated ? open.segments : await this.client.segments(lesson);
    const left = (await this.recordings()).map(({ place }) => (place?.lesson === lesson ? place.sequence : -1));
    return { lesson, sequence: Math.max(-1, ...there.map((s) => s.sequence), ...left) + 1 };
  }

  private async rename(r: Recording, change: Partial<Recording>): Promise<Recording> {
    const changed = { ...r, ...change };
    changed.name = nameOf(changed);
    if (r.temporary) this.unkept = this.unkept.map((u) => (u.at === r.at ? changed : u));
    else if (changed.name !== r.name) await this.files.rename(r.name, changed.name);
    return changed;
  }

  private async remove(name: string): Promise<void> {
    const { length } = this.unkept;
    this.unkept = this.unkept.filter((r) => r.name !== name);
    if (this.unkept.length === length) await this.files.remove(name);
  }
}

function nameOf({ at, teacher, student, day, durationMS, place, refused }: Omit<Recording, "name">): string {
  const where = place ? [place.lesson, place.sequence] : [];
  return [at, teacher, student, day, durationMS, ...where, ...(refused ? [refused] : [])].join("_") + ".mp3";
}

const id = "([0-9a-f-]{36})";
const names = new RegExp(`^(\\d+)_${id}_${id}_([\\d-]{10})_(\\d+)(?:_${id}_(\\d+))?(?:_([a-z]\\w*))?\\.mp3$`);

function parse(name: string): Recording | undefined {
  const parts = names.exec(name);
  if (!parts) return undefined;
  const [, at, teacher = "", student = "", day = "", durationMS, lesson, sequence, refused = ""] = parts;
  const place = lesson ? { lesson, sequence: Number(sequence) } : undefined;
  return { name, at: Number(at), teacher, student, day, durationMS: Number(durationMS), place, refused };
}
