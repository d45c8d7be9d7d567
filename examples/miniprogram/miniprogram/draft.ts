import { Problem } from "./api/problem.js";
import { markOf } from "./segments.js";
import { draftKey, explain, isTemporary, store } from "./service.js";
import { texts } from "./texts.js";

/** Where an edited text is kept. */
export interface Source {
  /** Is called before the first save, and may open the text. */
  ready?(): Promise<unknown>;
  read(): Promise<Version>;
  /** Saves a text, if the one with the etag is still there: else it fails with stale_version. */
  write(text: string, etag: string): Promise<Version>;
  /** Is called if the text can no longer be saved, because it was saved as a record. */
  completed?(): void;
}

export interface Version { text: string; etag: string }

const autosaveMS = 2000;
const retryMS = 5000;

/** Ends when the page that was left last has saved what was typed there, or could not. */
export let leaving: Promise<unknown> = Promise.resolve();

/** The last draft of each key, which alone has what the phone keeps. */
const last: Record<string, Draft> = {};

/**
 * A text that is saved as it is typed. Until the server has it, the phone keeps it and goes on trying
 * to save it, also when its page was left. If it has changed elsewhere, both versions are shown, until
 * the teacher has chosen one.
 */
export class Draft {
  isClosed = false; // its page was left, or shows another
  private etag = "";
  private typed: Version & { sent?: string[] } | undefined; // and not saved
  private isKept = true; // by the phone
  private sent = new Set<string>(); // marks of texts that are not known to be saved
  private other: Version | undefined; // that is in conflict
  private timer = 0;
  private saving: Promise<boolean> = Promise.resolve(true);
  private readonly key: string;

  /** Tell is told in words how it stands, and the text of the other version. */
  constructor(
    private readonly id: string, private readonly source: Source,
    private readonly tell: (state: string, other: string) => void,
  ) {
    this.key = draftKey(id);
    const before = last[this.key];
    last[this.key] = this;
    before?.stop(); // which leaves what is stored
    if (before?.typed) {
      this.sent = before.sent;
      this.keep(before.typed); // the phone may have been full
      this.saving = before.saving; // it may be being saved
    } else {
      this.typed = wx.getStorageSync(this.key) || undefined;
      this.sent = new Set(this.typed?.sent);
    }
  }

  /** The version of the text, or "" if something is typed that is not saved. */
  get version(): string { return this.typed ? "" : this.etag; }

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
    this.keep({ text, etag: this.typed?.etag ?? this.etag });
    if (this.other) return; // the teacher chooses first
    this.tell(texts.unsaved, "");
    this.schedule(autosaveMS);
  }

  /** Ends a conflict: what was typed replaces the other version, or is given up. Returns the text to edit. */
  choose(mine: boolean): string {
    const { typed, other } = this;
    if (!typed || !other) return typed?.text ?? "";
    this.etag = other.etag;
    this.other = undefined;
    this.keep(undefined);
    this.tell("", "");
    if (mine) this.type(typed.text);
    return mine ? typed.text : other.text;
  }

  /** Saves what was typed, now, and reports whether the server has all of it. */
  save(): Promise<boolean> {
    this.saving = this.saving.then(() => this.write());
    return this.saving;
  }

  /** Saves once more, when the page is left, and goes on until it is saved. */
  close(): void {
    this.isClosed = true;
    leaving = this.save();
  }

  /** Saves nothing more: another draft has the text, or a record. */
  stop(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    if (last[this.key] !== this) return;
    delete last[this.key];
    wx.removeStorageSync(this.key);
  }

  /** Empties the text, because a record has it. If its page was opened again, that one reads it. */
  empty(): void {
    if (last[this.key] === this) return this.type("");
    this.source.write("", this.etag).catch((error) => {
      if (!isTemporary(error) || error.code === "stale_version") return; // it was changed there
      setTimeout(() => this.empty(), 1000 * error.retryAfter || retryMS);
    });
  }

  private keep(typed: Version | undefined): void {
    this.typed = typed;
    if (last[this.key] !== this) return;
    this.isKept = !typed || store(this.key, { ...typed, sent: [...this.sent] }); // on a full phone it stays in view
    if (!typed) wx.removeStorageSync(this.key);
  }

  private schedule(ms: number): void {
    clearTimeout(this.timer);
    if (last[this.key] === this) this.timer = setTimeout(() => void this.save(), ms);
  }

  private async write(): Promise<boolean> {
    clearTimeout(this.timer);
    if (!this.typed) return true;
    const isMine = last[this.key] === this && this.key === draftKey(this.id); // and of who is signed in
    if (this.other || !isMine) return false;
    try {
      await this.source.ready?.();
      const { typed } = this;
      this.sent.add(markOf(typed.text));
      this.keep(typed); // the program may end before there is an answer
      const saved = this.source.write(typed.text, typed.etag);
      const { etag } = await saved.catch((error) => this.resolve(typed.text, error));
      this.etag = etag;
      this.sent.clear();
      const next = last[this.key];
      if (next && next !== this && next.typed) { // it goes on with the text
        const isSaved = next.typed === typed && next.etag === etag; // and was read there
        next.keep(isSaved ? undefined : { ...next.typed, etag });
        if (isSaved) next.tell(texts.saved, "");
      }
      if (this.typed !== typed) { // something was typed meanwhile
        this.keep({ ...this.typed, etag });
        return false;
      }
      this.keep(undefined);
      if (next === this) this.tell(texts.saved, "");
      return true;
    } catch (error) {
      if (last[this.key] !== this) return false; // the next tells how it stands
      if (error instanceof Conflict) {
        this.other = error.other;
        this.tell(texts.conflict, error.other.text);
        return false;
      }
      this.tell((this.isKept ? texts.notSaved : texts.notKept) + explain(error), "");
      if (error instanceof Problem && error.code === "session_completed") this.source.completed?.();
      if (isTemporary(error)) this.schedule(1000 * error.retryAfter || retryMS);
      return false;
    }
  }

  /** Saves the text if the server has none, or one that was sent before, because the answer was lost. */
  private async resolve(text: string, error: unknown): Promise<Version> {
    if (!(error instanceof Problem && error.code === "stale_version")) throw error;
    const other = await this.source.read();
    if (other.text !== "" && !this.sent.has(markOf(other.text))) throw new Conflict(other);
    return this.source.write(text, other.etag); // with its date
  }
}

class Conflict extends Error {
  constructor(readonly other: Version) { super(); }
}
