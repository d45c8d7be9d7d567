import { client, report, signIn } from "../../service.js";
import { texts } from "../../texts.js";

Page({
  data: { t: texts, busy: false },

  async onLoad() {
    try {
      await client.me();
      await wx.reLaunch({ url: "/pages/student/student" });
    } catch {
      // there is no session yet
    }
  },

  async signIn() {
    this.setData({ busy: true });
    try {
      await signIn();
      await wx.reLaunch({ url: "/pages/student/student" });
    } catch (error) {
      report(error);
    } finally {
      this.setData({ busy: false });
    }
  },
});
