import { outbox, recorder } from "./service.js";
import { texts } from "./texts.js";

let stopped = false;

App({
  onLaunch() {
    wx.onNetworkStatusChange((network) => { if (network.isConnected) void outbox.flush(); });
  },
  onShow() {
    void outbox.flush(); // what was left when the mini program was closed
    if (stopped) void wx.showModal({ content: texts.stoppedAway, showCancel: false, confirmText: texts.ok });
    stopped = false;
  },
  /** Stops recording: the platform would, without a word and without the recording. */
  onHide() {
    stopped ||= recorder.isWanted;
    recorder.stop();
  },
});
