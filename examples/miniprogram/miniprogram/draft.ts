import { Problem } from "./api/problem.js";
import { draftKey, explain } from "./service.js";
import { texts } from "./texts.js";

/** Where an edited text is kept. */
export interface Source {
  /** Is called before the first save, and may open the text. */
  ready?(): Promise<unknown>;
  read(): Promise<Version>;
  /** Saves a text, if the one with the etag is still there: else it fails with stale_version. */
  write(text: string, etag: string): Promise<Version>;
}

export interface Version { text: string; etag: string }

const autosaveMS = 2000;
const retryMS = 5000;

/**
 * A text that is saved as it is typed. Until the server has it, the phone keeps it. If it has
 * changed elsewhere, both versions are shown. The other one is replaced when the teacher has typed or
 * saved again.
 */
export class Draft {
  private etag = "";
  private typed: Version | undefined; // and not saved
  private other = ""; // the etag of the version that is in conflict
  private isClosed = false;
  private timer = 0;
  private saving: Promise<boolean> = Promise.resolve(true);
  private readonly key: string;

  /** Tell is told in words how it stands, and the text of the other version. */
  constructor(
    id: string, private readonly source: Source, private readonly tell: (state: string, other: string) => void,
  ) {
    this.key = draftKey(id);
    this.typed = wx.getStorageSync(this.key) || undefined;
  }

  /** Returns the text to edit: what was typed before and is not saved, or the one of the server. */
  open({ text, etag }: Version): string {
    this.etag = etag;
    if (!this.typed) return text;
    // What was begun without a network has no version, and replaces nothing.
    this.typed.etag ||= text ? '"-1"' : etag;
    this.schedule(autosaveMS);
    return this.typed.text;
  }

  type(text: string): void {
    this.keep({ text, etag: this.other || (this.typed?.etag ?? this.etag) });
    this.other = "";
    this.tell(texts.unsaved, "");
    this.schedule(autosaveMS);
  }

  /** Saves what was typed, now, and reports whether the server has all of it. By hand, it replaces another version. */
  save(byHand = false): Promise<boolean> {
    if (byHand && this.typed && this.other) this.type(this.typed.text);
    this.saving = this.saving.then(() => this.write());
    return this.saving;
  }

  /** Saves once more, when the page is left. What that does not save is there when the page is opened again. */
  close(): void {
    this.stop();
    void this.save();
  }

  /** Saves nothing more. */
  stop(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private keep(typed: Version | undefined): void {
    this.typed = typed;
    try {
      if (typed) wx.setStorageSync(this.key, typed);
      else wx.removeStorageSync(this.key);
    } catch {
      // the phone is full; the text stays in view
    }
  }

  private schedule(ms: number): void {
    clearTimeout(this.timer);
    if (!this.isClosed) this.timer = setTimeout(() => void this.save(), ms);
  }

  private async write(): Promise<boolean> {
    clearTimeout(this.timer);
    if (!this.typed) return true;
    try {
      await this.source.ready?.();
      const { typed } = this;
      const saved = this.source.write(typed.text, typed.etag);
      const { etag } = await saved.catch((error) => this.resolve(typed.text, error));
      this.etag = etag;
      if (this.typed !== typed) { // something was typed meanwhile
        this.keep({ ...this.typed, etag });
        return false;
      }
      this.keep(undefined);
      this.tell(texts.saved, "");
      return true;
    } catch (error) {
      const isConflict = error instanceof Conflict;
      if (isConflict) this.other = error.other.etag;
      this.tell(isConflict ? texts.conflict : texts.notSaved + explain(error), isConflict ? error.other.text : "");
      if (error instanceof Problem && !error.permanent && error.status !== 401) this.schedule(retryMS);
      return false;
    }
  }

  /** Returns the version of the server if it has the text already, because the answer was lost, or has none. */
  private async resolve(text: string, error: unknown): Promise<Version> {
    if (!(error instanceof Problem && error.code === "stale_version")) throw error;
    const other = await this.source.read();
    if (other.text === "") return this.source.write(text, other.etag);
    if (other.text !== text) throw new Conflict(other);
    return other;
  }
}

class Conflict extends Error {
  constructor(readonly other: Version) { super(); }
}
