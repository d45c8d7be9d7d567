import { isSignedIn, report, signIn } from "../../service.js";
import { texts } from "../../texts.js";

Page({
  data: { t: texts, busy: false },

  onLoad() {
    if (isSignedIn()) void wx.reLaunch({ url: "/pages/student/student" }); // also without a network
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
