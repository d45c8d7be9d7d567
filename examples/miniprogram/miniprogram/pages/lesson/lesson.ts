import { today } from "../../api/client.js";
import type { Problem } from "../../api/problem.js";
import type { FeedbackSession, Generated } from "../../api/types.js";
import { Draft } from "../../draft.js";
import { type Heard, onHeard, play, silence } from "../../player.js";
import { type Lesson, isBusy, lessonOf } from "../../segments.js";
import {
  client, copy, explain, idOf, isOffline, keptStudents, namesOf, outbox, recorder, report, teacher, warningsOf,
} from "../../service.js";
import { languages, texts } from "../../texts.js";

const pollMS = 3000;

/** What does not outlast a record. */
const empty = {
  session: "", date: "", lessons: [] as Lesson[], isHeard: false, text: "", state: "", other: "", saved: "",
  refusedCopy: "", sources: [] as Generated["sentences"], unsaid: 0, warnings: [] as string[],
};

Page({
  data: {
    t: texts, ...empty, student: "", offline: false, saving: false, recording: false, paused: false, problem: "",
    seconds: 0, // recorded
    waiting: 0, // recordings that the server does not have yet
    refused: [] as { name: string; why: string }[], // others, which it does not want
    playing: "", from: 0, to: 0,
  },
  timer: 0,
  asked: 0, // how often the session was
  adding: 0, // recordings that are being stored
  visible: false,
  awaited: false, // that text comes of what was recorded here
  made: "", // by generate
  draft: undefined as unknown as Draft,

  onLoad(query: Record<string, string | undefined>) {
    const student = idOf(query["student"]);
    this.setData({ student });
    this.begin();
    outbox.onChange((left, problem) => {
      const ours = left.filter((r) => r.student === student);
      const waiting = ours.filter((r) => !r.refused).length;
      const isLess = waiting < this.data.waiting;
      this.setData({
        waiting, refused: ours.filter((r) => r.refused)
          .map(({ name, refused: code }) => ({ name, why: texts.problems[code] ?? code })),
      });
      this.tellProblem(problem);
      if (isLess) void this.refresh();
    });
    if (query["record"]) this.record();
  },

  /** Begins with a record that is empty. */
  begin() {
    const tell = (state: string, other: string) => this.setData({ state, other });
    this.draft = new Draft(this.data.student, {
      ready: () => this.ensure(),
      read: async () => versionOf(await client.session(this.data.session)),
      write: async (text, etag) => {
        const { session, date } = this.data;
        const edit = { feedback_text: text, feedback_date: date };
        return versionOf(await client.saveSession(session, edit, etag).catch((error) => {
          if (error.code === "session_completed") void this.refresh();
          throw error;
        }));
      },
    }, tell);
    this.made = "";
    this.asked++;
    this.setData({ ...empty, text: this.draft.open({ text: "", etag: "" }) });
  },

  onShow() {
    this.visible = true;
    void wx.setNavigationBarTitle({ title: namesOf(keptStudents())[this.data.student] ?? "" });
    onHeard((heard: Heard) => this.setData({ ...heard }));
    void outbox.flush();
    void this.refresh();
  },

  onHide() {
    this.visible = false;
    clearTimeout(this.timer);
    silence();
    void this.draft.save();
  },

  onUnload() {
    this.onHide();
    this.draft.close();
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

  take(session: FeedbackSession & { etag: string }) {
    if (!this.data.session) this.setData({ text: this.draft.open({ ...versionOf(session) }) });
    this.setData({ session: session.session_id, date: session.feedback_date });
  },

  // The session is polled: its event stream would arrive cut inside characters, over HTTP/1 only.
  async refresh(): Promise<void> {
    clearTimeout(this.timer);
    if (this.data.saved) return;
    const asked = ++this.asked;
    try {
      const { session: id, student } = this.data;
      const session = await (id ? client.session(id) : client.activeSession(student));
      const lessons = await Promise.all((session?.lessons ?? []).map(lessonOf));
      if (asked !== this.asked || this.data.saved) return; // a later answer counts
      if (session?.state === "completed") { // elsewhere: what is not saved begins the next record
        this.draft.stop();
        this.begin();
        return await this.refresh();
      }
      if (session) this.take(session);
      const isHeard = lessons.some((lesson) => !lesson.applied && lesson.parts.some((part) => part.text));
      this.setData({ lessons, isHeard, offline: false });
      if (isBusy(lessons)) this.poll();
      else await this.generateByItself();
    } catch (error) {
      if (!isOffline(error)) return report(error);
      this.setData({ offline: true });
      this.poll();
    }
  },

  poll() {
    clearTimeout(this.timer);
    if (this.visible) this.timer = setTimeout(() => void this.refresh(), pollMS);
  },

  record() {
    if (this.data.saved) this.begin();
    const [student, day, of] = [this.data.student, today(), teacher()];
    if (!student || !of) return; // anybody's address
    this.setData({ problem: "" });
    silence();
    recorder.start({
      segment: (temporary, durationMS) => {
        this.awaited = true;
        this.adding++;
        this.setData({ seconds: this.data.seconds + Math.round(durationMS / 1000) });
        outbox.add({ teacher: of, student, day, durationMS }, temporary).catch((error) => {
          recorder.stop(); // the phone is full
          report(error);
        }).then(() => { this.adding--; });
      },
      state: (recording, paused) => this.setData({ recording, paused }),
    });
  },

  stop() {
    recorder.stop();
  },

  resend(event: WechatMiniprogram.TouchEvent) {
    return outbox.resend(event.currentTarget.dataset["name"]).catch(report);
  },

  discard(event: WechatMiniprogram.TouchEvent) {
    return outbox.discard(event.currentTarget.dataset["name"]).catch(report);
  },

  /** Sums up once all that was recorded here is text, unless the teacher has written something. */
  async generateByItself() {
    if (!this.awaited || this.data.recording || this.adding + this.data.waiting > 0) return;
    this.awaited = false;
    if (this.data.isHeard && this.isUntouched()) await this.generate();
  },

  isUntouched(): boolean {
    return ["", this.made].includes(this.data.text.trim());
  },

  async generate() {
    try {
      const generated = await client.generate(this.data.session);
      if (this.data.saved) return;
      const { text, sentences } = generated;
      const all = this.isUntouched() ? text : this.data.text + "\n" + text;
      this.made = text.trim();
      this.setData({
        text: all, sources: sentences, unsaid: sentences.filter((s) => !s.supported).length,
        warnings: warningsOf(generated),
      });
      this.draft.type(all);
    } catch (error) {
      report(error);
    }
  },

  typeText(event: WechatMiniprogram.Input) {
    this.setData({ text: event.detail.value, refusedCopy: "" });
    this.draft.type(event.detail.value);
  },

  /** Plays a part, or its sentence that was tapped; what is playing is stopped. */
  async listen(event: WechatMiniprogram.TouchEvent) {
    const { id, at, said } = event.currentTarget.dataset;
    if (this.data.recording || (this.data.playing === id && at === undefined && said === undefined)) return silence();
    await play(id, said ?? at);
  },

  edit(event: WechatMiniprogram.TouchEvent) {
    this.awaited ||= this.made !== ""; // what is corrected belongs into the text that was made of it
    void wx.navigateTo({ url: "/pages/edit/edit?segment=" + event.currentTarget.dataset["id"] });
  },

  /** Recognises a part that failed, or a lesson in the language that was chosen. */
  async again(event: WechatMiniprogram.CustomEvent<{ value?: string }>) {
    const { segment, lesson } = event.currentTarget.dataset;
    const language = languages[Number(event.detail.value ?? 0)];
    await client.recogniseAgain(segment ? { segment } : { lesson }, language).then(() => this.refresh(), report);
  },

  async finish(event: WechatMiniprogram.TouchEvent) {
    await client.finishLesson(event.currentTarget.dataset["id"]).then(() => this.refresh(), report);
  },

  openProfile() {
    void wx.navigateTo({ url: "/pages/profile/profile?student=" + this.data.student });
  },

  openReport() {
    void wx.navigateTo({ url: "/pages/report/report?student=" + this.data.student });
  },

  /** Shows what the guardian gets, and copies it. */
  async copy() {
    try {
      if (!(await this.draft.save(true))) throw new Error(this.data.state);
      const { saved } = this.data;
      const message = await client.message(saved ? { record: saved } : { session: await this.ensure() });
      this.setData({ refusedCopy: await copy(message) });
    } catch (error) {
      report(error);
    }
  },

  async save() {
    this.setData({ saving: true }); // what is typed now would be in no record
    try {
      if ((await outbox.recordings()).some((r) => !r.refused && r.student === this.data.student)) {
        throw new Error(texts.onPhone);
      }
      await this.refresh();
      if (isBusy(this.data.lessons)) throw new Error(texts.notTextYet);
      if (!(await this.draft.save(true))) throw new Error(this.data.state);
      const session = await this.ensure();
      const { student, date, text } = this.data;
      // The key is the session: it becomes one record, however often the button is tapped.
      const record = await client.createRecord(
        { profile_id: student, feedback_session_id: session, feedback_date: date, content: text }, session);
      this.setData({ saved: record.record_id, state: texts.saved, seconds: 0 });
    } catch (error) {
      report(error);
    } finally {
      this.setData({ saving: false });
    }
  },
});

const versionOf = ({ feedback_text, etag }: FeedbackSession & { etag: string }) => ({ text: feedback_text, etag });
