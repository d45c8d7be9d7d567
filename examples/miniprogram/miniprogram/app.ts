import { outbox } from "./service.js";

App({
  onLaunch() {
    wx.onNetworkStatusChange((network) => { if (network.isConnected) void outbox.flush(); });
  },
  onShow() {
    void outbox.flush(); // what was left when the mini program was closed
  },
});
