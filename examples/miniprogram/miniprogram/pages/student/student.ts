import type { StudentProfile } from "../../api/types.js";
import { client, report } from "../../service.js";
import { texts } from "../../texts.js";

Page({
  data: { t: texts, students: [] as StudentProfile[], name: "" },

  async onShow() {
    try {
      this.setData({ students: await client.students() });
    } catch (error) {
      report(error);
    }
  },

  typeName(event: WechatMiniprogram.Input) {
    this.setData({ name: event.detail.value });
  },

  async add() {
    try {
      const student = await client.createStudent({ name: this.data.name });
      this.setData({ name: "", students: [...this.data.students, student] });
    } catch (error) {
      report(error);
    }
  },

  open(event: WechatMiniprogram.TouchEvent) {
    const { id } = event.currentTarget.dataset;
    void wx.navigateTo({ url: `/pages/recording/recording?student=${id}` });
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
