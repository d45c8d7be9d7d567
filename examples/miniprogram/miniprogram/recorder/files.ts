import type { Files } from "./outbox.js";

/** The recordings below a directory of the mini program's own storage, which survives a restart. */
export function wxFiles(directory = wx.env.USER_DATA_PATH + "/outbox"): Files {
  const files = wx.getFileSystemManager();
  const path = (name: string) => directory + "/" + name;
  return {
    path,
    list: () => new Promise((resolve) => {
      const dirPath = directory;
      files.readdir({ dirPath, success: (found) => resolve(found.files), fail: () => resolve([]) }); // none yet
    }),
    keep: async (temporary, name) => {
      await new Promise<void>((resolve) => {
        files.mkdir({ dirPath: directory, recursive: true, complete: () => resolve() }); // fails if it exists
      });
      await done((end) => files.saveFile({ tempFilePath: temporary, filePath: path(name), ...end }));
    },
    rename: (from, to) => done((end) => files.rename({ oldPath: path(from), newPath: path(to), ...end })),
    remove: (name) => done((end) => files.unlink({ filePath: path(name), ...end })),
  };
}

function done(
  start: (end: { success: () => void; fail: (failure: { errMsg: string }) => void }) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    start({ success: () => resolve(), fail: (failure) => reject(new Error(failure.errMsg)) });
  });
}
