import type { DeviceAsking, SessionItem } from "../../api/types.js";
import { client, report } from "../../service.js";
import { texts } from "../../texts.js";

/** A session as the page shows it. */
interface Row { id: string; name: string; day: string }

Page({
  data: { t: texts, code: "", asking: null as DeviceAsking | null, at: "", done: false, sessions: [] as Row[] },

  onShow() {
    void wx.setNavigationBarTitle({ title: texts.pageSignIn });
    void this.list();
  },

  async list() {
    try {
      this.setData({ sessions: (await client.sessions()).map(rowOf) });
    } catch (error) {
      report(error);
    }
  },

  typeCode(event: WechatMiniprogram.Input) {
    this.setData({ code: event.detail.value });
  },

  async scan() {
    const scanned = await wx.scanCode({ onlyFromCamera: true }).catch(() => undefined); // the teacher has gone back
    if (!scanned) return;
    const [, code] = /^sign-in:([A-Z]{6})$/.exec(scanned.result) ?? [];
    if (!code) return report(new Error(texts.notACode));
    this.setData({ code });
    await this.find();
  },

  /** Shows the device, so that the teacher sees whether it is the one in front of them. */
  async find() {
    try {
      const asking = await client.findDevice(this.data.code);
      this.setData({ asking, at: new Date(asking.created_at).toLocaleTimeString(), done: false });
    } catch (error) {
      report(error);
    }
  },

  async confirm() {
    try {
      await client.confirmDevice(this.data.code);
      this.setData({ asking: null, code: "", done: true });
      await this.list();
    } catch (error) {
      report(error);
    }
  },

  cancel() {
    this.setData({ asking: null, code: "" });
  },

  async end(event: WechatMiniprogram.TouchEvent) {
    try {
      await client.endSession(event.currentTarget.dataset["id"]);
      await this.list();
    } catch (error) {
      report(error);
    }
  },
});

function rowOf(session: SessionItem): Row {
  const name = session.device || (session.current ? texts.thisPhone : texts.otherPhone);
  return { id: session.session_id, name, day: new Date(session.created_at).toLocaleDateString() };
}
