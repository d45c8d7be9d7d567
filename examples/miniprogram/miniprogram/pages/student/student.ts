import type { StudentProfile } from "../../api/types.js";
import { today } from "../../api/client.js";
import { openOf, saveTyped } from "../../open.js";
import {
  client, deleteRecord, draftKey, go, isTemporary, keptStudents, namesOf, outbox, readStudents, removedRecords, report,
  signOut,
} from "../../service.js";
import { texts } from "../../texts.js";

/** A student as the page shows one. */
interface Row { profile_id: string; name: string; about: string; time: string; now: boolean; state: string; done: boolean }

const lately = 28; // days
const changing = 7; // the last of them, whose records are still added, moved and deleted
const atOnce = 8; // students, of more
const retryMS = 5000;

Page({
  data: {
    t: texts, atOnce, students: [] as Row[], count: 0, query: "", all: false, ready: false, offline: false,
    refused: [] as { id: string; name: string }[], // the students with recordings that the server does not want
  },
  profiles: [] as StudentProfile[],
  refused: new Set<string>(),
  days: undefined as Record<string, string> | undefined, // of the last records, by student
  before: {} as Record<string, string>, // those of the weeks before
  day: "",
  visible: false,
  timer: 0,

  onLoad() {
    void wx.setNavigationBarTitle({ title: texts.students });
    // What was not done when the program ended.
    for (const id of removedRecords()) void deleteRecord(id).catch(() => {}); // else the page of records does it
    for (const { profile_id: id } of keptStudents()) if (wx.getStorageSync(draftKey(id))) saveTyped(id);
  },

  async onShow() {
    this.visible = true;
    if (this.profiles.length === 0) this.profiles = keptStudents();
    this.draw();
    outbox.onChange((left) => {
      this.refused = new Set(left.filter((r) => r.refused).map((r) => r.student));
      this.draw();
    });
    await this.read();
  },

  onHide() {
    this.visible = false;
    clearTimeout(this.timer);
  },

  onUnload() {
    this.onHide();
  },

  async read() {
    clearTimeout(this.timer);
    try {
      this.profiles = await readStudents();
      this.draw();
      this.setData({ ready: true, offline: false });
      const day = today();
      if (this.day !== day) this.before = await client.lastDays(today(lately), today(changing + 1)); // once: many
      this.day = day;
      this.days = { ...this.before, ...(await client.lastDays(today(changing))) };
      this.draw();
    } catch (error) {
      if (!isTemporary(error)) return report(error);
      this.setData({ offline: true });
      if (this.visible) this.timer = setTimeout(() => void this.read(), retryMS);
    }
  },

  /** Shows the students who are searched for, all by name, or the first of the day. */
  draw() {
    const { profiles } = this;
    const wanted = fold(this.data.query);
    const some = wanted || this.data.all ? profiles.filter((p) => fold(aboutOf(p)).includes(wanted)).sort(byName)
      : inOrderOfTheDay(profiles).slice(0, atOnce);
    const names = namesOf(profiles);
    const refused = [...this.refused].map((id) => ({ id, name: names[id] ?? "" }));
    this.setData({ students: rowsOf(some, this.days), count: profiles.length, refused });
  },

  search(event: WechatMiniprogram.Input) {
    this.setData({ query: event.detail.value });
    this.draw();
  },

  showAll() {
    this.setData({ all: true });
    this.draw();
  },

  add() {
    go("profile/profile");
  },

  open(event: WechatMiniprogram.TouchEvent) {
    const { id, record } = event.currentTarget.dataset;
    go(`lesson/lesson?student=${id}${record ? "&record=1" : ""}`);
    this.setData({ query: "", all: false }); // for the next student
    this.draw();
  },

  openRecords() {
    this.day = ""; // an older one may be moved or deleted there
    go("records/records");
  },

  openDevices() {
    go("device/device");
  },

  signOut() {
    return signOut().catch(report);
  },
});

/** What a student is searched by. */
const aboutOf = (s: StudentProfile): string => [s.name, s.grade, s.subject, s.term].join(" ");

/** Without differences of case and width. */
const fold = (text: string): string => text.normalize("NFKC").toLowerCase().trim();

/** In the order of pinyin, on phones that know it. */
const byName = (a: StudentProfile, b: StudentProfile): number => a.name.localeCompare(b.name, "zh-u-co-pinyin");

const timeNow = (): string => new Date().toTimeString().slice(0, 5);

const isOver = (s: StudentProfile, now: string): boolean => (s.end_time || s.start_time) <= now;

/** The lesson that is now comes first, then those of later today, those that are over, and students without a time. */
function inOrderOfTheDay(students: StudentProfile[]): StudentProfile[] {
  const now = timeNow();
  const order = (s: StudentProfile) => (s.start_time ? Number(isOver(s, now)) + s.start_time : "2");
  return [...students].sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : byName(a, b)));
}

function rowsOf(students: StudentProfile[], days?: Record<string, string>): Row[] {
  const now = timeNow();
  return students.map((s) => {
    const day = days?.[s.profile_id];
    const isOpen = !!openOf(s.profile_id);
    return {
      profile_id: s.profile_id, name: s.name, about: [s.grade, s.subject].filter(Boolean).join(" · "), time: s.start_time,
      now: s.start_time !== "" && s.start_time <= now && !isOver(s, now), done: !isOpen && day === today(),
      state: isOpen ? texts.inNoRecord
        : !days ? "" : day === today() ? texts.doneToday : day ? `${texts.last} ${day.slice(5)}` : texts.noneLately,
    };
  });
}
