import type { StudentProfile } from "../../api/types.js";
import { today } from "../../api/client.js";
import { client, isOffline, keptStudents, readStudents, report, signOut } from "../../service.js";
import { texts } from "../../texts.js";

/** A student as the page shows one. */
interface Row { profile_id: string; name: string; about: string; time: string; now: boolean; state: string; done: boolean }

const lately = 28; // days

Page({
  data: { t: texts, students: [] as Row[], name: "", ready: false, offline: false },
  days: undefined as Record<string, string> | undefined, // of the last records, by student

  onLoad() {
    void wx.setNavigationBarTitle({ title: texts.students });
  },

  async onShow() {
    if (this.data.students.length === 0) this.setData({ students: rowsOf(keptStudents()) });
    try {
      const students = await readStudents();
      this.setData({ students: rowsOf(students, this.days), ready: true, offline: false });
      this.days = await client.lastDays(today(lately));
      this.setData({ students: rowsOf(students, this.days) });
    } catch (error) {
      if (!isOffline(error)) return report(error);
      this.setData({ offline: true });
    }
  },

  typeName(event: WechatMiniprogram.Input) {
    this.setData({ name: event.detail.value });
  },

  async add() {
    try {
      await client.createStudent({ name: this.data.name });
      this.setData({ name: "" });
      await this.onShow();
    } catch (error) {
      report(error);
    }
  },

  open(event: WechatMiniprogram.TouchEvent) {
    const { id, record } = event.currentTarget.dataset;
    void wx.navigateTo({ url: `/pages/lesson/lesson?student=${id}${record ? "&record=1" : ""}` });
  },

  openRecords() {
    void wx.navigateTo({ url: "/pages/records/records" });
  },

  openDevices() {
    void wx.navigateTo({ url: "/pages/device/device" });
  },

  signOut() {
    return signOut().catch(report);
  },
});

/** The lesson that is now comes first, then those of later today, those that are over, and students without a time. */
function rowsOf(students: StudentProfile[], days?: Record<string, string>): Row[] {
  const time = new Date().toTimeString().slice(0, 5);
  const isOver = (s: StudentProfile) => (s.end_time || s.start_time) <= time;
  const order = (s: StudentProfile) => (s.start_time ? Number(isOver(s)) + s.start_time : "2" + s.name);
  return [...students].sort((a, b) => (order(a) < order(b) ? -1 : 1)).map((s) => {
    const day = days?.[s.profile_id];
    return {
      profile_id: s.profile_id, name: s.name, about: [s.grade, s.subject].filter(Boolean).join(" · "), time: s.start_time,
      now: s.start_time !== "" && s.start_time <= time && !isOver(s), done: day === today(),
      state: !days ? "" : day === today() ? texts.doneToday : day ? `${texts.last} ${day.slice(5)}` : texts.noneLately,
    };
  });
}
