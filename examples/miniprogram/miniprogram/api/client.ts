import { Problem, problemOf } from "./problem.js";
import type { Answer, Request, Transport } from "./transport.js";
import type {
  AudioSegment, DeviceAsking, FeedbackLesson, FeedbackRecord, FeedbackSession, FinishedLesson, Generated, LoginAnswer,
  MessageText, ProfileFields, ProfileList, RecordEdit, RecordFields, RecordList, ReportRange, SegmentList,
  SegmentWithSentences, SessionEdit, SessionItem, SessionList, StudentProfile, StudentReport,
} from "./types.js";

/** Where the session token is kept. */
export interface Tokens {
  get(): string;
  /** Keeps the token of a teacher; "" forgets both. */
  set(token: string, teacher: string): void;
}

/** What has a version, which goes with an edit: the edit of an older one is refused as stale_version. */
export type Tagged<T> = T & { etag: string };

type Call = [method: Request["method"], path: string, body?: object, header?: Record<string, string>];

/** Calls the service. Every method throws a Problem if the server refuses or does not answer. */
export class Client {
  constructor(
    private readonly server: string,
    private readonly transport: Transport,
    private readonly tokens: Tokens,
  ) {}

  /** Exchanges the code of wx.login for a session, and keeps its token. */
  async signIn(code: string): Promise<LoginAnswer> {
    const answer = await this.call<LoginAnswer>("POST", "/auth/miniapp/login", { code });
    this.tokens.set(answer.token, answer.teacher_id);
    return answer;
  }

  /** Ends the session. The token is forgotten even if the server does not answer. */
  async signOut(): Promise<void> {
    try {
      await this.call("POST", "/auth/logout");
    } finally {
      this.tokens.set("", "");
    }
  }

  /** Returns the page that shows a code, for the teacher to recognise it. */
  findDevice(code: string): Promise<DeviceAsking> { return this.call("POST", "/auth/device/find", { code }); }

  /** Signs the page in that shows a code. */
  confirmDevice(code: string): Promise<void> { return this.call("POST", "/auth/device/confirm", { code }); }

  /** Returns the sessions of the teacher, newest first. */
  async sessions(): Promise<SessionItem[]> { return (await this.call<SessionList>("GET", "/auth/sessions")).items; }

  endSession(id: string): Promise<void> { return this.call("DELETE", "/auth/sessions/" + id); }

  /** Returns all students whose names contain the text. */
  async students(text = ""): Promise<StudentProfile[]> {
    const all: StudentProfile[] = [];
    for (let cursor = ""; ;) {
      const query = { limit: "100", query: text, cursor };
      const page: ProfileList = await this.call("GET", "/profiles" + queryOf(query));
      all.push(...page.items);
      if (!page.next_cursor) return all;
      cursor = page.next_cursor;
    }
  }

  /** Returns a page of the records, newest first: those of a student, with the text in them, and of some days. */
  records(
    query: { student?: string; text?: string; from?: string; to?: string; cursor?: string; limit?: number },
  ): Promise<RecordList> {
    const { student = "", text = "", from = "", to = "", cursor = "", limit = 50 } = query;
    const fields = { profile_id: student, query: text, from, to, cursor, limit: String(limit) };
    return this.call("GET", "/feedback-records" + queryOf(fields));
  }

  /** Returns the day of each student's last record, by the student's identifier, from a day on, or to one. */
  async lastDays(from: string, to = ""): Promise<Record<string, string>> {
    const days: Record<string, string> = {};
    for (let cursor = ""; ;) {
      const page = await this.records({ from, to, cursor, limit: 200 });
      for (const record of page.items) days[record.profile_id] ??= record.feedback_date;
      if (!page.next_cursor) return days;
      cursor = page.next_cursor;
    }
  }

  /** Returns the request of a recording, which is downloaded into a file. */
  audio(id: string): { url: string; header: Record<string, string> } {
    return { url: `${this.server}/api/v1/audio-segments/${id}/audio`, header: this.header() };
  }

  /** Adds a student. With the same key it is added once. */
  createStudent(fields: ProfileFields, key: string): Promise<StudentProfile> {
    return this.call("POST", "/profiles", fields, { "Idempotency-Key": key });
  }

  student(id: string): Promise<StudentProfile> { return this.call("GET", "/profiles/" + id); }

  /** Replaces what is known of a student: fields that are left out take their defaults. */
  replaceStudent(id: string, fields: ProfileFields): Promise<StudentProfile> {
    return this.call("PUT", "/profiles/" + id, fields);
  }

  /** Returns the session of a student that is open, or undefined. */
  activeSession(profileID: string): Promise<Tagged<FeedbackSession> | undefined> {
    return this.tagged("GET", "/feedback-sessions/active" + queryOf({ profile_id: profileID, optional: "true" }));
  }

  /** Opens a session of a day for a student, or finds the one that is open. */
  openSession(profileID: string, day = today()): Promise<Tagged<FeedbackSession>> {
    return this.tagged("POST", "/feedback-sessions", { profile_id: profileID, feedback_date: day });
  }

  session(id: string): Promise<Tagged<FeedbackSession>> { return this.tagged("GET", "/feedback-sessions/" + id); }

  saveSession(id: string, edit: SessionEdit, etag = ""): Promise<Tagged<FeedbackSession>> {
    return this.tagged("PUT", "/feedback-sessions/" + id, edit, ifMatch(etag));
  }

  /** Starts a lesson, or returns the one that is recording already. */
  async startLesson(sessionID: string): Promise<Pick<FeedbackLesson, "lesson_id">> {
    try {
      return await this.call("POST", `/feedback-sessions/${sessionID}/lessons`);
    } catch (error) {
      if (error instanceof Problem && error.code === "lesson_in_progress" && error.lessonID) {
        return { lesson_id: error.lessonID };
      }
      throw error;
    }
  }

  finishLesson(id: string): Promise<FinishedLesson> { return this.call("POST", `/feedback-lessons/${id}/finish`); }

  /** Leaves a lesson out of what is generated. */
  markApplied(id: string): Promise<void> { return this.call("POST", `/feedback-lessons/${id}/mark-applied`); }

  /** Returns all segments of a lesson, also of one that the session shows truncated. */
  async segments(lessonID: string): Promise<AudioSegment[]> {
    const all: AudioSegment[] = [];
    for (let cursor = ""; ;) {
      const page: SegmentList = await this.call("GET", `/feedback-lessons/${lessonID}/segments` + queryOf({ cursor }));
      all.push(...page.items);
      if (!page.next_cursor) return all;
      cursor = page.next_cursor;
    }
  }

  /** Uploads a recording. The same one may be uploaded again: there is one segment of it. */
  async upload(lessonID: string, path: string, sequence: number, durationMS: number): Promise<AudioSegment> {
    const segment = parse<AudioSegment | null>(await this.answered(this.transport.upload({
      url: this.server + `/api/v1/feedback-lessons/${lessonID}/segments`,
      header: this.header(),
      path,
      fields: { sequence: String(sequence), duration_ms: String(durationMS) },
    })));
    if (!segment?.segment_id) throw new Problem(0, "no_answer", "A proxy has answered.");
    return segment;
  }

  /** Returns a segment with the times of its sentences. */
  segment(id: string): Promise<Tagged<SegmentWithSentences>> { return this.tagged("GET", "/audio-segments/" + id); }

  /** Saves the teacher's text of a segment; null: as it was recognised. */
  correctSegment(id: string, text: string | null, etag: string): Promise<Tagged<SegmentWithSentences>> {
    return this.tagged("PUT", `/audio-segments/${id}/text`, { text }, ifMatch(etag));
  }

  /** Recognises a segment or a lesson again, in a language; "": the usual one. */
  async recogniseAgain(of: { segment: string } | { lesson: string }, language = ""): Promise<void> {
    const path = "segment" in of ? "/audio-segments/" + of.segment : "/feedback-lessons/" + of.lesson;
    await this.call("POST", path + "/retry", language ? { language } : {});
  }

  generate(sessionID: string): Promise<Generated> {
    return this.call("POST", `/feedback-sessions/${sessionID}/generate`, {});
  }

  /** Returns what the guardian gets: the text of a session or of a record in the teacher's template. */
  async message(of: { session: string } | { record: string }): Promise<string> {
    const path = "session" in of ? "/feedback-sessions/" + of.session : "/feedback-records/" + of.record;
    return (await this.call<MessageText>("GET", path + "/message")).text;
  }

  /** Saves a record and completes its session. With the same key it is saved once. */
  createRecord(fields: RecordFields, key: string): Promise<FeedbackRecord> {
    return this.call("POST", "/feedback-records", fields, { "Idempotency-Key": key });
  }

  record(id: string): Promise<Tagged<FeedbackRecord>> { return this.tagged("GET", "/feedback-records/" + id); }

  editRecord(id: string, edit: RecordEdit, etag: string): Promise<Tagged<FeedbackRecord>> {
    return this.tagged("PUT", "/feedback-records/" + id, edit, ifMatch(etag));
  }

  deleteRecord(id: string): Promise<void> { return this.call("DELETE", "/feedback-records/" + id); }

  /** Returns a record as plain text, with what was said in its lessons. */
  async recordText(id: string): Promise<string> {
    return (await this.send("GET", `/feedback-records/${id}/text`)).body;
  }

  /** Sums up the records of a time, as a message to the guardian. */
  report(profileID: string, range: ReportRange): Promise<StudentReport> {
    return this.call("POST", `/profiles/${profileID}/report`, range);
  }

  private async call<T>(...request: Call): Promise<T> {
    return parse<T>(await this.send(...request));
  }

  private async tagged<T>(...request: Call): Promise<Tagged<T>> {
    const answer = await this.send(...request);
    const body = parse<T>(answer);
    return body && { ...body, etag: answer.etag };
  }

  private send(...[method, path, body, header = {}]: Call): Promise<Answer> {
    const request: Request = { method, url: this.server + "/api/v1" + path, header: { ...this.header(), ...header } };
    if (body !== undefined) {
      request.header["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    return this.answered(this.transport.send(request));
  }

  private header(): Record<string, string> {
    const token = this.tokens.get();
    return token ? { Authorization: "Bearer " + token } : {};
  }

  private async answered(sent: Promise<Answer>): Promise<Answer> {
    const answer = await sent.catch((cause: Error) => {
      throw new Problem(0, "no_answer", "The server does not answer: " + cause.message);
    });
    if (answer.status < 200 || answer.status >= 300) throw problemOf(answer.status, answer.body);
    return answer;
  }
}

function parse<T>({ status, body }: Answer): T {
  if (status === 204) return undefined as T;
  try {
    return JSON.parse(body) as T;
  } catch {
    throw new Problem(status, "no_json", "The answer is not JSON.");
  }
}

const ifMatch = (etag: string): Record<string, string> => (etag ? { "If-Match": etag } : {});

/** Returns the teacher's day, or one so many days ago, as YYYY-MM-DD: the server may be in another zone. */
export function today(ago = 0): string {
  const now = new Date();
  now.setDate(now.getDate() - ago);
  const digits = (n: number) => String(n).padStart(2, "0");
  return [now.getFullYear(), digits(now.getMonth() + 1), digits(now.getDate())].join("-");
}

/** Returns the query of an address without the fields that are empty. */
function queryOf(fields: Record<string, string>): string {
  const parts = Object.entries(fields).filter(([, value]) => value !== "")
    .map(([name, value]) => name + "=" + encodeURIComponent(value));
  return parts.length > 0 ? "?" + parts.join("&") : "";
}
