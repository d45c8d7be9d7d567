import type { StudentProfile } from "../../api/types.js";
import { today } from "../../api/client.js";
import { client, report } from "../../service.js";
import { texts } from "../../texts.js";

/** A student as the page shows one. */
interface Row { profile_id: string; name: string; about: string; time: string; now: boolean; state: string; done: boolean }

const lately = 28; // days

Page({
  data: { t: texts, students: [] as Row[], name: "" },

  async onShow() {
    try {
      const [students, days] = await Promise.all([client.students(), client.lastDays(today(lately))]);
      this.setData({ students: rowsOf(students, days) });
    } catch (error) {
      report(error);
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
    const { id } = event.currentTarget.dataset;
    void wx.navigateTo({ url: `/pages/recording/recording?student=${id}` });
  },

  openRecords() {
    void wx.navigateTo({ url: "/pages/records/records" });
  },

  openDevices() {
    void wx.navigateTo({ url: "/pages/device/device" });
  },

  async signOut() {
    try {
      await client.signOut();
    } catch (error) {
      report(error);
    }
    await wx.reLaunch({ url: "/pages/signin/signin" });
  },
});

/** The lesson that is now comes first, then those of later today, those that are over, and students without a time. */
function rowsOf(students: StudentProfile[], days: Record<string, string>): Row[] {
  const time = new Date().toTimeString().slice(0, 5);
  const isOver = (s: StudentProfile) => (s.end_time || s.start_time) <= time;
  const order = (s: StudentProfile) => (s.start_time ? Number(isOver(s)) + s.start_time : "2" + s.name);
  return [...students].sort((a, b) => (order(a) < order(b) ? -1 : 1)).map((s) => {
    const day = days[s.profile_id];
    return {
      profile_id: s.profile_id, name: s.name, about: [s.grade, s.subject].filter(Boolean).join(" · "), time: s.start_time,
      now: s.start_time !== "" && s.start_time <= time && !isOver(s), done: day === today(),
      state: day === today() ? texts.doneToday : day ? `${texts.last} ${day.slice(5)}` : texts.noneLately,
    };
  });
}
