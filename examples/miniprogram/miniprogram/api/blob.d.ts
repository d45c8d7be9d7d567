// The generated types name these types of browsers, which a mini program does not have.
interface Blob {}
interface File extends Blob {}
