import { today } from "../../api/client.js";
import { Problem } from "../../api/problem.js";
import type { FeedbackSession, Generated } from "../../api/types.js";
import { Draft } from "../../draft.js";
import { openOf, saveText, type Sent, setOpen, versionOf } from "../../open.js";
import { type Heard, onHeard, play, silence } from "../../player.js";
import { type Lesson, isBusy, isUnsaved, lessonOf, marksOf } from "../../segments.js";
import {
  ask, client, copy, explain, go, idOf, isOffline, isTemporary, keptStudents, namesOf, outbox, recorder, report,
  teacher, warningsOf,
} from "../../service.js";
import { languages, texts } from "../../texts.js";

const pollMS = 3000;
const retryMS = 5000; // doubled each time
const longestMS = 300_000;

/** What does not outlast a record. */
const empty = {
  session: "", date: "", lessons: [] as Lesson[], isHeard: false, text: "", state: "", other: "", saved: "",
  offered: "", // a text that was made while the teacher's own was there
  mended: false, // what was said, but not the text
  refusedCopy: "", sources: [] as Generated["sentences"], toCheck: 0, isUnsure: false, warnings: [] as string[],
};

Page({
  data: {
    t: texts, ...empty, student: "", offline: false, saving: false, making: false, recording: false, paused: false,
    problem: "",
    seconds: 0, // recorded
    waiting: 0, // recordings that the server does not have yet
    refused: [] as { name: string; why: string }[], // others, which it does not want
    playing: "", from: 0, to: 0,
  },
  timer: 0,
  asked: 0, // how often the session was
  adding: 0, // recordings that are being stored
  visible: false,
  made: "", // by generate
  marks: [] as string[], // of what it was made of
  pause: retryMS, // before it is asked again
  sent: undefined as Sent | undefined,
  wasSent: false, // before the page was opened
  draft: undefined as unknown as Draft,

  onLoad(query: Record<string, string | undefined>) {
    this.setData({ student: idOf(query["student"]) });
    this.begin();
    if (query["record"]) this.record();
  },

  /** Begins with a record that is empty. */
  begin() {
    const tell = (state: string, other: string) => this.setData({ state, other });
    this.draft = new Draft(this.data.student, {
      ready: () => this.ensure(),
      read: async () => versionOf(await client.session(this.data.session)),
      write: (text, etag) => saveText(this.data.student, this.data.session, this.data.date, text, etag),
      completed: () => void this.refresh(),
    }, tell);
    this.made = "";
    const { day: date = "", sent } = openOf(this.data.student) ?? {}; // the day of what the server does not have yet
    this.sent = sent?.day === today() ? sent : undefined; // the server knows its key for a day
    this.wasSent = !!this.sent;
    this.asked++;
    this.setData({ ...empty, date, text: this.draft.open({ text: "", etag: "" }) });
  },

  onShow() {
    this.visible = true;
    void wx.setNavigationBarTitle({ title: namesOf(keptStudents())[this.data.student] ?? "" });
    outbox.onChange((left, problem) => {
      if (!this.visible) return; // another page tells of it
      const ours = left.filter((r) => r.student === this.data.student);
      this.setData({
        waiting: ours.filter((r) => !r.refused).length,
        refused: ours.filter((r) => r.refused)
          .map(({ name, refused: code }) => ({ name, why: texts.problems[code] ?? texts.notTaken })),
      });
      this.tellProblem(problem);
      if (!problem) void this.refresh();
    });
    onHeard((heard: Heard) => this.setData({ ...heard }));
    void outbox.flush();
  },

  onHide() {
    this.visible = false;
    clearTimeout(this.timer);
    silence();
    void this.draft.save();
  },

  onUnload() {
    this.onHide();
    this.asked++; // what is answered now is of no use
    this.draft.close();
    if (this.data.recording) void wx.showToast({ title: texts.recordingStopped, icon: "none" });
    recorder.stop();
  },

  tellProblem(problem: Problem | undefined) {
    if (problem?.status === 401 && !this.data.recording) return report(problem);
    this.setData({ offline: isOffline(problem), problem: problem && !isOffline(problem) ? explain(problem) : "" });
  },

  /** Returns the session, and opens one if there is none. */
  async ensure(): Promise<string> {
    if (!this.data.session) this.take(await client.openSession(this.data.student, this.data.date || today()));
    return this.data.session;
  },

  /** Takes the text of the server, unless something is typed here, or was saved since there was this version. */
  take(session: FeedbackSession & { etag: string }, version = "") {
    const isNew = !this.data.session;
    if (isNew || (version && version === this.draft.version && version !== versionOf(session).etag)) {
      this.made = session.generated_text.trim();
      if (!this.sent?.key.startsWith(session.session_id)) this.keepSent(undefined); // it was saved elsewhere
      if (!isNew) this.setData({ sources: [], toCheck: 0, warnings: [] });
      this.setData({
        session: session.session_id, date: session.feedback_date, text: this.draft.open(versionOf(session)),
      });
    }
    const { day = "" } = openOf(this.data.student) ?? {};
    if (day > this.data.date) { // what was recorded today is of today, also in a session of before
      this.setData({ date: day });
      this.draft.type(this.data.text);
    }
    if (day && day <= session.feedback_date) setOpen(this.data.student, { day: "" });
  },

  async refresh() {
    clearTimeout(this.timer);
    if (this.data.saved || this.draft.isClosed) return;
    if (this.data.saving) return this.poll();
    try {
      await this.read();
    } catch (error) {
      const isCompleted = error instanceof Problem && error.code === "session_completed"; // since it was read
      if (!isCompleted && !isTemporary(error)) return report(error);
      this.setData({ offline: isOffline(error) });
      this.poll();
    }
  },

  // The session is polled: its event stream would arrive cut inside characters, over HTTP/1 only.
  async read() {
    const asked = ++this.asked;
    const { session: id, student } = this.data;
    const { version } = this.draft;
    const wasUnsaved = isUnsaved(this.data.lessons); // then the answer may be older than a correction
    const wasWaiting = await isWaiting(student); // or than the upload of a recording, which reads again
    const session = await (id ? client.session(id) : client.activeSession(student));
    const lessons = await Promise.all((session?.lessons ?? []).map(lessonOf));
    if (asked !== this.asked || this.data.saved) return; // a later answer counts
    if (session?.state === "completed") return this.completed();
    if (session) this.take(session, version);
    else if (!this.data.session) this.keepSent(undefined); // it was saved elsewhere
    const isHeard = lessons.some((lesson) => !lesson.applied && lesson.parts.some((part) => part.text));
    this.setData({ lessons, isHeard, offline: false });
    if (isBusy(lessons) || wasUnsaved || isUnsaved(lessons)) this.poll();
    else if (!wasWaiting && !await isWaiting(student)) await this.generateByItself();
  },

  /** The session is a record by now: this one, if the answer to saving it was lost, or one of elsewhere. */
  async completed() {
    this.setData({ saving: true }); // what is typed now would be in no record
    try {
      if (this.sent && !this.sent.early && this.data.text.trim()) return await this.send(undefined, this.sent);
    } catch (error) {
      if (!(error instanceof Problem && error.code === "session_completed")) throw error;
    } finally {
      this.setData({ saving: false });
    }
    this.keepSent(undefined);
    this.begin(); // what is not saved begins the next
    this.setData({ state: texts.savedElsewhere });
    const { student, text } = this.data;
    setOpen(student, text || openOf(student)?.said ? { of: [] } : undefined);
    await this.read();
  },

  poll(ms = pollMS) {
    clearTimeout(this.timer);
    if (this.visible) this.timer = setTimeout(() => void this.refresh(), ms);
  },

  record() {
    if (this.data.saved) this.begin();
    const [student, day, of] = [this.data.student, today(), teacher()];
    if (!student || !of) return; // anybody's address
    this.setData({ problem: "" });
    silence();
    recorder.start({
      segment: (temporary, durationMS) => {
        this.adding++;
        if (this.sent?.early) this.keepSent(undefined); // this is not in it
        this.setData({ seconds: this.data.seconds + Math.round(durationMS / 1000) });
        outbox.add({ teacher: of, student, day, durationMS }, temporary).catch((error) => {
          recorder.stop(); // the phone is full
          report(error);
        }).then(() => {
          this.adding--;
          setOpen(student, { said: true, day });
        });
      },
      state: (recording, paused) => this.setData({ recording, paused }),
    });
  },

  stop() {
    recorder.stop();
  },

  resend(event: WechatMiniprogram.TouchEvent) {
    setOpen(this.data.student, { said: true });
    return outbox.resend(event.currentTarget.dataset["name"]).catch(report);
  },

  async discard(event: WechatMiniprogram.TouchEvent) {
    if (!(await ask(texts.discardQuestion, texts.no, texts.ok))) return;
    await outbox.discard(event.currentTarget.dataset["name"]).catch(report);
  },

  /** Reports whether nothing is left for a record: nobody spoke, it was saved elsewhere, or was deleted. */
  isEmpty(): boolean {
    const { session, lessons, text } = this.data;
    const isSaid = lessons.some((lesson) => !lesson.applied && lesson.parts.some((part) => part.text || part.failed));
    return !text.trim() && (!session || !isSaid);
  },

  /** Sends an early record of this text once more, if it had no answer when the page was left: it is the same. */
  async sendAgain(sent: Sent) {
    const { saving, other, text, date } = this.data;
    const { content, feedback_date } = sent.record;
    if (!this.wasSent || saving || other || content !== text || feedback_date !== date) return;
    this.wasSent = false;
    this.setData({ saving: true }); // what is typed now would be in no record
    await this.send(sent.early, sent).finally(() => this.setData({ saving: false }));
  },

  /** Makes a text once all that was said here is text and all corrections are saved. */
  async generateByItself() {
    const { draft } = this;
    const { student, session, lessons, text, seconds } = this.data;
    const open = openOf(student);
    if (!open || !this.visible || this.data.recording || this.adding > 0) return;
    if (open.sent) return this.sendAgain(open.sent);
    const marks = marksOf(lessons);
    if (this.data.offered && marks.join() === this.marks.join()) return; // the teacher chooses first
    if (this.isEmpty()) return setOpen(student, undefined);
    if (!session || !open.said) return;
    const isEmptied = marks.length === 0 && open.of.length > 0; // it was another student, for example
    if (isEmptied) this.setData({ mended: text !== "" });
    if (marks.length === 0 || marks.join() === open.of.join()) return setOpen(student, { said: false });
    const isCorrected = marks.every((mark) => open.of.join().includes(mark.replace(/:.*/, "")));
    if (isCorrected && (!this.made || text.trim() !== this.made)) { // nothing more was said
      setOpen(student, { said: false, of: marks });
      return this.setData({ mended: this.made !== "" && text !== "" });
    }
    try {
      await this.generate();
    } catch (error) {
      if (draft.isClosed) return; // its text is a record by now, or the page was left
      const isOver = this.data.seconds === seconds && !isOffline(error); // nothing more was said meanwhile
      if (isOver && (this.data.saving || !isTemporary(error))) setOpen(student, { said: false });
      if (this.data.saving || !isTemporary(error)) throw error;
      this.tellProblem(error);
      this.poll(1000 * error.retryAfter || this.pause);
      this.pause = Math.min(2 * this.pause, longestMS);
    }
  },

  /** Makes a text of what was said. It replaces none that the teacher has written, unless that is chosen. */
  async generate() {
    if (this.data.making) return;
    this.setData({ making: true });
    try {
      const { draft } = this;
      const { session, lessons } = this.data;
      const generated = await client.generate(session);
      this.pause = retryMS;
      if (draft.isClosed || this.data.saved) return; // the page was left, or shows another text
      this.marks = marksOf(lessons);
      const { text, sentences } = generated;
      const doubtful = sentences.filter((s) => s.unsure || !s.supported);
      const isUntouched = ["", this.made].includes(this.data.text.trim());
      this.made = text.trim();
      this.setData({
        sources: [...doubtful, ...sentences.filter((s) => !doubtful.includes(s))], toCheck: doubtful.length,
        isUnsure: doubtful.some((s) => s.unsure),
        warnings: warningsOf(generated), mended: false, problem: "", offered: isUntouched ? "" : text,
      });
      if (isUntouched) this.use(text);
    } finally {
      this.setData({ making: false });
      this.poll();
    }
  },

  async generateAnew() {
    const { draft } = this;
    if (openOf(this.data.student)?.sent) return report(new Error(texts.unsaved)); // its lessons would be in two records
    await this.generate().catch((error) => draft.isClosed || report(error)); // nobody waits in a page that was left
  },

  replace() {
    this.use(this.data.offered);
  },

  append() {
    this.use(this.data.text.trim() + "\n\n" + this.data.offered);
  },

  /** Ends the offer: until then what was said is offered again, also when the page was left. */
  dismiss() {
    this.setData({ offered: "" });
    setOpen(this.data.student, { of: this.marks });
    this.poll(); // more may be text by now
  },

  use(text: string) {
    this.setData({ text, refusedCopy: "" });
    this.draft.type(text);
    this.dismiss();
  },

  keepMine() {
    this.draft.choose(true);
  },

  takeOther() {
    this.setData({ text: this.draft.choose(false) });
  },

  typeText(event: WechatMiniprogram.Input) {
    if (!this.data.text.trim()) { // what begins today is of today, also in a session of before
      this.setData({ date: today() });
      setOpen(this.data.student, { day: today() });
    }
    this.setData({ text: event.detail.value, mended: false, refusedCopy: "" });
    this.draft.type(event.detail.value);
    const open = openOf(this.data.student);
    if (this.isEmpty() && !open?.said && !open?.sent) setOpen(this.data.student, undefined);
    else if (!open) setOpen(this.data.student, {});
  },

  /** Plays a part, or its sentence that was tapped; what is playing is stopped. */
  async listen(event: WechatMiniprogram.TouchEvent) {
    const { id, at, said } = event.currentTarget.dataset;
    if (this.data.playing === id && at === undefined && said === undefined) return silence();
    await play(id, said ?? at);
  },

  edit(event: WechatMiniprogram.TouchEvent) {
    this.expectChange();
    go("edit/edit?segment=" + event.currentTarget.dataset["id"]);
  },

  /** What is corrected or recognised again belongs into the text that was made of it. */
  expectChange() {
    const { student, lessons, saved } = this.data;
    if (saved) return;
    clearTimeout(this.timer);
    this.asked++; // an answer of before does not tell that nothing has changed
    if (!openOf(student)?.said) setOpen(student, { said: true, of: marksOf(lessons) });
  },

  /** Recognises a part that failed, or a lesson in the language that was chosen. */
  async again(event: WechatMiniprogram.CustomEvent<{ value?: string }>) {
    const { segment, lesson } = event.currentTarget.dataset;
    const language = languages[Number(event.detail.value ?? 0)];
    this.expectChange();
    await client.recogniseAgain(segment ? { segment } : { lesson }, language).catch(report);
    await this.refresh();
  },

  async finish(event: WechatMiniprogram.TouchEvent) {
    await client.finishLesson(event.currentTarget.dataset["id"]).then(() => this.refresh(), report);
  },

  openProfile() {
    go("profile/profile?student=" + this.data.student);
  },

  openRecords() {
    go("records/records?student=" + this.data.student);
  },

  openReport() {
    go("report/report?student=" + this.data.student);
  },

  async saveText() {
    if (!(await this.draft.save())) throw new Error(this.data.other ? texts.chooseFirst : this.data.state);
  },

  /** Shows what the guardian gets, and copies it. */
  async copy() {
    try {
      const { saved } = this.data;
      if (!saved) await this.saveText();
      const message = await client.message(saved ? { record: saved } : { session: await this.ensure() });
      this.setData({ refusedCopy: await copy(message) });
    } catch (error) {
      report(error);
    }
  },

  async save() {
    if (this.data.saving || this.data.saved) return; // it was tapped twice
    this.setData({ saving: true }); // what is typed now would be in no record
    try {
      const { student, session, text, mended } = this.data;
      if (this.adding > 0 || await isWaiting(student)) throw new Error(texts.onPhone);
      await this.read();
      if (this.data.saved) return; // the answer to saving it was lost
      if (session && session !== this.data.session) throw new Error(texts.savedElsewhere);
      if (this.data.text !== text) throw new Error(texts.textChanged);
      if (this.data.mended && !mended) throw new Error(texts.notMended);
      const { lessons, offered, making } = this.data;
      if (isUnsaved(lessons)) throw new Error(texts.notCorrected);
      if (making) throw new Error(texts.notTextYet);
      if (offered) throw new Error(texts.chooseFirst);
      await this.saveText();
      const isFailed = this.data.refused.length > 0 || lessons.some((l) => l.parts.some((part) => part.failed));
      const before = openOf(student)?.sent; // there is no answer to: its session is open
      let early = before?.early;
      if (!early && isBusy(lessons)) {
        if (!(await ask(texts.lessonNotText, texts.wait))) return;
        early = lessons.filter((lesson) => !isBusy([lesson])).map(({ id }) => id);
      } else if (!early && isFailed && !(await ask(texts.lessonFailed, texts.no))) return;
      await this.send(early, before);
    } catch (error) {
      report(error);
    } finally {
      this.setData({ saving: false });
      this.poll(); // an answer that came meanwhile did not count
    }
  },

  /** Keeps what is sent as a record; of an early one also when the page is left. */
  keepSent(sent: Sent | undefined) {
    const { student } = this.data;
    this.sent = sent;
    if (sent?.early || openOf(student)?.sent) setOpen(student, { sent: sent?.early && sent });
  },

  /** Saves the record, or changes one that was sent before. Early, its session stays, for what becomes text later. */
  async send(early: string[] | undefined, before?: Sent) {
    const session = await this.ensure();
    const { student, date, lessons, text } = this.data;
    const isEarly = !!early;
    // The key is the version of the text: it becomes one record, however often it is sent.
    const last = this.sent;
    const sent = before ?? {
      record: {
        profile_id: student, feedback_session_id: isEarly ? null : session, feedback_date: date, content: text,
      },
      key: [...this.draft.version.split(" "), date, isEarly].join(), day: today(), early,
    };
    this.keepSent(sent);
    const { record, key } = sent;
    const { record_id } = await client.createRecord(record, key).catch((error) => {
      const isCompleted = error instanceof Problem && error.code === "session_completed"; // by the one sent before
      if (!isTemporary(error) && error.status !== 401) this.keepSent(isCompleted && !before ? last : undefined);
      throw error;
    });
    if (record.content !== text || record.feedback_date !== date) {
      await client.editRecord(record_id, { content: text, feedback_date: date }, "");
    }
    for (const { id, open } of lessons.filter((lesson) => early?.includes(lesson.id))) {
      if (open) await client.finishLesson(id); // else what is recorded next would be in it
      await client.markApplied(id);
    }
    this.setData({ saved: record_id, state: texts.saved, seconds: 0, offered: "", other: "" });
    setOpen(student, isEarly ? { said: true, of: [], sent: undefined } : undefined);
    if (isEarly) this.draft.empty();
    else this.draft.stop();
  },
});

/** Reports whether a recording of a student is on its way to the server. */
const isWaiting = async (student: string): Promise<boolean> =>
  (await outbox.recordings()).some((r) => !r.refused && r.student === student);
