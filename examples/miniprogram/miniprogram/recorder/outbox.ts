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
  lessonID: string;
  sequence: number;
  durationMS: number;
  /** The code of the refusal, or "". The file is kept. */
  refused: string;
}

const firstDelay = 2; // seconds before an upload is tried again, doubled each time
const longestDelay = 300;

/**
 * Keeps recordings until the server has them, in the order in which they were made. A recording is
 * removed only after the server has answered that it has it; one that is uploaded twice is one
 * segment, because it has the same sequence and the same bytes.
 */
export class Outbox {
  private running: Promise<void> | undefined;
  private wanted = false;
  private timer = 0;
  private delay = firstDelay;
  private listener: (recordings: Recording[], problem: Problem | undefined) => void = () => {};

  constructor(
    private readonly client: Pick<Client<string>, "upload">,
    private readonly files: Files,
  ) {}

  /** Names the one who is told what is left, and why, after each change. */
  onChange(listener: (recordings: Recording[], problem: Problem | undefined) => void): void {
    this.listener = listener;
  }

  /** Returns the recordings that are left, oldest first. */
  async recordings(): Promise<Recording[]> {
    const found = (await this.files.list()).map(parse).filter((r): r is Recording => r !== undefined);
    return found.sort((a, b) => (a.lessonID === b.lessonID ? a.sequence - b.sequence : a.lessonID < b.lessonID ? -1 : 1));
  }

  /** Takes a recording from a temporary file and starts its upload. */
  async add(lessonID: string, sequence: number, durationMS: number, temporary: string): Promise<void> {
    await this.files.keep(temporary, nameOf({ lessonID, sequence, durationMS, refused: "" }));
    this.listener(await this.recordings(), undefined);
    void this.flush();
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
        this.listener(await this.recordings(), problem);
      }
    } catch (cause) {
      problem = new Problem(0, "storage_failed", String(cause)); // of the phone
      this.listener([], problem);
    }
    if (!problem) {
      this.delay = firstDelay;
      return;
    }
    if (problem.status === 401) return; // until somebody has signed in
    this.timer = setTimeout(() => void this.flush(), 1000 * (problem.retryAfter || this.delay));
    this.delay = Math.min(2 * this.delay, longestDelay);
  }

  private async next(): Promise<Recording | undefined> {
    return (await this.recordings()).find((r) => !r.refused);
  }

  /** Returns the problem because of which this and other recordings must wait. */
  private async uploadOne(r: Recording): Promise<Problem | undefined> {
    try {
      await this.client.upload(r.lessonID, this.files.path(r.name), r.sequence, r.durationMS);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (!error.permanent) return error;
      await this.files.rename(r.name, nameOf({ ...r, refused: error.code }));
      return undefined;
    }
    await this.files.remove(r.name);
    return undefined;
  }
}

function nameOf(r: Omit<Recording, "name">): string {
  return `${r.lessonID}_${r.sequence}_${r.durationMS}${r.refused ? "_" + r.refused : ""}.mp3`;
}

function parse(name: string): Recording | undefined {
  const parts = /^([0-9a-f-]{36})_(\d+)_(\d+)(?:_(\w+))?\.mp3$/.exec(name);
  if (!parts) return undefined;
  const [, lessonID = "", sequence, durationMS, refused = ""] = parts;
  return { name, lessonID, sequence: Number(sequence), durationMS: Number(durationMS), refused };
}
